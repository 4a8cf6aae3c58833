//! The waiter of a process that nobody can ring: a single process, or one without peers on its node.

use super::bell::Bell;
use super::cores::Load;
use super::sleeper::{Patience, pass_time};
use super::{NAP, Step, Waiter};
use std::time::Duration;

/// Looks again at once, spins, yields, then takes short naps, since what it waits for (another thread, a device) may ring
/// no bell.
#[derive(Debug)]
pub struct Plain {
    bell: Bell,
    patience: Patience,
    /// Idle rounds before the patience begins.
    looks: u32,
}

/// Idle rounds in which the process only looks again. A round of progress over a device takes some hundred instructions, so it
/// is itself the pause that the instruction of that name makes between looks. And that instruction costs 0.4 to 1 us
/// on an emulated processor, which gives the core away for it; 40 to 140 cycles on others.
const LOOKS: u32 = 200;

impl Plain {
    /// A waiter for a process that shares its cores with no other rank.
    pub fn new() -> Plain {
        let patience = Patience::for_load(&Load::measure(1));
        Plain { bell: Bell::default(), patience, looks: if patience.spins > 0 { LOOKS } else { 0 } }
    }
}

impl Default for Plain {
    fn default() -> Plain {
        Plain::new()
    }
}

impl Waiter for Plain {
    fn idle(&self, round: u32) -> Step {
        let Some(round) = round.checked_sub(self.looks) else { return Step::Again };
        pass_time(self.patience, round).unwrap_or_else(|| {
            self.bell.raise_locally();
            Step::Armed
        })
    }

    fn sleep(&self, longest: Duration) {
        self.bell.wait(longest.min(NAP));
        self.bell.lower();
    }

    fn disarm(&self) {
        self.bell.lower();
    }

    fn shares_cores(&self) -> bool {
        self.patience.shares_cores()
    }

    fn ring_self(&self) {
        self.bell.notify(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round that only looks again must cost nothing like a yield or a nap, and naps must come in the end.
    #[test]
    fn it_looks_again_then_spins_and_yields_and_at_last_naps() {
        let patience = Patience { spins: 1, yields: 2, yield_every: 1 };
        let waiter = Plain { bell: Bell::default(), patience, looks: 10 };
        let steps: Vec<Step> = (0..14).map(|round| waiter.idle(round)).collect();
        assert!(steps[..13].iter().all(|step| *step == Step::Again) && steps[13] == Step::Armed, "{steps:?}");
        waiter.disarm();
    }
}
