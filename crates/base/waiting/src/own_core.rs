//! The idle rounds of a process that shares its cores with no other rank: look again, spin, yield.

use super::Step;
use super::patience::Patience;
use verbena_machine::cores::Load;

/// The idle rounds in which the process only looks again. A round of progress over a device takes
/// some hundred instructions, so it is itself the pause that the instruction of that name makes
/// between looks. And that instruction costs 0.4 to 1 us on an emulated processor, which gives the
/// core away for it; 40 to 140 cycles on others.
const LOOKS: u32 = 200;

/// The rounds before a sleep.
#[derive(Debug)]
pub(super) struct OwnCore {
    pub patience: Patience,
    /// Idle rounds before the patience begins.
    pub looks: u32,
}

impl OwnCore {
    pub(crate) fn new(load: &Load) -> OwnCore {
        let patience = Patience::for_load(load);
        OwnCore { patience, looks: if patience.spins > 0 { LOOKS } else { 0 } }
    }

    /// Passes one idle round; `None` when it is time to sleep.
    #[inline]
    pub(crate) fn pass(&self, round: u32) -> Option<Step> {
        match round.checked_sub(self.looks) {
            None => {}
            Some(round) if self.patience.is_over(round) => return None,
            Some(round) if self.patience.yields_at(round) => std::thread::yield_now(),
            Some(_) => std::hint::spin_loop(),
        }
        Some(Step::Again)
    }

    pub(crate) fn shares_cores(&self) -> bool {
        self.patience.shares_cores()
    }
}
