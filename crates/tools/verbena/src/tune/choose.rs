//! The conclusions from the measurements: the value of a setting, and why.

use super::knobs::{Edge, Knob, KnobKind};
use verbena_lab::experiment::series::Series;
use verbena_lab::metric::{Metric, Point, format_size};
use verbena_lab::table::format_value;
use verbena_lab::timing::median;

/// A chosen value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// The value.
    pub value: String,
    /// The reason for the choice, in a few lines.
    pub reason: Vec<String>,
    /// The ratio to the best candidate at the worst size; 1 is the best.
    pub worst: f64,
    /// True if the samples scatter too much for a conclusion: then the value is not to be used.
    pub is_noise: bool,
}

/// Returns the cost of a value: the lower, the better. A lost time is never less than the clock's
/// resolution.
fn cost(metric: Metric, value: f64) -> f64 {
    match metric {
        Metric::Bandwidth => 1.0 / value,
        Metric::OverlapTime => value.max(1.0),
        _ => value,
    }
}

/// Returns the undisturbed value of a candidate: the better quartile of its samples. Other programs
/// on a machine only ever make a sample worse. So this scatters less than the median, and two ways
/// that differ by a few percent can be told apart.
fn value_of(candidate: &Series, (point, ranks): (Point, usize)) -> Option<f64> {
    better_quartile(point.metric, &candidate.entry_of(point, ranks)?.samples)
}

fn better_quartile(metric: Metric, samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if metric == Metric::Bandwidth {
        sorted.reverse();
    }
    sorted.get(sorted.len() / 4).copied()
}

/// A point at a number of ranks, and the costs of all candidates there.
type Row = ((Point, usize), Vec<f64>);

/// Returns all rows by size and ranks; those that some candidate lacks are left out.
fn costs(knob: &Knob, candidates: &[Series]) -> Vec<Row> {
    let of = |point: Point, ranks: usize| {
        let value = |candidate: &Series| Some(cost(knob.metric, value_of(candidate, (point, ranks))?));
        Some(((point, ranks), candidates.iter().map(value).collect::<Option<Vec<f64>>>()?))
    };
    let rows =
        knob.points().into_iter().flat_map(|point| knob.ranks.iter().map(move |&ranks| (point, ranks)));
    rows.filter_map(|(point, ranks)| of(point, ranks)).collect()
}

fn best(costs: &[f64]) -> f64 {
    costs.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Judges a choice. Returns the sum of its distances from the best, on a scale of ratios, and the
/// worst of them.
fn judge(costs: &[Row], chosen: impl Fn(usize) -> usize) -> (f64, f64) {
    let ratios = costs.iter().enumerate().map(|(at, (_, all))| all[chosen(at)] / best(all));
    ratios.fold((0.0, 1.0), |(sum, worst), ratio| (sum + ratio.ln(), worst.max(ratio)))
}

/// The value for this knob; `None` if too little could be measured.
pub(super) fn choose(knob: &Knob, candidates: &[Series]) -> Option<Choice> {
    let costs = costs(knob, candidates);
    if costs.len() < 2 || candidates.is_empty() {
        return None;
    }
    let mut choice = match knob.kind {
        KnobKind::Threshold { edge, .. } => threshold(knob, candidates, &costs, edge),
        KnobKind::Values(_) => value(knob, candidates, &costs),
    };
    let scatter = costs.iter().map(|row| scatter(candidates, row.0)).fold(1.0, f64::max);
    if scatter > SCATTER_MAX {
        choice.is_noise = true;
        choice.reason.push(format!(
            "NOISY, and so not set: half of the samples of one point are {:.0}% or more off the better ones",
            (scatter - 1.0) * 100.0
        ));
        choice.reason.push("measure again on a quiet machine, with more rounds".into());
    }
    Some(choice)
}

/// A conclusion from samples that scatter by more than this ratio may be noise, and is not used:
/// the better quartiles, by which candidates are judged, may then contradict the medians.
const SCATTER_MAX: f64 = 1.25;

/// The largest ratio, over the candidates, of a point's median to its better quartile.
fn scatter(candidates: &[Series], (point, ranks): (Point, usize)) -> f64 {
    let samples = candidates.iter().filter_map(|candidate| Some(&candidate.entry_of(point, ranks)?.samples));
    samples.filter_map(|samples| scatter_of(point.metric, samples)).fold(1.0, f64::max)
}

/// The ratio of the median's cost to the better quartile's.
fn scatter_of(metric: Metric, samples: &[f64]) -> Option<f64> {
    Some(cost(metric, median(samples)?) / cost(metric, better_quartile(metric, samples)?))
}

/// The cut between two ways that is off the better one by the least, over all rows.
fn threshold(knob: &Knob, candidates: &[Series], costs: &[Row], edge: Edge) -> Choice {
    let by = |cut: usize| judge(costs, |at| usize::from(at >= cut));
    let cut = (0..=costs.len()).min_by(|one, other| by(*one).0.total_cmp(&by(*other).0)).unwrap_or(0);
    let [below, from] = [&candidates[0].variant.name, &candidates[1].variant.name];
    let words = |at: usize| place(knob, costs[at].0);
    let first = match cut {
        0 => format!("{from} is better from {} on", words(0)),
        _ if cut == costs.len() => format!("{below} is better up to {}", words(cut - 1)),
        _ => format!("up to {} {below}, from {} on {from}", words(cut - 1), words(cut)),
    };
    let around = cut.saturating_sub(1)..(cut + 1).min(costs.len());
    let mut reason = vec![first];
    reason.extend(around.map(|at| line(costs[at].0, candidates)));
    let rows: Vec<(Point, usize)> = costs.iter().map(|row| row.0).collect();
    Choice { value: edge_of(knob, &rows, cut, edge).to_string(), reason, worst: by(cut).1, is_noise: false }
}

/// Returns the setting's value if everything before the cut goes the first way. Points that were
/// not measured go the way of the next one.
fn edge_of(knob: &Knob, rows: &[(Point, usize)], cut: usize, edge: Edge) -> i64 {
    let KnobKind::Threshold { counts, .. } = knob.kind else { return 0 };
    let range = knob.range();
    if cut == 0 {
        return *range.start();
    }
    if cut == rows.len() {
        return *range.end();
    }
    let (point, ranks) = rows[if edge == Edge::From { cut } else { cut - 1 }];
    (counts.of(point, ranks) as i64).clamp(*range.start(), *range.end())
}

/// A size, or a number of ranks, in words.
fn place(knob: &Knob, (point, ranks): (Point, usize)) -> String {
    if knob.counts_ranks() { format!("{ranks} ranks") } else { format_size(point.bytes) }
}

/// The value that is off the best one by the least, over all sizes.
fn value(knob: &Knob, candidates: &[Series], costs: &[Row]) -> Choice {
    let by = |candidate: usize| judge(costs, |_| candidate);
    let chosen = (0..candidates.len()).min_by(|one, other| by(*one).0.total_cmp(&by(*other).0)).unwrap_or(0);
    let mean = by(chosen).0 / costs.len() as f64;
    let mut reason = vec![format!(
        "on average {:.0}% off the best of {}",
        mean.exp_m1() * 100.0,
        candidates.iter().map(|candidate| candidate.variant.name.as_str()).collect::<Vec<_>>().join(", ")
    )];
    reason.extend([0, costs.len() - 1].map(|at| line(costs[at].0, candidates)));
    Choice { value: knob.values()[chosen].0.clone(), reason, worst: by(chosen).1, is_noise: false }
}

/// Writes all candidates in one row, in words.
fn line((point, ranks): (Point, usize), candidates: &[Series]) -> String {
    let value = |candidate: &Series| {
        let value = value_of(candidate, (point, ranks));
        let value = value.map_or_else(|| "not measured".into(), format_value);
        format!("{} {value}", candidate.variant.name)
    };
    let all: Vec<String> = candidates.iter().map(value).collect();
    let (name, size, unit) = (point.metric.name(), format_size(point.bytes), point.metric.unit());
    format!("{name} of {size} with {ranks} ranks: {} {unit}", all.join(", "))
}

/// A profile against the best candidate at one size.
#[derive(Clone, Debug)]
pub(super) struct Compared {
    /// The place of the row.
    pub place: String,
    /// The cost, divided by that of the best candidate.
    pub ratio: f64,
}

/// The last candidate, at every size, against the best of the others. Samples of one round are
/// compared with each other, since a machine's speed may change between rounds by more than
/// candidates differ.
pub(super) fn compare(knob: &Knob, candidates: &[Series]) -> Vec<Compared> {
    let Some((profile, others)) = candidates.split_last() else { return Vec::new() };
    let one = |(at, _): Row| {
        let samples = |series: &Series| series.entry_of(at.0, at.1).map(|entry| entry.samples.clone());
        let own = samples(profile)?;
        let ratios = others.iter().map(|other| ratio(knob.metric, &own, &samples(other)?));
        let ratio = ratios.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)?;
        Some(Compared { place: place(knob, at), ratio })
    };
    costs(knob, candidates).into_iter().filter_map(one).collect()
}

/// Returns the cost of one candidate divided by that of another. Their samples were taken in turns.
fn ratio(metric: Metric, one: &[f64], other: &[f64]) -> Option<f64> {
    let ratios = one.iter().zip(other).map(|(one, other)| cost(metric, *one) / cost(metric, *other));
    median(&ratios.collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::knobs::{By, knobs};

    fn point(bytes: usize) -> (Point, usize) {
        (Point { metric: Metric::Latency, bytes }, 2)
    }

    #[test]
    fn the_cut_is_where_the_ways_cross() {
        let costs: Vec<Row> = [(1, [1.0, 3.0]), (2, [2.0, 3.1]), (4, [4.0, 3.2]), (8, [8.0, 3.4])]
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
        let costs: Vec<Row> =
            [(1, [1.0, 2.0]), (2, [2.0, 2.5]), (4, [4.0, 3.0]), (8, [8.0, 8.2]), (16, [16.0, 9.0])]
                .map(|(bytes, all)| (point(bytes), all.to_vec()))
                .to_vec();
        let by = |cut: usize| judge(&costs, |at| usize::from(at >= cut)).0;
        assert_eq!((0..=5).min_by(|a, b| by(*a).total_cmp(&by(*b))), Some(2));
    }

    #[test]
    fn noise_is_told_from_agreement() {
        let quiet = scatter_of(Metric::Latency, &[1.0, 1.02, 1.05, 1.1]).expect("samples");
        let noisy = scatter_of(Metric::Bandwidth, &[8.0, 8.0, 4.0, 4.0, 4.0]).expect("samples");
        assert!(quiet < SCATTER_MAX && noisy > SCATTER_MAX, "{quiet} {noisy}");
        assert_eq!(scatter_of(Metric::Latency, &[]), None);
    }

    #[test]
    fn a_machine_that_slows_down_between_rounds_is_no_difference() {
        // The other one happened to have one more sample while the machine was quick.
        let (one, other) = ([10.0, 20.0, 20.2, 20.0, 10.0], [10.0, 20.0, 20.0, 10.0, 10.0]);
        assert_eq!(ratio(Metric::Latency, &one, &other), Some(1.0));
        let twice = one.map(|value| 2.0 * value);
        assert_eq!(ratio(Metric::Latency, &twice, &one), Some(2.0));
        assert_eq!(ratio(Metric::Bandwidth, &twice, &one), Some(0.5));
        assert_eq!(ratio(Metric::Latency, &[], &other), None);
    }

    #[test]
    fn a_knob_that_was_not_measured_has_no_value() {
        assert_eq!(choose(&knobs(By::Latency, false, 2)[0], &[]), None);
    }

    #[test]
    fn the_value_lies_on_the_side_that_the_setting_counts() {
        let all = knobs(By::Latency, true, 16);
        let named = |name: &str| all.iter().find(|knob| knob.setting == name).expect(name);
        let value = |name: &str, cut: usize, edge: Edge| {
            let knob = named(name);
            let points = knob.points().into_iter();
            let rows: Vec<_> =
                points.flat_map(|point| knob.ranks.iter().map(move |&ranks| (point, ranks))).collect();
            edge_of(knob, &rows, cut, edge)
        };
        assert_eq!(value("CMA_BYTES_MIN", 2, Edge::From), 4096);
        assert_eq!(value("CMA_BYTES_MIN", 0, Edge::From), 1);
        assert_eq!(value("CMA_BYTES_MIN", 11, Edge::From), 1 << 40);
        assert_eq!(value("COLL_BCAST_WHOLE_BYTES_MAX", 2, Edge::UpTo), 16 << 10);
        assert_eq!(value("COLL_DIRECT_SHARE_BYTES_MIN", 1, Edge::From), 8 << 10);
        assert_eq!(value("COLL_ALLGATHER_SHORT_TOTAL_BYTES_MAX", 1, Edge::UpTo), 1024);
        assert_eq!(value("COLL_BCAST_CHAIN_RANKS_MAX", 2, Edge::UpTo), 4);
        assert_eq!(value("COLL_ALLTOALL_BRUCK_RANKS_MIN", 2, Edge::From), 8);
    }
}
