//! Another process of this machine, watched for its end.

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A process that is watched: its number cannot pass to another one unnoticed.
#[derive(Debug)]
pub struct WatchedProcess(Way);

/// The way in which a process is watched.
#[derive(Debug)]
enum Way {
    /// A pidfd.
    Descriptor(OwnedFd),
    /// The number, and the time at which the process with it began, in the kernel's ticks.
    Number(u32, u64),
    /// The process had ended before anybody looked.
    Over,
}

impl WatchedProcess {
    /// Watches the process with this number, as this process sees it. There need be none any more:
    /// then it has ended. Where the kernel (before Linux 5.3), a sandbox or the limit on
    /// descriptors refuses a pidfd, `/proc` must do.
    ///
    /// # Errors
    /// There is neither a pidfd nor a `/proc`.
    pub fn new(pid: u32) -> io::Result<WatchedProcess> {
        match descriptor(pid) {
            Ok(fd) => Ok(WatchedProcess(Way::Descriptor(fd))),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(WatchedProcess(Way::Over)),
            Err(error) => WatchedProcess::by_number(pid).map_err(|_| error),
        }
    }

    fn by_number(pid: u32) -> io::Result<WatchedProcess> {
        // Tells a process that has gone from a /proc that is not there.
        beginning(std::process::id())?;
        Ok(WatchedProcess(match beginning(pid)? {
            Some(began) => Way::Number(pid, began),
            None => Way::Over,
        }))
    }

    /// Returns whether the process has ended. Does not wait.
    pub fn has_ended(&self) -> bool {
        WatchedProcess::which_have_ended([self].into_iter())[0]
    }

    /// Returns for each of these whether it has ended, by one system call where that can be. Does
    /// not wait.
    pub fn which_have_ended<'a>(processes: impl Iterator<Item = &'a WatchedProcess>) -> Vec<bool> {
        // The kernel skips negative descriptors.
        let polled = |process: &'a WatchedProcess| {
            let fd = if let Way::Descriptor(fd) = &process.0 { fd.as_raw_fd() } else { -1 };
            (process, libc::pollfd { fd, events: libc::POLLIN, revents: 0 })
        };
        let (processes, mut polled): (Vec<_>, Vec<_>) = processes.map(polled).unzip();
        // SAFETY: the pointer leads to as many live structures as are said.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, 0) };
        let has_ended = |(process, polled): (&WatchedProcess, libc::pollfd)| match process.0 {
            Way::Descriptor(_) => polled.revents & libc::POLLIN != 0,
            Way::Number(pid, began) => beginning(pid).is_ok_and(|now| now != Some(began)),
            Way::Over => true,
        };
        processes.into_iter().zip(polled).map(has_ended).collect()
    }
}

fn descriptor(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call makes a descriptor and touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    match i32::try_from(fd) {
        // SAFETY: the descriptor is new and ours.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The time at which the process with this number began, in the kernel's ticks; `None` if there is
/// none, or it has ended and nobody has waited for it yet.
fn beginning(pid: u32) -> io::Result<Option<u64>> {
    match std::fs::read(format!("/proc/{pid}/stat")) {
        Ok(text) => Ok(beginning_in(&String::from_utf8_lossy(&text))),
        Err(error) if pid != std::process::id() && error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Finds that time in the text of `/proc/PID/stat`: the fields behind the name, which is in
/// parentheses, begin with the state; the 20th is the time.
fn beginning_in(text: &str) -> Option<u64> {
    let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_end_of_a_process_is_seen_in_either_way() {
        for watch in [WatchedProcess::new, WatchedProcess::by_number] {
            let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
            let watched = watch(child.id()).expect("this kernel has pidfds, and there is a /proc");
            assert!(!watched.has_ended());
            child.kill().expect("our child");
            // It counts as ended before it is waited for.
            while !watched.has_ended() {
                std::thread::yield_now();
            }
            child.wait().expect("our child");
            assert!(watched.has_ended());
            let own = watch(std::process::id()).expect("this process");
            assert_eq!(
                WatchedProcess::which_have_ended([&own, &watched, &own].into_iter()),
                [false, true, false]
            );
        }
    }

    #[test]
    fn a_number_without_a_process_is_one_that_has_ended() {
        for watch in [WatchedProcess::new, WatchedProcess::by_number] {
            assert!(watch(u32::MAX / 2).expect("the number of no process").has_ended());
        }
    }

    #[test]
    fn the_beginning_of_a_process_stands_behind_a_name_of_any_letters() {
        let rest = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(beginning_in(&format!("7 (a) Z (b) S {rest}")), Some(4711));
        assert_eq!(beginning_in(&format!("7 (a) Z {rest}")), None);
        assert_eq!(beginning_in("7 (a) S 1"), None);
        assert_eq!(beginning_in("7"), None);
    }
}
