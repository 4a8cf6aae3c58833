//! The copy of the table of the standard face, through which all calls go.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use verbena_faces::Entries;
pub use verbena_faces::{Function, Length};

/// A place for the table.
pub(crate) struct Table(UnsafeCell<MaybeUninit<Entries>>);

// SAFETY: written once by `library`, before any function of this library can be called; only read
// after that.
unsafe impl Sync for Table {}

/// The copy of the table that calls go through.
pub(crate) static TABLE: Table = Table(UnsafeCell::new(MaybeUninit::zeroed()));

impl Table {
    /// The place that `library` fills.
    pub(crate) fn place(&self) -> *mut MaybeUninit<Entries> {
        self.0.get()
    }
}

/// The functions of the standard face.
#[inline(always)]
pub fn entries() -> &'static Entries {
    // SAFETY: `library` filled it when the library was loaded.
    unsafe { (*TABLE.0.get()).assume_init_ref() }
}

/// A length that depends on this communicator of the standard face; 0 if the communicator is wrong.
pub fn length(comm: usize, which: Length) -> i64 {
    (entries().services.length)(comm, which)
}
