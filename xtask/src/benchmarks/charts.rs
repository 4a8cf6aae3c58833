//! The three charts of the page: which rows of a result they show.

use super::svg::{Form, Panel, chart};
use crate::peers::render::title;
use crate::peers::summary::{Conditions, Row, Summary};
use anyhow::{Result, bail};

/// Latency and bandwidth by size, between two ranks.
pub(super) const SIZES: &str = "benchmarks-sizes.svg";
/// Collectives and start-up by the number of ranks.
pub(super) const RANKS: &str = "benchmarks-ranks.svg";
/// Four ranks beside busy processes.
pub(super) const BUSY: &str = "benchmarks-busy.svg";

/// The points of the second chart, a panel each.
const BY_RANKS: [&str; 6] =
    ["barrier", "bcast:8", "allreduce:8", "allreduce:65536", "alltoall:1024", "startup"];

/// The charts, each with the name of its file.
///
/// # Errors
/// The result lacks a point that a chart shows.
pub(super) fn all(summary: &Summary) -> Result<Vec<(&'static str, String)>> {
    let series: Vec<String> = summary.contenders.iter().map(|(name, _)| name.clone()).collect();
    Ok(vec![
        (SIZES, chart(&series, &[curve(summary, "latency")?, curve(summary, "bandwidth")?], 2)),
        (RANKS, chart(&series, &by_ranks(summary)?, 3)),
        (BUSY, chart(&series, &beside_busy(summary)?, 1)),
    ])
}

/// The medians of a row, in the order of the contenders.
fn values(summary: &Summary, row: &Row) -> Vec<Option<f64>> {
    summary.contenders.iter().map(|(name, _)| row.median(name).or_else(|| row.any_median(name))).collect()
}

fn panel(summary: &Summary, title: String, form: Form, rows: &[(f64, String, &Row)]) -> Panel {
    let places = rows.iter().map(|(place, label, _)| (*place, label.clone())).collect();
    let columns: Vec<Vec<Option<f64>>> = rows.iter().map(|(_, _, row)| values(summary, row)).collect();
    let of = |series: usize| columns.iter().map(|column| column[series]).collect();
    let values = (0..summary.contenders.len()).map(of).collect();
    Panel { title, places, values, form }
}

fn curve(summary: &Summary, metric: &str) -> Result<Panel> {
    let of_metric = |row: &'_ Row| {
        let (name, bytes) = row.point.split_once(':')?;
        let is_quiet = row.conditions() == Conditions::quiet(2);
        (name == metric && is_quiet).then(|| bytes.parse::<usize>().ok())?
    };
    let mut rows: Vec<(usize, &Row)> =
        summary.rows.iter().filter_map(|row| Some((of_metric(row)?, row))).collect();
    rows.sort_by_key(|(bytes, _)| *bytes);
    let [(_, first), _, ..] = rows[..] else {
        bail!("the result has no {metric} at several sizes: measure by cargo xtask peers --page");
    };
    let better = if first.higher_is_better() { "more is better" } else { "less is better" };
    let heading = format!("{metric} by message size, {} ({better})", first.unit);
    let label = |row: &Row| title(&row.point).split_once(' ').map_or(String::new(), |(_, size)| size.into());
    let rows: Vec<(f64, String, &Row)> =
        rows.iter().map(|(bytes, row)| (*bytes as f64, label(row), *row)).collect();
    Ok(panel(summary, heading, Form::Lines, &rows))
}

fn by_ranks(summary: &Summary) -> Result<Vec<Panel>> {
    let one = |point: &&str| {
        let mut rows: Vec<&Row> =
            summary.rows.iter().filter(|row| row.point == **point && row.busy == 0).collect();
        rows.sort_by_key(|row| row.ranks);
        let Some(first) = rows.first() else {
            bail!("the result has no {point}: measure by cargo xtask peers --page");
        };
        let heading = format!("{}, {} by ranks (less is better)", title(point), first.unit);
        let rows: Vec<(f64, String, &Row)> =
            rows.iter().map(|row| (row.ranks as f64, row.ranks.to_string(), *row)).collect();
        Ok(panel(summary, heading, Form::Bars, &rows))
    };
    BY_RANKS.iter().map(one).collect()
}

fn beside_busy(summary: &Summary) -> Result<Vec<Panel>> {
    let Some(first) = summary.rows.iter().find(|row| row.busy > 0) else {
        bail!("the result has nothing beside busy processes: measure by cargo xtask peers --page");
    };
    let is_shown = |row: &&Row| row.conditions() == first.conditions() && row.unit == "us";
    let rows: Vec<&Row> = summary.rows.iter().filter(is_shown).collect();
    let heading = format!("{} ranks beside {} busy processes, us (less is better)", first.ranks, first.busy);
    let rows: Vec<(f64, String, &Row)> = rows.iter().map(|row| (0.0, title(&row.point), *row)).collect();
    Ok(vec![panel(summary, heading, Form::Bars, &rows)])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::peers::summary::Cell;

    /// A result with everything that the page shows: Verbena at 1, its only peer at 2, and level or
    /// behind where `latency:8` and `barrier` are concerned.
    pub(crate) fn result() -> Summary {
        let mut summary = Summary::new(&[], 3);
        summary.machine = "a machine, 2 usable".into();
        summary.contenders = vec![("verbena".into(), "Verbena 1".into()), ("mpich".into(), "MPICH 5".into())];
        let mut add = |point: &str, ranks, busy, unit: &str, values: [f64; 2]| {
            let cell = |value| Cell { values: vec![value], ..Cell::default() };
            let cells = [("verbena".into(), cell(values[0])), ("mpich".into(), cell(values[1]))].into();
            summary.rows.push(Row { point: point.into(), ranks, busy, unit: unit.into(), cells });
        };
        add("latency:8", 2, 0, "us", [2.0, 1.0]);
        add("latency:1024", 2, 0, "us", [1.0, 2.0]);
        add("bandwidth:1024", 2, 0, "GB/s", [2.0, 1.0]);
        add("bandwidth:1048576", 2, 0, "GB/s", [2.0, 1.0]);
        for ranks in [2, 4, 8] {
            for point in &BY_RANKS[..5] {
                add(point, ranks, 0, "us", [1.0, 2.0]);
            }
        }
        add("startup", 2, 0, "ms", [1.0, 2.0]);
        add("barrier", 4, 2, "us", [1.0, 10.0]);
        add("startup", 4, 2, "ms", [1.0, 2.0]);
        summary
    }

    #[test]
    fn each_chart_shows_its_rows() {
        let charts = all(&result()).expect("charts");
        let [sizes, ranks, busy] = &charts[..] else { panic!("three charts") };
        assert!(sizes.1.contains("latency by message size, us (less is better)"), "{}", sizes.1);
        assert!(sizes.1.contains("GB/s (more is better)") && sizes.1.contains("1 MiB"), "{}", sizes.1);
        assert_eq!(sizes.1.matches("<polyline").count(), 4);
        // A background, the legend, and bars: five points at three numbers of ranks, start-up at
        // one.
        assert_eq!(ranks.1.matches("<rect").count(), 3 + 2 * (5 * 3 + 1));
        assert!(busy.1.contains("4 ranks beside 2 busy processes, us (less is better)"), "{}", busy.1);
        assert_eq!(busy.1.matches("<rect").count(), 3 + 2);
    }

    #[test]
    fn a_result_of_another_kind_is_refused() {
        let mut summary = result();
        summary.rows.retain(|row| row.busy == 0);
        assert!(all(&summary).is_err_and(|why| why.to_string().contains("--page")));
    }
}
