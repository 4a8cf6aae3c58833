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
    sides_that_wake(Measures { ranks, log_bytes, slots, slot_bytes }, |_, shared| shared)
}

/// All sides of a board, with what each wakes others by.
fn sides_that_wake<K: Backing + 'static>(
    measures: Measures,
    backing: impl Fn(usize, Arc<Shared>) -> K,
) -> Vec<Box<dyn Board>> {
    let layout = Layout::from_size_align(measures.bytes(), 4096).expect("a board fits the address space");
    // SAFETY: the size is not zero.
    let base = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
    let shared = Arc::new(Shared { base, layout });
    // SAFETY: the memory has the right size and is aligned, lives as long as `shared`, which the
    // backing holds, and each side is made once.
    let side = |me| unsafe { MappedBoard::new(base, measures, me, backing(me, shared.clone())) };
    (0..measures.ranks).map(|me| Box::new(side(me)) as Box<dyn Board>).collect()
}

/// All sides of a board as the channels make them.
pub fn usual_sides(ranks: usize) -> Vec<Box<dyn Board>> {
    let measures = Measures::of(ranks);
    sides(ranks, measures.log_bytes, measures.slots, measures.slot_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// Counts how often others were woken.
    struct Counting {
        _shared: Arc<Shared>,
        wakes: Arc<AtomicU32>,
    }

    impl Backing for Counting {
        fn wake(&self) {
            self.wakes.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn a_post_for_which_all_wait_wakes_them_once_all_have_made_it() {
        let wakes = Arc::new(AtomicU32::new(0));
        let counting = |_, shared| Counting { _shared: shared, wakes: wakes.clone() };
        let mut sides = sides_that_wake(Measures::of(3), counting);
        for number in 1..3 {
            sides.iter_mut().for_each(|side| side.open(number));
            for round in 1..4 {
                for (me, side) in sides.iter_mut().enumerate() {
                    let before = wakes.load(Relaxed);
                    side.step_together();
                    assert_eq!(wakes.load(Relaxed) - before, u32::from(me == 2), "round {round}");
                }
            }
            // Others may wait for each of these.
            let before = wakes.load(Relaxed);
            sides.iter_mut().for_each(|side| side.step());
            assert_eq!(wakes.load(Relaxed) - before, 3);
        }
    }

    /// A member of which others know by its posts in later collectives alone that it has gone on.
    #[test]
    fn a_member_that_gave_up_has_made_no_post_of_that_collective() {
        let mut sides = usual_sides(2);
        sides.iter_mut().for_each(|side| side.open(7));
        let post = sides[0].posted() + 1;
        assert!(!sides[0].has_posted(1, post));
        sides[1].give_up();
        sides[1].open(8);
        sides[1].post();
        assert!(!sides[0].has_posted(1, post), "it made that of collective 8");
        assert!(sides[0].has_left(1) && !sides[1].has_left(0));
        sides[0].open(8);
        let post = sides[0].posted() + 1;
        assert!(sides[0].has_posted(1, post) && !sides[0].has_left(1));
        sides[1].open(9);
        sides[1].post();
        assert!(sides[0].has_posted(1, post), "it went through collective 8");
    }
}
