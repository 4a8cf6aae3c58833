//! Calls that MPI-3.0 removed: addresses, displacements and extents are default INTEGERs. A value
//! that does not fit is an error of the companion library, `MPI_ERR_VALUE_TOO_LARGE`, since C's own
//! call succeeded.

use crate::generated::{c, constants as mpi};
use crate::handle::{self, Handle};
use crate::{address, team};
use std::ffi::{c_int, c_void};

/// # Safety
/// `place` is an INTEGER.
unsafe fn narrow(code: c_int, value: i64, place: *mut c_int) -> c_int {
    match c_int::try_from(value) {
        // SAFETY: the caller's promise.
        Ok(value) => unsafe { *place = value },
        Err(_) => {
            // SAFETY: a predefined handle, and an error class.
            unsafe { c::PMPI_Comm_call_errhandler(mpi::MPI_COMM_SELF, mpi::MPI_ERR_VALUE_TOO_LARGE) };
            return mpi::MPI_ERR_VALUE_TOO_LARGE;
        }
    }
    code
}

/// `MPI_Address`.
pub unsafe fn address(call: c::Get_address, location: *const c_void, place: *mut c_int) -> c_int {
    let mut value = 0;
    // SAFETY: the program's variables.
    unsafe { narrow(call(address::buffer(location), &mut value), value, place) }
}

/// # Safety
/// The variables are the program's.
unsafe fn bound(
    call: c::Type_get_extent,
    datatype: *const c_int,
    place: *mut c_int,
    of: fn(i64, i64) -> i64,
) -> c_int {
    let (mut lower, mut extent) = (0, 0);
    // SAFETY: the caller's promise.
    unsafe {
        let code = call(handle::datatype(*datatype), &mut lower, &mut extent);
        narrow(code, of(lower, extent), place)
    }
}

/// `MPI_Type_extent`.
pub unsafe fn type_extent(call: c::Type_get_extent, datatype: *const c_int, place: *mut c_int) -> c_int {
    // SAFETY: the program's variables.
    unsafe { bound(call, datatype, place, |_, extent| extent) }
}

/// `MPI_Type_lb`.
pub unsafe fn type_lb(call: c::Type_get_extent, datatype: *const c_int, place: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { bound(call, datatype, place, |lower, _| lower) }
}

/// `MPI_Type_ub`.
pub unsafe fn type_ub(call: c::Type_get_extent, datatype: *const c_int, place: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { bound(call, datatype, place, |lower, extent| lower + extent) }
}

/// # Safety
/// `newtype` is an INTEGER.
unsafe fn made(code: c_int, of_c: Handle, newtype: *mut c_int) -> c_int {
    if of_c != 0 {
        // SAFETY: the caller's promise.
        unsafe { *newtype = handle::datatype_out(of_c) };
    }
    code
}

/// # Safety
/// The array has that many elements.
unsafe fn widen(displacements: *const c_int, count: c_int) -> Vec<i64> {
    // SAFETY: the caller's promise.
    (0..team::number(count.into())).map(|at| i64::from(unsafe { *displacements.add(at) })).collect()
}

/// `MPI_Type_hvector`.
pub unsafe fn type_hvector(
    call: c::Type_create_hvector,
    count: *const c_int,
    blocklength: *const c_int,
    stride: *const c_int,
    oldtype: *const c_int,
    newtype: *mut c_int,
) -> c_int {
    let mut of_c = 0;
    // SAFETY: the program's variables.
    unsafe {
        let oldtype = handle::datatype(*oldtype);
        made(call(*count, *blocklength, i64::from(*stride), oldtype, &mut of_c), of_c, newtype)
    }
}

/// `MPI_Type_hindexed`.
pub unsafe fn type_hindexed(
    call: c::Type_create_hindexed,
    count: *const c_int,
    blocklengths: *const c_int,
    displacements: *const c_int,
    oldtype: *const c_int,
    newtype: *mut c_int,
) -> c_int {
    let mut of_c = 0;
    // SAFETY: the program's variables.
    unsafe {
        let places = widen(displacements, *count);
        let oldtype = handle::datatype(*oldtype);
        made(call(*count, blocklengths, places.as_ptr(), oldtype, &mut of_c), of_c, newtype)
    }
}

/// `MPI_Type_struct`.
pub unsafe fn type_struct(
    call: c::Type_create_struct,
    count: *const c_int,
    blocklengths: *const c_int,
    displacements: *const c_int,
    types: *const c_int,
    newtype: *mut c_int,
) -> c_int {
    let mut of_c = 0;
    // SAFETY: the program's variables.
    unsafe {
        let places = widen(displacements, *count);
        let types = crate::arrays::Handles::of(types, places.len(), handle::datatype);
        made(call(*count, blocklengths, places.as_ptr(), types.as_ptr(), &mut of_c), of_c, newtype)
    }
}
