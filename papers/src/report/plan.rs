//! The measurements for the report: experiments of its own, and those of the other comparisons
//! under their full names.

use crate::{bulk, polling, rc, threshold, ud};
use clap::ValueEnum;
use verbena_lab::experiment::goal;
use verbena_lab::experiment::variant::{Place, Set, Variant, set};
use verbena_lab::experiment::{Experiment, points};
use verbena_lab::metric::{Metric, Point};

/// A part of the report that is measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Section {
    /// The simulator, and what is counted
    Sim,
    /// This machine's shared memory
    Node,
    /// The parts of a message's time
    Trace,
    /// The NAS programs of --npb
    Npb,
    /// Between nodes: connections (papers 1 and 2)
    Rc,
    /// Between nodes: polling (paper 3)
    Polling,
    /// Strengths of each channel (paper 3)
    Threshold,
    /// Between nodes: datagrams (paper 4)
    Ud,
    /// Between nodes: long messages (paper 5)
    Bulk,
}

impl Section {
    /// Returns the share of the time, relative to the others: by the time it took between emulated
    /// nodes.
    pub(super) fn weight(self) -> u32 {
        match self {
            Section::Sim | Section::Trace | Section::Npb => 1,
            Section::Node | Section::Polling | Section::Bulk => 2,
            Section::Threshold | Section::Ud => 3,
            Section::Rc => 6,
        }
    }
}

/// The number of ranks, between nodes, where all take part. The machine that emulates the nodes
/// does not have this many processors.
const RANKS: usize = 4;
/// The numbers of ranks, on this node, where all take part.
const NODE_RANKS: [usize; 3] = [2, 4, 8];
/// Bytes of a rank's main array in the kernels.
const SHARE: usize = 64 << 10;
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

/// The experiments of a section, in the order of their weight: time may be up before the last one.
pub(super) fn experiments(section: Section, quick: bool) -> Vec<Experiment> {
    match section {
        Section::Sim | Section::Trace | Section::Npb => Vec::new(),
        Section::Node => vec![pair(), eager(), node_collectives(), node_kernels(quick), startup()],
        Section::Rc => connections(quick),
        Section::Polling => vec![
            Experiment { name: "polling ratios", ..polling::experiments::Name::Ratios.experiment() },
            Experiment { name: "polling discovery", ..polling::experiments::Name::Discovery.experiment() },
        ],
        Section::Threshold => {
            let sizes: &[usize] = &[64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
            vec![
                Experiment { name: "threshold sizes", ..threshold::ways::sizes(sizes) },
                Experiment { name: "threshold overlap", ..threshold::ways::overlap() },
            ]
        }
        Section::Ud => datagrams(quick),
        Section::Bulk => bulks(),
    }
}

fn experiment(
    name: &'static str,
    title: &'static str,
    points: Vec<Point>,
    variants: Vec<Variant>,
) -> Experiment {
    Experiment { name, title, ranks: vec![2], window: 16, points, variants, axis: None, goals: goal::none }
}

fn node(name: &str, settings: Vec<Set>) -> Variant {
    Variant::ours(name, Place::Node, settings)
}

fn pair() -> Experiment {
    let sizes: Vec<usize> = (3..=22).step_by(1).map(|power| 1 << power).collect();
    let all = [points(Metric::Latency, &sizes), points(Metric::Bandwidth, &sizes[4..])].concat();
    experiment("node pair", "Two ranks of a node", all, vec![node("Verbena", Vec::new())])
}

/// Between ranks of a node the eager limit is the engine's own.
fn eager() -> Experiment {
    let of = |(name, bytes): (&str, usize)| node(name, vec![set("EAGER_BYTES_MAX", bytes)]);
    let limits = [("2 KiB", 2 << 10), ("8 KiB", 8 << 10), ("13 KiB", 13 << 10), ("32 KiB", 32 << 10)];
    let sizes: Vec<usize> = (9..=16).map(|power| 1 << power).collect();
    experiment(
        "node eager",
        "Eager limits between ranks of a node",
        points(Metric::Latency, &sizes),
        limits.map(of).to_vec(),
    )
}

fn collective_points() -> Vec<Point> {
    let sizes = [8, 64, 1 << 10, 16 << 10];
    [points(Metric::Barrier, &[0]), points(Metric::Allreduce, &sizes), points(Metric::Bcast, &sizes)].concat()
}

fn node_collectives() -> Experiment {
    let variants = vec![node("boards", Vec::new()), node("messages", vec![set("BOARDS", 0)])];
    let all = experiment("node collectives", "Collectives on a node", collective_points(), variants);
    Experiment { ranks: NODE_RANKS.to_vec(), ..all }
}

fn node_kernels(quick: bool) -> Experiment {
    let variants = vec![node("two copies", vec![set("CMA", 0)]), node("one copy", Vec::new())];
    let sizes: &[usize] = if quick { &[SHARE] } else { &[8 << 10, SHARE, 512 << 10] };
    let all = KERNELS.iter().flat_map(|metric| points(*metric, sizes)).collect();
    Experiment { ranks: vec![2, 4, 8], ..experiment("node kernels", "Kernels on a node", all, variants) }
}

fn startup() -> Experiment {
    let all = experiment(
        "node startup",
        "mpiexec of a job that only meets",
        points(Metric::Startup, &[0]),
        vec![node("Verbena", Vec::new())],
    );
    Experiment { ranks: vec![2, 4, 8, 16], ..all }
}

fn connections(quick: bool) -> Vec<Experiment> {
    use rc::experiments::Name;
    let named = |name, of: Name| Experiment { name, ..of.experiment() };
    let mut all = vec![
        named("rc latency", Name::Latency),
        named("rc small", Name::Small),
        named("rc ladder", Name::Ladder),
        named("rc direction", Name::Direction),
        rc_collectives(),
        rc_kernels(),
        notify(),
        named("rc chunks", Name::Chunks),
    ];
    let mut slots = named("rc slots", Name::Slots);
    if quick {
        slots.variants.retain(|variant| variant.name == "5 slots" || variant.name == "100 slots");
    }
    all.push(slots);
    all
}

fn over_rc(name: &str, settings: &[(&str, &str)]) -> Variant {
    let settings = settings.iter().map(|(name, value)| set(name, value));
    Variant::ours(name, Place::Nodes, std::iter::once(set("CHANNELS", "rc")).chain(settings).collect())
}

fn designs() -> Vec<Variant> {
    vec![over_rc("RDMA eager", &[]), over_rc("send/receive", &[("RC_POLL_POLICY", "none")])]
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

/// Returns the kernels with papers 1 and 2's designs, and datagrams.
fn rc_kernels() -> Experiment {
    let more = [
        over_rc("pipeline", &[("LARGE", "pipeline")]),
        over_rc("zero-copy read", &[("LARGE", "read")]),
        over_rc("zero-copy write", &[("LARGE", "write")]),
        Variant::ours("ud", Place::Nodes, vec![set("CHANNELS", "ud")]),
    ];
    let variants = designs().into_iter().chain(more).collect();
    let all = KERNELS.iter().map(|metric| Point { metric: *metric, bytes: SHARE }).collect();
    let title =
        "Kernels over rc alone (paper 1, figures 20 and 21; paper 2, figures 16 and 17; paper 4, figure 8)";
    Experiment { ranks: vec![RANKS], ..experiment("rc kernels", title, all, variants) }
}

fn notify() -> Experiment {
    let variants = vec![over_rc("basic", &[("RC_NOTIFY", "pointer")]), over_rc("piggyback", &[])];
    let title = "Bandwidth of small messages by how a packet is noticed (paper 2, figure 7)";
    let all = points(Metric::Bandwidth, &[8, 64, 256, 1 << 10]);
    Experiment { window: 100, ..experiment("rc notify", title, all, variants) }
}

fn datagrams(quick: bool) -> Vec<Experiment> {
    use ud::experiments::Name;
    let ranks: &[usize] = if quick { &[2, 4, 8] } else { &[2, 4, 8, 16] };
    let named = |name, of: Name, ranks: &[usize]| Experiment { name, ..of.experiment(ranks) };
    vec![
        named("ud latency", Name::Latency, ranks),
        named("ud bandwidth", Name::Bandwidth, ranks),
        named("ud senders", Name::Senders, ranks),
        named("ud everyone", Name::Everyone, ranks),
        named("ud multigrid", Name::Multigrid, &[RANKS]),
    ]
}

fn bulks() -> Vec<Experiment> {
    use bulk::experiments::Name;
    let named = |name, of: Name| Experiment { name, ..of.experiment() };
    vec![named("bulk ping-pong", Name::PingPong), named("bulk multi", Name::Multi)]
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
                for pick in std::iter::once(seen.of).chain(to).filter(|pick| names.contains(pick.experiment))
                {
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
                let other = ["sim ", "npb", "node floor", "node trace", "rc trace", "node polling set"];
                let known = names().contains(name) || other.iter().any(|other| name.starts_with(other));
                assert!(known, "paper {}, {}: {name}", item.paper, item.place);
            }
        }
    }
}
