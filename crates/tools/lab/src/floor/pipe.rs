//! The cost of waking another process: one byte over a pipe and one back.

use super::partner::{Partner, Role};
use anyhow::Result;
use std::time::{Duration, Instant};

/// Round trips between two looks at the clock.
const BATCH: u64 = 16;

/// Returns half the mean round trip in microseconds, one value for each repetition, and the round
/// trips of the last. Neither process is pinned: the kernel places them as it places ranks.
pub(super) fn pipe(share: Duration, repetitions: usize) -> Result<(Vec<f64>, u64)> {
    let mut partner = Partner::start(Role::Echo, 0, share)?;
    partner.round_trip()?;
    let (mut samples, mut trips) = (Vec::new(), 0);
    for _ in 0..repetitions {
        let start = Instant::now();
        trips = 0;
        while start.elapsed() < share {
            for _ in 0..BATCH {
                partner.round_trip()?;
            }
            trips += BATCH;
        }
        samples.push(start.elapsed().as_secs_f64() / trips as f64 / 2.0 * 1e6);
    }
    Ok((samples, trips))
}
