//! The points, and the numbers of ranks at which they are measured.

use super::summary::Conditions;

/// The points between two ranks, and of the collectives at two ranks.
const AT_TWO: &[&str] = &[
    "latency:8",
    "latency:1024",
    "latency:65536",
    "rate:8",
    "rate:1024",
    "rate_1_thread:8",
    "rate_2_threads:8",
    "rate_4_threads:8",
    "bandwidth:65536",
    "bandwidth:1048576",
    "bandwidth:4194304",
    "barrier",
    "bcast:8",
    "bcast:1048576",
    "allreduce:8",
    "allreduce:65536",
    "allreduce:1048576",
    "alltoall:1024",
    "startup",
];

/// The points with more ranks: those that show the cost of sharing cores.
const AT_MORE: &[&str] = &[
    "barrier",
    "bcast:8",
    "bcast:1048576",
    "allreduce:8",
    "allreduce:65536",
    "allreduce:1048576",
    "alltoall:1024",
];

/// The points of one-sided communication at two ranks.
const ONE_SIDED: &[&str] = &[
    "put:8",
    "get:65536",
    "put_bandwidth:1048576",
    "created_put:8",
    "created_put_bandwidth:1048576",
    "accumulate:8192",
    "fetch_and_op",
    "compare_and_swap",
    "lock_put_unlock",
    "fence",
    "pscw",
    "window",
    "accumulate_computing",
    "created_accumulate_computing",
];

/// Those with more ranks.
const ONE_SIDED_AT_MORE: &[&str] = &["created_put:8", "fetch_and_op", "lock_put_unlock", "fence", "pscw"];

/// The points of files, at any number of ranks.
const FILES: &[&str] = &[
    "file_open",
    "file_write_all:1048576",
    "file_read_all:1048576",
    "file_strided_write_all:64",
    "file_strided_read_all:64",
    "file_strided_write:64",
    "file_write_shared:64",
    "file_write_ordered:64",
];

/// The largest number of ranks for which start-up is measured.
const STARTUP_RANKS_MAX: usize = 4;

/// The time of a cache line from one processor to another.
pub(super) const CACHE_LINE: &str = "cache_line";

/// The points of the machine without MPI.
pub(super) const FLOOR: &[&str] = &[
    CACHE_LINE,
    "pipe",
    "copy:1024",
    "copy:4096",
    "copy:65536",
    "copy:1048576",
    "copy:4194304",
    "copy_both:65536",
    "copy_both:1048576",
    "copy_both:4194304",
    "read:4096",
    "read:65536",
    "read:1048576",
    "read:4194304",
    "read_both:4096",
    "read_both:65536",
    "read_both:1048576",
    "read_both:4194304",
];

/// Sizes between two ranks that the page's curves need beyond those of [`AT_TWO`].
const CURVES: &[&str] = &[
    "latency:64",
    "latency:4096",
    "latency:16384",
    "latency:262144",
    "latency:1048576",
    "bandwidth:1024",
    "bandwidth:4096",
    "bandwidth:16384",
    "bandwidth:262144",
];

/// Ranks of the page that have busy processes beside them.
const RANKS_BESIDE: usize = 4;

/// The points that are measured under the same conditions, by one start of each library.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The conditions.
    pub under: Conditions,
    /// The points.
    pub points: Vec<&'static str>,
}

/// The usual points at each number of ranks, with this many busy processes beside them.
pub(super) fn usual(ranks: &[usize], busy: usize) -> Vec<Part> {
    let part = |&ranks: &usize| Part { under: Conditions { ranks, busy }, points: points(ranks) };
    ranks.iter().map(part).collect()
}

/// Returns the points of BENCHMARKS.md: curves over the size, more ranks, and busy processes beside
/// four ranks.
pub(super) fn of_page(busy: usize) -> Vec<Part> {
    let mut parts = usual(&[2, 4, 8], 0);
    let metric = |point: &str| point.split(':').next().map(String::from);
    let bytes = |point: &str| point.split_once(':').and_then(|(_, bytes)| bytes.parse::<usize>().ok());
    let order = [AT_TWO, ONE_SIDED, FILES].concat();
    let place = |point: &str| order.iter().position(|usual| metric(usual) == metric(point));
    parts[0].points.extend(CURVES);
    parts[0].points.sort_by_key(|point| (place(point), bytes(point)));
    parts.extend(usual(&[RANKS_BESIDE], busy));
    parts
}

fn points(ranks: usize) -> Vec<&'static str> {
    let (of_messages, one_sided) = match ranks {
        2 => (AT_TWO, ONE_SIDED),
        _ => (AT_MORE, ONE_SIDED_AT_MORE),
    };
    let startup: &[&str] = if (3..=STARTUP_RANKS_MAX).contains(&ranks) { &["startup"] } else { &[] };
    [of_messages, one_sided, FILES, startup].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_no_point_twice() {
        for part in of_page(2) {
            let mut points = part.points.clone();
            points.sort_unstable();
            points.dedup();
            assert_eq!(points.len(), part.points.len(), "{part:?}");
        }
        assert_eq!(of_page(2)[0].points[..3], ["latency:8", "latency:64", "latency:1024"]);
        assert_eq!(of_page(2).last().map(|part| part.under), Some(Conditions { ranks: 4, busy: 2 }));
    }
}
