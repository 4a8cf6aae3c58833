//! The experiments: which figure of papers 1 and 2 compares what with what, at which points.

use super::variants::{CHUNKS, ours};
use super::{goals, pipe_experiments};
use crate::peers;
use clap::ValueEnum;
use verbena_lab::experiment::axis::Axis;
use verbena_lab::experiment::variant::{UcxTransport, Variant};
use verbena_lab::experiment::verb::Verb;
use verbena_lab::experiment::{Experiment, goal, points};
use verbena_lab::metric::{Metric, Point};

/// The experiment to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// RDMA eager against send/receive: latency
    Latency,
    /// RDMA eager against send/receive: bandwidth of small messages, window 100
    Small,
    /// Paper 2's ladder: basic, piggyback, pipeline, zero-copy by read and by write
    Ladder,
    /// The pipeline by its chunks, 1 to 32 KiB
    Chunks,
    /// RDMA read against write, and the automatic choice
    Direction,
    /// Paper 2's RDMA Channel: its designs inside the pipe, against read and write after the match
    Pipe,
    /// The pipeline inside the pipe by its chunks, 1 to 32 KiB
    PipeChunks,
    /// Those designs by kernels whose messages pass the eager limit, on 4 ranks
    PipeKernels,
    /// 5 to 100 slots under the communication of IS, CG and MG
    Slots,
    /// The polling set: many peers of which few talk, by policy, size and order
    Set,
    /// Our library against MPICH and Open MPI over UCX, each rank on a device of its own
    Peers,
}

/// The settings that turn the rings off: no peer comes into the polling set.
pub(crate) const NO_RINGS: (&str, &str) = ("RC_POLL_POLICY", "none");
/// A ring of 128 KiB, which is our choice (paper 2's text has no number), in slots that hold one of
/// paper 2's chunks of 16 KiB each, and what goes with a chunk.
pub(crate) const RING: [(&str, &str); 3] =
    [("RC_SLOTS", "8"), ("RC_SLOT_BYTES", "16640"), ("CHUNK_BYTES", "16384")];

const SLOTS: Axis = Axis { name: "slots", label: |slots| slots.to_string() };

impl Name {
    /// The experiment of that name.
    pub(crate) fn experiment(self) -> Experiment {
        match self {
            Name::Latency => latency(),
            Name::Small => small(),
            Name::Ladder => ladder(),
            Name::Chunks => chunks(),
            Name::Direction => direction(),
            Name::Pipe => pipe_experiments::interfaces(),
            Name::PipeChunks => pipe_experiments::chunks(),
            Name::PipeKernels => pipe_experiments::kernels(),
            Name::Slots => slots(),
            Name::Set => polling_set(),
            Name::Peers => of_peers(),
        }
    }
}

fn eager_variants() -> Vec<Variant> {
    vec![
        ours("RDMA eager", &[]),
        ours("send/receive", &[NO_RINGS]),
        Variant::device(Verb::Write),
        Variant::device(Verb::Send),
    ]
}

fn latency() -> Experiment {
    Experiment {
        name: "latency",
        title: "Latency of small messages (paper 1, figure 12)",
        ranks: vec![2],
        window: 1,
        points: points(Metric::Latency, &[8, 64, 256, 1024]),
        variants: eager_variants(),
        axis: None,
        goals: goals::latency,
    }
}

fn small() -> Experiment {
    Experiment {
        name: "small",
        title: "Bandwidth of small messages in windows of 100 (paper 1, figure 13)",
        ranks: vec![2],
        window: 100,
        points: points(Metric::Bandwidth, &[8, 64, 256, 1024]),
        variants: eager_variants(),
        axis: None,
        goals: goals::small,
    }
}

fn ladder() -> Experiment {
    let rung = |name: &str, more: &[(&str, &str)]| ours(name, &[&RING[..], more].concat());
    Experiment {
        name: "ladder",
        title: "The ladder of designs (paper 2, figures 4 to 14)",
        ranks: vec![2],
        window: 8,
        points: [
            points(Metric::Latency, &[8]),
            points(Metric::Bandwidth, &[64 << 10, 256 << 10, 1 << 20, 4 << 20]),
        ]
        .concat(),
        variants: vec![
            rung("basic", &[("LARGE", "copy"), ("RC_NOTIFY", "pointer")]),
            rung("piggyback", &[("LARGE", "copy")]),
            rung("pipeline", &[("LARGE", "pipeline")]),
            rung("zero-copy read", &[("LARGE", "read")]),
            rung("zero-copy write", &[("LARGE", "write")]),
            Variant::device(Verb::Write),
        ],
        axis: None,
        goals: goals::ladder,
    }
}

fn chunks() -> Experiment {
    let variant = |kib: usize| {
        let slots = (128 / kib).max(2).to_string();
        let (slot, chunk) = (((kib << 10) + 256).to_string(), (kib << 10).to_string());
        let settings =
            [("LARGE", "pipeline"), ("RC_SLOTS", &slots), ("RC_SLOT_BYTES", &slot), ("CHUNK_BYTES", &chunk)];
        ours(&format!("{kib} KiB"), &settings).at(kib)
    };
    Experiment {
        name: "chunks",
        title: "Bandwidth of the pipeline by its chunks (paper 2, figure 9)",
        ranks: vec![2],
        window: 8,
        points: points(Metric::Bandwidth, &[64 << 10, 256 << 10, 1 << 20]),
        variants: [1, 2, 4, 8, 16, 32].map(variant).to_vec(),
        axis: Some(CHUNKS),
        goals: goal::none,
    }
}

fn direction() -> Experiment {
    Experiment {
        name: "direction",
        title: "Zero-copy by RDMA read and by RDMA write (paper 2, figures 14 and 15)",
        ranks: vec![2],
        window: 8,
        points: [
            points(Metric::Bandwidth, &[32 << 10, 64 << 10, 128 << 10, 256 << 10]),
            points(Metric::Latency, &[64 << 10]),
        ]
        .concat(),
        variants: vec![
            ours("read", &[("LARGE", "read")]),
            ours("write", &[("LARGE", "write")]),
            ours("automatic", &[("LARGE", "auto")]),
            Variant::device(Verb::Write),
            Variant::device(Verb::Read),
        ],
        axis: None,
        goals: goals::direction,
    }
}

fn slots() -> Experiment {
    let variant =
        |slots: usize| ours(&format!("{slots} slots"), &[("RC_SLOTS", &slots.to_string())]).at(slots);
    let point = |metric| Point { metric, bytes: 4 << 10 };
    Experiment {
        name: "slots",
        title: "The communication of IS, CG and MG by the slots of a ring (paper 1, 6.4)",
        ranks: vec![4],
        window: 1,
        points: [Metric::KernelIs, Metric::KernelCg, Metric::KernelMg].map(point).to_vec(),
        variants: [5, 10, 20, 50, 100].map(variant).to_vec(),
        axis: Some(SLOTS),
        goals: goals::slots,
    }
}

/// Ranks of which two talk with the first.
const SET_RANKS: usize = 8;

/// A choice of the polling set; its reviews come often, so that it has settled soon.
fn set_variant(name: &str, policy: &str, places: usize, order: &str) -> Variant {
    let places = places.to_string();
    let settings = [("RC_POLL_POLICY", policy), ("RC_POLL_SET_MAX", &places), ("RC_POLL_ORDER", order)];
    ours(name, &[&settings[..], &[("RC_POLL_REVIEW_EVERY", "256")]].concat())
}

fn polling_set() -> Experiment {
    let of = set_variant;
    Experiment {
        name: "set",
        title: "Half a round trip with two of eight ranks, by the polling set (paper 1, 4.7)",
        ranks: vec![SET_RANKS],
        window: 1,
        points: points(Metric::FewTalk, &[8]),
        variants: vec![
            of("none", "none", 16, "sequential"),
            of("first, 2 places", "first", 2, "sequential"),
            of("most, 1 place", "most", 1, "sequential"),
            of("most, 2 places", "most", 2, "sequential"),
            of("all, sequential", "all", 16, "sequential"),
            of("all, circular", "all", 16, "circular"),
            of("all, priority", "all", 16, "priority"),
        ],
        axis: None,
        goals: goal::none,
    }
}

fn of_peers() -> Experiment {
    let title = "Against MPICH and Open MPI over UCX, each rank on a device of its own";
    peers::against(title, "rc", UcxTransport::Rc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_lab::experiment::check_settings;

    #[test]
    fn every_setting_exists_and_takes_its_value() {
        Name::value_variants().iter().for_each(|name| check_settings(&name.experiment()));
    }

    #[test]
    fn experiments_are_named_as_on_the_command_line() {
        for name in Name::value_variants() {
            assert_eq!(name.to_possible_value().expect("a name").get_name(), name.experiment().name);
        }
    }
}
