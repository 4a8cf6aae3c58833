//! Another process of this machine, watched for its end.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A process that is watched (a pidfd): its number cannot pass to another one unnoticed.
#[derive(Debug)]
pub struct WatchedProcess(OwnedFd);

impl WatchedProcess {
    /// Watches the process with this number, as this process sees it.
    ///
    /// # Errors
    /// There is no such process, or the kernel (before Linux 5.3) or a sandbox cannot watch it.
    pub fn new(pid: u32) -> io::Result<WatchedProcess> {
        // SAFETY: the call makes a descriptor and touches no memory of ours.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
        match i32::try_from(fd) {
            // SAFETY: the descriptor is new and ours.
            Ok(fd) if fd >= 0 => Ok(WatchedProcess(unsafe { OwnedFd::from_raw_fd(fd) })),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns whether the process has ended. Does not wait.
    pub fn has_ended(&self) -> bool {
        let mut polled = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer leads to one live structure.
        unsafe { libc::poll(&raw mut polled, 1, 0) > 0 && polled.revents & libc::POLLIN != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_end_of_a_process_is_seen() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let watched = WatchedProcess::new(child.id()).expect("this kernel has pidfds");
        assert!(!watched.has_ended());
        child.kill().expect("our child");
        // It counts as ended before it is waited for.
        while !watched.has_ended() {
            std::thread::yield_now();
        }
        child.wait().expect("our child");
        assert!(watched.has_ended());
    }

    #[test]
    fn a_number_without_a_process_is_an_error() {
        assert!(WatchedProcess::new(u32::MAX / 2).is_err());
    }
}
