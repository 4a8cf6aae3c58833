//! Functions that are no part of the standard (`MPIX_`). The C library may be another one, and lack
//! them, so they are looked for when the program calls one.

use std::ffi::{CStr, c_char, c_int, c_void};

/// The error code where the C library lacks the function.
pub(crate) const MISSING: c_int = crate::generated::constants::MPI_ERR_UNSUPPORTED_OPERATION;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The handle that stands for all libraries that are loaded (`RTLD_DEFAULT`).
const ANYWHERE: *mut c_void = std::ptr::null_mut();

/// The address of the function with this name; null if there is none.
pub(crate) fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a C string, and the handle one that the loader knows.
    unsafe { dlsym(ANYWHERE, name.as_ptr()) }
}
