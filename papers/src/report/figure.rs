//! The pictures: the numbers that a paper states as bars, and ours as lines over a size or as bars.

use super::inventory::{Item, Show};
use super::results::{Measured, Results, Series};
use crate::bars::{self, Bar, Bars};
use crate::plot::{self, Line, Panel};
use anyhow::Result;
use verbena_lab::experiment::axis::Axis;
use verbena_lab::metric::format_size;
use verbena_lab::table::readable;

/// A picture, or why there is none.
pub(super) struct Figure {
    /// The subject of the figure.
    pub title: String,
    /// The picture as SVG.
    pub drawn: Option<String>,
    /// The reason why there is none.
    pub reason: String,
}

/// Width and height of a picture of lines, in pixels.
const SIZE: (u32, u32) = (640, 400);
/// Points that make a line.
const LINE_POINTS: usize = 3;
/// Bars that one picture can have.
const BARS_MAX: usize = 60;
/// The size that is shown of kernels with several sizes.
const KERNEL_BYTES: f64 = 65536.0;

/// The paper's pictures of an item: a group of bars for each unit.
///
/// # Errors
/// The picture cannot be drawn.
pub(super) fn of_paper(item: &Item) -> Result<Vec<Figure>> {
    let mut units: Vec<&str> = Vec::new();
    for number in &item.numbers {
        if !units.contains(&number.unit) {
            units.push(number.unit);
        }
    }
    units.into_iter().map(|unit| in_unit(item, unit)).collect()
}

fn in_unit(item: &Item, unit: &str) -> Result<Figure> {
    let of_unit = item.numbers.iter().filter(|number| number.unit == unit);
    let bars = of_unit.map(|number| Bar { label: number.what.into(), value: number.value, group: 0 });
    let title = format!("Paper {}, {}: numbers in its text", item.paper, item.place);
    let picture = Bars { title: title.clone(), unit: unit.into(), bars: bars.collect() };
    Ok(Figure { title, drawn: Some(bars::svg(&picture, SIZE.0)?), reason: String::new() })
}

/// Draws one of our pictures.
///
/// # Errors
/// The picture cannot be drawn.
pub(super) fn of_ours(show: &Show, results: &Results) -> Result<Figure> {
    let series = results.of(show.experiment, show.metric);
    let title = title(show, &series);
    if series.is_empty() {
        let reason = format!("{} was not measured", show.experiment);
        return Ok(Figure { title, drawn: None, reason });
    }
    let numeric = show.axis != "kernel" && show.axis != "scheme";
    let mut lines: Vec<Line> = series.iter().filter_map(|series| line(series, show)).collect();
    let drawn = if numeric && !lines.is_empty() {
        let values = lines.iter_mut().flat_map(|line| &mut line.points).map(|point| &mut point.1);
        let unit = in_readable(&unit(&series, show), values.collect());
        plot::svg(&Panel { title: title.clone(), unit, axis: axis(show), lines }, SIZE)?
    } else {
        let mut picture = bars_of(show, &series, &title);
        picture.unit =
            in_readable(&picture.unit, picture.bars.iter_mut().map(|bar| &mut bar.value).collect());
        bars::svg(&picture, SIZE.0)?
    };
    Ok(Figure { title, drawn: Some(drawn), reason: String::new() })
}

/// Brings values into the unit in which the largest can be read, which is returned.
fn in_readable(unit: &str, values: Vec<&mut f64>) -> String {
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(**value));
    let (readable, factor) = readable(unit, largest);
    values.into_iter().for_each(|value| *value *= factor);
    readable.to_string()
}

fn title(show: &Show, series: &[&Series]) -> String {
    let from = match show.experiment.split(' ').next().unwrap_or("") {
        "sim" => "simulator",
        "node" => "shared memory",
        "npb" => "NAS programs",
        _ => "between nodes",
    };
    let emulated = series.iter().any(|series| series.machine.contains("QEMU"));
    let name = match from {
        "between nodes" => show.experiment,
        _ => show.experiment.split_once(' ').map_or(show.experiment, |(_, rest)| rest),
    };
    let metric = show.metric.replace('_', " ");
    let emulated = if emulated { " (emulated)" } else { "" };
    match name.ends_with(&metric) {
        true => format!("Ours, {from}{emulated}: {name}"),
        false => format!("Ours, {from}{emulated}: {name}, {metric}"),
    }
}

fn unit(series: &[&Series], show: &Show) -> String {
    let points = series.iter().flat_map(|series| &series.points);
    points.filter(|point| fits(point, show)).map(|point| point.unit.clone()).next().unwrap_or_default()
}

fn fits(point: &Measured, show: &Show) -> bool {
    (show.metric.is_empty() || point.metric == show.metric) && point.value.is_some()
}

fn axis(show: &Show) -> Axis {
    let plain = |x: usize| x.to_string();
    match show.axis {
        "message size" => Axis { name: "message size", label: format_size },
        name => Axis { name, label: plain },
    }
}

/// The place of a point on a numeric axis.
fn place(point: &Measured, show: &Show) -> Option<usize> {
    match show.axis {
        "ranks" => Some(point.ranks),
        _ => point.x.map(|x| x as usize),
    }
}

/// A line, if there are points enough for one. With several numbers of ranks it is the largest
/// one's.
fn line(series: &Series, show: &Show) -> Option<Line> {
    let ranks = series.points.iter().filter(|point| fits(point, show)).map(|point| point.ranks).max()?;
    let all_ranks = show.axis == "ranks";
    let of_line = |point: &&Measured| fits(point, show) && (all_ranks || point.ranks == ranks);
    let points = series.points.iter().filter(of_line);
    let mut points: Vec<(usize, f64)> = points
        .filter_map(|point| Some((place(point, show)?, point.value.filter(|value| *value > 0.0)?)))
        .filter(|(x, _)| *x > 0)
        .collect();
    points.sort_by_key(|point| point.0);
    points.dedup_by_key(|point| point.0);
    let label = if show.axis == "message size" && ranks > 2 {
        format!("{}, {ranks} ranks", series.name)
    } else {
        series.name.clone()
    };
    (points.len() >= LINE_POINTS).then_some(Line { label, points })
}

/// Bars: a group for each place, a bar for each series. Kernels, whose times have nothing to do
/// with each other, are shown as parts of the first series' time.
fn bars_of(show: &Show, series: &[&Series], title: &str) -> Bars {
    let relative = show.axis == "kernel" && series.len() > 1;
    let shown = shown(show, series[0]);
    let mut bars = Vec::new();
    for (group, first) in shown.into_iter().enumerate() {
        for each in series {
            let same = |point: &&Measured| {
                point.metric == first.metric && point.label == first.label && point.ranks == first.ranks
            };
            let Some(value) = each.points.iter().find(same).and_then(|point| point.value) else { continue };
            let value = if relative { value / first.value.unwrap_or(f64::NAN) } else { value };
            bars.push(Bar { label: bar_label(show, each, first, series.len()), value, group });
        }
    }
    // Places that only other series have: a scheme has its own place.
    for (group, each) in series.iter().enumerate().skip(1) {
        let known = |point: &Measured| {
            series[0].points.iter().any(|first| {
                first.metric == point.metric && first.label == point.label && first.ranks == point.ranks
            })
        };
        for point in each.points.iter().filter(|point| fits(point, show) && !known(point) && !relative) {
            bars.push(Bar {
                label: bar_label(show, each, point, series.len()),
                value: point.value.unwrap_or(0.0),
                group,
            });
        }
    }
    bars.truncate(BARS_MAX);
    let unit = if relative { format!("time, {} = 1", series[0].name) } else { unit(series, show) };
    Bars { title: title.into(), unit, bars }
}

/// The points of the first series that have bars; of kernels those of one size, with the most ranks
/// that a kernel has.
fn shown<'a>(show: &Show, series: &'a Series) -> Vec<&'a Measured> {
    let fitting: Vec<&Measured> = series.points.iter().filter(|point| fits(point, show)).collect();
    if show.axis != "kernel" {
        return fitting;
    }
    let one_size = fitting.iter().any(|point| point.x == Some(KERNEL_BYTES));
    let most = |metric: &str| {
        fitting.iter().filter(|point| point.metric == metric).map(|point| point.ranks).max().unwrap_or(0)
    };
    let wanted = |point: &&Measured| {
        (!one_size || point.x == Some(KERNEL_BYTES)) && point.ranks == most(&point.metric)
    };
    fitting.iter().copied().filter(wanted).collect()
}

fn bar_label(show: &Show, series: &Series, point: &Measured, series_count: usize) -> String {
    let what = match (show.metric.is_empty(), point.metric.is_empty()) {
        (true, false) if show.axis == "kernel" => {
            format!("{} ", point.metric.trim_start_matches("kernel_").to_uppercase())
        }
        _ => String::new(),
    };
    let ranks = if point.ranks > 2 && show.axis == "kernel" {
        format!("{} ranks ", point.ranks)
    } else {
        String::new()
    };
    match (series_count, show.axis) {
        (1, _) => format!("{what}{ranks}{}", point.label),
        (_, "kernel") => format!("{what}{ranks}{}", series.name),
        (_, "scheme") => series.name.clone(),
        _ => format!("{what}{ranks}{}: {}", series.name, point.label),
    }
}
