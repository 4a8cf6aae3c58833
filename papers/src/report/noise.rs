//! The noise of a measurement: how far two medians of the very same variant lie apart.
//!
//! Beside each experiment one variant is measured twice, under its own name and as its twin
//! ([`again`]). The jobs of both are pooled and divided in two in every possible way; in 19 of 20
//! divisions the medians of the parts differ by less than the noise. The noise is no less than the
//! ratio in which the twins in fact came out, and no less than what follows from the jobs of the
//! two sides of a row when each job in turn is left out.

use verbena_lab::timing::median;

/// The jobs of a twin that are taken at most: all divisions of two times seven are 3,432.
const JOBS_MAX: usize = 7;
/// The part of the divisions that differ by less than the noise.
const INSIDE: f64 = 0.95;

/// The name of a variant's twin.
pub(super) fn again(variant: &str) -> String {
    format!("{variant}{AGAIN}")
}

/// The variant whose twin has this name.
pub(super) fn twin_of(name: &str) -> Option<&str> {
    name.strip_suffix(AGAIN)
}

const AGAIN: &str = " again";

/// Returns the factor, 1 or more, by which medians of the same variant differ; none if a value is
/// missing or not positive.
pub(super) fn of_twins(one: &[f64], other: &[f64]) -> Option<f64> {
    let (one, other) = (&one[..one.len().min(JOBS_MAX)], &other[..other.len().min(JOBS_MAX)]);
    let direct = apart(median(one)?, median(other)?)?;
    let pool = [one, other].concat();
    let mut all = divisions(&pool, one.len())?;
    all.sort_by(f64::total_cmp);
    let at = ((all.len() as f64 * INSIDE).ceil() as usize).clamp(1, all.len()) - 1;
    Some(direct.max(all[at]))
}

/// The ratio of two values as a factor of 1 or more.
fn apart(one: f64, other: f64) -> Option<f64> {
    let ratio = (one > 0.0 && other > 0.0).then(|| one / other)?;
    Some(ratio.max(1.0 / ratio))
}

/// Returns the distance of the medians for every way to take `size` values of the pool.
fn divisions(pool: &[f64], size: usize) -> Option<Vec<f64>> {
    let masks = (0_u32..1 << pool.len()).filter(|mask| mask.count_ones() as usize == size);
    let of_mask = |mask: u32| {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for (at, value) in pool.iter().enumerate() {
            if mask >> at & 1 == 1 { one.push(*value) } else { other.push(*value) }
        }
        apart(median(&one)?, median(&other)?)
    };
    masks.map(of_mask).collect()
}

/// Returns the factor by which the median moves at most if one of the jobs is left out; none
/// without two jobs, or if a value is not positive.
pub(super) fn of_jobs(jobs: &[f64]) -> Option<f64> {
    let middle = median(jobs)?;
    let without = |left: usize| {
        let rest: Vec<f64> =
            jobs.iter().enumerate().filter(|(at, _)| *at != left).map(|(_, job)| *job).collect();
        apart(median(&rest)?, middle)
    };
    (0..jobs.len()).map(without).try_fold(1.0, |most: f64, each| Some(most.max(each?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_jobs_have_no_noise() {
        assert_eq!(of_twins(&[2.0; 5], &[2.0; 5]), Some(1.0));
        assert_eq!(of_jobs(&[2.0; 5]), Some(1.0));
    }

    #[test]
    fn noise_is_no_less_than_what_the_twins_show() {
        let noise = of_twins(&[1.0, 1.0, 1.0, 1.0, 1.0], &[1.5, 1.5, 1.5, 1.5, 1.5]).expect("positive");
        assert!(noise >= 1.5, "{noise}");
    }

    #[test]
    fn twins_that_agree_by_luck_are_not_without_noise() {
        // Both medians are 3; the jobs are 1 to 5 all the same.
        let noise = of_twins(&[1.0, 2.0, 3.0, 4.0, 5.0], &[5.0, 4.0, 3.0, 2.0, 1.0]).expect("positive");
        assert!(noise > 1.5, "{noise}");
    }

    #[test]
    fn one_stray_job_moves_a_median_little() {
        let noise = of_jobs(&[1.0, 1.01, 1.02, 1.03, 90.0]).expect("positive");
        assert!(noise < 1.02, "{noise}");
        let two_speeds = of_jobs(&[1.0, 1.0, 2.0, 2.0]).expect("positive");
        assert!(two_speeds > 1.3, "{two_speeds}");
    }

    #[test]
    fn without_values_there_is_no_noise_to_know() {
        assert_eq!((of_twins(&[], &[1.0]), of_jobs(&[])), (None, None));
        assert_eq!(of_twins(&[-1.0, 2.0], &[-1.0, 2.0]), None);
    }

    #[test]
    fn twins_are_known_by_their_names() {
        assert_eq!(twin_of(&again("RDMA eager")), Some("RDMA eager"));
        assert_eq!(twin_of("RDMA eager"), None);
    }
}
