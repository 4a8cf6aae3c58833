//! Messages between two ranks of a node.

use super::{Knob, KnobKind, from, sizes};
use verbena_lab::experiment::variant::set;
use verbena_lab::metric::Metric;

/// Returns the knobs that latency and bandwidth decide.
pub(super) fn by_latency() -> Vec<Knob> {
    pairs(Metric::Latency, Metric::Bandwidth, 10..=20)
}

/// Returns the knobs that are decided by the cost of a transfer for a computation beside it.
pub(super) fn by_overlap() -> Vec<Knob> {
    let mut knobs = pairs(Metric::OverlapTime, Metric::OverlapTime, 16..=22);
    knobs.push(Knob {
        setting: "PROGRESS_THREAD",
        what: "progress by a helper thread while the program computes",
        metric: Metric::OverlapTime,
        sizes: sizes(20, 22),
        ranks: vec![2],
        network: false,
        kind: KnobKind::Values(&["0", "1"]),
        fixed: Vec::new(),
    });
    knobs
}

/// Returns the knobs of pairs, each after those it depends on: the pieces, who copies them, and the
/// size from which that is worth it.
fn pairs(short: Metric, long: Metric, powers: std::ops::RangeInclusive<u32>) -> Vec<Knob> {
    let knob = |setting, what, metric, sizes, kind| {
        let (ranks, network, fixed) =
            (vec![2], false, vec![set("CHANNELS", "shm,cma"), set("NODE_LEARN", "0")]);
        Knob { setting, what, metric, sizes, ranks, network, kind, fixed }
    };
    vec![
        knob(
            "CLAIM_BYTES",
            "the piece of a long message that one rank copies at a time",
            long,
            sizes(18, 22),
            KnobKind::Values(&["65536", "131072", "262144", "524288", "1048576"]),
        ),
        knob(
            "COPY_BY_BOTH_BYTES_MIN",
            "long messages one way within a node: copied by the receiver, or by both ranks",
            long,
            sizes(15, 22),
            from(["the receiver copies", "both copy"]),
        ),
        knob(
            "CMA_BYTES_MIN",
            "messages within a node: through shared memory, or in one copy by the kernel",
            short,
            sizes(*powers.start(), *powers.end()),
            from(["two copies through shared memory", "one copy by cma"]),
        ),
    ]
}
