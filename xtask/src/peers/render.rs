//! The summary as tables: for the terminal, and as a page of Markdown.

use super::distance::distances;
use super::summary::{Cell, Row, Summary, median};
use comfy_table::{CellAlignment, Table, presets};
use std::fmt::Write;

/// Returns the summary as text for the terminal.
pub(crate) fn terminal(summary: &Summary) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}; medians of {} rounds", summary.machine, summary.rounds);
    for (name, version) in &summary.contenders {
        let _ = writeln!(out, "{name}: {}", if version.is_empty() { "did not run" } else { version });
    }
    let mut table = table(summary);
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let _ = writeln!(out, "\n{}\n\n{table}", floor(summary));
    if let Some(mut table) = distance_table(summary) {
        table.load_style(presets::UTF8_FULL_CONDENSED);
        let _ = writeln!(out, "\nDistance to the floor:\n{table}");
    }
    out.push_str(&failures(summary));
    out
}

/// The rows as a table of Markdown.
pub(crate) fn markdown_table(summary: &Summary) -> String {
    let mut table = table(summary);
    table.load_style(presets::ASCII_MARKDOWN);
    format!("{table}\n")
}

/// Returns everything as Markdown, with the distance to the floor.
pub(crate) fn markdown(summary: &Summary) -> String {
    let mut out = String::new();
    let date = date(summary.started_unix_s);
    let commit = summary.commit.as_deref().unwrap_or("unknown");
    let _ = writeln!(out, "`{}` on {date}, commit {commit}.", summary.command);
    let _ = writeln!(
        out,
        "{}. Medians of {} rounds, the libraries taking turns.\n",
        summary.machine, summary.rounds
    );
    for (name, version) in &summary.contenders {
        let _ = writeln!(out, "- {name}: {}", if version.is_empty() { "did not run" } else { version });
    }
    let _ = writeln!(out, "- {}\n", floor(summary));
    out.push_str(&markdown_table(summary));
    if let Some(mut table) = distance_table(summary) {
        table.load_style(presets::ASCII_MARKDOWN);
        let _ = writeln!(out, "\nDistance of Verbena to the floor:\n\n{table}");
    }
    let failures = failures(summary);
    if !failures.is_empty() {
        let _ = writeln!(out, "\n```text\n{failures}```");
    }
    out
}

/// The day in UTC.
pub(crate) fn date(unix_s: u64) -> String {
    let day = i64::try_from(unix_s).ok().and_then(|s| time::OffsetDateTime::from_unix_timestamp(s).ok());
    day.map_or_else(|| "an unknown day".into(), |moment| moment.date().to_string())
}

/// The machine's own speed: median and range over the rounds.
fn floor(summary: &Summary) -> String {
    if summary.floor.0.is_empty() {
        return "the machine's own speed was not measured".into();
    }
    let one = |(name, values): (&String, &Vec<f64>)| {
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), &v| (l.min(v), h.max(v)));
        let middle = median(values).map_or_else(|| "-".into(), number);
        format!("{name} {middle} [{} to {}]", number(low), number(high))
    };
    format!("floor without MPI: {}", summary.floor.0.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn table(summary: &Summary) -> Table {
    let mut table = Table::new();
    let names = summary.contenders.iter().map(|(name, _)| name.clone());
    let head = ["point", "ranks", "unit"].map(String::from).into_iter().chain(names);
    table.set_header(head.chain(["best peer", "ahead by"].map(String::from)));
    for row in &summary.rows {
        table.add_row(line(summary, row));
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Returns the table of Verbena's values against the machine's; none if no point has a floor.
fn distance_table(summary: &Summary) -> Option<Table> {
    let distances = distances(summary);
    let mut table = Table::new();
    table.set_header(["point", "unit", "verbena", "floor", "times"]);
    for distance in &distances {
        let words = [title(&distance.point), distance.unit.clone()].into_iter();
        table.add_row(words.chain([distance.ours, distance.floor, distance.factor()].map(number)));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    (!distances.is_empty()).then_some(table)
}

fn line(summary: &Summary, row: &Row) -> Vec<String> {
    let mut line = vec![title(&row.point), ranks(row), row.unit.clone()];
    let cell = |(name, _): &(String, String)| {
        let Some(cell) = row.cells.get(name) else { return "-".into() };
        match row.median(name) {
            None if row.any_median(name).is_some() => format!("({})", value(row.any_median(name), cell)),
            median => value(median, cell),
        }
    };
    line.extend(summary.contenders.iter().map(cell));
    line.push(row.best_peer().map_or_else(|| "-".into(), |(name, _)| name.into()));
    line.push(row.ratio().map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")));
    line
}

/// The number of ranks, and of the busy processes beside them if there were any.
fn ranks(row: &Row) -> String {
    match row.busy {
        0 => row.ranks.to_string(),
        busy => format!("{} beside {busy} busy", row.ranks),
    }
}

/// A cell of the table: the median, or why there is none.
fn value(median: Option<f64>, cell: &Cell) -> String {
    match (median, &cell.failure) {
        (Some(value), None) => number(value),
        (Some(value), Some(_)) => format!("{}*", number(value)),
        (None, Some(reason)) if reason.starts_with("timed out") => "timed out".into(),
        (None, _) => "failed".into(),
    }
}

/// Formats a number with three significant digits; whole numbers from 100 on.
pub(crate) fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

/// Returns `latency:65536` as `latency 64 KiB`.
pub(crate) fn title(point: &str) -> String {
    let Some((metric, bytes)) = point.split_once(':') else { return point.to_string() };
    match bytes.parse::<usize>() {
        Ok(b) if b >= 1 << 20 => format!("{metric} {} MiB", b >> 20),
        Ok(b) if b >= 1 << 10 => format!("{metric} {} KiB", b >> 10),
        _ => format!("{metric} {bytes} B"),
    }
}

/// Returns the reasons of the failures, each with all its points.
pub(crate) fn failures(summary: &Summary) -> String {
    let mut points: Vec<(&String, &String, Vec<String>)> = Vec::new();
    for row in &summary.rows {
        for (name, cell) in &row.cells {
            let Some(reason) = &cell.failure else { continue };
            let beside = if row.busy > 0 { format!(" beside {} busy", row.busy) } else { String::new() };
            let point = format!("{} at {} ranks{beside}", title(&row.point), row.ranks);
            match points.iter_mut().find(|(of, why, _)| (*of, *why) == (name, reason)) {
                Some((_, _, all)) => all.push(point),
                None => points.push((name, reason, vec![point])),
            }
        }
    }
    let line = |(name, reason, all): &(&String, &String, Vec<String>)| {
        format!("{name}, {}: {reason}\n", all.join(", "))
    };
    points.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::contender::{Contender, OURS};
    use crate::peers::summary::Conditions;

    fn summary() -> Summary {
        let contender = |name| Contender { name, setup: Err("test".into()) };
        let mut summary = Summary::new(&[contender(OURS), contender("mpich")], 1);
        let text = r#"{"machine":"m","library":{"name":"L 1.0"},"entries":[
            {"metric":"latency","bytes":65536,"ranks":2,"unit":"us","value":2.0,"failure":null}]}"#;
        summary.add(OURS, 0, None, &serde_json::from_str(text).expect("report"));
        summary.add("mpich", 0, None, &serde_json::from_str(&text.replace("2.0", "5.0")).expect("report"));
        summary.fail_all("mpich", Conditions::quiet(4), &["barrier"], "timed out after 20 s");
        summary
    }

    #[test]
    fn the_page_has_values_ratio_and_failures() {
        let page = markdown(&summary());
        assert!(page.contains("latency 64 KiB") && page.contains("2.50"), "{page}");
        assert!(
            page.contains("timed out") && page.contains("mpich, barrier at 4 ranks: timed out after 20 s"),
            "{page}"
        );
        assert!(page.contains("| ---") || page.contains("|---"), "{page}");
    }

    #[test]
    fn the_terminal_table_names_the_best_peer() {
        let text = terminal(&summary());
        assert!(text.contains("best peer") && text.contains("mpich") && text.contains("L 1.0"), "{text}");
    }

    #[test]
    fn days_are_counted_right() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(1_790_000_000), "2026-09-21");
    }
}
