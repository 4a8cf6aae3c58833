//! A report as lines of blocks in the terminal: the metrics that have several sizes, their values
//! on a logarithmic scale.

use super::metric::format_size;
use super::report::{Entry, Report};
use super::table::format_value;
use std::fmt::Write;

/// The heights of a block.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws every curve with at least three points, on a line each.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for (entry, points) in curves(&report.entries) {
        let [(small, first), .., (large, last)] = points[..] else { continue };
        let name = format!("{}, {} ranks", entry.metric.name(), entry.ranks);
        let blocks = blocks(&points.iter().map(|point| point.1).collect::<Vec<_>>());
        let ends = [(small, first), (large, last)]
            .map(|(bytes, value)| format!("{} {} {}", format_size(bytes), format_value(value), entry.unit));
        let _ = writeln!(out, "{name:28} {:>20} {blocks} {}", ends[0], ends[1]);
    }
    out
}

/// Draws a block for each value. Its height is the logarithm's place between those of the least and
/// the greatest.
fn blocks(values: &[f64]) -> String {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let (low, high) = logs
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &log| (low.min(log), high.max(log)));
    let step = (high - low).max(f64::EPSILON) / (BLOCKS.len() - 1) as f64;
    logs.iter().map(|log| BLOCKS[((log - low) / step).round() as usize]).collect()
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
    fn a_line_shows_sizes_and_values_on_a_logarithmic_scale() {
        assert_eq!(blocks(&[1.0, 10.0, 100.0]), "▁▅█");
        assert_eq!(blocks(&[2.0, 2.0]), "▁▁");
        let report = Report { entries: entries(), ..Report::new(String::new()) };
        let text = render(&report);
        assert!(text.contains("1 B 1.00 us ▁") && text.ends_with("█ 1 MiB 1048576 us\n"), "{text}");
    }
}
