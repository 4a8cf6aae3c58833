//! Repeats a copy for a while.

use anyhow::Result;
use std::time::{Duration, Instant};

/// Copies between two looks at the clock.
const BATCH: u64 = 4;

/// Copies for a while: GB/s and the number of copies.
pub(super) fn repeat(
    bytes: usize,
    share: Duration,
    mut copy: impl FnMut() -> Result<()>,
) -> Result<(f64, u64)> {
    let (start, mut copies) = (Instant::now(), 0);
    while start.elapsed() < share {
        for _ in 0..BATCH {
            copy()?;
        }
        copies += BATCH;
    }
    Ok((copies as f64 * bytes as f64 / start.elapsed().as_secs_f64() / 1e9, copies))
}
