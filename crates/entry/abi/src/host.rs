//! The host that this process runs on: its name and its architecture.

use std::ffi::c_char;

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
