//! The experiments of paper 2's question: what does the RDMA Channel, five functions and a byte
//! pipe, cost against reading and writing memory after the match?
//!
//! The same engine runs over `pipe` (the designs of the paper's sections 4 and 5) and over `rc` by
//! read and by write (section 6: its CH3 design writes). All copy up to the same eager limit.

use super::goals;
use super::variants::{CHUNKS, ours};
use verbena_lab::experiment::variant::{Place, Variant, set};
use verbena_lab::experiment::verb::Verb;
use verbena_lab::experiment::{Experiment, goal, points};
use verbena_lab::metric::{Metric, Point};

/// The length in bytes from which no design is eager: `rc` takes no more in one packet.
const LONG_BYTES_MIN: &str = "16384";
/// That of the kernels, whose messages are short.
const KERNEL_LONG_BYTES_MIN: &str = "2048";
/// The last length that is eager, for each.
const EAGER: &str = "16383";
const KERNEL_EAGER: &str = "2047";
/// Bytes of the ring, as in the ladder over `rc`.
const RING_BYTES: &str = "131072";
/// Each rank's share of a kernel's data, in bytes.
const SHARE: usize = 64 << 10;

/// A design of the pipe between nodes.
fn pipe(name: &str, design: &str, more: &[(&str, &str)]) -> Variant {
    let own = [("CHANNELS", "pipe"), ("PIPE_DESIGN", design), ("PIPE_BYTES", RING_BYTES)];
    let all = own.iter().chain(more).map(|(name, value)| set(name, value)).collect();
    Variant::ours(name, Place::Nodes, all)
}

/// Memory that is moved after the match, over `rc`.
fn after_match(name: &str, direction: &str, eager: &str, long: &str) -> Variant {
    ours(name, &[("LARGE", direction), ("RC_EAGER_BYTES_MAX", eager), ("RC_MEMORY_BYTES_MIN", long)])
}

/// The designs by latency and bandwidth.
pub(super) fn interfaces() -> Experiment {
    let long = [("PIPE_ZERO_COPY_BYTES_MIN", LONG_BYTES_MIN)];
    Experiment {
        name: "pipe",
        title: "The RDMA Channel by its designs, against read and write after the match (paper 2, figures 4 to 14)",
        ranks: vec![2],
        window: 8,
        points: [
            points(Metric::Latency, &[8, 1 << 10]),
            points(Metric::Bandwidth, &[64 << 10, 256 << 10, 1 << 20]),
        ]
        .concat(),
        variants: vec![
            pipe("pipe: basic", "basic", &long),
            pipe("pipe: piggyback", "piggyback", &long),
            pipe("pipe: pipeline", "pipeline", &long),
            pipe("pipe: zero-copy", "zero-copy", &long),
            after_match("read after the match", "read", EAGER, LONG_BYTES_MIN),
            after_match("write after the match", "write", EAGER, LONG_BYTES_MIN),
            Variant::device(Verb::Write),
        ],
        axis: None,
        goals: goals::pipe,
    }
}

/// The pipeline by its chunks.
pub(super) fn chunks() -> Experiment {
    let variant = |kib: usize| {
        let bytes = (kib << 10).to_string();
        let more = [("PIPE_CHUNK_BYTES", &*bytes), ("PIPE_ZERO_COPY_BYTES_MIN", LONG_BYTES_MIN)];
        pipe(&format!("{kib} KiB"), "pipeline", &more).at(kib)
    };
    Experiment {
        name: "pipe-chunks",
        title: "Bandwidth of the pipeline inside the pipe by its chunks (paper 2, figure 9)",
        ranks: vec![2],
        window: 8,
        points: points(Metric::Bandwidth, &[64 << 10, 256 << 10, 1 << 20]),
        variants: [1, 2, 4, 8, 16, 32].map(variant).to_vec(),
        axis: Some(CHUNKS),
        goals: goal::none,
    }
}

/// The designs by kernels: all of their messages but LU's are longer than the eager limit here.
pub(super) fn kernels() -> Experiment {
    let long = [("PIPE_ZERO_COPY_BYTES_MIN", KERNEL_LONG_BYTES_MIN)];
    let kernels = [
        Metric::KernelIs,
        Metric::KernelCg,
        Metric::KernelMg,
        Metric::KernelFt,
        Metric::KernelSp,
        Metric::KernelBt,
    ];
    Experiment {
        name: "pipe-kernels",
        title: "Kernels over the RDMA Channel and beside it (paper 2, figure 16: CH3 less than 1% ahead)",
        ranks: vec![4],
        window: 1,
        points: kernels.map(|metric| Point { metric, bytes: SHARE }).to_vec(),
        variants: vec![
            pipe("pipe: pipeline", "pipeline", &long),
            pipe("pipe: zero-copy", "zero-copy", &long),
            after_match("read after the match", "read", KERNEL_EAGER, KERNEL_LONG_BYTES_MIN),
            after_match("write after the match", "write", KERNEL_EAGER, KERNEL_LONG_BYTES_MIN),
        ],
        axis: None,
        goals: goals::pipe_kernels,
    }
}
