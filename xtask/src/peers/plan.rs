//! Which points are measured at which number of ranks.

/// Between two ranks, and of the collectives at two ranks.
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

/// With more ranks: those that show what sharing cores costs.
const AT_MORE: &[&str] = &[
    "barrier",
    "bcast:8",
    "bcast:1048576",
    "allreduce:8",
    "allreduce:65536",
    "allreduce:1048576",
    "alltoall:1024",
];

/// Start-up is measured up to this many ranks.
const STARTUP_RANKS_MAX: usize = 4;

/// What the machine can do without MPI.
pub const FLOOR: &[&str] = &[
    "cache_line",
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

/// The points at a number of ranks.
pub fn points(ranks: usize) -> Vec<&'static str> {
    match ranks {
        2 => AT_TWO.to_vec(),
        more if more <= STARTUP_RANKS_MAX => AT_MORE.iter().copied().chain(["startup"]).collect(),
        _ => AT_MORE.to_vec(),
    }
}
