//! The waiter of a process whose peers share memory with it: spin, yield, sleep on the doorbell.

use super::bell::Bell;
use super::cores::Load;
use super::{Step, Waiter};
use std::sync::Mutex;
use std::time::Duration;

/// How many idle rounds pass before the next, deeper way of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    /// Rounds of pure spinning.
    pub(crate) spins: u32,
    /// Rounds, after those, of yielding the core.
    pub(crate) yields: u32,
}

impl Patience {
    /// With a core for each rank a wait is short or long, so spin (tens of microseconds), then yield for some
    /// milliseconds. With fewer cores whoever spins holds up the very rank that it waits for: yield nearly
    /// at once. A yield to a rank that has work costs a microsecond, a sleep and a wake several.
    pub(crate) fn for_load(load: &Load) -> Patience {
        if load.oversubscribed() {
            Patience { spins: 4, yields: 200 }
        } else {
            Patience { spins: 2000, yields: 10_000 }
        }
    }
}

/// One idle round of spinning or yielding; `None` when it is time to sleep.
pub(super) fn pass_time(patience: Patience, round: u32) -> Option<Step> {
    // A pause is long (140 cycles on some cores), so the first rounds, which decide the latency, do without.
    const SPINS_WITHOUT_PAUSE: u32 = 200;
    if round < patience.spins {
        if round > SPINS_WITHOUT_PAUSE {
            std::hint::spin_loop();
        }
        return Some(Step::Again);
    }
    if round - patience.spins < patience.yields {
        std::thread::yield_now();
        return Some(Step::Again);
    }
    None
}

/// The longest sleep, so that nothing that rings no bell (a signal handler, another channel) waits longer.
pub(crate) const SLEEP_MAX: Duration = Duration::from_millis(100);

/// Waits at the doorbell `B`.
#[derive(Debug)]
pub(crate) struct Sleeper<B> {
    bell: B,
    patience: Patience,
    /// Threads of this process between arming and waking: the last one takes the bell's word down.
    armed: Mutex<u32>,
}

impl<B: AsRef<Bell>> Sleeper<B> {
    /// The waiter of the process that owns `bell`.
    pub(crate) fn new(bell: B, patience: Patience) -> Sleeper<B> {
        Sleeper { bell, patience, armed: Mutex::new(0) }
    }

    fn armed(&self) -> std::sync::MutexGuard<'_, u32> {
        self.armed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<B: AsRef<Bell> + Send + Sync> Waiter for Sleeper<B> {
    fn idle(&self, round: u32) -> Step {
        if let Some(step) = pass_time(self.patience, round) {
            return step;
        }
        *self.armed() += 1;
        self.bell.as_ref().raise();
        Step::Armed
    }

    fn sleep(&self) {
        self.bell.as_ref().wait(SLEEP_MAX);
        self.disarm();
    }

    fn disarm(&self) {
        let mut armed = self.armed();
        *armed = armed.saturating_sub(1);
        if *armed == 0 {
            self.bell.as_ref().lower();
        }
    }

    fn ring_self(&self) {
        self.bell.as_ref().notify(true);
    }
}
