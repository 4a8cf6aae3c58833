//! Copies by the processor of rank 1: alone, and while the device writes into the memory of the
//! same host (paper 2, section 4.4: copies and transfers share the memory bus).

use super::memory::{LANDING, MESSAGE_BYTES_MAX, OUT, Part};
use super::one_sided::stream;
use super::outcome::{Row, Subject};
use super::pair::Work;
use super::session::Session;
use crate::timing::Samples;
use anyhow::Result;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of each write beside the copies.
const WRITTEN_BYTES: usize = 256 << 10;
/// Writes under way.
const WINDOW: u64 = 4;
/// The time of a repetition's copies; that of the writes begins before and ends after it.
const COPY_TIME: Duration = Duration::from_millis(40);
const LEAD_TIME: Duration = Duration::from_millis(20);

/// Measures copies of this many bytes.
///
/// # Errors
/// The device refuses, or what was written beside the copies did not arrive.
pub(super) fn run(session: &mut Session, bytes: usize) -> Result<Vec<Row>> {
    let pair = session.connect_one(1)?;
    let (memory, seed) = (Arc::clone(&session.memory), session.seed());
    let part = Part { offset: OUT, bytes: WRITTEN_BYTES.min(MESSAGE_BYTES_MAX) };
    memory.lay(&[part], seed);
    memory.clear(part.bytes);
    let mut rows = Vec::new();
    for (name, beside) in [("alone", false), ("beside writes", true)] {
        let mut seconds = Vec::new();
        for _ in 0..session.effort.repetitions {
            session.barrier()?;
            let own = match (session.is_first(), beside) {
                (true, true) => {
                    let write = || stream(&pair, (Work::Write { to: LANDING }, &[part]), WINDOW, WINDOW);
                    write_for(COPY_TIME + 2 * LEAD_TIME, write)?;
                    0.0
                }
                (true, false) => 0.0,
                (false, _) => copy_for(bytes),
            };
            // Rank 1 copied; rank 0 reports.
            seconds.push(own + session.tell(&own)?);
        }
        let arrived = beside && !session.is_first();
        let right = if arrived { memory.check(part.bytes, seed, None)? } else { 0 };
        let checked = session.sum(right)? + if beside { 0 } else { bytes as u64 };
        rows.push(Row::new(Subject::Copy, name, bytes, &Samples { seconds, iterations: 1 }, checked));
    }
    Ok(rows)
}

fn write_for(time: Duration, mut write: impl FnMut() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < time {
        write()?;
    }
    Ok(())
}

/// Copies for a while; returns the seconds a copy.
fn copy_for(bytes: usize) -> f64 {
    let (from, mut to) = (vec![1u8; bytes], vec![2u8; bytes]);
    std::thread::sleep(LEAD_TIME);
    let (start, mut copies) = (Instant::now(), 0u32);
    while start.elapsed() < COPY_TIME {
        for _ in 0..4 {
            to.copy_from_slice(black_box(&from));
            black_box(&mut to);
        }
        copies += 4;
    }
    start.elapsed().as_secs_f64() / f64::from(copies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_takes_time() {
        let each = copy_for(1 << 16);
        assert!(each > 0.0 && each < 1.0, "{each} s");
    }
}
