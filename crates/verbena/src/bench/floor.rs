//! What the machine itself can do, measured without MPI: the yardstick for a run.
//!
//! - *Cache line*: two threads, pinned to the first two processors that this process may use, pass a counter
//!   to and fro through two cache lines; half the mean round trip. No message can be faster.
//! - *Copy*: one thread copies between two buffers with `memcpy`; bytes copied over time.
//! - *Pipe fan-out*: see [`pipes`].

use super::metric::{Metric, Point};
use super::pipes;
use super::timing::Effort;
use anyhow::{Context, Result, ensure};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Measures one point of the floor: samples in the metric's unit, iterations.
///
/// # Errors
/// There is only one processor, the threads cannot be pinned, or a process cannot be started.
pub fn run(point: Point, processes: usize, effort: Effort) -> Result<(Vec<f64>, u64)> {
    let share = effort.point / effort.repetitions as u32;
    match point.metric {
        Metric::CacheLine => cache_line(share, effort.repetitions),
        Metric::PipeFanOut => pipes::fan_out(processes, share, effort.repetitions),
        _ => Ok(copy(point.bytes, share, effort.repetitions)),
    }
}

/// A number alone on its pair of cache lines (processors fetch lines in pairs).
#[repr(align(128))]
struct Line(AtomicU64);

const STOP: u64 = u64::MAX;
/// Round trips between two looks at the clock.
const BATCH: u64 = 1000;

fn cache_line(share: Duration, repetitions: usize) -> Result<(Vec<f64>, u64)> {
    let processors = processors()?;
    ensure!(
        processors.len() >= 2,
        "the ping-pong between two processors needs two; this process may use one"
    );
    let (there, back) = (Line(AtomicU64::new(0)), Line(AtomicU64::new(0)));
    std::thread::scope(|scope| {
        // Both threads play to the end even where they cannot be pinned: neither may leave the other spinning.
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

fn copy(bytes: usize, share: Duration, repetitions: usize) -> (Vec<f64>, u64) {
    let (from, mut to) = (vec![1u8; bytes], vec![2u8; bytes]);
    let (mut samples, mut copies) = (Vec::new(), 0);
    for _ in 0..repetitions {
        let start = Instant::now();
        copies = 0;
        while start.elapsed() < share {
            to.copy_from_slice(black_box(&from));
            black_box(&mut to);
            copies += 1;
        }
        samples.push(copies as f64 * bytes as f64 / start.elapsed().as_secs_f64() / 1e9);
    }
    (samples, copies)
}

/// The processors that this process may use.
pub fn processors() -> Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("cannot read this process's affinity mask")?;
    Ok((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect())
}

fn pin(processor: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    sched_setaffinity(Pid::from_raw(0), &set)
        .with_context(|| format!("cannot pin a thread to processor {processor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_a_speed() {
        let (samples, copies) = copy(4096, Duration::from_millis(1), 2);
        assert_eq!(samples.len(), 2);
        assert!(copies > 0 && samples.iter().all(|&speed| speed > 0.0));
    }

    #[test]
    fn this_thread_runs_somewhere() {
        assert!(!processors().expect("mask").is_empty());
    }
}
