//! A check that this machine has room for a point. A benchmark must not take the memory of other
//! people's programs, so none may need more than a part of what is available.

use super::floor;
use super::metric::{Family, Metric, Point};
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{SysconfVar, sysconf};
use verbena_fault::Fault;
use verbena_node::shm::headroom;

/// A point may need at most one in this many bytes of the available memory.
const PART: u64 = 4;

/// Returns about how many bytes the measuring takes on this machine, rather too many: the buffers
/// of all ranks, and as much again for the library's own copies.
fn needed(point: Point, ranks: usize) -> u64 {
    let (bytes, ranks) = (point.bytes as u64, ranks as u64);
    let buffers = match point.metric {
        Metric::PollingSet => return bytes.saturating_mul(floor::RING_BYTES as u64),
        Metric::Gather | Metric::Scatter | Metric::Allgather | Metric::Alltoall | Metric::ReduceScatter => {
            bytes.saturating_mul(ranks).saturating_mul(2)
        }
        _ if point.metric.family() == Family::Kernel => bytes.saturating_mul(8),
        _ => bytes.saturating_mul(2),
    };
    buffers.saturating_mul(ranks).saturating_mul(2)
}

/// Refuses a point that needs more than a quarter of what is available.
///
/// # Errors
/// Both numbers, in four parts.
pub(crate) fn check(point: Point, ranks: usize, available: u64) -> Result<(), Fault> {
    let needed = needed(point, ranks);
    if needed <= available / PART {
        return Ok(());
    }
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    Err(Fault::new(
        "the point was not measured: it needs too much memory",
        format!("{point}, {ranks} ranks: about {}, of {} available", mib(needed), mib(available)),
        "the size or the number of ranks is too large for this machine, its control group or `ulimit -v`",
        format!("measure smaller sizes (--sizes); a point may take {} at most here", mib(available / PART)),
    ))
}

/// Returns the bytes that this process may still take: the smallest of what the machine, the
/// control group and the limit on address space leave.
pub(crate) fn available() -> u64 {
    let limit = getrlimit(Resource::RLIMIT_AS).map_or(u64::MAX, |(soft, _)| soft);
    headroom::bytes().min(limit.saturating_sub(address_space()))
}

/// Bytes of address space that this process has taken; 0 where the operating system does not tell.
fn address_space() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0);
    pages * sysconf(SysconfVar::PAGE_SIZE).ok().flatten().unwrap_or(4096) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_gets_a_quarter_of_the_memory() {
        let point = |text: &str| text.parse::<Point>().expect(text);
        let room = |text, ranks, mib: u64| check(point(text), ranks, mib << 20);
        assert!(room("copy:1M", 1, 16).is_ok());
        let refused = room("alltoall:1M", 16, 1024).expect_err("1 GiB of 1 GiB").to_string();
        assert!(refused.contains("about 1024 MiB, of 1024 MiB available"), "{refused}");
        assert!(room("polling_set:4096", 1, 1 << 10).is_err() && room("polling_set:128", 1, 1 << 10).is_ok());
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(available() > 1 << 20);
    }
}
