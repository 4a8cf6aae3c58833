//! The cores that the ranks of a node really have: affinity mask and cgroup quota, against the
//! number of ranks.

use super::cgroup::{self, Group, Version};

/// The cores against the ranks, as measured when the job started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The ranks of the job that may use some of this process's cores, on its node or beside it.
    pub local_ranks: u32,
    /// The cores that those may use.
    pub cores: u32,
    /// The time that the cgroup grants, in cores (quota by period), if it limits it.
    pub quota: Option<f64>,
}

impl Load {
    /// Measures from this process alone, for a node with this many ranks that may all run where it
    /// may.
    pub fn measure(local_ranks: u32) -> Load {
        Load { local_ranks, cores: count_union(std::iter::once(&*affinity())), quota: quota() }
    }

    /// The number of ranks for each core's worth of time.
    pub fn ranks_per_core(&self) -> f64 {
        f64::from(self.local_ranks) / self.quota.unwrap_or(f64::INFINITY).min(f64::from(self.cores))
    }

    /// Returns whether ranks must share cores, so that one that spins holds up another.
    pub fn oversubscribed(&self) -> bool {
        self.ranks_per_core() > 1.0
    }
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ranks on {} cores", self.local_ranks, self.cores)?;
        if let Some(quota) = self.quota {
            write!(f, ", cgroup quota {quota:.1} cores")?;
        }
        f.write_str(if self.oversubscribed() { " (oversubscribed)" } else { "" })
    }
}

/// The cores that this process may run on, one bit each, lowest first, without trailing zeros.
pub fn affinity() -> Vec<u8> {
    let mut mask = vec![0u8; 8192 / 8];
    // SAFETY: the kernel writes at most as many bytes as the vector has.
    let bytes = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, mask.len(), mask.as_mut_ptr()) };
    if bytes <= 0 {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        return (0..cores.div_ceil(8)).map(|i| (0xff_u32 >> (8 - (cores - 8 * i).min(8))) as u8).collect();
    }
    mask.truncate(bytes as usize);
    let used = mask.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    mask.truncate(used);
    mask
}

/// The cores that are in at least one of two masks.
pub fn union(one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut union = one.to_vec();
    union.resize(one.len().max(other.len()), 0);
    union.iter_mut().zip(other).for_each(|(u, m)| *u |= m);
    union
}

/// The number of cores in the union of masks.
pub fn count_union<'a>(masks: impl Iterator<Item = &'a [u8]>) -> u32 {
    let all = masks.fold(Vec::new(), |all, mask| union(&all, mask));
    all.iter().map(|b| b.count_ones()).sum()
}

/// The smallest quota of this process's control groups, in cores.
pub fn quota() -> Option<f64> {
    cgroup::groups("cpu").iter().filter_map(quota_of).reduce(f64::min)
}

fn quota_of(group: &Group) -> Option<f64> {
    match group.version {
        Version::V1 => ratio(&group.read("cpu.cfs_quota_us")?, &group.read("cpu.cfs_period_us")?),
        Version::V2 => parse_v2(&group.read("cpu.max")?),
    }
}

/// Parses quota and period in microseconds, as in `max 100000` or `50000 100000`.
fn parse_v2(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    ratio(quota, period)
}

fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Moves this thread to another core that it may use; it may go where it might before. Nothing
/// happens if there is no other core, or if the system refuses.
#[cold]
pub fn leave_core() {
    let here = here();
    visit(|core| core != here);
}

/// Moves this thread to this core, as [`leave_core`].
#[cold]
pub fn move_to(core: u32) {
    visit(|other| other == core);
}

/// Moves this thread to one of the cores that it may use and that are `meant`.
fn visit(meant: impl Fn(u32) -> bool) {
    let allowed = affinity();
    if confine(&only(&allowed, meant)) {
        confine(&allowed);
    }
}

/// The cores of a mask that are `meant`, as a mask.
pub fn only(mask: &[u8], meant: impl Fn(u32) -> bool) -> Vec<u8> {
    let of_byte = |(at, bits): (usize, &u8)| {
        let kept = (0..8).filter(|bit| meant(8 * at as u32 + bit));
        kept.fold(0, |kept, bit| kept | bits & 1 << bit)
    };
    mask.iter().enumerate().map(of_byte).collect()
}

/// Lets this thread run on the cores of this mask only, one bit each, lowest first. `false`, and
/// nothing happens, if the system refuses, as it does if there is none.
pub fn confine(mask: &[u8]) -> bool {
    // SAFETY: the call reads as many bytes as the slice has.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, mask.len(), mask.as_ptr()) == 0 }
}

/// The core on which this thread is; the largest number if the system does not say.
pub fn here() -> u32 {
    // SAFETY: the call takes nothing and touches no memory of ours.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_testing::files::Folder;

    #[test]
    fn quotas_are_read_in_both_forms() {
        assert_eq!(parse_v2("max 100000\n"), None);
        assert_eq!(parse_v2("150000 100000\n"), Some(1.5));
        assert_eq!(ratio("-1\n", "100000\n"), None);
        assert_eq!(ratio("400000\n", "100000\n"), Some(4.0));
    }

    #[test]
    fn masks_are_united() {
        let masks: [&[u8]; 3] = [&[0b11], &[0b110, 1], &[]];
        assert_eq!(count_union(masks.into_iter()), 4);
        assert_eq!(union(&[0b1], &[0b10, 1]), [0b11, 1]);
        assert!(count_union([affinity().as_slice()].into_iter()) > 0);
    }

    #[test]
    fn each_group_upwards_may_have_a_quota() {
        let mount = Folder::new(
            "cpu",
            &[
                ("a/b/cpu.max", "max 100000\n"),
                ("a/cpu.max", "200000 100000\n"),
                ("cpu/cpu.cfs_quota_us", "50000\n"),
                ("cpu/cpu.cfs_period_us", "100000\n"),
            ],
        );
        let quotas = |line: &str| -> Vec<f64> {
            cgroup::groups_of_line(&mount.0, line, "cpu").iter().filter_map(quota_of).collect()
        };
        assert_eq!(quotas("0::/a/b"), [2.0]);
        assert_eq!(quotas("1:cpu:/"), [0.5]);
    }

    #[test]
    fn a_quota_below_the_ranks_means_oversubscribed() {
        let load = Load { local_ranks: 2, cores: 8, quota: None };
        assert!(!load.oversubscribed());
        assert!(Load { quota: Some(1.5), ..load }.oversubscribed());
        assert!(Load { local_ranks: 9, ..load }.oversubscribed());
    }

    #[test]
    fn a_thread_that_leaves_its_core_may_use_the_same_cores_as_before() {
        let run = || {
            let before = affinity();
            leave_core();
            (before, affinity())
        };
        let (before, after) = std::thread::spawn(run).join().unwrap();
        assert_eq!(before, after);
    }
}
