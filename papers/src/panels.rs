//! The measurements of experiments as panels of a picture.

use crate::plot::{Line, Panel};
use verbena_lab::experiment::Measured;
use verbena_lab::experiment::axis::{Axis, SIZES};
use verbena_lab::experiment::series::Series;
use verbena_lab::metric::{Metric, Point};
use verbena_lab::report::Entry;

/// The axis over numbers of ranks.
const RANKS: Axis = Axis { name: "ranks", label: |ranks| ranks.to_string() };

/// A panel for each experiment and metric that has three places on an axis: that of the variants,
/// the sizes, or the ranks.
pub(crate) fn panels(all: &[Measured]) -> Vec<Panel> {
    all.iter().flat_map(of_experiment).filter(|panel| !panel.lines.is_empty()).collect()
}

fn of_experiment(measured: &Measured) -> Vec<Panel> {
    let mut metrics: Vec<Metric> = measured.experiment.points.iter().map(|point| point.metric).collect();
    metrics.dedup();
    let panel = |metric: Metric| match measured.experiment.axis {
        Some(axis) => over_variants(measured, metric, axis),
        None => over_points(measured, metric),
    };
    metrics.into_iter().map(panel).collect()
}

fn panel(measured: &Measured, metric: Metric, axis: Axis, lines: impl Iterator<Item = Line>) -> Panel {
    let title = format!("{}: {}", metric.name(), measured.experiment.title);
    let lines = lines.filter(|line| line.points.len() >= 3).collect();
    Panel { title, unit: metric.unit().into(), axis, lines }
}

/// A line for each size, over the variants' places.
fn over_variants(measured: &Measured, metric: Metric, axis: Axis) -> Panel {
    let line = |(point, ranks): (Point, usize)| {
        let place = |series: &Series| {
            let value = series.entry_of(point, ranks)?.value.filter(|&value| value > 0.0)?;
            Some((series.variant.at?, value))
        };
        let label = format!("{point}, {ranks} ranks");
        Line { label, points: measured.series.iter().filter_map(place).collect() }
    };
    let rows = measured.rows().into_iter().filter(|(point, _)| point.metric == metric);
    panel(measured, metric, axis, rows.map(line))
}

/// A line for each variant, over sizes or over ranks.
fn over_points(measured: &Measured, metric: Metric) -> Panel {
    let by_size = metric.has_size();
    let line = |series: &Series| {
        let of_metric = series.report.entries.iter().filter(|entry| entry.metric == metric);
        let place = |entry: &Entry| {
            let at = if by_size { entry.bytes } else { entry.ranks };
            Some((at, entry.value.filter(|&value| value > 0.0)?))
        };
        Line { label: series.variant.name.clone(), points: of_metric.filter_map(place).collect() }
    };
    panel(measured, metric, if by_size { SIZES } else { RANKS }, measured.series.iter().map(line))
}
