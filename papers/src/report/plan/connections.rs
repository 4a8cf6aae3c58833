//! The experiments over connections (papers 1 and 2), between nodes. In the full form an experiment
//! has the sizes and variants that some row compares, and few others: an hour has no room for more.

use super::{KERNELS, RANKS, collective_points, experiment, fewer, of_kernels};
use crate::rc;
use verbena_lab::experiment::variant::{How, Variant};
use verbena_lab::experiment::{Experiment, points};
use verbena_lab::metric::Metric;

/// The kernels whose messages pass the paper's threshold of 2 KiB with arrays of `SHARE`: LU's
/// have 320 B at most, SMG's 2 KiB.
const LARGE_KERNELS: [Metric; 6] = [
    Metric::KernelIs,
    Metric::KernelMg,
    Metric::KernelCg,
    Metric::KernelFt,
    Metric::KernelSp,
    Metric::KernelBt,
];

/// Returns the experiments, in the order of their weight.
pub(super) fn experiments(quick: bool) -> Vec<Experiment> {
    use rc::experiments::Name;
    let named = |name, of: Name| Experiment { name, ..of.experiment() };
    let mut kernels = rc_kernels();
    let collectives = rc_collectives();
    if !quick {
        kernels.points.retain(|point| point.metric != Metric::KernelSmg);
        let silent = ["none", "first, 2 places", "most, 2 places", "all, sequential", "all, circular"];
        let set = [&silent[..], &["all, priority"]].concat();
        let mut pipe = named("rc pipe", Name::Pipe);
        pipe.variants.retain(|variant| matches!(variant.how, How::Ours(..)));
        return vec![
            fewer(named("rc latency", Name::Latency), &[], &[8, 64, 1 << 10]),
            fewer(named("rc small", Name::Small), &["RDMA eager", "send/receive"], &[8, 256, 1 << 10]),
            ladder(),
            rc_large(),
            kernels,
            collectives,
            fewer(rc_eager(), &[], &[4 << 10, 12 << 10, 16 << 10]),
            fewer(rc_long(), &[], &[64 << 10]),
            fewer(pipe, &[], &[8, 64 << 10, 256 << 10, 1 << 20]),
            named("rc pipe-kernels", Name::PipeKernels),
            fewer(named("rc pipe-chunks", Name::PipeChunks), &[], &[64 << 10]),
            fewer(named("rc direction", Name::Direction), &[], &[32 << 10, 64 << 10, 128 << 10]),
            fewer(named("rc chunks", Name::Chunks), &[], &[64 << 10, 1 << 20]),
            notify(),
            fewer(named("rc slots", Name::Slots), &["5 slots", "20 slots", "100 slots"], &[]),
            fewer(named("rc set", Name::Set), &set, &[]),
        ];
    }
    let few = [Metric::KernelIs, Metric::KernelCg];
    kernels.points.retain(|point| few.contains(&point.metric));
    let mut large = rc_large();
    large.points.retain(|point| few.contains(&point.metric));
    let interfaces = ["pipe: zero-copy", "read after the match", "write after the match"];
    vec![
        fewer(named("rc latency", Name::Latency), &[], &[8]),
        fewer(named("rc small", Name::Small), &["RDMA eager", "send/receive"], &[8, 256]),
        fewer(ladder(), &[], &[8, 1 << 20]),
        large,
        kernels,
        fewer(collectives, &[], &[0, 8]),
        fewer(rc_eager(), &[], &[4 << 10, 16 << 10]),
        fewer(named("rc pipe", Name::Pipe), &interfaces, &[8, 64 << 10, 1 << 20]),
    ]
}

/// The ladder without the longest messages: a window of them takes a second between emulated nodes.
fn ladder() -> Experiment {
    let all = Experiment { name: "rc ladder", ..rc::experiments::Name::Ladder.experiment() };
    fewer(all, &[], &[8, 64 << 10, 256 << 10, 1 << 20])
}

/// The two designs of paper 1: the path is not learnt, so that each is what it is called.
pub(super) fn designs() -> Vec<Variant> {
    vec![
        rc::variants::ours("RDMA eager", &[]),
        rc::variants::ours("send/receive", &[rc::experiments::NO_RINGS]),
    ]
}

/// The three designs of paper 2 for long messages, from its threshold of 2 KiB on.
pub(super) fn large_designs() -> Vec<Variant> {
    let of = |(name, large)| {
        let settings =
            [&rc::experiments::RING[..], &[("LARGE", large), ("RC_EAGER_BYTES_MAX", "2048")]].concat();
        rc::variants::ours(name, &settings)
    };
    [("pipeline", "pipeline"), ("zero-copy read", "read"), ("zero-copy write", "write")].map(of).to_vec()
}

fn rc_collectives() -> Experiment {
    let all = experiment(
        "rc collectives",
        "Collectives over rc alone (paper 1, figures 17 to 19)",
        collective_points(),
        designs(),
    );
    Experiment { ranks: vec![RANKS], ..all }
}

/// Returns the kernels with the designs of paper 1.
fn rc_kernels() -> Experiment {
    let title = "Kernels over rc alone (paper 1, figures 20 and 21)";
    let all = experiment("rc kernels", title, of_kernels(&KERNELS), designs());
    Experiment { ranks: vec![RANKS], ..all }
}

/// Returns the kernels with the designs of paper 2, whose messages pass its threshold.
fn rc_large() -> Experiment {
    let title = "Kernels whose messages pass the threshold (paper 2, figures 16 and 17)";
    let all = experiment("rc large", title, of_kernels(&LARGE_KERNELS), large_designs());
    Experiment { ranks: vec![RANKS], ..all }
}

/// Returns thresholds between eager and rendezvous by write. Rings and buffers hold a message of
/// the largest threshold whatever the threshold is, so that nothing else differs.
fn rc_eager() -> Experiment {
    let of = |(name, bytes): (&str, usize)| {
        let bytes = bytes.to_string();
        let room =
            [("RC_SLOTS", "8"), ("RC_SLOT_BYTES", "33280"), ("RC_BUFFER_BYTES", "33280"), ("LARGE", "write")];
        let settings = [&room[..], &[("RC_EAGER_BYTES_MAX", bytes.as_str())]].concat();
        rc::variants::ours(name, &settings)
    };
    let limits = [("2 KiB", 2 << 10), ("8 KiB", 8 << 10), ("13 KiB", 13 << 10), ("32 KiB", 32 << 10)];
    let sizes = [1 << 10, 4 << 10, 8 << 10, 12 << 10, 16 << 10, 32 << 10];
    let title = "Latency by the threshold between eager and rendezvous (paper 1, figure 11)";
    let all = experiment("rc eager", title, points(Metric::Latency, &sizes), limits.map(of).to_vec());
    Experiment { window: 1, ..all }
}

/// Returns the designs of paper 1 with messages that go by rendezvous, whose control messages gain.
fn rc_long() -> Experiment {
    let sizes = [64 << 10, 1 << 20];
    let all = [points(Metric::Latency, &sizes), points(Metric::Bandwidth, &sizes)].concat();
    let title = "Long messages, whose control messages go either way (paper 1, figures 12 and 14)";
    experiment("rc long", title, all, designs())
}

fn notify() -> Experiment {
    let basic = rc::variants::ours("basic", &[("RC_NOTIFY", "pointer")]);
    let variants = vec![basic, rc::variants::ours("piggyback", &[])];
    let title = "Bandwidth of small messages by how a packet is noticed (paper 2, figure 7)";
    let all = points(Metric::Bandwidth, &[64, 1 << 10]);
    Experiment { window: 100, ..experiment("rc notify", title, all, variants) }
}
