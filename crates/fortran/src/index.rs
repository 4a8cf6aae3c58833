//! Positions in arrays of requests: from 1 in Fortran (MPI-5.0, 3.7.5).

use crate::generated::constants as mpi;
use std::ffi::c_int;

/// Counts one index, which may be `MPI_UNDEFINED`, from 1.
///
/// # Safety
/// It is an INTEGER that C set, or that the failed call left.
pub unsafe fn one(index: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        if *index != mpi::MPI_UNDEFINED {
            *index = (*index).wrapping_add(1);
        }
    }
}

/// Counts the indices that a call set from 1, if it set any.
///
/// # Safety
/// There are `number` of them if the call got so far.
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
