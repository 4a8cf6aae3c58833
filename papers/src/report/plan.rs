//! The measurements for the report: experiments of its own, and those of the other comparisons
//! under their full names.
//!
//! With `quick` there are fewer experiments, variants and points, never fewer jobs.

use super::noise;
use crate::{bulk, polling, rc, threshold, ud};
use clap::ValueEnum;
use verbena_lab::experiment::goal;
use verbena_lab::experiment::variant::{How, Place, Set, Variant, set};
use verbena_lab::experiment::{Experiment, points};
use verbena_lab::metric::{Metric, Point};

/// A part of the report that is measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Section {
    /// The simulator, and what is counted
    Sim,
    /// This machine's shared memory
    Node,
    /// Between nodes: datagrams, start-up and memory first (paper 4)
    Ud,
    /// Between nodes: connections (papers 1 and 2)
    Rc,
    /// Between nodes: long messages (paper 5)
    Bulk,
    /// Between nodes with two rails and limited wires (paper 5)
    Rails,
    /// Between nodes: the bare device (papers 1 and 2)
    Verbs,
    /// Between nodes: polling (paper 3)
    Polling,
    /// Strengths of each channel (paper 3)
    Threshold,
    /// The parts of a message's time
    Trace,
    /// The NAS programs of --npb, between nodes
    Npb,
    /// The solver SMG of --hypre, between nodes
    Smg,
}

impl Section {
    /// Returns the share of the time, relative to the others: by the time it took between emulated
    /// nodes.
    pub(super) fn weight(self) -> u32 {
        match self {
            Section::Sim | Section::Trace | Section::Smg | Section::Rails | Section::Verbs => 1,
            Section::Node | Section::Polling | Section::Bulk | Section::Npb | Section::Threshold => 2,
            Section::Ud => 4,
            Section::Rc => 12,
        }
    }
}

/// The number of ranks, between nodes, where all take part. The machine that emulates the nodes
/// does not have this many processors.
const RANKS: usize = 4;
/// The numbers of ranks, on this node, where all take part.
const NODE_RANKS: [usize; 3] = [2, 4, 8];
/// Bytes of a rank's main array in the kernels.
pub(super) const SHARE: usize = 64 << 10;
const KERNELS: [Metric; 8] = [
    Metric::KernelIs,
    Metric::KernelMg,
    Metric::KernelLu,
    Metric::KernelCg,
    Metric::KernelFt,
    Metric::KernelSp,
    Metric::KernelBt,
    Metric::KernelSmg,
];
/// The kernels whose messages pass the paper's threshold of 2 KiB with arrays of [`SHARE`]: LU's
/// have 320 B at most, SMG's 2 KiB.
const LARGE_KERNELS: [Metric; 6] = [
    Metric::KernelIs,
    Metric::KernelMg,
    Metric::KernelCg,
    Metric::KernelFt,
    Metric::KernelSp,
    Metric::KernelBt,
];

/// The experiments of a section, in the order of their weight: time may be up before the last one.
pub(super) fn experiments(section: Section, quick: bool) -> Vec<Experiment> {
    match section {
        Section::Sim | Section::Trace | Section::Npb | Section::Smg | Section::Verbs => Vec::new(),
        Section::Node => node_experiments(quick),
        Section::Ud => datagrams(quick),
        Section::Rc => connections(quick),
        Section::Bulk => bulks(quick),
        Section::Rails => rails(quick),
        Section::Polling => schemes(quick),
        Section::Threshold => thresholds(quick),
    }
}

/// The experiment with a variant measured twice: the first one of ours.
pub(super) fn twinned(experiment: Experiment) -> Experiment {
    let first = experiment.variants.iter().find(|variant| matches!(variant.how, How::Ours(..)));
    let twin = first.map(|first| Variant { name: noise::again(&first.name), at: None, ..first.clone() });
    let variants = experiment.variants.iter().cloned().chain(twin).collect();
    Experiment { variants, ..experiment }
}

/// The experiment with these variants and sizes only; all, where none is named.
fn fewer(experiment: Experiment, variants: &[&str], sizes: &[usize]) -> Experiment {
    let mut less = experiment;
    less.variants.retain(|variant| variants.is_empty() || variants.contains(&variant.name.as_str()));
    less.points.retain(|point| sizes.is_empty() || sizes.contains(&point.bytes));
    less
}

fn experiment(
    name: &'static str,
    title: &'static str,
    points: Vec<Point>,
    variants: Vec<Variant>,
) -> Experiment {
    Experiment { name, title, ranks: vec![2], window: 16, points, variants, axis: None, goals: goal::none }
}

fn of_kernels(kernels: &[Metric]) -> Vec<Point> {
    kernels.iter().map(|metric| Point { metric: *metric, bytes: SHARE }).collect()
}

fn node(name: &str, settings: Vec<Set>) -> Variant {
    Variant::ours(name, Place::Node, settings)
}

fn node_experiments(quick: bool) -> Vec<Experiment> {
    if quick {
        return vec![fewer(pair(), &[], &[8, 1 << 10, 64 << 10, 1 << 20]), startup(&[8])];
    }
    vec![pair(), startup(&[2, 4, 8, 16]), node_collectives()]
}

fn pair() -> Experiment {
    let sizes: Vec<usize> = (3..=22).step_by(1).map(|power| 1 << power).collect();
    let all = [points(Metric::Latency, &sizes), points(Metric::Bandwidth, &sizes[4..])].concat();
    experiment("node pair", "Two ranks of a node", all, vec![node("Verbena", Vec::new())])
}

fn collective_points() -> Vec<Point> {
    let sizes = [8, 1 << 10];
    [points(Metric::Barrier, &[0]), points(Metric::Allreduce, &sizes), points(Metric::Bcast, &sizes)].concat()
}

fn node_collectives() -> Experiment {
    let variants = vec![node("boards", Vec::new()), node("messages", vec![set("BOARDS", 0)])];
    let all = experiment("node collectives", "Collectives on a node", collective_points(), variants);
    Experiment { ranks: NODE_RANKS.to_vec(), ..all }
}

fn startup(ranks: &[usize]) -> Experiment {
    let all = experiment(
        "node startup",
        "mpiexec of a job that only meets",
        points(Metric::Startup, &[0]),
        vec![node("Verbena", Vec::new())],
    );
    Experiment { ranks: ranks.to_vec(), ..all }
}

fn connections(quick: bool) -> Vec<Experiment> {
    use rc::experiments::Name;
    let named = |name, of: Name| Experiment { name, ..of.experiment() };
    let mut kernels = rc_kernels();
    let mut collectives = rc_collectives();
    if !quick {
        return vec![
            named("rc latency", Name::Latency),
            named("rc small", Name::Small),
            ladder(),
            rc_large(),
            kernels,
            collectives,
            rc_eager(),
            rc_long(),
            named("rc direction", Name::Direction),
            named("rc chunks", Name::Chunks),
            notify(),
            named("rc slots", Name::Slots),
            named("rc set", Name::Set),
            named("rc pipe", Name::Pipe),
            named("rc pipe-kernels", Name::PipeKernels),
        ];
    }
    let few = [Metric::KernelIs, Metric::KernelCg];
    kernels.points.retain(|point| few.contains(&point.metric));
    let mut large = rc_large();
    large.points.retain(|point| few.contains(&point.metric));
    collectives.ranks = vec![RANKS];
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
fn designs() -> Vec<Variant> {
    vec![
        rc::variants::ours("RDMA eager", &[]),
        rc::variants::ours("send/receive", &[rc::experiments::NO_RINGS]),
    ]
}

/// The three designs of paper 2 for long messages, from its threshold of 2 KiB on.
fn large_designs() -> Vec<Variant> {
    let of = |(name, large)| {
        let settings =
            [&rc::experiments::RING[..], &[("LARGE", large), ("RC_EAGER_BYTES_MAX", "2048")]].concat();
        rc::variants::ours(name, &settings)
    };
    [("pipeline", "pipeline"), ("zero-copy read", "read"), ("zero-copy write", "write")].map(of).to_vec()
}

/// The designs of papers 1 and 2 for programs of others, with a twin.
pub(super) fn programs_designs() -> Vec<Variant> {
    with_twin(designs().into_iter().chain(large_designs()).collect())
}

/// The designs of paper 4 for programs of others, with a twin.
pub(super) fn scale_designs() -> Vec<Variant> {
    with_twin(ud::experiments::channels())
}

fn with_twin(mut variants: Vec<Variant>) -> Vec<Variant> {
    let first = variants[0].clone();
    variants.push(Variant { name: noise::again(&first.name), ..first });
    variants
}

fn rc_collectives() -> Experiment {
    let all = experiment(
        "rc collectives",
        "Collectives over rc alone (paper 1, figures 17 to 19)",
        collective_points(),
        designs(),
    );
    Experiment { ranks: vec![2, RANKS], ..all }
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

fn schemes(quick: bool) -> Vec<Experiment> {
    use polling::experiments::Name;
    let ratios = Experiment { name: "polling ratios", ..Name::Ratios.experiment() };
    let discovery = Experiment { name: "polling discovery", ..Name::Discovery.experiment() };
    let history = Experiment { name: "polling history", ..Name::History.experiment() };
    match quick {
        true => vec![
            fewer(ratios, &["all", "50:1", "1000:1"], &[]),
            fewer(discovery, &["all", "update every 1", "update every 10"], &[100, 200]),
        ],
        false => vec![ratios, discovery, history],
    }
}

/// The channels of a node apart from those between nodes: the noise is another.
fn thresholds(quick: bool) -> Vec<Experiment> {
    let sizes: &[usize] = match quick {
        true => &[1 << 10, 64 << 10, 1 << 20],
        false => &[64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20],
    };
    let sizes = threshold::ways::sizes(sizes);
    let near = of_place(Experiment { name: "threshold node", ..sizes.clone() }, true);
    if quick {
        return vec![near];
    }
    let overlap = threshold::ways::overlap();
    vec![
        near,
        of_place(Experiment { name: "threshold network", ..sizes }, false),
        of_place(Experiment { name: "threshold overlap node", ..overlap.clone() }, true),
        of_place(Experiment { name: "threshold overlap", ..overlap }, false),
    ]
}

fn of_place(mut experiment: Experiment, on_node: bool) -> Experiment {
    experiment.variants.retain(|variant| variant.is_local() == on_node);
    experiment
}

fn datagrams(quick: bool) -> Vec<Experiment> {
    use ud::experiments::Name;
    let ranks: &[usize] = if quick { &[8] } else { &[2, 4, 8, 16] };
    let named = |name, of: Name, ranks: &[usize]| Experiment { name, ..of.experiment(ranks) };
    let mut everyone = named("ud everyone", Name::Everyone, ranks);
    let senders = named("ud senders", Name::Senders, ranks);
    let latency = named("ud latency", Name::Latency, ranks);
    let bandwidth = named("ud bandwidth", Name::Bandwidth, ranks);
    let multigrid = named("ud multigrid", Name::Multigrid, &[RANKS]);
    if !quick {
        return vec![everyone, senders, latency, bandwidth, multigrid, drop_at_2_kib()];
    }
    everyone.points.retain(|point| point.metric != Metric::Startup);
    let ours = ["ud", "ud unreliable", "ud DR", "rc SRQ", "rc no SRQ"];
    vec![
        fewer(everyone, &ours, &[]),
        fewer(senders, &["1 pairs", "4 pairs"], &[64 << 10]),
        fewer(latency, &ours, &[8, 2 << 10, 4 << 10]),
        fewer(bandwidth, &["ud", "ud DR"], &[1 << 20]),
        drop_at_2_kib(),
    ]
}

/// Returns datagrams whose messages of 2 KiB go by rendezvous, as in paper 4 (5.2.1), beside ours.
fn drop_at_2_kib() -> Experiment {
    let ud = |more: Option<Set>| std::iter::once(set("CHANNELS", "ud")).chain(more).collect();
    let variants = vec![
        Variant::ours("ud", Place::Nodes, ud(None)),
        Variant::ours("ud from 2 KiB", Place::Nodes, ud(Some(set("UD_EAGER_BYTES_MAX", (2 << 10) - 1)))),
    ];
    let title = "The drop where messages begin to go by rendezvous (paper 4, figure 4)";
    experiment("ud drop", title, points(Metric::Bandwidth, &[1 << 10, 2 << 10, 64 << 10]), variants)
}

fn bulks(quick: bool) -> Vec<Experiment> {
    use bulk::experiments::Name;
    let named = |name, of: Name| Experiment { name, ..of.experiment() };
    let ping_pong = named("bulk ping-pong", Name::PingPong);
    let arrays = named("bulk arrays", Name::Arrays);
    if quick {
        return vec![fewer(ping_pong, &[], &[16 << 10, 1 << 20]), fewer(arrays, &[], &[1 << 20])];
    }
    vec![ping_pong, arrays, named("bulk multi", Name::Multi)]
}

fn rails(quick: bool) -> Vec<Experiment> {
    let rails = Experiment { name: "bulk rails", ..bulk::experiments::Name::Rails.experiment() };
    vec![if quick { fewer(rails, &[], &[1 << 20]) } else { rails }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::inventory::{self, To};
    use std::collections::BTreeSet;
    use verbena_lab::experiment::check_settings;

    fn names() -> BTreeSet<&'static str> {
        let all = Section::value_variants().iter().flat_map(|section| experiments(*section, false));
        all.map(|experiment| experiment.name).collect()
    }

    #[test]
    fn every_setting_exists_and_takes_its_value() {
        for section in Section::value_variants() {
            experiments(*section, true).iter().for_each(check_settings);
        }
    }

    #[test]
    fn every_experiment_measures_a_variant_twice_at_every_point() {
        for quick in [false, true] {
            for experiment in
                Section::value_variants().iter().flat_map(|section| experiments(*section, quick))
            {
                let own = experiment.variants.len();
                let twinned = twinned(experiment);
                assert_eq!(twinned.variants.len(), own + 1, "{}", twinned.name);
                let twin = &twinned.variants[own];
                let name = noise::twin_of(&twin.name).expect("a twin's name");
                let first =
                    twinned.variants.iter().find(|variant| variant.name == name).expect("its variant");
                let (How::Ours(_, one), How::Ours(_, other)) = (&first.how, &twin.how) else {
                    panic!("ours")
                };
                assert_eq!(one, other);
            }
        }
        for designs in [programs_designs(), scale_designs()] {
            assert!(designs.iter().any(|design| noise::twin_of(&design.name).is_some()));
        }
    }

    #[test]
    fn a_quick_run_has_fewer_rows() {
        let count = |quick| -> usize {
            let all = Section::value_variants().iter().flat_map(|section| experiments(*section, quick));
            all.map(|experiment| experiment.points.len() * experiment.variants.len()).sum()
        };
        assert!(count(true) * 2 < count(false), "{} of {}", count(true), count(false));
    }

    /// A claim that names a variant or a point which is never measured would always be "not
    /// measured".
    #[test]
    fn whatever_the_inventory_looks_at_is_planned() {
        let all: Vec<Experiment> =
            Section::value_variants().iter().flat_map(|section| experiments(*section, false)).collect();
        let names = names();
        for item in inventory::all() {
            for seen in item.claims.iter().flat_map(|claim| &claim.seen) {
                let to = if let Some(To::Ours(to)) = seen.to { Some(to) } else { None };
                let also = seen.also.iter().flat_map(|(of, to)| [*of, *to]);
                let picks = std::iter::once(seen.of).chain(to).chain(also);
                for pick in picks.filter(|pick| names.contains(pick.experiment)) {
                    let experiment =
                        all.iter().find(|experiment| experiment.name == pick.experiment).expect("planned");
                    let variant = experiment.variants.iter().any(|variant| variant.name == pick.series);
                    let point = experiment
                        .points
                        .iter()
                        .any(|point| point.metric.name() == pick.metric && pick.takes(point.bytes));
                    assert!(variant && point, "paper {}, {}: {pick:?}", item.paper, item.place);
                }
            }
        }
    }

    #[test]
    fn what_is_no_experiment_of_the_plan_has_another_source() {
        for item in inventory::all() {
            for seen in item.claims.iter().flat_map(|claim| &claim.seen) {
                let name = seen.of.experiment;
                let other = [
                    "sim ",
                    "npb",
                    "smg",
                    "counted ",
                    "verbs ",
                    "node floor",
                    "node trace",
                    "rc trace",
                    "node polling set",
                ];
                let known = names().contains(name) || other.iter().any(|other| name.starts_with(other));
                assert!(known, "paper {}, {}: {name}", item.paper, item.place);
            }
        }
    }
}
