//! The progress thread: it makes progress while the program computes.
//!
//! A thread of the program that waits or polls makes progress itself, or sleeps until something
//! comes. Meanwhile the progress thread keeps out of its way: it takes no lock and arms no channel,
//! whose senders would wake it for each message. It looks again after a moment.

use super::Process;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};
use verbena_waiting::{Step, ThreadPlacement};

/// After this many sleeps in a row, none longer than the time below, the progress thread yields
/// first. The sender of a long message may wait on this core; it fills its ring if it is let run.
/// Without the yield 4 MiB cost a computation beside them 11 to 20% of its time. Where the kernel
/// copies, such sleeps are few, and a yield may delay the copy by a time slice.
const SHORT_SLEEPS: u32 = 8;
const SHORT_SLEEP: Duration = Duration::from_micros(100);

/// The time for which the progress thread keeps out of the way of a thread that has made a round.
/// What comes after that one has gone on may lie for as long.
const KEEPS_AWAY: Duration = Duration::from_micros(250);

/// A wait of this length calls the progress thread at its end, which may keep away for as long as
/// the wait has taken.
pub(super) const CALLS_AFTER: Duration = Duration::from_millis(1);

/// The place where the progress thread keeps away, and from where it is called.
#[derive(Debug, Default)]
pub(super) struct Aside {
    is_there: AtomicBool,
    /// True once there is a progress thread: threads that never meet one share no word with it.
    is_needed: AtomicBool,
    /// The number of waits that slept.
    waits: AtomicU32,
    thread: Mutex<Option<Thread>>,
}

/// A question of the launcher is left for so long to a thread that polls: only that one knows what
/// it asks for. The launcher waits longer.
const LEFT_TO_POLLS: Duration = Duration::from_millis(100);

impl Aside {
    /// Stays for this time, or until called; not at all unless `is_right` once a call would come.
    fn stay(&self, at_most: Duration, is_right: impl FnOnce() -> bool) {
        self.is_there.store(true, Ordering::SeqCst);
        if is_right() {
            std::thread::park_timeout(at_most);
        }
        self.is_there.store(false, Ordering::SeqCst);
    }

    /// Says that the calling thread is the progress thread.
    fn enter(&self) {
        *self.thread() = Some(std::thread::current());
        self.is_needed.store(true, Ordering::Relaxed);
    }

    /// Returns whether there is, or was, a progress thread.
    #[inline]
    fn is_needed(&self) -> bool {
        self.is_needed.load(Ordering::Relaxed)
    }

    /// Says that a wait begins to sleep.
    pub(super) fn wait_begins(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls the progress thread, if it is there.
    pub(super) fn call(&self) {
        if self.is_there.load(Ordering::SeqCst) {
            self.thread().iter().for_each(Thread::unpark);
        }
    }

    fn thread(&self) -> MutexGuard<'_, Option<Thread>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// Notes that a thread of the program has made progress while it waits or polls.
    #[inline]
    pub(super) fn note_round(&self) {
        if self.aside.is_needed() {
            // Several threads may lose counts of each other: any change will do.
            let rounds = self.rounds.load(Ordering::Relaxed);
            self.rounds.store(rounds.wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Makes progress until told to stop: the body of the progress thread. It sleeps as soon as
    /// there is nothing to do; a sender or thread with something for this process wakes it.
    pub fn run_progress_thread(&self, stop: &AtomicBool, mut placement: ThreadPlacement) {
        let mut short_sleeps = 0_u32;
        self.aside.enter();
        let (mut rounds, mut waits) = (self.rounds.load(Ordering::Relaxed), 0);
        let mut asleep = KEEPS_AWAY;
        let mut asked_at = None;
        while !stop.load(Ordering::SeqCst) {
            let before = std::mem::replace(&mut rounds, self.rounds.load(Ordering::Relaxed));
            // Who has slept for long calls when it goes on.
            let sleeps = || self.sleepers.load(Ordering::SeqCst) > 0;
            if sleeps() {
                let last = std::mem::replace(&mut waits, self.aside.waits.load(Ordering::Relaxed));
                // No longer than the wait has taken so far.
                asleep = if waits == last { (2 * asleep).min(self.sleep_max) } else { KEEPS_AWAY };
                self.aside.stay(asleep, sleeps);
                continue;
            }
            if rounds != before {
                self.aside.stay(KEEPS_AWAY, || true);
                // Who only polls answers nobody, unless a signal reaches it.
                asked_at = self.is_asked().then(|| asked_at.unwrap_or_else(Instant::now));
                if asked_at.is_some_and(|at| at.elapsed() >= LEFT_TO_POLLS) {
                    self.answer();
                }
                continue;
            }
            let waiter = self.waiter.get();
            if self.progress() || waiter.idle(u32::MAX) == Step::Again {
                continue;
            }
            self.progress_thread_sleeps.store(true, Ordering::SeqCst);
            self.look_abroad();
            let longest = self.arm();
            if self.progress_before_sleep() || stop.load(Ordering::SeqCst) {
                waiter.disarm();
            } else {
                let began = Instant::now();
                waiter.sleep(longest.min(self.sleep_max));
                self.answer();
                self.note_deaths();
                placement.keep();
                waiter.help();
                short_sleeps = if began.elapsed() < SHORT_SLEEP { short_sleeps.saturating_add(1) } else { 0 };
                if short_sleeps >= SHORT_SLEEPS {
                    std::thread::yield_now();
                }
            }
            self.progress_thread_sleeps.store(false, Ordering::SeqCst);
            self.disarm();
        }
    }
}
