//! Procedures of the program that get no state of ours from C: reductions and error handlers. C
//! gets one of a fixed number of functions, and each of these calls the procedure in its slot. A
//! procedure keeps its slot, so passing it again takes no other.

use crate::generated::constants as mpi;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use verbena_fault::Fault;

/// The number of different procedures of one sort that a program may pass.
pub const SLOTS: usize = 64;

/// The procedures of one sort, by their address; 0 is a free slot.
pub struct Slots([AtomicUsize; SLOTS]);

impl Slots {
    /// Makes the slots, all free.
    pub const fn new() -> Slots {
        Slots([const { AtomicUsize::new(0) }; SLOTS])
    }

    /// The slot of this procedure. If none is free, raises an error and returns its code.
    pub fn slot(&self, procedure: usize) -> Result<usize, c_int> {
        let ours = |slot: &AtomicUsize| match slot.compare_exchange(
            0,
            procedure,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => true,
            Err(other) => other == procedure,
        };
        self.0.iter().position(ours).ok_or_else(too_many)
    }

    /// The procedure in a slot that was handed out.
    pub fn procedure(&self, slot: usize) -> usize {
        self.0[slot].load(Ordering::Acquire)
    }
}

impl Default for Slots {
    fn default() -> Slots {
        Slots::new()
    }
}

#[cold]
fn too_many() -> c_int {
    let fault = Fault::new(
        "Too many procedures of one sort were passed to MPI.",
        format!("{SLOTS} different ones"),
        "the program has that many reductions or error handlers",
        "let one procedure do the work of several",
    );
    verbena_fault::complain(&fault);
    // SAFETY: a predefined handle, and an error class.
    unsafe { crate::generated::c::PMPI_Comm_call_errhandler(mpi::MPI_COMM_SELF, mpi::MPI_ERR_OTHER) };
    mpi::MPI_ERR_OTHER
}

/// The addresses of a function for each slot, which is its constant parameter.
macro_rules! by_slot {
    ($function:ident as $type:ty) => {
        by_slot!(@ $function $type:
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63)
    };
    (@ $function:ident $type:ty: $($slot:literal)*) => {{
        const ALL: [$type; $crate::slots::SLOTS] = [$($function::<$slot> as $type),*];
        &ALL
    }};
}
pub(crate) use by_slot;
