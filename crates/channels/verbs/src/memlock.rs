//! The memory that this process may lock. Registered memory is locked, and the kernel counts it
//! against `RLIMIT_MEMLOCK` unless the process has the capability `CAP_IPC_LOCK`.

use std::fmt;
use std::fs::read_to_string;
use std::io;

/// The number of `CAP_IPC_LOCK` (`linux/capability.h`).
const CAP_IPC_LOCK: u32 = 14;

/// The memory that is locked and that may be, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locked {
    /// The soft limit; `None` if there is none, or if the process may exceed it.
    pub limit: Option<u64>,
    /// The memory that devices have pinned for this process already.
    pub pinned: u64,
}

impl Locked {
    /// Asks the kernel.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn read() -> io::Result<Locked> {
        let status = read_to_string("/proc/self/status")?;
        let users = read_to_string("/proc/self/uid_map")?;
        let limit = (!exempt(&status, &users)).then(soft_limit).transpose()?.flatten();
        Ok(Locked { limit, pinned: field(&status, "VmPin:").and_then(kibibytes).unwrap_or(0) })
    }

    /// Returns what may still be locked; `u64::MAX` without a limit.
    pub fn left(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.pinned))
    }
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            None => write!(f, "this process may lock memory without limit"),
            Some(limit) => {
                write!(f, "this process may lock {} KiB, and {} KiB are", limit >> 10, self.pinned >> 10)
            }
        }
    }
}

/// Returns whether the capability is there. In a user namespace the kernel does not count it.
fn exempt(status: &str, users: &str) -> bool {
    let capabilities = field(status, "CapEff:").and_then(|text| u64::from_str_radix(text, 16).ok());
    let first_namespace = users.split_whitespace().eq(["0", "0", "4294967295"]);
    first_namespace && capabilities.is_some_and(|set| set >> CAP_IPC_LOCK & 1 == 1)
}

/// Returns the word behind the name.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()
}

fn kibibytes(text: &str) -> Option<u64> {
    Some(text.parse::<u64>().ok()? << 10)
}

fn soft_limit() -> io::Result<Option<u64>> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes the structure.
    match unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) } {
        0 => Ok(Some(limit.rlim_cur).filter(|&bytes| bytes != libc::RLIM_INFINITY)),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "         0          0 4294967295\n";

    #[test]
    fn the_capability_counts_in_the_first_user_namespace_only() {
        let root = "Name:\tx\nCapEff:\t000001ffffffffff\n";
        assert!(exempt(root, WHOLE) && !exempt(root, "0 1000 1\n"));
        assert!(!exempt("CapEff:\t0000000000000000\n", WHOLE) && !exempt("", WHOLE));
    }

    #[test]
    fn what_is_left_is_the_limit_less_what_is_pinned() {
        assert_eq!(Locked { limit: Some(100), pinned: 30 }.left(), 70);
        assert_eq!(Locked { limit: Some(100), pinned: 130 }.left(), 0);
        assert_eq!(Locked { limit: None, pinned: 30 }.left(), u64::MAX);
        assert_eq!(field("VmPin:\t      64 kB\n", "VmPin:").and_then(kibibytes), Some(65536));
    }

    #[test]
    fn this_process_has_figures() {
        assert_eq!(Locked::read().expect("/proc").pinned % 1024, 0);
    }
}
