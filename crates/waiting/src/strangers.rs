//! Notices that another program has this core too, and keeps off yields.
//!
//! Who yields to such a one loses the core for a whole time slice, and the message that it waits for lies unread for as
//! long; who sleeps instead is given the core as soon as it is woken, since it has used little of its share. A barrier of
//! four ranks on two cores, both of them with a busy process beside, took 2.4 ms with yields and 0.13 without
//! (measured). But where only ranks are, a yield gets the answer at a third of what a sleep and a wake cost, though it takes long if they copy much.
//! So a yield that takes long while more is runnable than ranks are awake is answered by sleeps for a while, the longer, the more often that happens.

use super::whereabouts::Whereabouts;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A yield from this length on went to one that used its time slice.
const LONG: Duration = Duration::from_millis(1);
/// For so many waits nothing is yielded after the first long yield, and at most.
const WAITS_MIN: u32 = 64;
const WAITS_MAX: u32 = 8192;

/// A rank may look asleep that is on its way there, so one such yield alone is no proof.
const PROOFS: u32 = 2;
/// While no stranger was met lately, one in so many yields is timed: reading the clock twice takes a tenth of a yield.
const TIMED_EVERY: u32 = 4;

/// What a process knows of strangers on its core.
#[derive(Debug)]
pub(super) struct Strangers {
    /// Waits yet that sleep rather than yield.
    waits: AtomicU32,
    /// How many it will be after the next long yield.
    next: AtomicU32,
    /// Long yields to strangers, as it seemed, since the last one that went to ranks.
    proofs: AtomicU32,
    /// Yields so far, timed or not.
    yields: AtomicU32,
}

impl Strangers {
    /// None were met.
    pub fn new() -> Strangers {
        Strangers {
            waits: AtomicU32::new(0),
            next: AtomicU32::new(WAITS_MIN),
            proofs: AtomicU32::new(0),
            yields: AtomicU32::new(0),
        }
    }

    /// Whether a wait had better sleep than yield.
    #[inline]
    pub fn are_here(&self) -> bool {
        self.waits.load(Relaxed) > 0
    }

    /// A wait sleeps.
    pub fn slept(&self) {
        let waits = self.waits.load(Relaxed);
        self.waits.store(waits.saturating_sub(1), Relaxed);
    }

    /// Yields the core, and sees how long that took.
    #[inline]
    pub fn yield_to_them(&self, ranks: &impl Whereabouts) {
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

    /// Yields so far.
    #[cfg(test)]
    pub fn yields_so_far(&self) -> u32 {
        self.yields.load(Relaxed)
    }

    /// Another test's process may be a stranger too.
    #[cfg(test)]
    pub fn forget(&self) {
        self.waits.store(0, Relaxed);
    }

    fn yielded_shortly(&self) {
        let next = self.next.load(Relaxed);
        if next > WAITS_MIN {
            self.next.store(next - 1, Relaxed);
        }
    }

    fn yielded_long(&self, to_a_stranger: bool) {
        let proofs = if to_a_stranger { self.proofs.load(Relaxed) + 1 } else { 0 };
        self.proofs.store(proofs.min(PROOFS), Relaxed);
        if proofs >= PROOFS {
            let next = self.next.load(Relaxed);
            self.waits.store(next, Relaxed);
            self.next.store((next * 2).min(WAITS_MAX), Relaxed);
        }
    }
}

/// Threads of the whole machine that run or could; `None` where the kernel does not say.
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

    /// How many waits sleep from now on.
    fn sleeps(strangers: &Strangers) -> u32 {
        (0..).take_while(|_| strangers.are_here()).inspect(|_| strangers.slept()).count() as u32
    }

    #[test]
    fn long_yields_are_answered_by_sleeps_and_each_further_one_by_more() {
        let strangers = Strangers::new();
        strangers.yielded_shortly();
        strangers.yielded_long(true);
        assert_eq!(sleeps(&strangers), 0);
        let answers = (0..9).map(|_| {
            strangers.yielded_long(true);
            sleeps(&strangers)
        });
        assert!(answers.eq([64, 128, 256, 512, 1024, 2048, 4096, 8192, 8192]));
    }

    #[test]
    fn a_long_yield_to_ranks_is_no_reason_to_sleep() {
        let strangers = Strangers::new();
        for to_a_stranger in [true, false, true, false] {
            strangers.yielded_long(to_a_stranger);
            assert_eq!(sleeps(&strangers), 0);
        }
    }

    #[test]
    fn short_yields_let_it_be_forgotten() {
        let strangers = Strangers::new();
        (0..20).for_each(|_| strangers.yielded_long(true));
        (0..WAITS_MAX).for_each(|_| strangers.yielded_shortly());
        sleeps(&strangers);
        strangers.yielded_long(true);
        assert_eq!(sleeps(&strangers), WAITS_MIN);
    }
}
