//! The experiments: settings of the polling scheduler, and what is measured under them.

use clap::ValueEnum;
use verbena_lab::experiment::axis::Axis;
use verbena_lab::experiment::goal::{Bound, Goal};
use verbena_lab::experiment::variant::{Place, Set, Variant, set};
use verbena_lab::experiment::{Experiment, Measured};
use verbena_lab::metric::{Metric, Point};
use verbena_sim::figures::polling::{RATIOS, UPDATES};

/// The experiment to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Latency within the node and over the network, by the ratio of polls
    Ratios,
    /// The discovery of bursts, by the update rate of the dynamic scheme
    Discovery,
}

/// Ranks: two on each of two nodes.
const RANKS: usize = 4;

const RATIO: Axis =
    Axis { name: "looks at shared memory for each at the network", label: |at| at.to_string() };
const UPDATE: Axis = Axis { name: "messages between two calculations", label: |at| at.to_string() };

const NEAR: Point = Point { metric: Metric::NodeLatency, bytes: 8 };
const FAR: Point = Point { metric: Metric::NetworkLatency, bytes: 8 };
const BURSTS: [Point; 2] =
    [Point { metric: Metric::Discovery100, bytes: 0 }, Point { metric: Metric::Discovery200, bytes: 0 }];

impl Name {
    /// The experiment of that name.
    pub(crate) fn experiment(self) -> Experiment {
        match self {
            Name::Ratios => ratios(),
            Name::Discovery => discovery(),
        }
    }
}

fn variant(name: impl Into<String>, scheme: &str, more: Option<Set>) -> Variant {
    let settings = std::iter::once(set("POLLING", scheme)).chain(more);
    Variant::ours(name, Place::Nodes, settings.collect())
}

/// The schemes that lie on no axis.
fn schemes() -> Vec<Variant> {
    ["all", "latency", "overhead", "dynamic"].map(|name| variant(name, name, None)).to_vec()
}

fn ratios() -> Experiment {
    let of = |ratio: u32| {
        variant(format!("{ratio}:1"), "ratio", Some(set("POLLING_RATIO", ratio))).at(ratio as usize)
    };
    Experiment {
        name: "ratios",
        title: "Latency by the ratio of polls (paper 3, figure 2)",
        ranks: vec![RANKS],
        window: 1,
        points: vec![NEAR, FAR],
        variants: schemes().into_iter().chain(RATIOS.map(of)).collect(),
        axis: Some(RATIO),
        goals: |measured| vec![goal(measured, NEAR, 0.63)],
    }
}

fn discovery() -> Experiment {
    let of = |every: u32| {
        let more = set("POLLING_UPDATE_EVERY", every);
        variant(format!("update every {every}"), "dynamic", Some(more)).at(every as usize)
    };
    Experiment {
        name: "discovery",
        title: "Time of an exchange in bursts (paper 3, figures 1 and 3)",
        ranks: vec![RANKS],
        window: 1,
        points: BURSTS.to_vec(),
        variants: schemes().into_iter().chain(UPDATES.map(of)).collect(),
        axis: Some(UPDATE),
        goals: |measured| vec![goal(measured, BURSTS[0], 0.63), goal(measured, BURSTS[1], 0.55)],
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
