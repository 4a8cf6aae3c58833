//! `memcpy`, by one thread and by two.

use super::{pin, two_processors};
use anyhow::Result;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Copies between two looks at the clock.
const BATCH: u64 = 4;

/// Copies all with one thread. Returns GB/s, one value for each repetition, and the copies of the
/// last.
pub(super) fn by_one(bytes: usize, share: Duration, repetitions: usize) -> (Vec<f64>, u64) {
    let (from, mut to) = (vec![1u8; bytes], vec![2u8; bytes]);
    let runs: Vec<(f64, u64)> = (0..repetitions).map(|_| repeat(&from, &mut to, share)).collect();
    (runs.iter().map(|run| run.0).collect(), runs.last().map_or(0, |run| run.1))
}

/// Copies a half with each of two pinned threads. Returns the sum of their speeds.
pub(super) fn by_both(bytes: usize, share: Duration, repetitions: usize) -> Result<(Vec<f64>, u64)> {
    let processors = two_processors()?;
    let (from, mut to) = (vec![1u8; bytes], vec![2u8; bytes]);
    let (front, back) = (from.split_at(bytes / 2), to.split_at_mut(bytes / 2));
    let halves = [(front.0, back.0), (front.1, back.1)];
    let runs = std::thread::scope(|scope| {
        let threads = halves.into_iter().zip(processors).map(|((from, to), processor)| {
            scope.spawn(move || -> Result<Vec<(f64, u64)>> {
                pin(processor)?;
                Ok((0..repetitions).map(|_| repeat(from, to, share)).collect())
            })
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("a copying thread does not panic"))
            .collect::<Result<Vec<_>>>()
    })?;
    let sums = runs[0].iter().zip(&runs[1]).map(|(one, other)| one.0 + other.0).collect();
    Ok((sums, runs[0].last().map_or(0, |run| run.1)))
}

/// Copies for a while: GB/s and the number of copies.
fn repeat(from: &[u8], to: &mut [u8], share: Duration) -> (f64, u64) {
    let (start, mut copies) = (Instant::now(), 0);
    while start.elapsed() < share {
        for _ in 0..BATCH {
            to.copy_from_slice(black_box(from));
            black_box(&mut *to);
        }
        copies += BATCH;
    }
    (copies as f64 * from.len() as f64 / start.elapsed().as_secs_f64() / 1e9, copies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_testing::{Lack, skip};

    #[test]
    fn a_copy_has_a_speed() {
        let (samples, copies) = by_one(4096, Duration::from_millis(1), 2);
        assert_eq!(samples.len(), 2);
        assert!(copies > 0 && samples.iter().all(|&speed| speed > 0.0));
    }

    #[test]
    fn two_threads_copy_where_there_are_two_processors() {
        if super::super::processors().expect("mask").len() < 2 {
            return skip(Lack::Hardware, "this process may use one processor only");
        }
        let (samples, _) = by_both(4096, Duration::from_millis(1), 2).expect("two processors");
        assert!(samples.len() == 2 && samples.iter().all(|&speed| speed > 0.0));
    }
}
