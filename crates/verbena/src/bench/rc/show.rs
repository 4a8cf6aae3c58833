//! The measurements as tables and plots.

use super::command::Measured;
use super::goals::{Bound, Goal};
use super::quick::quick;
use super::series::Series;
use crate::bench::metric::{Metric, format_size};
use crate::bench::plot::{Line, Panel};
use crate::bench::table::{cell, format_value, right};
use comfy_table::{Cell, Table, presets};
use std::fmt::Write;

/// A table for each experiment, with the commands and the failures below, and at last the goals.
pub fn render(all: &[Measured], goals: &[Goal]) -> String {
    let mut out = String::new();
    for measured in all {
        let _ = write!(out, "\n{}\n{}\n", measured.experiment.title, table(measured));
        measured.series.iter().for_each(|series| words(&mut out, series));
    }
    if !goals.is_empty() {
        let _ = write!(out, "\nWhat must be true\n{}\n", of_goals(goals));
    }
    out
}

/// A table for each experiment, as far as it is measured.
pub fn tables(all: &[Measured]) -> String {
    all.iter().map(|measured| format!("\n{}\n{}\n", measured.experiment.title, table(measured))).collect()
}

/// Points down, variants across.
fn table(measured: &Measured) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let names = measured.series.iter().map(|series| series.variant.name.clone());
    table.set_header(["metric", "size", "unit"].map(String::from).into_iter().chain(names));
    for &point in &measured.experiment.points {
        let cells =
            measured.series.iter().map(|series| right(series.entry(point).map_or_else(String::new, cell)));
        let head =
            [Cell::new(point.metric.name()), right(format_size(point.bytes)), Cell::new(point.metric.unit())];
        table.add_row(head.into_iter().chain(cells));
    }
    table
}

/// How a variant was measured, and why it was not.
fn words(out: &mut String, series: &Series) {
    let _ = writeln!(out, "{}: {}", series.variant.name, series.report.command);
    let mut reasons: Vec<&str> =
        series.report.entries.iter().filter_map(|entry| entry.failure.as_deref()).collect();
    reasons.dedup();
    for reason in reasons {
        let _ = writeln!(out, "  failed: {reason}");
    }
    for entry in series.report.entries.iter().filter(|entry| entry.metric == Metric::Latency) {
        if let Some((value, count)) = quick(&entry.samples) {
            let (point, of) = (entry.point(), entry.samples.len());
            let _ = writeln!(
                out,
                "  {point}: {count} of {of} samples are quick, their median {}",
                format_value(value)
            );
        }
    }
}

fn of_goals(goals: &[Goal]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["ratio of", "is", "must be", ""]);
    for goal in goals {
        let bound = match goal.bound {
            Bound::AtMost(most) => format!("at most {}", format_value(most)),
            Bound::AtLeast(least) => format!("at least {}", format_value(least)),
        };
        let ratio = goal.ratio.map_or_else(|| "not measured".into(), format_value);
        let verdict = if goal.met { "met" } else { "missed" };
        table.add_row([Cell::new(&goal.what), right(ratio), Cell::new(bound), Cell::new(verdict)]);
    }
    table
}

/// A panel for each experiment and unit that has several sizes, with a line for each variant.
pub fn panels(all: &[Measured]) -> Vec<Panel> {
    let metrics = [Metric::Latency, Metric::Bandwidth];
    let panel = |measured: &Measured, metric: Metric| {
        let lines = measured.series.iter().map(|series| line(series, metric)).filter(|l| l.points.len() >= 3);
        let (title, unit) = (measured.experiment.title.to_string(), metric.unit().to_string());
        Panel { title, unit, lines: lines.collect() }
    };
    let each = all.iter().flat_map(|measured| metrics.map(|metric| panel(measured, metric)));
    each.filter(|panel| !panel.lines.is_empty()).collect()
}

fn line(series: &Series, metric: Metric) -> Line {
    let of_metric = series.report.entries.iter().filter(|entry| entry.metric == metric);
    let points = of_metric.filter_map(|entry| Some((entry.bytes, entry.value.filter(|&value| value > 0.0)?)));
    Line { label: series.variant.name.clone(), points: points.collect() }
}
