//! The two system calls, repeated until all bytes are moved.

use std::io::{Error, ErrorKind, Result};
use verbena_memory::Region;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// Into our memory.
    Read,
    /// Out of our memory.
    Write,
}

impl std::fmt::Display for Verb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Verb::Read { "reading" } else { "writing" })
    }
}

/// Moves all of `local` from or to `remote` of process `pid`.
pub(super) fn transfer(verb: Verb, pid: u32, local: Region, remote: u64) -> Result<()> {
    let mut done = 0;
    while done < local.len() {
        match transfer_some(verb, pid, local.part(done, local.len() - done), remote + done as u64) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(moved) => done += moved,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn transfer_some(verb: Verb, pid: u32, local: Region, remote: u64) -> Result<usize> {
    let ours = libc::iovec { iov_base: local.address() as *mut _, iov_len: local.len() };
    let theirs = libc::iovec { iov_base: remote as *mut _, iov_len: local.len() };
    let pid = pid as libc::pid_t;
    // SAFETY: `ours` is valid by the promise of `Region`; the kernel checks the other process's
    // addresses.
    let moved = unsafe {
        match verb {
            Verb::Read => libc::process_vm_readv(pid, &ours, 1, &theirs, 1, 0),
            Verb::Write => libc::process_vm_writev(pid, &ours, 1, &theirs, 1, 0),
        }
    };
    if moved < 0 { Err(Error::last_os_error()) } else { Ok(moved as usize) }
}
