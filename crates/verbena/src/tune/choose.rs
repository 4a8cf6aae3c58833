//! What follows from the measurements: the value of a setting, and why.

use super::knobs::{Knob, NEVER, Sort};
use crate::bench::experiment::series::Series;
use crate::bench::metric::{Metric, Point, format_size};
use crate::bench::table::format_value;

/// A chosen value.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The value.
    pub value: String,
    /// Why, in a few lines.
    pub reason: Vec<String>,
    /// By how much it is worse than the best candidate at its worst size, as a ratio; 1 is the best.
    pub worst: f64,
}

/// What a value costs: the lower, the better. A time that was lost is never less than what a clock can tell.
fn cost(metric: Metric, value: f64) -> f64 {
    match metric {
        Metric::Bandwidth => 1.0 / value,
        Metric::OverlapTime => value.max(1.0),
        _ => value,
    }
}

/// The costs of all candidates, by size; sizes that some candidate lacks are left out.
fn costs(knob: &Knob, candidates: &[Series]) -> Vec<(Point, Vec<f64>)> {
    let of = |point: Point| {
        let all = candidates.iter().map(|candidate| Some(cost(knob.metric, candidate.value(point)?)));
        Some((point, all.collect::<Option<Vec<f64>>>()?))
    };
    knob.points().into_iter().filter_map(of).collect()
}

fn best(costs: &[f64]) -> f64 {
    costs.iter().copied().fold(f64::INFINITY, f64::min)
}

/// How a choice does: the sum of how far it is off the best, on a scale of ratios, and the worst of them.
fn judge(costs: &[(Point, Vec<f64>)], chosen: impl Fn(usize) -> usize) -> (f64, f64) {
    let ratios = costs.iter().enumerate().map(|(at, (_, all))| all[chosen(at)] / best(all));
    ratios.fold((0.0, 1.0), |(sum, worst), ratio| (sum + ratio.ln(), worst.max(ratio)))
}

/// The value for this knob; `None` if too little could be measured.
pub fn choose(knob: &Knob, candidates: &[Series]) -> Option<Choice> {
    let costs = costs(knob, candidates);
    if costs.len() < 2 || candidates.is_empty() {
        return None;
    }
    Some(match knob.sort {
        Sort::From { parts, .. } => threshold(knob, candidates, &costs, parts),
        Sort::Values(_) => value(knob, candidates, &costs),
    })
}

/// The cut between two ways that is off the better one by the least, over all sizes.
fn threshold(knob: &Knob, candidates: &[Series], costs: &[(Point, Vec<f64>)], parts: usize) -> Choice {
    let by = |cut: usize| judge(costs, |at| usize::from(at >= cut));
    let cut = (0..=costs.len()).min_by(|one, other| by(*one).0.total_cmp(&by(*other).0)).unwrap_or(0);
    let [below, from] = [&candidates[0].variant.name, &candidates[1].variant.name];
    let size = |at: usize| costs[at].0.bytes;
    let (value, first) = match cut {
        0 => (knob.values()[1].0.clone(), format!("{from} is better from {} on", format_size(size(0)))),
        _ if cut == costs.len() => {
            (NEVER.to_string(), format!("{below} is better up to {}", format_size(size(cut - 1))))
        }
        _ => {
            let text = format!(
                "up to {} {below}, from {} on {from}",
                format_size(size(cut - 1)),
                format_size(size(cut))
            );
            ((size(cut) / parts).to_string(), text)
        }
    };
    let around = cut.saturating_sub(1)..(cut + 1).min(costs.len());
    let mut reason = vec![first];
    reason.extend(around.map(|at| line(costs[at].0, candidates)));
    Choice { value, reason, worst: by(cut).1 }
}

/// The value that is off the best one by the least, over all sizes.
fn value(knob: &Knob, candidates: &[Series], costs: &[(Point, Vec<f64>)]) -> Choice {
    let by = |candidate: usize| judge(costs, |_| candidate);
    let chosen = (0..candidates.len()).min_by(|one, other| by(*one).0.total_cmp(&by(*other).0)).unwrap_or(0);
    let mean = by(chosen).0 / costs.len() as f64;
    let mut reason = vec![format!(
        "on average {:.0}% off the best of {}",
        mean.exp_m1() * 100.0,
        candidates.iter().map(|candidate| candidate.variant.name.as_str()).collect::<Vec<_>>().join(", ")
    )];
    reason.extend([0, costs.len() - 1].map(|at| line(costs[at].0, candidates)));
    Choice { value: knob.values()[chosen].0.clone(), reason, worst: by(chosen).1 }
}

/// All candidates at one point, in words.
fn line(point: Point, candidates: &[Series]) -> String {
    let value = |candidate: &Series| {
        let value = candidate.value(point).map_or_else(|| "not measured".into(), format_value);
        format!("{} {value}", candidate.variant.name)
    };
    let all: Vec<String> = candidates.iter().map(value).collect();
    format!(
        "{} of {}: {} {}",
        point.metric.name(),
        format_size(point.bytes),
        all.join(", "),
        point.metric.unit()
    )
}

/// A profile against the best candidate at one size.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Where.
    pub point: Point,
    /// Its cost by that of the best candidate.
    pub ratio: f64,
}

/// The last candidate, at every size, against the best of the others.
pub fn compare(knob: &Knob, candidates: &[Series]) -> Vec<Compared> {
    let one = |(point, all): (Point, Vec<f64>)| {
        let (profile, others) = all.split_last()?;
        Some(Compared { point, ratio: profile / best(others) })
    };
    costs(knob, candidates).into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::knobs::{By, knobs};

    fn point(bytes: usize) -> Point {
        Point { metric: Metric::Latency, bytes }
    }

    #[test]
    fn the_cut_is_where_the_ways_cross() {
        let costs: Vec<(Point, Vec<f64>)> =
            [(1, [1.0, 3.0]), (2, [2.0, 3.1]), (4, [4.0, 3.2]), (8, [8.0, 3.4])]
                .map(|(bytes, all)| (point(bytes), all.to_vec()))
                .to_vec();
        let by = |cut: usize| judge(&costs, |at| usize::from(at >= cut)).0;
        assert_eq!((0..=4).min_by(|a, b| by(*a).total_cmp(&by(*b))), Some(2));
        assert_eq!(judge(&costs, |at| usize::from(at >= 2)), (0.0, 1.0));
        assert!(judge(&costs, |_| 0).1 > 2.3);
    }

    #[test]
    fn one_bad_point_moves_no_cut() {
        // The second way is better from 4 on; at 8 somebody disturbed it a little.
        let costs: Vec<(Point, Vec<f64>)> =
            [(1, [1.0, 2.0]), (2, [2.0, 2.5]), (4, [4.0, 3.0]), (8, [8.0, 8.2]), (16, [16.0, 9.0])]
                .map(|(bytes, all)| (point(bytes), all.to_vec()))
                .to_vec();
        let by = |cut: usize| judge(&costs, |at| usize::from(at >= cut)).0;
        assert_eq!((0..=5).min_by(|a, b| by(*a).total_cmp(&by(*b))), Some(2));
    }

    #[test]
    fn a_knob_that_was_not_measured_has_no_value() {
        assert_eq!(choose(&knobs(By::Latency, false)[0], &[]), None);
    }
}
