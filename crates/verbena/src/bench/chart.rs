//! A report as plots in the terminal: the metrics that have several sizes, both axes logarithmic.

use super::metric::format_size;
use super::report::{Entry, Report};
use super::table::format_value;
use std::fmt::Write;
use textplots::{Chart, LabelBuilder, LabelFormat, Plot, Shape};

/// Width and height in dots; a character holds two by four.
const DOTS: (u32, u32) = (120, 48);

/// Every curve with at least three points.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for (entry, points) in curves(&report.entries) {
        let _ = write!(out, "\n{} by size, {} ranks ({})\n", entry.metric.name(), entry.ranks, entry.unit);
        let logs: Vec<(f32, f32)> =
            points.iter().map(|&(x, y)| ((x as f32).log2(), (y as f32).log10())).collect();
        out.push_str(&draw(&logs));
    }
    out
}

/// The measured points of each metric and number of ranks: (bytes, value), by size.
pub fn curves(entries: &[Entry]) -> Vec<(&Entry, Vec<(usize, f64)>)> {
    let mut curves: Vec<(&Entry, Vec<(usize, f64)>)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.bytes > 0) {
        let Some(value) = entry.value.filter(|&value| value > 0.0) else { continue };
        let same = |(first, _): &&mut (&Entry, _)| first.metric == entry.metric && first.ranks == entry.ranks;
        match curves.iter_mut().find(same) {
            Some((_, points)) => points.push((entry.bytes, value)),
            None => curves.push((entry, vec![(entry.bytes, value)])),
        }
    }
    curves.retain(|(_, points)| points.len() >= 3);
    curves.iter_mut().for_each(|(_, points)| points.sort_by_key(|point| point.0));
    curves
}

fn draw(logs: &[(f32, f32)]) -> String {
    let (first, last) = (logs[0].0, logs[logs.len() - 1].0);
    let shape = Shape::Lines(logs);
    let mut chart = Chart::new(DOTS.0, DOTS.1, first, last);
    let chart = chart
        .x_label_format(LabelFormat::Custom(Box::new(|x| format_size(2f32.powf(x).round() as usize))))
        .y_label_format(LabelFormat::Custom(Box::new(|y| format_value(10f64.powf(f64::from(y))))))
        .lineplot(&shape);
    chart.axis();
    chart.figures();
    chart.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let sizes = [1usize, 1024, 1 << 20, 8];
        let measured = |&bytes: &usize| {
            let mut entry = Entry::new(format!("latency:{bytes}").parse().expect("point"), 2);
            entry.add(&[bytes as f64], 1);
            entry
        };
        sizes.iter().map(measured).collect()
    }

    #[test]
    fn a_curve_is_sorted_and_needs_three_points() {
        let all = entries();
        assert_eq!(curves(&all)[0].1.iter().map(|point| point.0).collect::<Vec<_>>(), [1, 8, 1024, 1 << 20]);
        assert!(curves(&all[..2]).is_empty());
    }

    #[test]
    fn the_axes_show_sizes_and_values() {
        let logs: Vec<(f32, f32)> = vec![(0.0, 0.0), (10.0, 1.0), (20.0, 3.0)];
        let text = draw(&logs);
        assert!(text.contains("1 MiB") && text.contains("1000"), "{text}");
    }
}
