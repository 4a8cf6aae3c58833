//! Another process of this machine, watched for its end.

use crate::limits::{self, Resource};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The part of the descriptors of this process that pidfds may take: the rest is the program's.
const SHARE_OF_DESCRIPTORS: usize = 4;
/// The most descriptors in one system call: more than a program leaves itself would be refused.
const POLLED_MAX: usize = 64;
/// The looks at many processes in which each without a pidfd is looked at thoroughly once.
const LOOKS: usize = 16;

/// The pidfds that there are.
static DESCRIPTORS: AtomicUsize = AtomicUsize::new(0);

/// A process that is watched: its number cannot pass to another one unnoticed.
#[derive(Debug)]
pub struct WatchedProcess(Way);

/// The way in which a process is watched.
#[derive(Debug)]
enum Way {
    /// A pidfd.
    Descriptor(Pidfd),
    /// The number, the time at which the process with it began, in the kernel's ticks, and how many
    /// looks there were.
    Number(u32, u64, AtomicUsize),
    /// The process had ended before anybody looked.
    Over,
}

/// A pidfd, counted.
#[derive(Debug)]
struct Pidfd(OwnedFd);

impl Drop for Pidfd {
    fn drop(&mut self) {
        DESCRIPTORS.fetch_sub(1, Ordering::Relaxed);
    }
}

impl WatchedProcess {
    /// Watches the process with this number, as this process sees it. There need be none any more:
    /// then it has ended. Where the kernel (before Linux 5.3), a sandbox or the limit on
    /// descriptors refuses a pidfd, or pidfds have taken their share of that limit, `/proc` must
    /// do.
    ///
    /// # Errors
    /// There is neither a pidfd nor a `/proc` that shows the process.
    pub fn new(pid: u32) -> io::Result<WatchedProcess> {
        match descriptor(pid) {
            Ok(fd) => Ok(WatchedProcess(Way::Descriptor(fd))),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(WatchedProcess(Way::Over)),
            Err(error) => WatchedProcess::by_number(pid).map_err(|_| error),
        }
    }

    fn by_number(pid: u32) -> io::Result<WatchedProcess> {
        Ok(WatchedProcess(match beginning(proc(), pid)? {
            Some(began) => Way::Number(pid, began, AtomicUsize::new(pid as usize)),
            None => Way::Over,
        }))
    }

    /// Returns whether the process has ended. Does not wait.
    pub fn has_ended(&self) -> bool {
        match &self.0 {
            Way::Number(pid, began, _) => is_over(*pid, *began),
            _ => WatchedProcess::which_have_ended([self].into_iter())[0],
        }
    }

    /// Returns for each of these whether it has ended, by few system calls. Does not wait. Of one
    /// without a pidfd that has ended, and that nobody has waited for or whose number is another's
    /// now, `/proc` alone tells: that is seen in one of some such looks.
    pub fn which_have_ended<'a>(processes: impl Iterator<Item = &'a WatchedProcess>) -> Vec<bool> {
        let processes: Vec<&WatchedProcess> = processes.collect();
        let ended = |process: &&WatchedProcess| match &process.0 {
            Way::Descriptor(_) => false,
            Way::Number(pid, began, looks) => {
                let is_turn = looks.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOKS);
                if is_turn { is_over(*pid, *began) } else { is_nobody(*pid) }
            }
            Way::Over => true,
        };
        let mut ended: Vec<bool> = processes.iter().map(ended).collect();
        let descriptor = |(at, process): (usize, &&'a WatchedProcess)| match &process.0 {
            Way::Descriptor(fd) => Some((at, fd.0.as_raw_fd())),
            _ => None,
        };
        let descriptors: Vec<_> = processes.iter().enumerate().filter_map(descriptor).collect();
        for some in descriptors.chunks(POLLED_MAX) {
            let polled = |(_, fd): &(usize, i32)| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 };
            let mut polled: Vec<libc::pollfd> = some.iter().map(polled).collect();
            // SAFETY: the pointer leads to as many live structures as are said.
            let count = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, 0) };
            for ((at, fd), polled) in some.iter().zip(&polled) {
                ended[*at] =
                    if count < 0 { takes_no_signal(*fd) } else { polled.revents & libc::POLLIN != 0 };
            }
        }
        ended
    }
}

/// Opens a pidfd, if they have not taken their share of the limit on descriptors.
fn descriptor(pid: u32) -> io::Result<Pidfd> {
    let descriptors_max = limits::soft(Resource::Descriptors).map_or(usize::MAX, |most| most as usize);
    let share = descriptors_max / SHARE_OF_DESCRIPTORS;
    if DESCRIPTORS.fetch_add(1, Ordering::Relaxed) >= share {
        DESCRIPTORS.fetch_sub(1, Ordering::Relaxed);
        return Err(io::Error::from_raw_os_error(libc::EMFILE));
    }
    // SAFETY: the call makes a descriptor and touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    match i32::try_from(fd) {
        // SAFETY: the descriptor is new and ours.
        Ok(fd) if fd >= 0 => Ok(Pidfd(unsafe { OwnedFd::from_raw_fd(fd) })),
        _ => {
            let error = io::Error::last_os_error();
            DESCRIPTORS.fetch_sub(1, Ordering::Relaxed);
            Err(error)
        }
    }
}

/// Returns whether the process of a pidfd has ended and was waited for: poll(2) may be refused by a
/// limit on descriptors that the program has lowered since.
#[cold]
fn takes_no_signal(fd: i32) -> bool {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: signal 0 is none; the call reads no memory.
    let code = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, 0, none, 0) };
    code < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// Returns whether there is no process with this number.
fn is_nobody(pid: u32) -> bool {
    let Some(pid) = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0) else { return true };
    // SAFETY: signal 0 is none.
    let code = unsafe { libc::kill(pid, 0) };
    code < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// Returns whether the process with this number that began then has ended. Without a descriptor for
/// `/proc`, one that nobody has waited for is not seen.
fn is_over(pid: u32, began: u64) -> bool {
    beginning(proc(), pid).map_or_else(|_| is_nobody(pid), |now| now != Some(began))
}

fn proc() -> &'static Path {
    Path::new("/proc")
}

/// The time at which the process with this number began, in the kernel's ticks; `None` if there is
/// none, or it has ended and nobody has waited for it yet.
///
/// # Errors
/// The folder is none of processes, or does not show this one (`hidepid`).
fn beginning(proc: &Path, pid: u32) -> io::Result<Option<u64>> {
    match std::fs::read(proc.join(format!("{pid}/stat"))) {
        Ok(text) => Ok(beginning_in(&String::from_utf8_lossy(&text))),
        Err(error) => {
            let is_absent = error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH);
            if is_absent && is_nobody(pid) { Ok(None) } else { Err(error) }
        }
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

    /// A `/proc` may show the processes of its user alone.
    #[test]
    fn a_process_that_is_not_shown_may_live() {
        let empty = std::env::temp_dir();
        assert!(beginning(&empty, std::process::id()).is_err());
        assert_eq!(beginning(&empty, u32::MAX / 2).expect("nobody"), None);
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
