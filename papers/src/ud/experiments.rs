//! The experiments: which figure of paper 4 compares what with what, at which points.

use crate::peers;
use clap::ValueEnum;
use verbena_lab::experiment::axis::Axis;
use verbena_lab::experiment::goal::{Bound, Goal};
use verbena_lab::experiment::variant::{Place, Set, UcxTransport, Variant, set};
use verbena_lab::experiment::verb::Verb;
use verbena_lab::experiment::{Experiment, Measured, goal, points};
use verbena_lab::metric::{Metric, Point};

/// The experiment to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Everyone speaks to everyone: start-up, time and memory
    Everyone,
    /// With and without reliability and checksums against connections: latency
    Latency,
    /// With and without reliability and checksums against connections: bandwidth
    Bandwidth,
    /// 1, 2, 4 and 8 queue pairs for sending
    Senders,
    /// Many small messages to many ranks, in the manner of SMG2000
    Multigrid,
    /// Our library against MPICH and Open MPI over UCX by datagrams, each rank on a device of its
    /// own
    Peers,
}

const SENDERS: Axis = Axis { name: "queue pairs for sending", label: |pairs| pairs.to_string() };

impl Name {
    /// Returns the experiment of that name; where all ranks take part, with these numbers of ranks.
    pub(crate) fn experiment(self, ranks: &[usize]) -> Experiment {
        match self {
            Name::Everyone => everyone(ranks),
            Name::Latency => latency(),
            Name::Bandwidth => bandwidth(),
            Name::Senders => senders(),
            Name::Multigrid => multigrid(ranks),
            Name::Peers => {
                let title = "Datagrams against MPICH and Open MPI over UCX ud_verbs, each rank on a device of its own";
                peers::against(title, "ud", UcxTransport::Ud)
            }
        }
    }
}

fn ours(name: &str, channels: &str, settings: &[(&str, &str)]) -> Variant {
    let settings = settings.iter().map(|(name, value)| set(name, value));
    let all: Vec<Set> = std::iter::once(set("CHANNELS", channels)).chain(settings).collect();
    Variant::ours(name, Place::Nodes, all)
}

/// Datagrams and connections. The paper's connections have no rings ("eager RDMA was disabled",
/// 5.2.1), as ours with many ranks.
pub(crate) fn channels() -> Vec<Variant> {
    let no_rings = ("RC_POLL_POLICY", "none");
    vec![
        ours("ud", "ud", &[]),
        ours("rc SRQ", "rc", &[no_rings]),
        ours("rc no SRQ", "rc", &[no_rings, ("RC_SHARED_RECEIVES", "0")]),
        ours("rc rings", "rc", &[]),
    ]
}

/// Returns the same variants, with the cost of reliability, and the bare device by datagrams and by
/// connection. The paper's OB1 over datagrams is not reliable; its DR (5.2.1) is, and compares
/// checksums from memory to memory besides (3.1).
fn by_size() -> Vec<Variant> {
    let mut variants = channels();
    variants.insert(1, ours("ud unreliable", "ud", &[("UD_RELIABLE", "0")]).unreliable());
    variants.insert(1, ours("ud DR", "ud", &[("UD_CHECKSUM", "1")]));
    variants.extend([Variant::device(Verb::Datagram), Variant::device(Verb::Send)]);
    variants
}

fn latency() -> Experiment {
    Experiment {
        name: "latency",
        title: "Latency by datagrams and by connection (paper 4, figure 3)",
        ranks: vec![2],
        window: 1,
        points: points(Metric::Latency, &[8, 64, 256, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 64 << 10]),
        variants: by_size(),
        axis: None,
        goals: goal::none,
    }
}

fn bandwidth() -> Experiment {
    Experiment {
        name: "bandwidth",
        title: "Bandwidth by datagrams and by connection (paper 4, figure 4)",
        ranks: vec![2],
        window: 16,
        points: points(Metric::Bandwidth, &[1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20]),
        variants: by_size(),
        axis: None,
        goals: goal::none,
    }
}

fn senders() -> Experiment {
    let of =
        |pairs: usize| ours(&format!("{pairs} pairs"), "ud", &[("UD_SENDERS", &pairs.to_string())]).at(pairs);
    Experiment {
        name: "senders",
        title: "Datagrams by the queue pairs that send in turn (paper 4, figure 2)",
        ranks: vec![2],
        window: 16,
        points: [
            points(Metric::Latency, &[8]),
            points(Metric::Bandwidth, &[1 << 10, 4 << 10, 64 << 10, 1 << 20]),
        ]
        .concat(),
        variants: [1, 2, 4, 8].map(of).to_vec(),
        axis: Some(SENDERS),
        goals: goal::none,
    }
}

const CONNECT: Point = Point { metric: Metric::Connect, bytes: 0 };
const PROCESSOR: Point = Point { metric: Metric::ConnectProcessor, bytes: 0 };
const MEMORY: Point = Point { metric: Metric::ConnectMemory, bytes: 0 };
const STARTUP: Point = Point { metric: Metric::Startup, bytes: 0 };

fn everyone(ranks: &[usize]) -> Experiment {
    Experiment {
        name: "everyone",
        title: "Everyone speaks to everyone for the first time (paper 4, figures 5 and 6)",
        ranks: ranks.to_vec(),
        window: 1,
        points: vec![CONNECT, PROCESSOR, MEMORY, STARTUP],
        variants: channels(),
        axis: None,
        goals: |measured| {
            let Some(&most) = measured.experiment.ranks.iter().max() else { return Vec::new() };
            // With few ranks the pools of datagrams are all that counts of the memory: no goal.
            vec![against_connections(measured, CONNECT, most, &["ud"])]
        },
    }
}

fn multigrid(ranks: &[usize]) -> Experiment {
    let both = ours("rc and ud", "rc,ud", &[]);
    Experiment {
        name: "multigrid",
        title: "A semicoarsening multigrid cycle: many small messages to many ranks (paper 4, 5.3.2)",
        ranks: ranks.to_vec(),
        window: 1,
        points: points(Metric::KernelSmg, &[256, 2 << 10]),
        variants: channels().into_iter().chain([both]).collect(),
        axis: None,
        goals: |measured| {
            let Some(&most) = measured.experiment.ranks.iter().max() else { return Vec::new() };
            let goal = |&point: &Point| against_connections(measured, point, most, &["ud", "rc and ud"]);
            measured.experiment.points.iter().map(goal).collect()
        },
    }
}

/// The best of some variants is no worse than the best of connections alone.
fn against_connections(measured: &Measured, point: Point, ranks: usize, variants: &[&str]) -> Goal {
    let best = |names: &[&str]| {
        names.iter().filter_map(|name| measured.value_of(name, point, ranks)).reduce(f64::min)
    };
    let ratio =
        best(variants).zip(best(&["rc SRQ", "rc no SRQ", "rc rings"])).map(|(one, other)| one / other);
    let what = format!("{point} with {ranks} ranks, {} to the best of rc", variants.join(" or "));
    Goal::new(what, ratio, Bound::AtMost(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_lab::experiment::check_settings;

    #[test]
    fn every_setting_exists_and_takes_its_value() {
        Name::value_variants().iter().for_each(|name| check_settings(&name.experiment(&[2])));
    }
}
