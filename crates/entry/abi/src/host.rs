//! The host that this process runs on: its name and its architecture, and where this library lies.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use verbena_boot::spawn::beside;

fn system_name() -> libc::utsname {
    // SAFETY: all bytes zero is a valid value of this struct of byte arrays.
    let mut name: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the place for the answer is ours. The call can only fail for a bad address.
    unsafe { libc::uname(&mut name) };
    name
}

fn text(field: &[c_char]) -> Vec<u8> {
    field.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect()
}

/// The name of this host.
pub(crate) fn host_name() -> Vec<u8> {
    text(&system_name().nodename)
}

/// The architecture of this host: `x86_64`.
pub(crate) fn architecture() -> Vec<u8> {
    text(&system_name().machine)
}

/// The `mpiexec` that is installed with this library.
pub(crate) fn mpiexec() -> Option<PathBuf> {
    let library = library()?;
    let real = library.canonicalize().ok().and_then(|real| beside(real.as_os_str()));
    real.or_else(|| beside(library.as_os_str()))
}

/// The file of this library, as the dynamic linker opened it.
fn library() -> Option<PathBuf> {
    // SAFETY: all bytes zero is a valid value of this struct of pointers.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is that of a function of ours, and the place for the answer is ours.
    let known = unsafe { libc::dladdr(mpiexec as *const libc::c_void, &mut found) } != 0;
    if !known || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the linker's own string, which lives as long as the library is open.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
