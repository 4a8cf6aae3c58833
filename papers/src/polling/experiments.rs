//! The experiments: settings of the polling scheduler, and what is measured under them.

use clap::ValueEnum;
use verbena_lab::experiment::axis::Axis;
use verbena_lab::experiment::goal::{self, Bound, Goal};
use verbena_lab::experiment::variant::{Place, Set, Variant, set};
use verbena_lab::experiment::{Experiment, Measured};
use verbena_lab::metric::{Metric, Point};
use verbena_sim::figures::polling::{HISTORIES, RATIOS, UPDATES};

/// The experiment to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Latency within the node and over the network, by the ratio of polls
    Ratios,
    /// The discovery of bursts, by the update rate of the dynamic scheme
    Discovery,
    /// The discovery of bursts, by the history of the dynamic scheme
    History,
    /// The discovery of bursts, by the largest ratio of the dynamic scheme
    Most,
}

/// Ranks: two on the first node, so that each has a processor on two, since at most two talk at a
/// time and the third naps.
const RANKS: usize = 3;

const RATIO: Axis =
    Axis { name: "looks at shared memory for each at the network", label: |at| at.to_string() };
const UPDATE: Axis = Axis { name: "messages between two calculations", label: |at| at.to_string() };
const HISTORY: Axis = Axis { name: "messages that count", label: |at| at.to_string() };

const fn latency(metric: Metric) -> Point {
    Point { metric, bytes: 8 }
}

const NEAR: Point = latency(Metric::NodeLatency);
const FAR: Point = latency(Metric::NetworkLatency);
const NEAR_ANY: Point = latency(Metric::NodeLatencyAny);
const FAR_ANY: Point = latency(Metric::NetworkLatencyAny);

const fn discovery_of(metric: Metric, burst: usize) -> Point {
    Point { metric, bytes: burst }
}

/// Discovery itself, from any source as in the paper's library and by name, and the whole
/// exchanges.
const BURSTS: [Point; 6] = [
    discovery_of(Metric::DiscoveryAny, 100),
    discovery_of(Metric::DiscoveryAny, 200),
    discovery_of(Metric::DiscoveryNamed, 100),
    discovery_of(Metric::DiscoveryNamed, 200),
    Point { metric: Metric::Discovery100, bytes: 0 },
    Point { metric: Metric::Discovery200, bytes: 0 },
];

impl Name {
    /// The experiment of that name.
    pub(crate) fn experiment(self) -> Experiment {
        match self {
            Name::Ratios => ratios(),
            Name::Discovery => discovery(),
            Name::History => history(),
            Name::Most => most(),
        }
    }
}

fn variant(name: impl Into<String>, scheme: &str, more: Option<Set>) -> Variant {
    let settings = std::iter::once(set("POLLING", scheme)).chain(more);
    Variant::ours(name, Place::Nodes, settings.collect())
}

/// A variant at a place of an axis, which is the value of a setting.
fn at(name: &str, scheme: &str, setting: &str, value: u32) -> Variant {
    variant(format!("{name}{value}"), scheme, Some(set(setting, value))).at(value as usize)
}

/// The schemes that lie on no axis.
fn schemes() -> Vec<Variant> {
    ["all", "latency", "overhead", "dynamic"].map(|name| variant(name, name, None)).to_vec()
}

fn ratios() -> Experiment {
    let of = |ratio: u32| Variant { name: format!("{ratio}:1"), ..at("", "ratio", "POLLING_RATIO", ratio) };
    Experiment {
        name: "ratios",
        title: "Latency by the ratio of polls (paper 3, figure 2)",
        ranks: vec![RANKS],
        window: 1,
        points: vec![NEAR, FAR, NEAR_ANY, FAR_ANY],
        variants: schemes().into_iter().chain(RATIOS.map(of)).collect(),
        axis: Some(RATIO),
        goals: |measured| vec![goal(measured, NEAR_ANY, 0.63), goal(measured, NEAR, 0.63)],
    }
}

fn discovery() -> Experiment {
    let of = |every: u32| at("update every ", "dynamic", "POLLING_UPDATE_EVERY", every);
    Experiment {
        name: "discovery",
        title: "Discovery of messages in bursts, and the time of an exchange (paper 3, figures 1 and 3)",
        ranks: vec![RANKS],
        window: 1,
        points: BURSTS.to_vec(),
        variants: schemes().into_iter().chain(UPDATES.map(of)).collect(),
        axis: Some(UPDATE),
        goals: |measured| vec![goal(measured, BURSTS[0], 0.63), goal(measured, BURSTS[1], 0.55)],
    }
}

/// The points of the axes that the paper names and shows no figure of.
fn bursts_of_200() -> Vec<Point> {
    vec![BURSTS[1], BURSTS[3]]
}

fn history() -> Experiment {
    let of = |messages: u32| at("history ", "dynamic", "POLLING_HISTORY", messages);
    Experiment {
        name: "history",
        title: "Discovery of messages by the length of the history (paper 3, 3.2.2)",
        ranks: vec![RANKS],
        window: 1,
        points: bursts_of_200(),
        variants: [variant("all", "all", None)].into_iter().chain(HISTORIES.map(of)).collect(),
        axis: Some(HISTORY),
        goals: goal::none,
    }
}

fn most() -> Experiment {
    let of = |ratio: u32| at("at most ", "dynamic", "POLLING_RATIO", ratio);
    Experiment {
        name: "most",
        title: "Discovery of messages by the largest ratio of the dynamic scheme (paper 3, 3.2.2)",
        ranks: vec![RANKS],
        window: 1,
        points: bursts_of_200(),
        variants: [variant("all", "all", None)].into_iter().chain(RATIOS.map(of)).collect(),
        axis: Some(RATIO),
        goals: goal::none,
    }
}

/// The lowest value of a point over that with everything polled in each round (paper 3, 3.3).
fn goal(measured: &Measured, point: Point, most: f64) -> Goal {
    let values = measured.series.iter().filter_map(|series| series.value(point));
    let ratio = values.reduce(f64::min).zip(measured.value("all", point)).map(|(best, all)| best / all);
    Goal::new(format!("{point}, the best to all in every round"), ratio, Bound::AtMost(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_lab::experiment::check_settings;

    #[test]
    fn every_setting_exists_and_takes_its_value() {
        Name::value_variants().iter().for_each(|name| check_settings(&name.experiment()));
    }
}
