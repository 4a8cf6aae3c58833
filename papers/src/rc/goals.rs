//! The goals of the measurements (papers 1 and 2): ratios within one run, with their bounds.

use verbena_lab::experiment::goal::{Bound, Goal};
use verbena_lab::experiment::{Measured, is_one_speed};
use verbena_lab::metric::{Metric, Point};

const EIGHT: Point = Point { metric: Metric::Latency, bytes: 8 };

/// Returns the goals of latency. They use the comparable samples alone (see
/// [`verbena_lab::experiment`]), and only if the device's own quick speed was seen.
pub(super) fn latency(measured: &Measured) -> Vec<Goal> {
    let of = |variant| measured.comparable(variant, EIGHT);
    let device = of("ib_write").zip(of("ib_send")).filter(|&(write, send)| is_one_speed(write, send));
    let eager = of("RDMA eager").zip(device).map(|(eager, (write, _))| eager / write);
    let gain = of("send/receive").zip(of("RDMA eager")).map(|(send, eager)| send / eager);
    let bound = Bound::AtLeast(device.map_or(f64::NAN, |(write, send)| send / write));
    vec![
        Goal::new(
            "latency of 8 B by comparable samples, RDMA eager to ib_write_lat",
            eager,
            Bound::AtMost(1.15),
        ),
        Goal::new(
            "latency of 8 B by comparable samples, send/receive to RDMA eager (bound: ib_send_lat to ib_write_lat)",
            gain,
            bound,
        ),
    ]
}

pub(super) fn small(measured: &Measured) -> Vec<Goal> {
    let goal = |point: &Point| {
        let what = format!("bandwidth of {} B in windows of 100, RDMA eager to send/receive", point.bytes);
        Goal::new(what, measured.ratio(*point, "RDMA eager", "send/receive"), Bound::AtLeast(2.04))
    };
    measured.experiment.points.iter().map(goal).collect()
}

pub(super) fn ladder(measured: &Measured) -> Vec<Goal> {
    let best = |name: &str| {
        let values = measured.points_of(Metric::Bandwidth).filter_map(|point| measured.value(name, point));
        values.reduce(f64::max)
    };
    let pipeline = best("pipeline").zip(best("basic")).map(|(one, other)| one / other);
    let mut goals = vec![
        Goal::new(
            "latency of 8 B, basic to piggyback",
            measured.ratio(EIGHT, "basic", "piggyback"),
            Bound::AtLeast(2.5),
        ),
        Goal::new("best bandwidth, pipeline to basic", pipeline, Bound::AtLeast(2.2)),
    ];
    for point in measured.points_of(Metric::Bandwidth).filter(|point| point.bytes >= 1 << 20) {
        for variant in ["zero-copy read", "zero-copy write"] {
            let what = format!("bandwidth of {} MiB, {variant} to ib_write_bw", point.bytes >> 20);
            goals.push(Goal::new(what, measured.ratio(point, variant, "ib_write"), Bound::AtLeast(0.985)));
        }
    }
    goals
}

/// Returns the goals of the RDMA Channel: paper 2's ratios (18.6 to 7.4 us; 230 to 500 MB/s; 857
/// MB/s in the pipe as after the match).
pub(super) fn pipe(measured: &Measured) -> Vec<Goal> {
    let best = |name: &str| {
        let values = measured.points_of(Metric::Bandwidth).filter_map(|point| measured.value(name, point));
        values.reduce(f64::max)
    };
    let of_best = |what: &str, (one, other): (&str, &str), least| {
        let ratio = best(one).zip(best(other)).map(|(one, other)| one / other);
        Goal::new(format!("best bandwidth, {what}"), ratio, Bound::AtLeast(least))
    };
    vec![
        Goal::new(
            "latency of 8 B, basic to piggyback in the pipe",
            measured.ratio(EIGHT, "pipe: basic", "pipe: piggyback"),
            Bound::AtLeast(2.5),
        ),
        of_best("pipeline to basic in the pipe", ("pipe: pipeline", "pipe: basic"), 2.17),
        of_best("zero-copy to pipeline in the pipe", ("pipe: zero-copy", "pipe: pipeline"), 1.6),
        of_best(
            "zero-copy in the pipe to read after the match",
            ("pipe: zero-copy", "read after the match"),
            0.99,
        ),
    ]
}

/// Returns the goal of the kernels: on the average of the ratios, the zero-copy pipe takes at most
/// 1% more than writes after the match (paper 2, 7).
pub(super) fn pipe_kernels(measured: &Measured) -> Vec<Goal> {
    let ratios: Option<Vec<f64>> = (measured.experiment.points.iter())
        .map(|point| measured.ratio(*point, "pipe: zero-copy", "write after the match"))
        .collect();
    let mean = ratios.map(|ratios| ratios.iter().sum::<f64>() / ratios.len() as f64);
    vec![Goal::new(
        "time of the kernels, zero-copy in the pipe to write after the match, mean",
        mean,
        Bound::AtMost(1.01),
    )]
}

/// The worst of all sizes.
pub(super) fn direction(measured: &Measured) -> Vec<Goal> {
    let of = |point: Point| {
        let better = measured.value("read", point)?.max(measured.value("write", point)?);
        Some(measured.value("automatic", point)? / better)
    };
    let ratios: Option<Vec<f64>> = measured.points_of(Metric::Bandwidth).map(of).collect();
    let worst = ratios.and_then(|all| all.into_iter().reduce(f64::min));
    vec![Goal::new(
        "bandwidth, automatic to the better of read and write, at its worst",
        worst,
        Bound::AtLeast(0.95),
    )]
}

/// Compares five slots with the median of more: the best of four others would be the luckiest.
pub(super) fn slots(measured: &Measured) -> Vec<Goal> {
    let goal = |point: &Point| {
        let others: Option<Vec<f64>> = ["10 slots", "20 slots", "50 slots", "100 slots"]
            .iter()
            .map(|name| measured.value(name, *point))
            .collect();
        let median = others.and_then(|others| verbena_lab::timing::median(&others));
        let ratio = measured.value("5 slots", *point).zip(median).map(|(five, more)| five / more);
        let what = format!("time of {}, 5 slots to the median of 10 to 100", point.metric.name());
        Goal::new(what, ratio, Bound::AtMost(1.05))
    };
    measured.experiment.points.iter().map(goal).collect()
}
