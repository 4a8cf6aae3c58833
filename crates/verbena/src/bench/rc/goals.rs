//! What must be true of the measurements (papers 1 and 2): ratios within one run, with their bounds.

use super::command::Measured;
use super::experiment::Name;
use super::quick::is_one_speed;
use crate::bench::metric::{Metric, Point};
use serde::Serialize;

/// A ratio that must keep a bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// What is compared with what.
    pub what: String,
    /// The ratio; none if something of it was not measured.
    pub ratio: Option<f64>,
    /// What it must keep.
    pub bound: Bound,
    /// Whether it does.
    pub met: bool,
}

/// A bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// No more.
    AtMost(f64),
    /// No less.
    AtLeast(f64),
}

impl Goal {
    fn new(what: impl Into<String>, ratio: Option<f64>, bound: Bound) -> Goal {
        let met = ratio.is_some_and(|ratio| match bound {
            Bound::AtMost(most) => ratio <= most,
            Bound::AtLeast(least) => ratio >= least,
        });
        Goal { what: what.into(), ratio, bound, met }
    }
}

/// The goals of the experiments that were run.
pub fn goals(measured: &[Measured]) -> Vec<Goal> {
    measured.iter().flat_map(of).collect()
}

fn of(measured: &Measured) -> Vec<Goal> {
    match measured.experiment.name {
        Name::Latency => latency(measured),
        Name::Small => small(measured),
        Name::Ladder => ladder(measured),
        Name::Chunks => Vec::new(),
        Name::Direction => vec![direction(measured)],
        Name::Slots => slots(measured),
        Name::Peers => peers(measured),
    }
}

/// Of two variants at one point: the first one's value over the second one's.
fn ratio(measured: &Measured, point: Point, one: &str, other: &str) -> Option<f64> {
    Some(measured.value(one, point)? / measured.value(other, point)?)
}

const EIGHT: Point = Point { metric: Metric::Latency, bytes: 8 };

/// By the quick samples alone (see [`super::quick`]), and only if the device's own quick speed was seen.
fn latency(measured: &Measured) -> Vec<Goal> {
    let of = |variant| measured.quick(variant, EIGHT);
    let device = of("ib_write").zip(of("ib_send")).filter(|&(write, send)| is_one_speed(write, send));
    let eager = of("RDMA eager").zip(device).map(|(eager, (write, _))| eager / write);
    let gain = of("send/receive").zip(of("RDMA eager")).map(|(send, eager)| send / eager);
    let bound = Bound::AtLeast(device.map_or(f64::NAN, |(write, send)| send / write));
    vec![
        Goal::new("latency of 8 B by quick samples, RDMA eager to ib_write_lat", eager, Bound::AtMost(1.15)),
        Goal::new(
            "latency of 8 B by quick samples, send/receive to RDMA eager (bound: ib_send_lat to ib_write_lat)",
            gain,
            bound,
        ),
    ]
}

fn small(measured: &Measured) -> Vec<Goal> {
    let goal = |point: &Point| {
        let what = format!("bandwidth of {} B in windows of 100, RDMA eager to send/receive", point.bytes);
        Goal::new(what, ratio(measured, *point, "RDMA eager", "send/receive"), Bound::AtLeast(2.04))
    };
    measured.experiment.points.iter().map(goal).collect()
}

fn ladder(measured: &Measured) -> Vec<Goal> {
    let best = |name: &str| {
        let values = measured.bandwidths().filter_map(|point| measured.value(name, point));
        values.reduce(f64::max)
    };
    let pipeline = best("pipeline").zip(best("basic")).map(|(one, other)| one / other);
    let mut goals = vec![
        Goal::new(
            "latency of 8 B, basic to piggyback",
            ratio(measured, EIGHT, "basic", "piggyback"),
            Bound::AtLeast(2.5),
        ),
        Goal::new("best bandwidth, pipeline to basic", pipeline, Bound::AtLeast(2.2)),
    ];
    for point in measured.bandwidths().filter(|point| point.bytes >= 1 << 20) {
        for variant in ["zero-copy read", "zero-copy write"] {
            let what = format!("bandwidth of {} MiB, {variant} to ib_write_bw", point.bytes >> 20);
            goals.push(Goal::new(what, ratio(measured, point, variant, "ib_write"), Bound::AtLeast(0.985)));
        }
    }
    goals
}

/// The worst of all sizes.
fn direction(measured: &Measured) -> Goal {
    let of = |point: Point| {
        let better = measured.value("read", point)?.max(measured.value("write", point)?);
        Some(measured.value("automatic", point)? / better)
    };
    let ratios: Option<Vec<f64>> = measured.bandwidths().map(of).collect();
    let worst = ratios.and_then(|all| all.into_iter().reduce(f64::min));
    Goal::new(
        "bandwidth, automatic to the better of read and write, at its worst",
        worst,
        Bound::AtLeast(0.95),
    )
}

/// Five slots against the median of more: the best of four others would be the luckiest.
fn slots(measured: &Measured) -> Vec<Goal> {
    let goal = |point: &Point| {
        let others: Option<Vec<f64>> = ["10 slots", "20 slots", "50 slots", "100 slots"]
            .iter()
            .map(|name| measured.value(name, *point))
            .collect();
        let median = others.and_then(|others| crate::bench::timing::median(&others));
        let ratio = measured.value("5 slots", *point).zip(median).map(|(five, more)| five / more);
        let what = format!("time of {}, 5 slots to the median of 10 to 100", point.metric.name());
        Goal::new(what, ratio, Bound::AtMost(1.05))
    };
    measured.experiment.points.iter().map(goal).collect()
}

fn peers(measured: &Measured) -> Vec<Goal> {
    let goal = |&point: &Point| {
        let values: Vec<f64> =
            ["MPICH", "Open MPI"].iter().filter_map(|peer| measured.value(peer, point)).collect();
        let shorter = point.metric == Metric::Latency;
        let better = values.into_iter().reduce(if shorter { f64::min } else { f64::max });
        let ratio = measured.value("Verbena", point).zip(better).map(|(ours, theirs)| ours / theirs);
        let what = format!("{point}, ours to the better of MPICH and Open MPI");
        Goal::new(what, ratio, if shorter { Bound::AtMost(1.0) } else { Bound::AtLeast(1.0) })
    };
    measured.experiment.points.iter().map(goal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_within_its_bound_only_and_never_without_a_value() {
        assert!(Goal::new("", Some(1.1), Bound::AtMost(1.15)).met);
        assert!(!Goal::new("", Some(1.2), Bound::AtMost(1.15)).met);
        assert!(!Goal::new("", Some(0.9), Bound::AtLeast(0.985)).met);
        assert!(!Goal::new("", Some(0.9), Bound::AtLeast(f64::NAN)).met);
        assert!(!Goal::new("", None, Bound::AtMost(1.0)).met);
    }
}
