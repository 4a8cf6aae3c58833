//! The waiter of a process that nobody can ring: a single process, or one without peers on its node.

use super::bell::Bell;
use super::cores::Load;
use super::sleeper::{Patience, pass_time};
use super::{NAP, Step, Waiter};
use std::time::Duration;

/// Spins, yields, then takes short naps, since what it waits for (another thread, a device) may ring no bell.
#[derive(Debug)]
pub struct Plain {
    bell: Bell,
    patience: Patience,
}

impl Plain {
    /// A waiter for a process that shares its cores with no other rank.
    pub fn new() -> Plain {
        Plain { bell: Bell::default(), patience: Patience::for_load(&Load::measure(1)) }
    }
}

impl Default for Plain {
    fn default() -> Plain {
        Plain::new()
    }
}

impl Waiter for Plain {
    fn idle(&self, round: u32) -> Step {
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
