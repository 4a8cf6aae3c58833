//! Threads that do something at the same time, and a count that proves it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The threads that take part.
pub const THREADS: usize = 4;
/// The calls during which another thread must have begun one.
const MEETINGS: u64 = 8;
/// The fewest calls of a thread.
const CALLS_MIN: u64 = if cfg!(miri) { 10 } else { 100 };
/// The time after which a thread gives up to meet others. A crowded machine lets a thread run for
/// milliseconds before another's turn.
const PATIENCE: Duration = Duration::from_secs(60);
/// The calls between two looks at the clock.
const CALLS_A_LOOK: u64 = 1 << 12;

#[derive(Default)]
struct Meetings {
    /// The thread that began last.
    last: AtomicUsize,
    met: AtomicU64,
    calls: AtomicU64,
}

/// Calls `work` in several threads, with the thread's number, again and again until enough calls
/// have met. Returns the number of calls.
///
/// # Panics
/// If calls do not meet, or one panics.
pub fn at_once(work: impl Fn(usize) + Sync) -> u64 {
    let meetings = Meetings::default();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (work, meetings) = (&work, &meetings);
            scope.spawn(move || meetings.take_part(thread, work));
        }
    });
    meetings.calls.into_inner()
}

impl Meetings {
    fn take_part(&self, thread: usize, work: &impl Fn(usize)) {
        let (start, mut calls) = (Instant::now(), 0);
        while calls < CALLS_MIN || self.met.load(Relaxed) < MEETINGS {
            self.last.store(thread, Relaxed);
            work(thread);
            if self.last.load(Relaxed) != thread {
                self.met.fetch_add(1, Relaxed);
            }
            calls += 1;
            if calls % CALLS_A_LOOK == 0 {
                assert!(start.elapsed() < PATIENCE, "only {} calls met", self.met.load(Relaxed));
            }
        }
        self.calls.fetch_add(calls, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_calls_and_all_calls_are_counted() {
        let calls = [(); THREADS].map(|()| AtomicU64::new(0));
        let total = at_once(|thread| {
            calls[thread].fetch_add(1, Relaxed);
            (0..50).for_each(|_| std::hint::spin_loop());
        });
        let calls = calls.map(AtomicU64::into_inner);
        assert_eq!(calls.iter().sum::<u64>(), total);
        assert!(calls.iter().all(|&calls| calls >= CALLS_MIN));
    }
}
