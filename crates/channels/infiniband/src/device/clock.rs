//! A clock that is read in a few instructions.
//!
//! Channels with timers ask for the time with every packet, and with every look while they wait.
//! Where the kernel does not trust the processor's own counter, each such question is a system
//! call: 2.7 us in an emulated machine, and several delay each datagram. So the counter tells how
//! much time has passed since the kernel was last asked, but never over more than [`SPAN_NS`]: a
//! counter that differs between cores is wrong by less than that. One that stops while its core
//! sleeps, as on very old processors, loses the sleep until it has counted a span.

use std::cell::Cell;
use std::time::Instant;

/// The longest time between two questions to the kernel, and the shortest over which the counter's
/// rate is measured.
const SPAN_NS: u64 = 1_000_000;
/// The largest change of the counter's rate between two spans, as one part in this many; beyond it
/// the kernel is asked until the rate is steady.
const STEADY: u64 = 8;

/// A clock that counts nanoseconds since it was made.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    last: Cell<KernelTime>,
}

/// The time that the kernel gave last.
#[derive(Clone, Copy, Debug)]
struct KernelTime {
    ns: u64,
    ticks: u64,
    /// Nanoseconds for 2^32 ticks; 0 while that is not known.
    rate: u64,
}

impl Clock {
    /// Makes a clock that begins at 0.
    pub(crate) fn new() -> Clock {
        Clock { started: Instant::now(), last: Cell::new(KernelTime { ns: 0, ticks: ticks(), rate: 0 }) }
    }

    /// Returns the time. It may go back by as much as the counter was wrong in a span.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        let last = self.last.get();
        match last.after(ticks()) {
            Some(ns) => last.ns + ns,
            None => self.ask(last),
        }
    }

    #[cold]
    fn ask(&self, last: KernelTime) -> u64 {
        let ns = self.started.elapsed().as_nanos() as u64;
        self.last.set(last.then(ns, ticks()));
        ns
    }
}

impl KernelTime {
    /// Returns how long after this the counter shows `ticks`; `None` if it cannot tell.
    #[inline]
    fn after(self, ticks: u64) -> Option<u64> {
        let passed = ticks.wrapping_sub(self.ticks);
        // Also a counter that went back is too far away.
        let ns = u64::try_from((u128::from(passed) * u128::from(self.rate)) >> 32).ok()?;
        (self.rate > 0 && ns < SPAN_NS).then_some(ns)
    }

    /// Returns the time now, when the kernel gave it again.
    fn then(self, ns: u64, ticks: u64) -> KernelTime {
        let (passed_ns, passed) = (ns.saturating_sub(self.ns), ticks.wrapping_sub(self.ticks));
        if passed_ns < SPAN_NS {
            // Too short a time to measure the counter by.
            return self;
        }
        // A counter that stands still has no rate, and the kernel goes on being asked.
        let rate = (u128::from(passed_ns) << 32).checked_div(u128::from(passed));
        let rate = rate.and_then(|rate| u64::try_from(rate).ok()).unwrap_or(0);
        // The first measurement is taken as it is, and one that the next does not confirm is
        // dropped.
        let is_steady = self.rate == 0 || rate.abs_diff(self.rate) <= self.rate / STEADY;
        KernelTime { ns, ticks, rate: if is_steady { rate } else { 0 } }
    }
}

/// Reads the processor's counter.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every processor of this architecture has the instruction, which only reads a counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Returns 0: no counter is known here, and the kernel is always asked.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
fn ticks() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: KernelTime = KernelTime { ns: 5_000_000, ticks: 1 << 40, rate: 0 };

    /// Returns [`START`] with a counter of two ticks a nanosecond that was measured over a span.
    fn measured() -> KernelTime {
        START.then(7_000_000, (1 << 40) + 4_000_000)
    }

    #[test]
    fn the_counter_tells_the_time_within_a_span() {
        assert_eq!(START.after((1 << 40) + 10), None);
        let last = measured();
        assert_eq!((last.ns, last.after(last.ticks + 1000)), (7_000_000, Some(500)));
        assert_eq!(last.after(last.ticks + 2 * SPAN_NS), None);
    }

    #[test]
    fn a_counter_that_goes_back_or_stands_still_is_not_believed() {
        let last = measured();
        assert_eq!(last.after(last.ticks - 1), None);
        let still = START.then(9_000_000, START.ticks);
        assert_eq!((still.rate, still.after(START.ticks)), (0, None));
    }

    #[test]
    fn a_rate_that_changes_is_measured_again() {
        let last = measured();
        let slower = last.then(last.ns + 4_000_000, last.ticks + 4_000_000);
        assert_eq!(slower.rate, 0);
        assert_eq!(slower.then(slower.ns + 4_000_000, slower.ticks + 4_000_000).rate, 1 << 32);
        let as_before = last.then(last.ns + 2_000_000, last.ticks + 4_100_000);
        assert!(as_before.rate > 0);
    }

    #[test]
    fn too_short_a_time_measures_nothing() {
        let last = measured();
        let soon = last.then(last.ns + 10, last.ticks + 1_000_000);
        assert_eq!((soon.ns, soon.rate), (last.ns, last.rate));
    }

    #[test]
    fn it_keeps_up_with_the_kernel() {
        let (clock, start) = (Clock::new(), Instant::now());
        while start.elapsed().as_millis() < 20 {
            let before = start.elapsed().as_nanos() as u64;
            let now = clock.now_ns();
            // The two began a moment apart, and either may be held up between two readings; only
            // the earlier bound is sharp.
            assert!(now + SPAN_NS >= before, "{now} at {before}");
        }
    }
}
