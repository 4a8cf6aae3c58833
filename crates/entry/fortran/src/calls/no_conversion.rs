//! The predefined procedures that stand for no conversion of elements (MPI-5.0, 14.5.3).

use crate::generated::constants as mpi;
use crate::generated::types::{MPI_Count, MPI_Offset};
use std::ffi::{c_int, c_void};

/// Returns whether a procedure is one of the two predefined ones.
pub fn is_predefined(procedure: usize) -> bool {
    let plain = mpi_conversion_fn_null_ as *const () as usize;
    let large = mpi_conversion_fn_null_c_ as *const () as usize;
    procedure == plain || procedure == large
}

/// Stands for no conversion; nobody calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpi_conversion_fn_null_(
    _: *mut c_void,
    _: *const c_int,
    _: *const c_int,
    _: *mut c_void,
    _: *const MPI_Offset,
    _: *const i64,
    ierror: *mut c_int,
) {
    // SAFETY: a variable of the caller.
    unsafe { *ierror = mpi::MPI_ERR_CONVERSION };
}

/// Stands for no conversion in the large form; nobody calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpi_conversion_fn_null_c_(
    _: *mut c_void,
    _: *const c_int,
    _: *const MPI_Count,
    _: *mut c_void,
    _: *const MPI_Offset,
    _: *const i64,
    ierror: *mut c_int,
) {
    // SAFETY: as above.
    unsafe { *ierror = mpi::MPI_ERR_CONVERSION };
}
