//! Rows of the simulator and of what is counted. Such numbers are the same in every run; but some
//! were played with several starts, and some are compared with what was measured.

use super::{Row, cannot_tell, in_unit, lack, spread, twins, with_remark, words};
use crate::report::inventory::{Seen, To};
use crate::report::jobs;
use crate::report::kinds;
use crate::report::noise;
use crate::report::pick::Found;
use crate::report::results::{Measured, Results};
use crate::report::verdict::judge;
use verbena_lab::timing::median;

/// The remark of a kernel that was played once.
const ONE_START: &str = "played with one start only: a few microseconds may move the ratio by a fifth";

/// A row of numbers that were computed.
pub(super) fn computed(row: Row, seen: &Seen, of: &Found<'_>, to: Option<&Found<'_>>) -> Row {
    let value = of.measured.value.unwrap_or(f64::NAN);
    let (below, beside) = match (&seen.to, to) {
        (Some(To::Ours(pick)), Some(to)) => (to.measured.value, Some(words(pick, to))),
        (Some(To::Paper(paper)), _) => (Some(*paper), Some(format!("paper: {}", in_unit(*paper, of)))),
        _ => (None, None),
    };
    let ours = std::iter::once(words(&seen.of, of)).chain(beside).collect::<Vec<_>>().join("; ");
    let row = Row { ours, ..row };
    let of_plays = to.and_then(|to| Plays::of(&ratios(of.measured, to.measured)));
    match of_plays {
        Some(Plays { ratio, noise }) => {
            let outcome = judge(row.claimed, Some(ratio), noise);
            Row { seen: Some(ratio), noise: Some(noise), outcome, ..row }
        }
        None => {
            let ratio = below.filter(|below| *below != 0.0).map(|below| value / below);
            let row = Row { outcome: judge(row.claimed, ratio, 1.0), seen: ratio, ..row };
            if kinds::is_played(of.series) { once(row) } else { row }
        }
    }
}

/// The row of kernels that were played with one start.
pub(super) fn once(row: Row) -> Row {
    cannot_tell(row, ONE_START)
}

/// A number of the model beside one that was measured, job by job.
pub(super) fn predicted(row: Row, seen: &Seen, of: &Found<'_>, to: &Found<'_>, results: &Results) -> Row {
    let jobs = jobs::of(results, to.series, to.measured, false);
    let Some(To::Ours(pick)) = &seen.to else { return row };
    let ours = format!("{}; {}", words(&seen.of, of), spread(pick, to, &jobs, ""));
    let row = Row { ours, thrown: jobs.thrown.len(), ..row };
    if let Some(lack) = lack(&jobs) {
        return with_remark(row, &lack);
    }
    let below = jobs.median().filter(|below| *below > 0.0);
    let ratio = of.measured.value.zip(below).map(|(value, below)| value / below);
    let own = noise::of_jobs(&jobs.values);
    let noise = twins(results, to).zip(own).map(|(twins, own)| twins.max(own));
    match noise {
        Some(noise) => {
            Row { seen: ratio, noise: Some(noise), outcome: judge(row.claimed, ratio, noise), ..row }
        }
        None => cannot_tell(Row { seen: ratio, ..row }, "the noise of what was measured is not known"),
    }
}

/// The ratios of the plays of two sides, start by start; none unless both have the same starts, two
/// at least.
pub(super) fn ratios(of: &Measured, to: &Measured) -> Vec<f64> {
    if of.jobs.len() != to.jobs.len() || of.jobs.len() < 2 {
        return Vec::new();
    }
    of.jobs.iter().zip(&to.jobs).map(|(of, to)| of.value / to.value).collect()
}

/// The conclusion from the ratios of all plays.
pub(super) struct Plays {
    /// The median.
    pub ratio: f64,
    /// The factor within which all of them lie around it.
    pub noise: f64,
}

impl Plays {
    /// Looks at the ratios of all plays; none without any, or if one is not positive.
    pub(super) fn of(ratios: &[f64]) -> Option<Plays> {
        let ratio = median(ratios)?;
        let is_sound = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
        let apart = |each: &f64| (each / ratio).max(ratio / each);
        let noise = ratios.iter().map(apart).fold(1.0, f64::max);
        ratios.iter().all(is_sound).then_some(Plays { ratio, noise })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_of_plays_reaches_to_the_farthest() {
        let plays = Plays::of(&[0.9, 1.0, 0.8, 1.0, 1.25]).expect("positive");
        assert_eq!((plays.ratio, plays.noise), (1.0, 1.25));
        assert!(Plays::of(&[]).is_none() && Plays::of(&[1.0, -1.0]).is_none());
    }
}
