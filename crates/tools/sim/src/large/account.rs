//! The memory that each rank holds: an allocator counts what is taken and given back while the rank
//! runs. A program that wants the counts makes it its own:
//!
//! ```
//! use verbena_sim::large::account::Counting;
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts while a rank runs.
pub struct Counting;

thread_local! {
    static IS_COUNTING: Cell<bool> = const { Cell::new(false) };
    static HELD: Cell<isize> = const { Cell::new(0) };
    static HIGH: Cell<isize> = const { Cell::new(0) };
}

fn note(bytes: isize) {
    if IS_COUNTING.get() {
        HELD.set(HELD.get() + bytes);
        HIGH.set(HIGH.get().max(HELD.get()));
    }
}

// SAFETY: hands everything to the system's allocator and only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    // The system's own form touches no page.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        note(-(layout.size() as isize));
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(at, layout) }
    }
}

/// The bytes that a rank holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    held: isize,
    high: isize,
}

impl Account {
    /// The bytes held now. A rank may give back what another took, such as memory that is kept for
    /// all, so an account can be overdrawn by little.
    pub(super) fn held_bytes(&self) -> usize {
        self.held.max(0) as usize
    }

    /// The most that were held.
    pub(super) fn high_bytes(&self) -> usize {
        self.high.max(0) as usize
    }
}

/// Runs this on the rank's account.
pub(super) fn counted<T>(account: &mut Account, what: impl FnOnce() -> T) -> T {
    HELD.set(account.held);
    HIGH.set(account.high);
    IS_COUNTING.set(true);
    let result = what();
    IS_COUNTING.set(false);
    *account = Account { held: HELD.get(), high: HIGH.get() };
    result
}

/// Runs this on nobody's account: it is the simulator's.
pub(super) fn aside<T>(what: impl FnOnce() -> T) -> T {
    let before = IS_COUNTING.replace(false);
    let result = what();
    IS_COUNTING.set(before);
    result
}
