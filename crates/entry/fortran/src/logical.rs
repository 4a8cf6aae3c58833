//! LOGICALs of default kind, as wide as an INTEGER. `.FALSE.` is 0; `.TRUE.` is 1 where we write it
//! and anything else where we read it.

use std::ffi::c_int;

/// `.FALSE.` for C and for the Fortran compilers that we know.
pub const FALSE: c_int = 0;
/// `.TRUE.` of gfortran.
pub const TRUE: c_int = 1;

/// C's flag for a LOGICAL.
///
/// # Safety
/// The pointer leads to a LOGICAL.
#[inline]
pub unsafe fn of(logical: *const c_int) -> c_int {
    // SAFETY: the caller's promise.
    c_int::from(unsafe { *logical } != FALSE)
}

/// C's flags for an array of LOGICALs.
///
/// # Safety
/// The array has that many LOGICALs.
pub unsafe fn array(logicals: *const c_int, number: usize) -> Vec<c_int> {
    // SAFETY: the caller's promise.
    (0..number).map(|at| unsafe { of(logicals.add(at)) }).collect()
}

/// Turns the flags that C set in place into LOGICALs.
///
/// # Safety
/// The array has that many elements.
pub unsafe fn tidy(flags: *mut c_int, number: usize) {
    for at in 0..number {
        // SAFETY: the caller's promise.
        unsafe { *flags.add(at) = if *flags.add(at) == 0 { FALSE } else { TRUE } };
    }
}
