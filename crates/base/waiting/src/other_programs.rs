//! Notices that another program has this core too, and then avoids yields.
//!
//! A process that yields to another program loses the core for a whole time slice, and the message
//! that it waits for lies unread for as long; one that sleeps instead gets the core as soon as it
//! is woken, since it has used little of its share. A barrier of four ranks on two cores, each
//! beside a busy process, took 2.4 ms with yields and 0.13 without (measured). But where only ranks
//! are, a yield gets the answer at a third of the cost of a sleep and a wake, though it takes long
//! if they copy much. So if a yield takes long while more threads are runnable than ranks are
//! awake, the process sleeps for a while instead: longer each time it happens.

use super::whereabouts::Whereabouts;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The time from which a yield counts as long: another process used its time slice.
const LONG: Duration = Duration::from_millis(1);
/// The number of waits without yields after the first long yield; below, the most.
const WAITS_MIN: u32 = 64;
const WAITS_MAX: u32 = 8192;

/// A rank that is about to sleep may look asleep, so one such yield alone is no proof.
const PROOFS: u32 = 2;
/// While no other program was met recently, one in this many yields is timed: reading the clock
/// twice takes a tenth of a yield.
const TIMED_EVERY: u32 = 4;

/// A process's knowledge of other programs on its core.
#[derive(Debug)]
pub(super) struct OtherPrograms {
    /// The number of waits still to come that sleep rather than yield.
    waits: AtomicU32,
    /// The value of `waits` after the next long yield.
    next: AtomicU32,
    /// The long yields that seemed to go to other programs, since the last one that went to ranks.
    proofs: AtomicU32,
    /// The yields so far, timed or not.
    yields: AtomicU32,
}

impl OtherPrograms {
    /// The state before any were met.
    pub(crate) fn new() -> OtherPrograms {
        OtherPrograms {
            waits: AtomicU32::new(0),
            next: AtomicU32::new(WAITS_MIN),
            proofs: AtomicU32::new(0),
            yields: AtomicU32::new(0),
        }
    }

    /// Returns whether a wait had better sleep than yield.
    #[inline]
    pub(crate) fn are_here(&self) -> bool {
        self.waits.load(Relaxed) > 0
    }

    /// Notes that a wait sleeps.
    pub(crate) fn slept(&self) {
        let waits = self.waits.load(Relaxed);
        self.waits.store(waits.saturating_sub(1), Relaxed);
    }

    /// Yields the core, and notes how long that took.
    #[inline]
    pub(crate) fn yield_to_them(&self, ranks: &impl Whereabouts) {
        let yields = self.yields.load(Relaxed);
        self.yields.store(yields.wrapping_add(1), Relaxed);
        if self.next.load(Relaxed) == WAITS_MIN && !yields.is_multiple_of(TIMED_EVERY) {
            return std::thread::yield_now();
        }
        let start = Instant::now();
        std::thread::yield_now();
        match start.elapsed() >= LONG {
            true => self.yielded_long(runnable().is_none_or(|all| all > ranks.awake())),
            false => self.yielded_shortly(),
        }
    }

    /// The yields so far.
    #[cfg(test)]
    pub(crate) fn yields_so_far(&self) -> u32 {
        self.yields.load(Relaxed)
    }

    /// Forgets all: another test's process may be another program too.
    #[cfg(test)]
    pub(crate) fn forget(&self) {
        self.waits.store(0, Relaxed);
    }

    fn yielded_shortly(&self) {
        let next = self.next.load(Relaxed);
        if next > WAITS_MIN {
            self.next.store(next - 1, Relaxed);
        }
    }

    fn yielded_long(&self, to_another_program: bool) {
        let proofs = if to_another_program { self.proofs.load(Relaxed) + 1 } else { 0 };
        self.proofs.store(proofs.min(PROOFS), Relaxed);
        if proofs >= PROOFS {
            let next = self.next.load(Relaxed);
            self.waits.store(next, Relaxed);
            self.next.store((next * 2).min(WAITS_MAX), Relaxed);
        }
    }
}

/// The threads of the whole machine that run or could; `None` where the kernel does not say.
#[cold]
fn runnable() -> Option<u32> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    runnable_in(&load)
}

/// The first number of the fourth field, as in `0.35 1.55 2.19 3/214 8173`.
fn runnable_in(load: &str) -> Option<u32> {
    load.split_ascii_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_runnable_is_read() {
        assert_eq!(runnable_in("0.35 1.55 2.19 3/214 8173\n"), Some(3));
        assert_eq!((runnable_in(""), runnable_in("0 0 0 x/1 2")), (None, None));
    }

    /// The number of waits that sleep from now on.
    fn sleeps(programs: &OtherPrograms) -> u32 {
        (0..).take_while(|_| programs.are_here()).inspect(|_| programs.slept()).count() as u32
    }

    #[test]
    fn long_yields_are_answered_by_sleeps_and_each_further_one_by_more() {
        let programs = OtherPrograms::new();
        programs.yielded_shortly();
        programs.yielded_long(true);
        assert_eq!(sleeps(&programs), 0);
        let answers = (0..9).map(|_| {
            programs.yielded_long(true);
            sleeps(&programs)
        });
        assert!(answers.eq([64, 128, 256, 512, 1024, 2048, 4096, 8192, 8192]));
    }

    #[test]
    fn a_long_yield_to_ranks_is_no_reason_to_sleep() {
        let programs = OtherPrograms::new();
        for to_another_program in [true, false, true, false] {
            programs.yielded_long(to_another_program);
            assert_eq!(sleeps(&programs), 0);
        }
    }

    #[test]
    fn short_yields_let_it_be_forgotten() {
        let programs = OtherPrograms::new();
        (0..20).for_each(|_| programs.yielded_long(true));
        (0..WAITS_MAX).for_each(|_| programs.yielded_shortly());
        sleeps(&programs);
        programs.yielded_long(true);
        assert_eq!(sleeps(&programs), WAITS_MIN);
    }
}
