//! What is tuned.

use crate::bench::experiment::variant::{Place, Set, Variant, set};
use crate::bench::experiment::{Experiment, goal, points};
use crate::bench::metric::{Metric, Point};
use clap::ValueEnum;

/// By what the settings are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Latency and bandwidth
    Latency,
    /// The time that a transfer takes from a computation beside it
    Overlap,
}

/// How the value of a setting follows from its candidates.
#[derive(Clone, Copy, Debug)]
pub enum Sort {
    /// The shortest message that goes the second of two ways.
    From {
        /// Both ways in words.
        ways: [&'static str; 2],
        /// The setting counts messages in so many parts.
        parts: usize,
    },
    /// The best of these values.
    Values(&'static [&'static str]),
}

/// A setting to be found.
pub struct Knob {
    /// Its name without `VERBENA_`.
    pub setting: &'static str,
    /// What it decides.
    pub what: &'static str,
    /// What is measured.
    pub metric: Metric,
    /// At which sizes, ascending.
    pub sizes: Vec<usize>,
    /// Among so many ranks.
    pub ranks: usize,
    /// Between two nodes.
    pub network: bool,
    /// How its value follows.
    pub sort: Sort,
    /// What must be set besides, so that it decides at all.
    fixed: Vec<Set>,
}

/// Messages in flight in the window tests.
const WINDOW: usize = 16;

/// A threshold that no message reaches.
pub const NEVER: u64 = 1 << 40;

fn sizes(from: u32, to: u32) -> Vec<usize> {
    (from..=to).map(|power| 1 << power).collect()
}

/// The knobs.
pub fn knobs(by: By, network: bool) -> Vec<Knob> {
    let mut knobs = match by {
        By::Latency => [pairs(Metric::Latency, 10..=20), collectives()].concat_all(),
        By::Overlap => [pairs(Metric::OverlapTime, 16..=22), vec![progress_thread(false)]].concat_all(),
    };
    if network {
        knobs.extend(match by {
            By::Latency => between_nodes(Metric::Latency),
            By::Overlap => [between_nodes(Metric::OverlapTime), vec![progress_thread(true)]].concat_all(),
        });
    }
    knobs
}

/// Vectors of things that cannot be copied, one behind the other.
trait ConcatAll {
    fn concat_all(self) -> Vec<Knob>;
}

impl<const N: usize> ConcatAll for [Vec<Knob>; N] {
    fn concat_all(self) -> Vec<Knob> {
        self.into_iter().flatten().collect()
    }
}

/// Messages between two ranks of a node.
fn pairs(metric: Metric, powers: std::ops::RangeInclusive<u32>) -> Vec<Knob> {
    let knob = |setting, what, metric, sizes, sort| {
        let (ranks, network, fixed) = (2, false, vec![set("CHANNELS", "shm,cma")]);
        Knob { setting, what, metric, sizes, ranks, network, sort, fixed }
    };
    let long = if metric == Metric::Latency { Metric::Bandwidth } else { metric };
    vec![
        knob(
            "CMA_BYTES_MIN",
            "messages within a node: through shared memory, or in one copy by the kernel",
            metric,
            sizes(*powers.start(), *powers.end()),
            Sort::From { ways: ["two copies through shared memory", "one copy by cma"], parts: 1 },
        ),
        knob(
            "COPY_BY_BOTH_BYTES_MIN",
            "long messages one way within a node: copied by the receiver, or by both ranks",
            long,
            sizes(15, 22),
            Sort::From { ways: ["the receiver copies", "both copy"], parts: 1 },
        ),
        knob(
            "CLAIM_BYTES",
            "the piece of a long message that one rank copies at a time",
            long,
            sizes(18, 22),
            Sort::Values(&["32768", "65536", "131072", "262144"]),
        ),
    ]
}

/// Collectives within a node.
fn collectives() -> Vec<Knob> {
    let knob = |setting, what, metric, sizes, ranks, sort| {
        let (network, fixed) = (false, vec![set("CHANNELS", "shm,cma")]);
        Knob { setting, what, metric, sizes, ranks, network, sort, fixed }
    };
    vec![
        knob(
            "COLL_DIRECT_SHARE_BYTES_MIN",
            "allreduce of two ranks: through the board, or in each other's memory (the share of each counts)",
            Metric::Allreduce,
            sizes(10, 18),
            2,
            Sort::From { ways: ["through the board", "in each other's memory"], parts: 2 },
        ),
        knob(
            "COLL_DIRECT_PIECE_BYTES_MIN",
            "the smallest part of such a vector that one rank reduces at a time",
            Metric::Allreduce,
            sizes(16, 20),
            2,
            Sort::Values(&["4096", "8192", "16384", "32768"]),
        ),
    ]
}

/// Messages between nodes, over `rc`.
fn between_nodes(metric: Metric) -> Vec<Knob> {
    let knob = |setting, what, sizes, sort, more: &[Set]| {
        let fixed = [&[set("CHANNELS", "rc")], more].concat();
        Knob { setting, what, metric, sizes, ranks: 2, network: true, sort, fixed }
    };
    let least = if metric == Metric::Latency { 12 } else { 16 };
    vec![
        knob(
            "RC_MEMORY_BYTES_MIN",
            "messages between nodes: copied through the ring, or read and written where they lie",
            sizes(least, 20),
            Sort::From { ways: ["copied through the ring", "moved by RDMA"], parts: 1 },
            &[],
        ),
        knob(
            "LARGE",
            "how long messages between nodes go",
            sizes(16, 20),
            Sort::Values(&["auto", "read", "write", "pipeline"]),
            &[],
        ),
        knob(
            "CHUNK_BYTES",
            "the chunks of messages that are copied through the ring",
            sizes(15, 19),
            Sort::Values(&["2048", "4096", "8192", "16384"]),
            &[set("LARGE", "pipeline")],
        ),
    ]
}

/// Whether a helper thread makes progress.
fn progress_thread(network: bool) -> Knob {
    Knob {
        setting: "PROGRESS_THREAD",
        what: "progress by a helper thread while the program computes",
        metric: Metric::OverlapTime,
        sizes: sizes(20, 22),
        ranks: 2,
        network,
        sort: Sort::Values(&["0", "1"]),
        fixed: if network { vec![set("CHANNELS", "rc")] } else { Vec::new() },
    }
}

impl Knob {
    /// What is measured.
    pub fn points(&self) -> Vec<Point> {
        points(self.metric, &self.sizes)
    }

    /// The values of the candidates, and their names.
    pub fn values(&self) -> Vec<(String, String)> {
        match self.sort {
            Sort::From { ways: [below, from], .. } => {
                let always = if self.is_from_zero() { 0 } else { 1 };
                vec![(NEVER.to_string(), below.into()), (always.to_string(), from.into())]
            }
            Sort::Values(values) => {
                values.iter().map(|value| (value.to_string(), value.to_string())).collect()
            }
        }
    }

    /// Whether the setting may be 0.
    fn is_from_zero(&self) -> bool {
        let found =
            verbena_settings::all().find(|setting| setting.about.name == format!("VERBENA_{}", self.setting));
        found.is_some_and(|setting| match &setting.kind {
            verbena_settings::Kind::Number { range, .. } => *range.start() == 0,
            _ => false,
        })
    }

    /// The experiment: one variant for each value, and at last one that reads this file, if there is one.
    pub fn experiment(&self, profile: Option<&str>) -> Experiment {
        let place = if self.network { Place::Nodes } else { Place::Node };
        let variant = |name: &str, more: Set| {
            Variant::ours(name, place, [&self.fixed[..], &[more]].concat())
        };
        let values = self.values().into_iter().map(|(value, name)| variant(&name, set(self.setting, value)));
        let profile = profile.map(|file| variant("profile", set("SETTINGS", file)));
        Experiment {
            name: self.setting,
            title: self.what,
            ranks: vec![self.ranks],
            window: WINDOW,
            points: self.points(),
            variants: values.chain(profile).collect(),
            axis: None,
            goals: goal::none,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_exists_and_takes_its_values() {
        for by in [By::Latency, By::Overlap] {
            for knob in knobs(by, true) {
                let named = |name: &str| {
                    let name = format!("VERBENA_{name}");
                    verbena_settings::all().find(|setting| setting.about.name == name).expect("a setting")
                };
                for (value, _) in knob.values() {
                    named(knob.setting)
                        .set_text(&value, verbena_settings::Origin::Environment)
                        .expect(knob.setting);
                }
                for (name, value) in &knob.fixed {
                    named(name).set_text(value, verbena_settings::Origin::Environment).expect(name);
                }
                assert!(knob.sizes.is_sorted() && knob.sizes.len() >= 3);
            }
        }
    }
}
