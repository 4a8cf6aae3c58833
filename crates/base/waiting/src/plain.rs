//! The waiter of a process that nobody can ring: a single process, or one without peers on its
//! node.

use super::bell::Bell;
use super::own_core::OwnCore;
use super::{NAP, Step, Waiter};
use std::time::Duration;
use verbena_machine::cores::Load;

/// Looks again at once, spins, yields, then takes short naps, since what it waits for (another
/// thread, a device) may ring no bell.
#[derive(Debug)]
pub struct Plain {
    bell: Bell,
    own_core: OwnCore,
}

impl Plain {
    /// The waiter of a process whose cores have this load.
    pub fn new(load: &Load) -> Plain {
        Plain { bell: Bell::default(), own_core: OwnCore::new(load) }
    }
}

impl Waiter for Plain {
    fn idle(&self, round: u32) -> Step {
        self.own_core.pass(round).unwrap_or_else(|| {
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
        self.own_core.shares_cores()
    }

    fn ring_self(&self) {
        self.bell.notify(true);
    }
}

#[cfg(test)]
mod tests {
    use super::super::patience::Patience;
    use super::*;

    /// A round that only looks again must cost less than a yield or a nap, and naps must come in
    /// the end.
    #[test]
    fn it_looks_again_then_spins_and_yields_and_at_last_naps() {
        let patience = Patience { spins: 1, yields: 2, yield_every: 1 };
        let waiter = Plain { bell: Bell::default(), own_core: OwnCore { patience, looks: 10 } };
        let steps: Vec<Step> = (0..14).map(|round| waiter.idle(round)).collect();
        assert!(steps[..13].iter().all(|step| *step == Step::Again) && steps[13] == Step::Armed, "{steps:?}");
        waiter.disarm();
    }
}
