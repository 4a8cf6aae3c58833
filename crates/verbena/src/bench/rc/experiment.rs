//! The experiments: which figure of papers 1 and 2 compares what with what, at which points.

use super::device::Verb;
use super::variant::{How, Peer, Variant, device, ours};
use crate::bench::metric::{Metric, Point};
use clap::ValueEnum;

/// Which experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
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
    /// 5 to 100 slots under the communication of IS, CG and MG
    Slots,
    /// Our library against MPICH and Open MPI over UCX, all on one device
    Peers,
}

/// A few points under several variants.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name.
    pub name: Name,
    /// What it shows, and where that comes from.
    pub title: &'static str,
    /// Ranks, spread evenly over the nodes.
    pub ranks: usize,
    /// Messages in flight in the window tests.
    pub window: usize,
    /// What is measured.
    pub points: Vec<Point>,
    /// What it is measured with.
    pub variants: Vec<Variant>,
}

/// The settings that turn the rings off: nobody comes into the polling set.
const NO_RINGS: (&str, &str) = ("RC_POLL_POLICY", "none");
/// Paper 2's ring: 128 KiB in slots that hold a chunk of 16 KiB each, and what goes with a chunk.
const RING: [(&str, &str); 3] = [("RC_SLOTS", "8"), ("RC_SLOT_BYTES", "16640"), ("CHUNK_BYTES", "16384")];

impl Experiment {
    /// The experiment of that name.
    pub fn of(name: Name) -> Experiment {
        match name {
            Name::Latency => latency(),
            Name::Small => small(),
            Name::Ladder => ladder(),
            Name::Chunks => chunks(),
            Name::Direction => direction(),
            Name::Slots => slots(),
            Name::Peers => peers(),
        }
    }
}

fn points(metric: Metric, sizes: &[usize]) -> Vec<Point> {
    sizes.iter().map(|&bytes| Point { metric, bytes }).collect()
}

fn eager_variants() -> Vec<Variant> {
    vec![ours("RDMA eager", &[]), ours("send/receive", &[NO_RINGS]), device(Verb::Write), device(Verb::Send)]
}

fn latency() -> Experiment {
    Experiment {
        name: Name::Latency,
        title: "Latency of small messages (paper 1, figure 12)",
        ranks: 2,
        window: 1,
        points: points(Metric::Latency, &[8, 64, 256, 1024]),
        variants: eager_variants(),
    }
}

fn small() -> Experiment {
    Experiment {
        name: Name::Small,
        title: "Bandwidth of small messages in windows of 100 (paper 1, figure 13)",
        ranks: 2,
        window: 100,
        points: points(Metric::Bandwidth, &[8, 64, 256, 1024]),
        variants: eager_variants(),
    }
}

fn ladder() -> Experiment {
    let rung = |name: &str, more: &[(&'static str, &str)]| ours(name, &[&RING[..], more].concat());
    Experiment {
        name: Name::Ladder,
        title: "The ladder of designs (paper 2, figures 4 to 14)",
        ranks: 2,
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
            device(Verb::Write),
        ],
    }
}

fn chunks() -> Experiment {
    let variant = |kib: usize| {
        let slots = (128 / kib).max(2).to_string();
        let (slot, chunk) = (((kib << 10) + 256).to_string(), (kib << 10).to_string());
        let settings =
            [("LARGE", "pipeline"), ("RC_SLOTS", &slots), ("RC_SLOT_BYTES", &slot), ("CHUNK_BYTES", &chunk)];
        ours(&format!("{kib} KiB"), &settings)
    };
    Experiment {
        name: Name::Chunks,
        title: "Bandwidth of the pipeline by its chunks (paper 2, figure 9)",
        ranks: 2,
        window: 8,
        points: points(Metric::Bandwidth, &[64 << 10, 256 << 10, 1 << 20]),
        variants: [1, 2, 4, 8, 16, 32].map(variant).to_vec(),
    }
}

fn direction() -> Experiment {
    Experiment {
        name: Name::Direction,
        title: "Zero-copy by RDMA read and by RDMA write (paper 2, figures 14 and 15)",
        ranks: 2,
        window: 8,
        points: points(Metric::Bandwidth, &[32 << 10, 64 << 10, 128 << 10, 256 << 10]),
        variants: vec![
            ours("read", &[("LARGE", "read")]),
            ours("write", &[("LARGE", "write")]),
            ours("automatic", &[("LARGE", "auto")]),
        ],
    }
}

fn slots() -> Experiment {
    let variant = |slots: u32| ours(&format!("{slots} slots"), &[("RC_SLOTS", &slots.to_string())]);
    let point = |metric| Point { metric, bytes: 4 << 10 };
    Experiment {
        name: Name::Slots,
        title: "The communication of IS, CG and MG by the slots of a ring (paper 1, 6.4)",
        ranks: 4,
        window: 1,
        points: [Metric::KernelIs, Metric::KernelCg, Metric::KernelMg].map(point).to_vec(),
        variants: [5, 10, 20, 50, 100].map(variant).to_vec(),
    }
}

fn peers() -> Experiment {
    let peer = |name: &str, peer| Variant { name: name.into(), how: How::Peer(peer) };
    Experiment {
        name: Name::Peers,
        title: "Against MPICH and Open MPI over UCX, all ranks on one device",
        ranks: 2,
        window: 16,
        points: [
            points(Metric::Latency, &[8, 1 << 10, 64 << 10]),
            points(Metric::Rate, &[8]),
            points(Metric::Bandwidth, &[64 << 10, 1 << 20]),
        ]
        .concat(),
        variants: vec![
            Variant { name: "Verbena".into(), how: How::OursOnOneDevice },
            peer("MPICH", Peer::Mpich),
            peer("Open MPI", Peer::OpenMpi),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_exists_and_takes_its_value() {
        for name in Name::value_variants() {
            for variant in Experiment::of(*name).variants {
                let How::Ours(settings) = variant.how else { continue };
                for (name, value) in settings {
                    let setting = verbena_settings::all()
                        .find(|setting| setting.about.name == format!("VERBENA_{name}"))
                        .expect(name);
                    setting.set_text(&value, verbena_settings::Origin::Environment).expect(name);
                }
            }
        }
    }
}
