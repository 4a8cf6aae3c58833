//! Ranks that share cores spread over them by themselves.
//!
//! The scheduler takes ranks that yield and sleep for light ones, and leaves all four on one of two
//! cores for seconds: an all-to-all then takes 400 us instead of 8, a barrier 15 instead of 4
//! (measured). So each rank looks now and then where the others last waited, and the last rank of a
//! crowded core moves. Nobody is bound: the scheduler may move it again, and does so if another
//! program works on that core. Each move therefore doubles the time to this rank's next one.

use super::whereabouts::{ReportedPlace, Whereabouts};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use verbena_machine::cores::{self, Load};

/// Idle rounds from one look to the next, before the first move.
const LOOK_EVERY: u32 = 64;
/// The most times that the number is doubled: to about a tenth of a second of yields.
const DOUBLED_MAX: u32 = 10;

/// A rank's knowledge of how evenly the cores are shared.
#[derive(Debug)]
pub(super) struct Balance {
    /// The ranks on a core where all cores have the same number, rounded up.
    fair: u32,
    /// Idle rounds since the last look.
    rounds: AtomicU32,
    /// The number of times that it moved.
    moves: AtomicU32,
}

impl Balance {
    /// The balance of a rank under this load.
    pub(crate) fn new(load: &Load) -> Balance {
        let fair = load.local_ranks.div_ceil(load.cores.max(1));
        Balance { fair, rounds: AtomicU32::new(0), moves: AtomicU32::new(0) }
    }

    /// Counts an idle round.
    #[inline]
    pub(crate) fn pass(&self, ranks: &impl Whereabouts) {
        let rounds = self.rounds.load(Relaxed) + 1;
        let is_due = rounds >= LOOK_EVERY << self.moves.load(Relaxed).min(DOUBLED_MAX);
        self.rounds.store(if is_due { 0 } else { rounds }, Relaxed);
        if is_due {
            self.look(ranks);
        }
    }

    #[cold]
    fn look(&self, ranks: &impl Whereabouts) {
        let here = cores::here();
        ranks.report(ReportedPlace { core: here, helper: false });
        let reported: Vec<u32> = ranks.reported().flatten().map(|place| place.core).collect();
        let crowd = reported.iter().filter(|&&core| core == here).count() as u32;
        // A rank that has not reported yet may be anywhere.
        if crowd <= self.fair || reported.len() < ranks.reported().count() {
            return;
        }
        let is_last = (0..)
            .zip(ranks.reported())
            .filter(|(_, reported)| reported.is_some_and(|place| place.core == here))
            .last();
        if is_last.is_some_and(|(rank, _)| rank == ranks.me())
            && let Some(core) = emptier(here, &reported, &cores::affinity())
        {
            self.moves.store(self.moves.load(Relaxed).saturating_add(1), Relaxed);
            cores::move_to(core);
            ranks.report(ReportedPlace { core, helper: false });
        }
    }
}

/// The core of a mask with the fewest ranks, if it has at least two fewer than the core `here`.
fn emptier(here: u32, reported: &[u32], mask: &[u8]) -> Option<u32> {
    let ranks_on = |core: u32| reported.iter().filter(|&&other| other == core).count();
    let allowed = (0..).zip(mask).flat_map(|(byte, bits)| {
        (0..8).filter(move |bit| bits & 1 << bit != 0).map(move |bit| 8 * byte + bit)
    });
    allowed.min_by_key(|&core| ranks_on(core)).filter(|&core| ranks_on(core) + 2 <= ranks_on(here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emptiest_allowed_core_is_found() {
        assert_eq!(emptier(0, &[0, 0, 0, 0], &[0b11]), Some(1));
        assert_eq!(emptier(0, &[0, 0, 0, 1], &[0b11]), Some(1));
        assert_eq!(emptier(1, &[1, 0, 9, 1, 1], &[0b10_0000_0011u16 as u8, 0b10]), Some(0));
        assert_eq!(emptier(0, &[0, 0, 0], &[0, 0b1]), Some(8));
    }

    #[test]
    fn even_cores_and_forbidden_ones_are_left_alone() {
        assert_eq!(emptier(0, &[0, 0, 1, 1], &[0b11]), None);
        assert_eq!(emptier(0, &[0, 0, 1], &[0b11]), None);
        assert_eq!(emptier(0, &[0, 0, 0, 0], &[0b1]), None);
        assert_eq!(emptier(0, &[0, 0, 0], &[]), None);
    }

    /// Four ranks, all on one core; this one is the last.
    struct FourOnOneCore;

    impl Whereabouts for FourOnOneCore {
        fn me(&self) -> u32 {
            3
        }
        fn report(&self, _: ReportedPlace) {}
        fn reported(&self) -> impl Iterator<Item = Option<ReportedPlace>> {
            std::iter::repeat_n(Some(ReportedPlace { core: cores::here(), helper: false }), 4)
        }
        fn awake(&self) -> u32 {
            4
        }
    }

    #[test]
    fn each_move_doubles_the_time_to_the_next() {
        let load = Load { local_ranks: 4, cores: 2, quota: None };
        let balance = Balance::new(&load);
        let cores = cores::count_union([cores::affinity().as_slice()].into_iter());
        if cores < 2 {
            return;
        }
        // The scheduler may move this thread between two of its looks, and then it stays where it
        // is.
        let mut rounds = 0;
        while balance.moves.load(Relaxed) < 3 {
            balance.pass(&FourOnOneCore);
            rounds += 1;
        }
        assert!(rounds >= LOOK_EVERY * 7, "{rounds}");
    }
}
