//! A row of the mean of several ratios, as "on average" in a paper.

use super::{Row, Sides, with_remark};
use crate::report::inventory::{Seen, To};
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
    let each: Result<Vec<Each>, String> = pairs.iter().map(|pair| each(*pair, results)).collect();
    match each {
        Ok(all) => whole(row, &all),
        Err(reason) => with_remark(row, &reason),
    }
}

/// One of the ratios.
struct Each {
    name: &'static str,
    ratio: f64,
    noise: Option<f64>,
    thrown: usize,
    is_identical: bool,
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
    let is_identical = sides.proof() == Some(Proof::Identical);
    Ok(Each { name: of.metric, ratio, noise: sides.noise(results), thrown, is_identical })
}

fn whole(row: Row, all: &[Each]) -> Row {
    let mean =
        |values: &mut dyn Iterator<Item = f64>| (values.map(f64::ln).sum::<f64>() / all.len() as f64).exp();
    let ratio = mean(&mut all.iter().map(|each| each.ratio));
    let noises: Option<Vec<f64>> = all.iter().map(|each| each.noise).collect();
    let noise = noises.map(|noises| mean(&mut noises.into_iter()));
    let list = all.iter().map(|each| format!("{} {}", each.name, format_value(each.ratio)));
    let identical: Vec<&str> = all.iter().filter(|each| each.is_identical).map(|each| each.name).collect();
    let outcome = match noise {
        _ if identical.len() == all.len() => Outcome::Identical,
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
        (false, _) => with_remark(row, &format!("identical traffic: {}", identical.join(", "))),
        _ => row,
    }
}
