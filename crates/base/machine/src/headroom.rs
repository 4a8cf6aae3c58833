//! The memory that may be taken before the kernel starts to kill.
//!
//! Reserving pages fails in good order where the machine has none left, but at a control group's
//! limit the kernel ends a process instead. So the limits are read before much memory is taken:
//! for rings, and for windows.

use crate::cgroup::{self, Group, Version};

/// From here on the number of a group of version 1 is no limit: it has one at all times, of nearly
/// 2^63 bytes where nobody has set it.
const UNLIMITED_BYTES: u64 = 1 << 60;

/// The memory that is free for a process, and what bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Bytes that are free, by the machine and by the control groups.
    pub bytes: u64,
    /// The limit of the control group that leaves no more than that, in bytes; `None` if it is the
    /// machine that has no more.
    pub limit: Option<u64>,
}

/// Bytes that are free for this process, by the machine and by its control groups.
pub fn bytes() -> u64 {
    look().bytes
}

/// The memory that is free for this process.
pub fn look() -> Headroom {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    of(machine, &cgroup::groups("memory"))
}

fn of(machine: Option<u64>, groups: &[Group]) -> Headroom {
    let machine = Headroom { bytes: machine.unwrap_or(u64::MAX), limit: None };
    let left = |group| Some(Headroom { bytes: left(group)?, limit: limit_of(group) });
    let tightest = groups.iter().filter_map(left).min_by_key(|group| group.bytes);
    tightest.filter(|group| group.bytes <= machine.bytes && group.limit.is_some()).unwrap_or(machine)
}

fn limit_of(group: &Group) -> Option<u64> {
    let file = match group.version {
        Version::V1 => "memory.limit_in_bytes",
        Version::V2 => "memory.max",
    };
    group.number(file).filter(|bytes| *bytes < UNLIMITED_BYTES)
}

fn available(meminfo: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(rest.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// The limit less the use; file pages that are not in use count as free.
fn left(group: &Group) -> Option<u64> {
    let (limit, used) = match group.version {
        Version::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        Version::V2 => ("memory.max", "memory.current"),
    };
    let stat = group.read("memory.stat").unwrap_or_default();
    let idle =
        stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok()).unwrap_or(0);
    Some(group.number(limit)?.saturating_sub(group.number(used)?.saturating_sub(idle)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_testing::files::Folder;

    #[test]
    fn a_groups_limit_less_its_use_is_left() {
        let mount = Folder::new(
            "memory",
            &[
                ("a/memory.max", "1000\n"),
                ("a/memory.current", "700\n"),
                ("a/memory.stat", "anon 5\ninactive_file 100\n"),
                ("memory.max", "max\n"),
                ("memory.current", "700\n"),
                ("memory/memory.limit_in_bytes", "50\n"),
                ("memory/memory.usage_in_bytes", "60\n"),
            ],
        );
        let lefts = |line: &str| -> Vec<u64> {
            cgroup::groups_of_line(&mount.0, line, "memory").iter().filter_map(left).collect()
        };
        assert_eq!(lefts("0::/a"), [400]);
        assert_eq!(lefts("7:memory:/"), [0]);
    }

    #[test]
    fn a_limit_that_nobody_has_set_is_none() {
        let mount = Folder::new(
            "memory-limit",
            &[
                ("a/memory.max", "max\n"),
                ("a/b/memory.max", "4096\n"),
                ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("memory/c/memory.limit_in_bytes", "125829120\n"),
            ],
        );
        let limits = |line: &str| -> Vec<u64> {
            cgroup::groups_of_line(&mount.0, line, "memory").iter().filter_map(limit_of).collect()
        };
        assert_eq!(limits("0::/a/b"), [4096]);
        assert_eq!(limits("0::/a"), []);
        assert_eq!(limits("7:memory:/c"), [120 << 20]);
        assert_eq!(limits("7:memory:/"), []);
    }

    #[test]
    fn what_leaves_least_is_named() {
        let mount = Folder::new(
            "memory-headroom",
            &[
                ("a/memory.max", "3000\n"),
                ("a/memory.current", "100\n"),
                ("a/b/memory.max", "2000\n"),
                ("a/b/memory.current", "10\n"),
            ],
        );
        let groups = cgroup::groups_of_line(&mount.0, "0::/a/b", "memory");
        assert_eq!(of(Some(5000), &groups), Headroom { bytes: 1990, limit: Some(2000) });
        let machine = Headroom { bytes: 500, limit: None };
        assert_eq!(of(Some(500), &groups), machine, "the limit is above what the machine has");
        assert_eq!(of(Some(500), &[]), machine);
        assert_eq!(of(None, &groups).limit, Some(2000));
    }

    #[test]
    fn the_machines_memory_is_read() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   2 kB\n"), Some(2048));
        assert_eq!(available(""), None);
        assert!(bytes() > 1 << 20);
    }
}
