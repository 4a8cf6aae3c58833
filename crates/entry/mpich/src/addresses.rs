//! Addresses that are constants: `MPI_IN_PLACE`, `MPI_BUFFER_AUTOMATIC`, `MPI_UNWEIGHTED`,
//! `MPI_WEIGHTS_EMPTY` and `MPI_T_PVAR_ALL_HANDLES`.

use crate::data::{MPI_T_PVAR_ALL_HANDLES, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY};
use crate::generated::constants as mpich;
use std::ffi::{c_int, c_void};

/// A buffer that may be `MPI_IN_PLACE` or `MPI_BUFFER_AUTOMATIC`.
#[inline(always)]
pub fn buffer_native(address: *const c_void) -> *mut c_void {
    // No address is higher than the two constants.
    if (address as usize) < mpich::BUFFER_AUTOMATIC { address.cast_mut() } else { constant(address) }
}

/// Returns whether this is `MPI_IN_PLACE`.
#[inline]
pub fn is_in_place(address: *const c_void) -> bool {
    address as usize == mpich::IN_PLACE
}

#[cold]
fn constant(address: *const c_void) -> *mut c_void {
    let native = if is_in_place(address) { mpich::NATIVE_IN_PLACE } else { mpich::NATIVE_BUFFER_AUTOMATIC };
    native as *mut c_void
}

/// Weights that may be `MPI_UNWEIGHTED` or `MPI_WEIGHTS_EMPTY`.
pub fn weights_native(weights: *const c_int) -> *mut c_int {
    let native = match weights {
        w if w == MPI_UNWEIGHTED.address() => mpich::NATIVE_UNWEIGHTED,
        w if w == MPI_WEIGHTS_EMPTY.address() => mpich::NATIVE_WEIGHTS_EMPTY,
        other => return other.cast_mut(),
    };
    native as *mut c_int
}

/// A handle of a performance variable that may be `MPI_T_PVAR_ALL_HANDLES`.
pub fn pvar_native(handle: usize) -> usize {
    if handle == MPI_T_PVAR_ALL_HANDLES.address() as usize {
        mpich::NATIVE_T_PVAR_ALL_HANDLES
    } else {
        handle
    }
}
