//! A row of the mean of several ratios, as "on average" in a paper.

use super::model::{self, Plays};
use super::{Row, Sides, with_remark};
use crate::report::inventory::{Seen, To};
use crate::report::kinds::Kind;
use crate::report::pick::Pick;
use crate::report::results::Results;
use crate::report::traffic::Proof;
use crate::report::verdict::{Outcome, judge};
use verbena_lab::table::format_value;

/// Returns the row with the geometric mean of all ratios. All of them must be measured; the noise
/// is that of one that is as noisy as they are on average, as if all moved together.
pub(super) fn row(row: Row, seen: &Seen, results: &Results) -> Row {
    let first = if let Some(To::Ours(to)) = seen.to { Some((seen.of, to)) } else { None };
    let pairs: Vec<(Pick, Pick)> = first.into_iter().chain(seen.also.iter().copied()).collect();
    if row.kind != Kind::Measured {
        return computed(row, &pairs, results);
    }
    let each: Result<Vec<Each>, String> = pairs.iter().map(|pair| each(*pair, results)).collect();
    match each {
        Ok(all) => whole(row, &all),
        Err(reason) => with_remark(row, &reason),
    }
}

/// A row of ratios that were computed: the means of all starts, where several were played.
fn computed(row: Row, pairs: &[(Pick, Pick)], results: &Results) -> Row {
    let ratio = |(of, to): &(Pick, Pick)| {
        let [of, to] = [of.find(results)?, to.find(results)?].map(|found| found.measured.value);
        let ratio = of.zip(to).map(|(of, to)| of / to).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        ratio.ok_or_else(|| "a ratio of what is not positive says nothing".to_string())
    };
    let ratios: Vec<f64> = match pairs.iter().map(ratio).collect() {
        Ok(ratios) => ratios,
        Err(reason) => return with_remark(row, &reason),
    };
    let list =
        pairs.iter().zip(&ratios).map(|(pair, ratio)| format!("{} {}", pair.0.place(), format_value(*ratio)));
    let ours = list.collect::<Vec<_>>().join("; ");
    let row = Row { ours, ..row };
    match Plays::of(&means(pairs, results)) {
        Some(Plays { ratio, noise }) => {
            let outcome = judge(row.claimed, Some(ratio), noise);
            Row { seen: Some(ratio), noise: Some(noise), outcome, ..row }
        }
        None => model::once(Row { seen: Some(geometric_mean(&ratios)), ..row }),
    }
}

/// The mean of all ratios for each start; none unless all were played with the same starts.
fn means(pairs: &[(Pick, Pick)], results: &Results) -> Vec<f64> {
    let plays = |(of, to): &(Pick, Pick)| {
        let (of, to) = (of.find(results).ok()?, to.find(results).ok()?);
        Some(model::ratios(of.measured, to.measured))
    };
    let all: Vec<Vec<f64>> = pairs.iter().filter_map(plays).collect();
    let starts = all.iter().map(Vec::len).min().unwrap_or(0);
    let mean = |start: usize| geometric_mean(&all.iter().map(|plays| plays[start]).collect::<Vec<_>>());
    (0..starts).map(mean).collect()
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// One of the ratios.
struct Each {
    name: String,
    ratio: f64,
    noise: Option<f64>,
    thrown: usize,
    is_identical: bool,
    is_unknown: bool,
}

fn each((of, to): (Pick, Pick), results: &Results) -> Result<Each, String> {
    let sides = Sides::new(results, of.find(results)?, Some(to.find(results)?));
    if let Some(lack) = sides.lack() {
        return Err(format!("{}: {lack}", of.metric));
    }
    let ratio = sides.ratio().filter(|ratio| *ratio > 0.0);
    let ratio =
        ratio.ok_or_else(|| format!("{}: a ratio of what is not positive says nothing", of.metric))?;
    let thrown = sides.jobs().map(|jobs| jobs.thrown.len()).sum();
    let proof = sides.proof();
    let is_identical = proof == Some(Proof::Identical);
    let is_unknown = matches!(proof, Some(Proof::Unknown | Proof::Overlapping(_)));
    let name = if of.metric.starts_with("kernel_") { of.metric.into() } else { of.place() };
    Ok(Each { name, ratio, noise: sides.noise(results), thrown, is_identical, is_unknown })
}

fn whole(row: Row, all: &[Each]) -> Row {
    let ratio = geometric_mean(&all.iter().map(|each| each.ratio).collect::<Vec<_>>());
    let noises: Option<Vec<f64>> = all.iter().map(|each| each.noise).collect();
    let noise = noises.map(|noises| geometric_mean(&noises));
    let list = all.iter().map(|each| format!("{} {}", each.name, format_value(each.ratio)));
    let identical: Vec<&str> =
        all.iter().filter(|each| each.is_identical).map(|each| each.name.as_str()).collect();
    let outcome = match noise {
        _ if identical.len() == all.len() => Outcome::Identical,
        _ if all.iter().any(|each| each.is_unknown) => Outcome::CannotTell,
        Some(noise) => judge(row.claimed, Some(ratio), noise),
        None => Outcome::CannotTell,
    };
    let row = Row {
        ours: list.collect::<Vec<_>>().join("; "),
        seen: Some(ratio),
        noise,
        outcome,
        thrown: all.iter().map(|each| each.thrown).sum(),
        ..row
    };
    match (identical.is_empty(), noise) {
        (_, None) => with_remark(row, "its noise was not measured"),
        (false, _) => {
            let (some, of) = (identical.len(), all.len());
            let text = format!(
                "{some} of the {of} move identical traffic on both sides, so that their ratios say nothing and draw the mean to 1: {}",
                identical.join(", ")
            );
            with_remark(row, &text)
        }
        _ => row,
    }
}
