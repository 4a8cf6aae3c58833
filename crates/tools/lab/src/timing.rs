//! The duration of a measurement, and the number of its repetitions.
//!
//! A *body* runs a number of iterations of the thing under test on every rank. The first iteration
//! says nothing about the others. After it, warm-up and calibration go together: the number of
//! iterations grows until a run takes a fair part of its share of the point's time. Every rank sees
//! the same time (the largest over the ranks, by an `MPI_Allreduce`) and so decides the same. Then
//! the body is repeated, and the median of the repetitions is the point's value. Something so slow
//! that one iteration takes longer than its share is repeated less often. A few iterations more,
//! which nobody times, are counted (`watch`).

use crate::mpi::World;
use crate::watch::{Watch, count};
use anyhow::Result;
use std::time::{Duration, Instant};

/// The time to spend on a point.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Time of all repetitions of one point together.
    pub point: Duration,
    /// Repetitions of one point.
    pub repetitions: usize,
    /// Messages in flight in the window tests.
    pub window: usize,
}

/// The choice of the clock that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The clock of rank 0: it starts the exchange and sees its end.
    Root,
    /// The slowest rank's.
    Slowest,
}

/// The times of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Seconds an iteration, one for each repetition.
    pub seconds: Vec<f64>,
    /// Iterations a repetition.
    pub iterations: u64,
}

const ITERATIONS_MAX: u64 = 10_000_000;

/// A first iteration that takes no longer, in seconds, is not judged by: it makes connections and
/// touches memory.
const COLD_S_MAX: f64 = 1.0;

/// Calibrates and repeats `body`. Collective: every rank calls it with the same effort.
///
/// # Errors
/// The first error of the body or of the library.
pub fn measure(
    world: &World,
    effort: Effort,
    clock: Clock,
    mut body: impl FnMut(&World, u64) -> Result<()>,
) -> Result<Samples> {
    let share = effort.point.as_secs_f64() / effort.repetitions as f64;
    let mut run = |world: &World, iterations: u64| run_once(world, clock, iterations, &mut body);
    let mut iterations = 1;
    let mut elapsed = run(world, iterations)?;
    if elapsed <= COLD_S_MAX {
        elapsed = run(world, iterations)?;
    }
    while let Some(more) = next_iterations(iterations, elapsed, share) {
        iterations = more;
        elapsed = run(world, iterations)?;
    }
    let each = elapsed / iterations as f64;
    iterations = scale(iterations, elapsed, share);
    let repetitions = affordable(effort, elapsed.max(share));
    let mut seconds = Vec::with_capacity(repetitions);
    let watch = Watch::begin()?;
    for _ in 0..repetitions {
        seconds.push(run(world, iterations)? / iterations as f64);
    }
    let mut witness = watch.end(world)?;
    witness.iteration_s = median(&seconds).unwrap_or(0.0);
    let counted = counted_iterations(each);
    let counted = count(world, counted, |iterations| body(world, iterations))?;
    (witness.counted, witness.root_looks) = (counted.all, counted.own_looks);
    world.put_witness(witness);
    Ok(Samples { seconds, iterations })
}

/// Returns the iterations over which counters are looked at, given the seconds that one takes: the
/// same number for all that take about as long.
fn counted_iterations(each: f64) -> u64 {
    match each {
        _ if each < 1e-3 => 64,
        _ if each < 20e-3 => 8,
        _ => 1,
    }
}

/// Runs the body once between a barrier and its end. Returns seconds on the clock that counts.
fn run_once(
    world: &World,
    clock: Clock,
    iterations: u64,
    body: &mut impl FnMut(&World, u64) -> Result<()>,
) -> Result<f64> {
    world.barrier()?;
    let start = Instant::now();
    body(world, iterations)?;
    let elapsed = start.elapsed().as_secs_f64();
    let counts = clock == Clock::Slowest || world.rank() == 0;
    world.max(if counts { elapsed } else { 0.0 })
}

/// The next number of iterations to try, or `None` once a run is long enough to judge by.
fn next_iterations(iterations: u64, elapsed: f64, share: f64) -> Option<u64> {
    if elapsed >= share / 4.0 || iterations >= ITERATIONS_MAX {
        return None;
    }
    Some(scale(iterations, elapsed, share / 2.0).clamp(iterations + 1, iterations.saturating_mul(16)))
}

/// Iterations that take `share` seconds, given that `iterations` took `elapsed`.
fn scale(iterations: u64, elapsed: f64, share: f64) -> u64 {
    let factor = share / elapsed.max(1e-9);
    ((iterations as f64 * factor).round() as u64).clamp(1, ITERATIONS_MAX)
}

/// The wanted repetitions, or fewer when they would take more than four times the point's time.
fn affordable(effort: Effort, each: f64) -> usize {
    let fit = (4.0 * effort.point.as_secs_f64() / each) as usize;
    fit.clamp(1, effort.repetitions.max(1))
}

/// The middle value (the mean of the two middle ones), or `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFORT: Effort = Effort { point: Duration::from_millis(60), repetitions: 5, window: 64 };

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn calibration_ends_near_the_share() {
        for per_iteration in [1e-9, 3e-7, 1e-4, 2.0] {
            let (mut iterations, mut runs) = (1, 0);
            while let Some(more) = next_iterations(iterations, iterations as f64 * per_iteration, 0.012) {
                assert!(more > iterations);
                (iterations, runs) = (more, runs + 1);
            }
            assert!(runs < 20, "{per_iteration}: {runs} runs");
            let took = scale(iterations, iterations as f64 * per_iteration, 0.012) as f64 * per_iteration;
            let expected = 0.012_f64.max(per_iteration).min(ITERATIONS_MAX as f64 * per_iteration);
            assert!((took / expected - 1.0).abs() < 0.1, "{per_iteration}: {took}");
        }
    }

    #[test]
    fn slow_things_are_repeated_less() {
        assert_eq!(affordable(EFFORT, 0.012), 5);
        assert_eq!(affordable(EFFORT, 0.1), 2);
        assert_eq!(affordable(EFFORT, 1.6), 1);
    }
}
