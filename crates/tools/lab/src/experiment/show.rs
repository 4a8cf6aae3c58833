//! The measurements as tables.

use super::comparable::comparable;
use super::goal::{Bound, Goal};
use super::measured::Measured;
use super::series::Series;
use crate::metric::{Metric, Point};
use crate::table::{cell, format_value, right};
use comfy_table::{Cell, Table, presets};
use std::fmt::Write;

/// A table for each experiment, with the commands and the failures below, and at last, if they are
/// wanted, the goals.
pub fn render(all: &[Measured], goals: bool) -> String {
    let mut out = String::new();
    for measured in all {
        let _ = write!(out, "\n{}\n{}\n", measured.experiment.title, table(measured));
        measured.series.iter().for_each(|series| words(&mut out, series));
    }
    let goals: Vec<Goal> = all.iter().filter(|_| goals).flat_map(Measured::goals).collect();
    if !goals.is_empty() {
        let _ = write!(out, "\nWhat must be true\n{}\n", of_goals(&goals));
    }
    out
}

/// Returns a table for each experiment that has measurements.
pub fn tables(all: &[Measured]) -> String {
    all.iter().map(|measured| format!("\n{}\n{}\n", measured.experiment.title, table(measured))).collect()
}

/// Returns the table of an experiment. Points or variants go down, whichever are more.
pub fn table(measured: &Measured) -> Table {
    let rows = measured.rows();
    if measured.series.len() > rows.len() {
        variants_down(measured, &rows)
    } else {
        points_down(measured, &rows)
    }
}

fn empty() -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table
}

fn value(series: &Series, (point, ranks): (Point, usize)) -> Cell {
    right(series.entry_of(point, ranks).map_or_else(String::new, cell))
}

fn points_down(measured: &Measured, rows: &[(Point, usize)]) -> Table {
    let mut table = empty();
    let several = measured.experiment.ranks.len() > 1;
    let ranks_head = several.then_some("ranks");
    let head = ["metric", "size"].into_iter().chain(ranks_head).chain(["unit"]).map(String::from);
    table.set_header(head.chain(measured.series.iter().map(|series| series.variant.name.clone())));
    for &(point, ranks) in rows {
        let head = [Cell::new(point.metric.name()), right(point.size_words())];
        let ranks_cell = several.then(|| right(ranks.to_string()));
        let cells = measured.series.iter().map(|series| value(series, (point, ranks)));
        table
            .add_row(head.into_iter().chain(ranks_cell).chain([Cell::new(point.metric.unit())]).chain(cells));
    }
    table
}

fn variants_down(measured: &Measured, rows: &[(Point, usize)]) -> Table {
    let mut table = empty();
    let name = |&(point, ranks): &(Point, usize)| {
        let ranks =
            if measured.experiment.ranks.len() > 1 { format!(", {ranks} ranks") } else { String::new() };
        format!("{point}{ranks}, {}", point.metric.unit())
    };
    table.set_header(std::iter::once(String::new()).chain(rows.iter().map(name)));
    for series in &measured.series {
        let cells = rows.iter().map(|&row| value(series, row));
        table.add_row(std::iter::once(Cell::new(&series.variant.name)).chain(cells));
    }
    table
}

/// Writes how a variant was measured, and why it was not.
fn words(out: &mut String, series: &Series) {
    let _ = writeln!(out, "{}: {}", series.variant.name, series.report.command);
    for reason in series.failures() {
        let _ = writeln!(out, "  failed: {reason}");
    }
    for entry in series.report.entries.iter().filter(|entry| entry.metric == Metric::Latency) {
        if let Some((value, count)) = comparable(&entry.samples) {
            let (point, of) = (entry.point(), entry.samples.len());
            let _ = writeln!(
                out,
                "  {point}: {count} of {of} samples are comparable, their median {}",
                format_value(value)
            );
        }
    }
}

fn of_goals(goals: &[Goal]) -> Table {
    let mut table = empty();
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
