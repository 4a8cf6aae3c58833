//! The time that a process spins and yields before it sleeps.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use verbena_machine::cores::Load;

/// The yields of all ranks that share a core, before they sleep.
const YIELDS_SHARED: f64 = 200.0;

/// The numbers of idle rounds before the next, deeper way of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    /// Rounds of pure spinning, which decide the latency.
    pub(crate) spins: u32,
    /// Rounds after those, before sleep.
    pub(crate) yields: u32,
    /// Every n-th of those yields the core; the others pause it.
    pub(crate) yield_every: u32,
}

impl Patience {
    /// The patience that suits this load.
    ///
    /// With a core for each rank a wait is a few microseconds of spinning, then milliseconds in
    /// which only a small part goes to yields. Those help if the scheduler has put two ranks on one
    /// core all the same: there pure spinning would cost a whole spin for each message (35
    /// microseconds, measured). If no other rank is on the core they are rare.
    ///
    /// With fewer cores than ranks, a rank that spins holds up the very rank that it waits for:
    /// yield at once. A yield to a rank that has work costs a microsecond, a sleep and a wake
    /// several. The more ranks share a core, the more of them run at each yield: fewer yields are
    /// enough, and ranks that only yield to each other must soon sleep.
    ///
    /// A number set by `VERBENA_WAIT_...` takes precedence.
    pub(crate) fn for_load(load: &Load) -> Patience {
        let found = if load.oversubscribed() {
            let yields = YIELDS_SHARED / load.ranks_per_core();
            Patience { spins: 0, yields: (yields as u32).max(Learnt::YIELDS_MIN), yield_every: 1 }
        } else {
            Patience { spins: 100, yields: 60_000, yield_every: 32 }
        };
        let set = |setting: &verbena_settings::Automatic, found| setting.get().map_or(found, |n| n as u32);
        Patience {
            spins: set(&verbena_settings::WAIT_SPINS, found.spins),
            yields: set(&verbena_settings::WAIT_YIELDS, found.yields),
            yield_every: set(&verbena_settings::WAIT_YIELD_EVERY, found.yield_every),
        }
    }

    /// Returns whether this idle round yields the core (if it does not sleep).
    #[inline]
    pub(crate) fn yields_at(&self, round: u32) -> bool {
        round.checked_sub(self.spins).is_some_and(|round| round.is_multiple_of(self.yield_every))
    }

    /// Returns whether it is time to sleep.
    pub(crate) fn is_over(&self, round: u32) -> bool {
        round.checked_sub(self.spins).is_some_and(|round| round >= self.yields)
    }

    /// Returns whether nobody may spin.
    pub(crate) fn shares_cores(&self) -> bool {
        self.spins == 0
    }
}

/// The number of yields of a rank without a core of its own before it sleeps, learnt from its
/// sleeps.
///
/// Where ranks talk all the time, a yield gets the answer at a third of the cost of a sleep and a
/// wake, and a few yields are enough: each lets all the others run. Where they wait for long, their
/// yields only take time from those that work.
#[derive(Debug)]
pub(crate) struct Learnt(pub(crate) AtomicU32);

impl Learnt {
    /// The lower bound of the limit.
    pub(crate) const YIELDS_MIN: u32 = 4;
    /// A sleep of at least this length was a long one: the wake that ended it does not matter.
    pub(crate) const LONG: Duration = Duration::from_micros(500);

    /// Adapts the limit after a sleep of this length; it stays at most `max`.
    pub(crate) fn after(&self, slept: Duration, max: u32) {
        let now = self.0.load(Relaxed);
        let next = if slept < Self::LONG { now.saturating_mul(2) } else { now / 2 };
        self.0.store(next.clamp(Self::YIELDS_MIN.min(max), max), Relaxed);
    }
}

#[cfg(test)]
mod tests;
