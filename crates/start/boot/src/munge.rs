//! Proofs of who this process is, by the service munge: its library is opened where a server of
//! PMIx wants such a proof, and asks the service over its socket.

use std::ffi::{CStr, c_char, c_int, c_void};

/// The library, as its packages install it.
const LIBRARY: &CStr = c"libmunge.so.2";

type Encode = unsafe extern "C" fn(*mut *mut c_char, *const c_void, *const c_void, c_int) -> c_int;
type ErrorText = unsafe extern "C" fn(c_int) -> *const c_char;

/// Asks the service for a proof of this process's user and group.
///
/// # Errors
/// Says what is missing: the library, or what it says of the service.
pub(crate) fn proof() -> Result<Vec<u8>, String> {
    // SAFETY: a C string; the library's start-up does no more than any library's.
    let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(format!("{} is not installed", LIBRARY.to_string_lossy()));
    }
    let proof = ask(library);
    // SAFETY: we have opened it, and use nothing of it any more.
    unsafe { libc::dlclose(library) };
    proof
}

fn ask(library: *mut c_void) -> Result<Vec<u8>, String> {
    let find = |name: &CStr| {
        // SAFETY: a library that is open, and a C string.
        let found = unsafe { libc::dlsym(library, name.as_ptr()) };
        if found.is_null() { Err(format!("the library lacks {}", name.to_string_lossy())) } else { Ok(found) }
    };
    let (encode, text) = (find(c"munge_encode")?, find(c"munge_strerror")?);
    // SAFETY: these functions have had these types since the first version of this library.
    let (encode, text) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Encode>(encode),
            std::mem::transmute::<*mut c_void, ErrorText>(text),
        )
    };
    let mut credential: *mut c_char = std::ptr::null_mut();
    // SAFETY: the place is ours; no context means the usual socket, and there are no bytes to add.
    let status = unsafe { encode(&raw mut credential, std::ptr::null(), std::ptr::null(), 0) };
    if status != 0 || credential.is_null() {
        // SAFETY: the library returns a C string of its own for any number.
        let why = unsafe { CStr::from_ptr(text(status)) };
        return Err(why.to_string_lossy().into_owned());
    }
    // SAFETY: success means a C string of which we are the owner, made by malloc.
    let bytes = unsafe {
        let bytes = CStr::from_ptr(credential).to_bytes_with_nul().to_vec();
        libc::free(credential.cast());
        bytes
    };
    Ok(bytes)
}
