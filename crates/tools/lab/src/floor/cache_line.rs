//! The way of a cache line between two processors.

use super::{pin, two_processors};
use anyhow::Result;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A number alone on its pair of cache lines (processors fetch lines in pairs).
#[repr(align(128))]
struct Line(AtomicU64);

const STOP: u64 = u64::MAX;
/// Round trips between two looks at the clock.
const BATCH: u64 = 1000;

/// Returns half the mean round trip in microseconds, one value for each repetition, and the round
/// trips of the last.
pub(super) fn cache_line(share: Duration, repetitions: usize) -> Result<(Vec<f64>, u64)> {
    let processors = two_processors()?;
    let (there, back) = (Line(AtomicU64::new(0)), Line(AtomicU64::new(0)));
    std::thread::scope(|scope| {
        // Both threads play to the end even where they cannot be pinned: neither may leave the
        // other spinning.
        let echo = scope.spawn(|| {
            let pinned = pin(processors[1]);
            echo(&there, &back);
            pinned
        });
        let ping = scope.spawn(|| {
            let pinned = pin(processors[0]);
            let samples = pinned.map(|()| ping(&there, &back, share, repetitions));
            there.0.store(STOP, Ordering::Release);
            samples
        });
        let samples = ping.join().expect("the ping thread does not panic")?;
        echo.join().expect("the echo thread does not panic")?;
        Ok(samples)
    })
}

fn echo(there: &Line, back: &Line) {
    let mut seen = 0;
    while seen != STOP {
        let now = there.0.load(Ordering::Acquire);
        if now != seen {
            seen = now;
            back.0.store(now, Ordering::Release);
        }
        std::hint::spin_loop();
    }
}

fn ping(there: &Line, back: &Line, share: Duration, repetitions: usize) -> (Vec<f64>, u64) {
    let (mut counter, mut samples, mut trips) = (0, Vec::new(), 0);
    for _ in 0..repetitions {
        let (start, first) = (Instant::now(), counter);
        while start.elapsed() < share {
            for _ in 0..BATCH {
                counter += 1;
                there.0.store(counter, Ordering::Release);
                while back.0.load(Ordering::Acquire) != counter {
                    std::hint::spin_loop();
                }
            }
        }
        trips = counter - first;
        samples.push(start.elapsed().as_secs_f64() / trips as f64 / 2.0 * 1e6);
    }
    (samples, trips)
}
