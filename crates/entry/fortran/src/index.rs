//! Positions in arrays of requests, which count from 1 in Fortran (MPI-5.0, 3.7.5).

use crate::generated::constants as mpi;
use std::ffi::c_int;

/// Makes one index, which may be `MPI_UNDEFINED`, count from 1.
///
/// # Safety
/// The index is an INTEGER that C set, or that the failed call left.
pub unsafe fn one(index: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        if *index != mpi::MPI_UNDEFINED {
            *index = (*index).wrapping_add(1);
        }
    }
}

/// Makes the indices that a call set count from 1, if it set any.
///
/// # Safety
/// The array has `number` indices if the call got so far.
pub unsafe fn many(indices: *mut c_int, number: *const c_int, code: c_int) {
    if code != mpi::MPI_SUCCESS && code != mpi::MPI_ERR_IN_STATUS {
        return;
    }
    // SAFETY: the caller's promise; MPI_UNDEFINED is negative.
    for at in 0..unsafe { *number }.max(0) as usize {
        // SAFETY: as above.
        unsafe { one(indices.add(at)) };
    }
}
