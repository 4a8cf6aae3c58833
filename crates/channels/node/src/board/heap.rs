//! The members of a board within one process: for the simulator, and for tests of code on boards.

use super::mapped::{Backing, MappedBoard};
use super::memory::Measures;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;
use verbena_channel::board::Board;

/// Zeroed memory that its members hold together.
#[derive(Debug)]
struct Shared {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is only used through the sides of the board, which may be in different
// threads.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: allocated by `sides` with this layout; the last side is gone.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

impl Backing for Arc<Shared> {
    /// The driver of the members looks at all of them.
    fn wake(&self) {}
}

/// All sides of a board of `ranks` members, with logs and slots of these sizes.
///
/// # Panics
/// If `log_bytes` is not a power of two from 128 on, or `slot_bytes` not a multiple of 64.
pub fn sides(ranks: usize, log_bytes: usize, slots: usize, slot_bytes: usize) -> Vec<Box<dyn Board>> {
    assert!(log_bytes.is_power_of_two() && log_bytes >= 128 && slot_bytes.is_multiple_of(64));
    let measures = Measures { ranks, log_bytes, slots, slot_bytes };
    let layout = Layout::from_size_align(measures.bytes(), 4096).expect("a board fits the address space");
    // SAFETY: the size is not zero.
    let base = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
    let shared = Arc::new(Shared { base, layout });
    // SAFETY: the memory has the right size and is aligned, lives as long as `shared`, and each
    // side is made once.
    let side = |me| unsafe { MappedBoard::new(base, measures, me, shared.clone()) };
    (0..ranks).map(|me| Box::new(side(me)) as Box<dyn Board>).collect()
}

/// All sides of a board as the channels make them.
pub fn usual_sides(ranks: usize) -> Vec<Box<dyn Board>> {
    let measures = Measures::of(ranks);
    sides(ranks, measures.log_bytes, measures.slots, measures.slot_bytes)
}
