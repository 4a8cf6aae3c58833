//! The measurements for the report: experiments of its own, and those of the other comparisons
//! under their full names.
//!
//! With `quick` there are fewer experiments, variants and points, never fewer jobs.

use super::noise;
use crate::{bulk, threshold, ud};
use clap::ValueEnum;
use verbena_lab::experiment::goal;
use verbena_lab::experiment::variant::{How, Place, Set, Variant, set};
use verbena_lab::experiment::{Experiment, points};
use verbena_lab::metric::{Metric, Point};

mod connections;
mod schemes;

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
    /// Between networks of this machine, over the channel ofi: polling (paper 3)
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
            Section::Sim | Section::Trace | Section::Rails => 1,
            Section::Polling | Section::Bulk => 2,
            Section::Node | Section::Verbs | Section::Smg => 3,
            Section::Threshold => 4,
            Section::Ud | Section::Npb => 8,
            Section::Rc => 14,
        }
    }
}

/// The number of ranks, between nodes, where all take part. The machine that emulates the nodes
/// does not have this many processors.
const RANKS: usize = 4;
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
/// The experiments of a section, in the order of their weight: time may be up before the last one.
pub(super) fn experiments(section: Section, quick: bool) -> Vec<Experiment> {
    match section {
        Section::Sim | Section::Trace | Section::Npb | Section::Smg | Section::Verbs => Vec::new(),
        Section::Node => node_experiments(quick),
        Section::Ud => datagrams(quick),
        Section::Rc => connections::experiments(quick),
        Section::Bulk => bulks(quick),
        Section::Rails => rails(quick),
        Section::Polling => schemes::experiments(quick),
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
    let sizes: Vec<usize> = (3..=22).step_by(2).map(|power| 1 << power).chain([4 << 20]).collect();
    vec![fewer(pair(), &[], &sizes), startup(&[2, 4, 8, 16])]
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

fn startup(ranks: &[usize]) -> Experiment {
    let all = experiment(
        "node startup",
        "mpiexec of a job that only meets",
        points(Metric::Startup, &[0]),
        vec![node("Verbena", Vec::new())],
    );
    Experiment { ranks: ranks.to_vec(), ..all }
}

/// The designs of papers 1 and 2 for programs of others, with a twin.
pub(super) fn programs_designs() -> Vec<Variant> {
    with_twin(connections::designs().into_iter().chain(connections::large_designs()).collect())
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

/// The channels of a node apart from those between nodes: the noise is another.
fn thresholds(quick: bool) -> Vec<Experiment> {
    let sizes: &[usize] = match quick {
        true => &[1 << 10, 64 << 10, 1 << 20],
        false => &[1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20],
    };
    let sizes = threshold::ways::sizes(sizes);
    let near = of_place(Experiment { name: "threshold node", ..sizes.clone() }, true);
    if quick {
        return vec![near];
    }
    let far = of_place(Experiment { name: "threshold network", ..sizes }, false);
    let overlap = threshold::ways::overlap();
    let beside_near = of_place(Experiment { name: "threshold overlap node", ..overlap.clone() }, true);
    let beside_far = of_place(Experiment { name: "threshold overlap", ..overlap }, false);
    let of_interest = ["rc read", "rc write", "rc write + thread", "rc stream", "rc stream + thread"];
    vec![
        near,
        fewer(far, &["rc read", "rc write", "ud"], &[1 << 10, 64 << 10, 1 << 20]),
        fewer(beside_near, &["shm", "cma", "cma by both"], &[]),
        fewer(beside_far, &of_interest, &[]),
    ]
}

fn of_place(mut experiment: Experiment, on_node: bool) -> Experiment {
    experiment.variants.retain(|variant| variant.is_local() == on_node);
    experiment
}

fn datagrams(quick: bool) -> Vec<Experiment> {
    use ud::experiments::Name;
    let ranks: &[usize] = if quick { &[4, 8] } else { &[4, 8, 16] };
    let named = |name, of: Name, ranks: &[usize]| Experiment { name, ..of.experiment(ranks) };
    let mut everyone = named("ud everyone", Name::Everyone, ranks);
    let senders = named("ud senders", Name::Senders, ranks);
    let latency = named("ud latency", Name::Latency, ranks);
    let bandwidth = named("ud bandwidth", Name::Bandwidth, ranks);
    let multigrid = named("ud multigrid", Name::Multigrid, &[RANKS]);
    everyone.points.retain(|point| point.metric != Metric::Startup);
    let ours = ["ud", "ud unreliable", "ud DR", "rc SRQ", "rc no SRQ"];
    if !quick {
        let with_device = [&ours[..], &["ib_send UD"]].concat();
        let sizes = [1 << 10, 4 << 10, 64 << 10, 1 << 20];
        return vec![
            fewer(everyone, &ours, &[]),
            fewer(senders, &[], &sizes),
            fewer(latency, &with_device, &[8, 1 << 10, 4 << 10, 16 << 10]),
            fewer(bandwidth, &ours[..4], &sizes),
            fewer(multigrid, &[], &[2 << 10]),
            drop_at_2_kib(),
        ];
    }
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
    let sizes = [1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
    let copying_or_not = ["eager 64 KiB", "eager 64 KiB + bulk"];
    vec![
        fewer(ping_pong, &[], &sizes),
        fewer(arrays, &[], &[150 << 10, 1 << 20]),
        fewer(named("bulk multi", Name::Multi), &copying_or_not, &sizes[1..]),
    ]
}

fn rails(quick: bool) -> Vec<Experiment> {
    let rails = Experiment { name: "bulk rails", ..bulk::experiments::Name::Rails.experiment() };
    let sizes: &[usize] = if quick { &[1 << 20] } else { &[1 << 20, 4 << 20] };
    vec![fewer(rails, &[], sizes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::inventory::{self, Seen, To};
    use crate::report::pick::Pick;
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

    fn planned(quick: bool) -> Vec<Experiment> {
        Section::value_variants().iter().flat_map(|section| experiments(*section, quick)).collect()
    }

    /// Returns everything that a row looks at.
    fn picks(seen: &Seen) -> Vec<Pick> {
        let to = if let Some(To::Ours(to)) = seen.to { Some(to) } else { None };
        let also = seen.also.iter().flat_map(|(of, to)| [*of, *to]);
        std::iter::once(seen.of).chain(to).chain(also).collect()
    }

    /// Returns whether these experiments measure what a pick looks at.
    fn measure(all: &[Experiment], pick: &Pick) -> bool {
        all.iter().filter(|experiment| experiment.name == pick.experiment).any(|experiment| {
            let variant = experiment.variants.iter().any(|variant| variant.name == pick.series);
            let mut points = experiment.points.iter();
            let point = points.any(|point| point.metric.name() == pick.metric && pick.takes(point.bytes));
            variant && point && pick.ranks().is_none_or(|ranks| experiment.ranks.contains(&ranks))
        })
    }

    /// A claim that names a variant, a point or a number of ranks which is never measured would
    /// always be "not measured".
    #[test]
    fn whatever_the_inventory_looks_at_is_planned() {
        let (all, names) = (planned(false), names());
        for item in inventory::all() {
            for seen in item.claims.iter().flat_map(|claim| &claim.seen) {
                for pick in picks(seen).iter().filter(|pick| names.contains(pick.experiment)) {
                    assert!(measure(&all, pick), "paper {}, {}: {pick:?}", item.paper, item.place);
                }
            }
        }
    }

    /// The short form measures nothing for which it has no row.
    #[test]
    fn each_experiment_of_a_quick_run_has_a_row() {
        let (all, items) = (planned(true), inventory::all());
        let is_row = |seen: &&Seen| picks(seen).iter().all(|pick| measure(&all, pick));
        for experiment in &all {
            let mut seen = items.iter().flat_map(|item| &item.claims).flat_map(|claim| &claim.seen);
            let row = seen.find(|seen| seen.of.experiment == experiment.name && is_row(seen));
            assert!(row.is_some(), "{}", experiment.name);
        }
        let figure = items.iter().find(|item| (item.paper, item.place) == (4, "figure 5"));
        let mut judged = figure.expect("figure 5").claims.iter().filter(|claim| claim.claimed.is_some());
        assert!(judged.any(|claim| claim.seen.iter().any(|seen| is_row(&seen))), "start-up of paper 4");
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
