//! A report as a picture in SVG: a panel for each unit, a line for each metric and number of ranks.

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::{Path, PathBuf};
use verbena_lab::chart::curves;
use verbena_lab::experiment::axis::{Axis, SIZES};
use verbena_lab::report::{Entry, Report};
use verbena_lab::table::format_value;

/// Width of the picture and height of a panel, in pixels.
const PANEL: (u32, u32) = (1000, 480);
/// Labels of the vertical axis at most: more would lie over each other where lines are close
/// together.
const Y_LABELS: usize = 6;

/// The options of `verbena-papers plot`.
#[derive(Args, Debug)]
pub(crate) struct PlotArgs {
    /// The result file of `verbena bench --json`
    result: PathBuf,
    /// The picture (.svg)
    picture: PathBuf,
}

/// Runs `verbena-papers plot`.
///
/// # Errors
/// The result cannot be read, or the picture cannot be drawn.
pub(crate) fn run(args: &PlotArgs) -> Result<()> {
    check_name(&args.picture)?;
    let result = &args.result;
    let text =
        std::fs::read_to_string(result).with_context(|| format!("cannot read {}", result.display()))?;
    let report = serde_json::from_str(&text).with_context(|| format!("{} is no result", result.display()))?;
    draw(&report, &args.picture)
}

/// Refuses a file name whose ending is not that of the format, before anything is measured.
///
/// # Errors
/// The name does not end in `.svg`.
pub(crate) fn check_name(path: &Path) -> Result<()> {
    let is_svg = path.extension().is_some_and(|ending| ending == "svg");
    ensure!(is_svg, "a plot is drawn in SVG: end the name of {} in .svg", path.display());
    Ok(())
}

/// A line of a panel.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The text in the legend.
    pub label: String,
    /// (Message size in bytes, value), by size.
    pub points: Vec<(usize, f64)>,
}

/// A panel of a picture.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// The text above the panel.
    pub title: String,
    /// The unit of the values.
    pub unit: String,
    /// The axis over which the values lie.
    pub axis: Axis,
    /// The lines; one at least.
    pub lines: Vec<Line>,
}

/// Draws every curve with at least three points into the file.
///
/// # Errors
/// There is no such curve, or the file cannot be written.
pub(crate) fn draw(report: &Report, path: &Path) -> Result<()> {
    let curves = curves(&report.entries);
    let mut units: Vec<&str> = curves.iter().map(|(entry, _)| entry.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    let title = report.library.as_ref().map_or("", |library| &library.name);
    let line = |(entry, points): &(&Entry, Vec<(usize, f64)>)| Line {
        label: format!("{}, {} ranks", entry.metric.name(), entry.ranks),
        points: points.clone(),
    };
    let panel = |unit: &&str| Panel {
        title: title.to_string(),
        unit: unit.to_string(),
        axis: SIZES,
        lines: curves.iter().filter(|(entry, _)| entry.unit == *unit).map(line).collect(),
    };
    draw_panels(&units.iter().map(panel).collect::<Vec<_>>(), path)
}

/// Draws panels, one below the other, into the file.
///
/// # Errors
/// There is none, or the file cannot be written.
pub(crate) fn draw_panels(all: &[Panel], path: &Path) -> Result<()> {
    if all.is_empty() {
        bail!(
            "there is nothing to plot: no metric was measured at three sizes or more, nor by three variants of an axis"
        );
    }
    register_font()?;
    let size = (PANEL.0, PANEL.1 * all.len() as u32);
    panels(SVGBackend::new(path, size).into_drawing_area(), all)
        .with_context(|| format!("cannot draw the plot into {}", path.display()))
}

/// Returns one panel as the text of an SVG picture of that width and height.
///
/// # Errors
/// It cannot be drawn.
pub(crate) fn svg(panel: &Panel, size: (u32, u32)) -> Result<String> {
    register_font()?;
    let mut text = String::new();
    panels(SVGBackend::with_string(&mut text, size).into_drawing_area(), std::slice::from_ref(panel))?;
    Ok(text)
}

/// Places of a line's stretch at which it is asked whether the legend covers it.
const STEPS: u32 = 8;

/// The texts need a font; a machine without any must do, so it is built in.
pub(super) fn register_font() -> Result<()> {
    plotters::style::register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular())
        .map_err(|_| anyhow!("the built-in font cannot be read"))
}

fn panels<B: DrawingBackend>(area: DrawingArea<B, Shift>, all: &[Panel]) -> Result<()>
where
    B::ErrorType: 'static,
{
    area.fill(&WHITE)?;
    for (room, panel) in area.split_evenly((all.len(), 1)).iter().zip(all) {
        draw_panel(room, panel)?;
    }
    area.present()?;
    Ok(())
}

fn draw_panel<B: DrawingBackend>(room: &DrawingArea<B, Shift>, panel: &Panel) -> Result<()>
where
    B::ErrorType: 'static,
{
    let axis = panel.axis;
    let ((x_min, x_last), (y_min, y_max)) = ranges(&panel.lines);
    let plot = room.dim_in_pixel();
    let legend = legend_part(&panel.lines, (plot.0.saturating_sub(134), plot.1.saturating_sub(90)));
    let (corner, covered) = emptiest(&panel.lines, legend, (x_min, x_last), (y_min, y_max));
    let (corner, x_max) = match covered {
        0 => (corner, x_last),
        _ => (SeriesLabelPosition::UpperRight, with_room(x_min, x_last, legend.0)),
    };
    let mut chart = ChartBuilder::on(room)
        .caption(&panel.title, ("sans-serif", 18))
        .margin(12)
        .margin_right(40)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d((x_min..x_max).log_scale().base(2.0), (y_min..y_max).log_scale().base(2.0))?;
    chart
        .configure_mesh()
        .x_desc(axis.name)
        .y_desc(&panel.unit)
        .label_style(("sans-serif", 15))
        .x_label_formatter(&|&x| (axis.label)(x.round() as usize))
        .y_label_formatter(&|&y| format_value(y))
        .y_labels(Y_LABELS)
        .draw()?;
    for (index, line) in panel.lines.iter().enumerate() {
        let color = Palette99::pick(index).to_rgba();
        let points: Vec<(f64, f64)> = line.points.iter().map(|&(x, y)| (x as f64, y)).collect();
        chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, color.filled())))?;
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)))?
            .label(&line.label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(corner)
        .label_font(("sans-serif", 15))
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// Returns the end of an axis from `first` to `last` once this part of it is added on the right,
/// half of the whole at most.
fn with_room(first: f64, last: f64, part: f64) -> f64 {
    let part = part.min(0.5);
    last * (last / first).powf(part / (1.0 - part))
}

/// The corner where a legend of this part of the plot, across and up, covers least of the lines,
/// and how many of their places it covers.
fn emptiest(
    lines: &[Line],
    legend: (f64, f64),
    x: (f64, f64),
    y: (f64, f64),
) -> (SeriesLabelPosition, usize) {
    let part = |value: f64, (low, high): (f64, f64)| (value / low).ln() / (high / low).ln().max(f64::EPSILON);
    let place = |point: &(usize, f64)| (part(point.0 as f64, x), part(point.1, y));
    let along = |pair: &[(usize, f64)]| {
        let (from, to) = (place(&pair[0]), place(&pair[1]));
        (0..=STEPS).map(move |step| {
            let share = f64::from(step) / f64::from(STEPS);
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        })
    };
    let places: Vec<(f64, f64)> =
        lines.iter().flat_map(|line| line.points.windows(2).flat_map(along)).collect();
    let covered = |left: bool, upper: bool| {
        let is_there = |&&(across, up): &&(f64, f64)| {
            (if left { across <= legend.0 } else { across >= 1.0 - legend.0 })
                && (if upper { up >= 1.0 - legend.1 } else { up <= legend.1 })
        };
        places.iter().filter(is_there).count()
    };
    let corners = [
        (SeriesLabelPosition::UpperLeft, covered(true, true)),
        (SeriesLabelPosition::UpperRight, covered(false, true)),
        (SeriesLabelPosition::LowerRight, covered(false, false)),
        (SeriesLabelPosition::LowerLeft, covered(true, false)),
    ];
    let least = corners.into_iter().min_by_key(|corner| corner.1);
    least.unwrap_or((SeriesLabelPosition::UpperLeft, 0))
}

/// Returns the part of a plot of this many pixels that the legend takes, across and up, with some
/// air.
fn legend_part(lines: &[Line], (width, height): (u32, u32)) -> (f64, f64) {
    let longest = lines.iter().map(|line| line.label.chars().count()).max().unwrap_or(0);
    let (across, up) = (60 + 9 * longest, 20 + 24 * lines.len());
    (across as f64 / f64::from(width.max(1)), up as f64 / f64::from(height.max(1)))
}

/// Returns the ranges of both axes, with a little air above and below: up to whole powers of two,
/// which are then labelled.
fn ranges(lines: &[Line]) -> ((f64, f64), (f64, f64)) {
    let all = || lines.iter().flat_map(|line| &line.points);
    let span = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (low, high) = span(&mut all().map(|point| point.1));
    let air = ((low / 1.05).log2().floor().exp2(), (high * 1.05).log2().ceil().exp2());
    (span(&mut all().map(|point| point.0 as f64)), air)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let measured = |bytes: usize| {
            let mut entry = Entry::new(format!("latency:{bytes}").parse().expect("point"), 2);
            entry.add(&[bytes as f64 / 100.0], 1);
            entry
        };
        let entries = [8, 1024, 65536].map(measured).to_vec();
        Report { command: String::new(), started_unix_s: 0, machine: String::new(), library: None, entries }
    }

    #[test]
    fn a_picture_is_drawn() {
        let folder = std::env::temp_dir().join(format!("verbena-plot-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        let svg = folder.join("a.svg");
        draw(&report(), &svg).expect("svg");
        let text = std::fs::read_to_string(&svg).expect("svg");
        assert!(text.contains("latency, 2 ranks") && text.contains("32 KiB"), "{text}");
        std::fs::remove_dir_all(folder).expect("clean up");
    }

    #[test]
    fn the_legend_covers_no_line_if_it_need_not() {
        let line = |points: &[(usize, f64)]| Line { label: "one".into(), points: points.to_vec() };
        // Nothing but the ends are points, and the line runs through two corners.
        let rising = [line(&[(1, 1.0), (1024, 1024.0)])];
        let falling = [line(&[(1, 1024.0), (1024, 1.0)])];
        let place = |lines: &[Line]| emptiest(lines, (0.3, 0.3), (1.0, 1024.0), (1.0, 1024.0));
        assert!(matches!(place(&rising), (SeriesLabelPosition::UpperLeft, 0)));
        assert!(matches!(place(&falling), (SeriesLabelPosition::UpperRight, 0)));
    }

    #[test]
    fn a_legend_for_which_no_corner_is_free_gets_room_beside_the_lines() {
        let line = |points: &[(usize, f64)]| Line { label: "one".into(), points: points.to_vec() };
        let cross = [line(&[(1, 1.0), (1024, 1024.0)]), line(&[(1, 1024.0), (1024, 1.0)])];
        let covered = |x_max| emptiest(&cross, (0.3, 0.3), (1.0, x_max), (1.0, 1024.0)).1;
        assert!(covered(1024.0) > 0);
        assert_eq!(covered(with_room(1.0, 1024.0, 0.31)), 0);
    }

    #[test]
    fn an_unknown_format_is_refused() {
        let refused = check_name(Path::new("plot.png")).expect_err("no SVG").to_string();
        assert!(refused.contains("end the name of plot.png in .svg"), "{refused}");
        assert!(check_name(Path::new("plot.svg")).is_ok());
    }
}
