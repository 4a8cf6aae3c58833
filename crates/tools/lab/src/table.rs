//! A report as tables for people.

use super::metric::{Family, Point};
use super::report::{Entry, Report};
use comfy_table::{Cell, CellAlignment, Table, presets};
use std::fmt::Write;

/// A table for each family of metrics, under a line that names the library; the reasons of failures
/// below.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    if let Some(library) = &report.library {
        let _ = writeln!(out, "{} (MPI {}.{})", library.name, library.standard.0, library.standard.1);
    }
    let _ = writeln!(out, "{}", report.machine);
    for family in [
        Family::Floor,
        Family::Pair,
        Family::Pairs,
        Family::Threads,
        Family::Collective,
        Family::OneSided,
        Family::File,
        Family::Kernel,
        Family::Mixed,
        Family::Discovery,
        Family::FewTalk,
        Family::Overlap,
        Family::Everyone,
        Family::Startup,
    ] {
        let of_family: Vec<&Entry> =
            report.entries.iter().filter(|entry| entry.metric.family() == family).collect();
        let table = if family == Family::Floor { list(&of_family) } else { one(&of_family) };
        if !of_family.is_empty() {
            let _ = write!(out, "\n{table}\n");
        }
    }
    if report.entries.iter().any(|entry| entry.spread_percent().is_some()) {
        out.push_str("Medians; half of the samples lie within the percentage behind ±.\n");
    }
    out.push_str(&reasons(&report.entries));
    out
}

/// Returns why points failed: each reason once, with the first point that it cost and how many
/// more.
fn reasons(entries: &[Entry]) -> String {
    let mut seen: Vec<(&str, &Entry, usize)> = Vec::new();
    for entry in entries {
        let Some(reason) = entry.failure.as_deref() else { continue };
        match seen.iter_mut().find(|(known, ..)| *known == reason) {
            Some((.., more)) => *more += 1,
            None => seen.push((reason, entry, 0)),
        }
    }
    let mut out = String::new();
    for (reason, first, more) in seen {
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(out, "{}, {} ranks{others}: {reason}", first.point(), first.ranks);
    }
    out
}

/// Lists the values measured without MPI, a line each, since hardly any depends on the processes.
fn list(entries: &[&Entry]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["metric", "size", "unit", "value"]);
    let mut above = None;
    for entry in entries {
        let name = match entry.metric.has_ranks() {
            true => format!("{}, {} processes", entry.metric.name(), entry.ranks),
            false if above == Some(entry.metric) => String::new(),
            false => entry.metric.name().into(),
        };
        above = Some(entry.metric);
        let size = right(entry.point().size_words());
        table.add_row([Cell::new(name), size, Cell::new(&entry.unit), right(cell(entry))]);
    }
    table
}

/// Returns the table of one family: metrics and sizes down, numbers of ranks across.
fn one(entries: &[&Entry]) -> Table {
    let mut ranks: Vec<usize> = entries.iter().map(|entry| entry.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let first = ranks.first().copied();
    let mut points: Vec<Point> = Vec::new();
    for entry in entries.iter().filter(|entry| Some(entry.ranks) == first) {
        points.push(entry.point());
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let heads = ranks.iter().map(|ranks| format!("{ranks} ranks"));
    table.set_header(["metric", "size", "unit"].map(String::from).into_iter().chain(heads));
    let mut above = None;
    for point in points {
        let name = if above == Some(point.metric) { "" } else { point.metric.name() };
        above = Some(point.metric);
        let size = point.size_words();
        let of = |&ranks: &usize| entries.iter().find(|entry| entry.point() == point && entry.ranks == ranks);
        let cells = ranks.iter().map(|r| right(of(r).map_or_else(String::new, |entry| with_spread(entry))));
        table
            .add_row([Cell::new(name), right(size), Cell::new(point.metric.unit())].into_iter().chain(cells));
    }
    table
}

/// A cell whose text ends at its right edge.
pub fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The value, or a word for why there is none; the reason follows below the table.
pub fn cell(entry: &Entry) -> String {
    match (entry.value, &entry.failure) {
        (Some(value), None) => format_value(value),
        (Some(value), Some(_)) => format!("{} (then failed)", format_value(value)),
        (None, Some(reason)) if reason.starts_with("timed out") => "timed out".into(),
        (None, Some(_)) => "failed".into(),
        (None, None) => "not measured".into(),
    }
}

/// The value, and how far the samples are from it, if there are several.
fn with_spread(entry: &Entry) -> String {
    let spread = entry.spread_percent().filter(|_| entry.failure.is_none());
    spread.map_or_else(|| cell(entry), |percent| format!("{} ±{percent:.0}%", cell(entry)))
}

/// Returns a unit in which a value can be read, and the factor that converts values to it: speeds
/// of an emulated network are a small part of GB/s.
pub fn readable(unit: &str, largest: f64) -> (&str, f64) {
    match unit {
        "GB/s" if largest < 1e-3 => ("kB/s", 1e6),
        "GB/s" if largest < 1.0 => ("MB/s", 1e3),
        _ => (unit, 1.0),
    }
}

/// Formats a value with three significant digits; whole numbers from 100 on.
pub fn format_value(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        v if v >= 0.1 || v == 0.0 => format!("{value:.3}"),
        v => format!("{value:.*}", 2 + (-v.log10()).ceil().min(9.0) as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_values_and_reasons() {
        let mut fine = Entry::new("bcast:8".parse().expect("point"), 2);
        fine.add(&[1.234], 1);
        let mut spread = Entry::new("bcast:8".parse().expect("point"), 8);
        spread.add(&[1.0, 0.8, 1.2, 1.0], 1);
        assert_eq!((with_spread(&spread), with_spread(&fine)), ("1.00 ±5%".into(), "1.23".into()));
        let mut slow = Entry::new("bcast:8".parse().expect("point"), 4);
        slow.fail("timed out after 30 s\nmore");
        let text = one(&[&fine, &slow]).to_string();
        assert!(text.contains("1.23") && text.contains("timed out") && text.contains("4 ranks"), "{text}");
    }

    #[test]
    fn slow_speeds_are_readable() {
        assert_eq!([2.0, 0.02, 0.00002].map(|value| readable("GB/s", value).0), ["GB/s", "MB/s", "kB/s"]);
        assert_eq!(readable("us", 0.1), ("us", 1.0));
    }

    #[test]
    fn a_reason_is_said_once() {
        let mut lost = ["barrier", "bcast:8"].map(|point| Entry::new(point.parse().expect("point"), 2));
        lost.iter_mut().for_each(|entry| entry.fail("no fabric"));
        assert_eq!(reasons(&lost), "barrier, 2 ranks and 1 more: no fabric\n");
    }

    #[test]
    fn digits_follow_the_magnitude() {
        assert_eq!(
            [0.0, 0.00012345, 0.012345, 0.12345, 1.2345, 12.345, 1234.5].map(format_value),
            ["0.000", "0.000123", "0.0123", "0.123", "1.23", "12.3", "1234"]
        );
    }
}
