//! Messages between nodes, over each channel.

use super::{Knob, KnobKind, NEVER, from, sizes, up_to};
use verbena_lab::experiment::variant::{Set, set};
use verbena_lab::metric::Metric;

/// Returns the knobs that latency decides.
pub(super) fn by_latency() -> Vec<Knob> {
    [over_rc(Metric::Latency), over_ud(), over_ofi()].into_iter().flatten().collect()
}

/// Returns the knobs that are decided by the cost of a transfer for a computation beside it.
pub(super) fn by_overlap() -> Vec<Knob> {
    let thread = knob(
        "PROGRESS_THREAD",
        "progress by a helper thread while the program computes",
        Metric::OverlapTime,
        sizes(20, 22),
        KnobKind::Values(&["0", "1"]),
        &[set("CHANNELS", "rc")],
    );
    over_rc(Metric::OverlapTime).into_iter().chain([thread]).collect()
}

fn knob(
    setting: &'static str,
    what: &'static str,
    metric: Metric,
    sizes: Vec<usize>,
    kind: KnobKind,
    fixed: &[Set],
) -> Knob {
    Knob { setting, what, metric, sizes, ranks: vec![2], network: true, kind, fixed: fixed.to_vec() }
}

fn over_rc(metric: Metric) -> Vec<Knob> {
    let least = if metric == Metric::Latency { 12 } else { 16 };
    let rc = set("CHANNELS", "rc");
    let mut knobs = vec![
        knob(
            "RC_MEMORY_BYTES_MIN",
            "messages between nodes over rc: copied through the ring, or read and written where they lie",
            metric,
            sizes(least, 20),
            from(["copied through the ring", "moved by RDMA"]),
            std::slice::from_ref(&rc),
        ),
        knob(
            "LARGE",
            "how long messages between nodes go",
            metric,
            sizes(16, 20),
            KnobKind::Values(&["auto", "read", "write", "pipeline"]),
            std::slice::from_ref(&rc),
        ),
        knob(
            "CHUNK_BYTES",
            "the chunks of messages that are copied through the ring",
            metric,
            sizes(15, 19),
            KnobKind::Values(&["2048", "4096", "8192", "16384"]),
            &[rc.clone(), set("LARGE", "pipeline")],
        ),
    ];
    if metric == Metric::Latency {
        knobs.push(knob(
            "RC_BUFFER_BYTES",
            "the largest packet of rc, and so the longest message that is sent at once",
            metric,
            sizes(8, 15),
            KnobKind::Values(&["2048", "4160", "8256", "16448"]),
            &[rc],
        ));
    }
    knobs
}

fn over_ud() -> Vec<Knob> {
    vec![knob(
        "UD_EAGER_BYTES_MAX",
        "messages over ud: sent at once, or after asking the receiver",
        Metric::Latency,
        sizes(9, 16),
        up_to(["sent at once", "after asking"]),
        &[set("CHANNELS", "ud")],
    )]
}

fn over_ofi() -> Vec<Knob> {
    let ofi = [set("CHANNELS", "ofi"), set("OFI", "always")];
    let copied = [&ofi[..], &[set("OFI_MEMORY_BYTES_MIN", NEVER)]].concat();
    vec![
        knob(
            "OFI_MESSAGE_BYTES",
            "the longest message that ofi sends through its buffers",
            Metric::Latency,
            sizes(12, 19),
            KnobKind::Values(&["16432", "65584", "131120", "262192"]),
            &copied,
        ),
        knob(
            "OFI_MEMORY_BYTES_MIN",
            "messages over ofi: copied through its buffers, or read and written where they lie",
            Metric::Latency,
            sizes(12, 20),
            from(["copied through its buffers", "moved by the provider"]),
            &ofi,
        ),
    ]
}
