//! The choice of stores for cold cells: through the caches or past them, by what that costs now.
//!
//! Where two cores share a cache, plain stores into memory that fell out of both second-level
//! caches cost some 2 ns a line; where they lie far apart, 15 to 27 ns, and non-temporal stores 4.
//! On a virtual machine that changes within seconds. So some of the plain copies are timed. Above
//! [`DEAR_NS`] a line cells are written past the caches, and two in [`TRIAL_EVERY`] plainly, to see
//! whether that has changed.
//!
//! A copy that the system interrupted looks dear. So of two times in a row the smaller one counts.

use std::fmt;
use verbena_memory::copy::Stores;
use verbena_settings::SHM_CELL_STORES;

/// Nanoseconds a line from which plain stores are dear.
const DEAR_NS: f64 = 6.0;

/// One plain copy in this number is timed.
const TIMED_EVERY: u32 = 8;

/// Two copies in this number are plain where plain stores are dear.
const TRIAL_EVERY: u32 = 256;

/// The weight of a new time in the mean.
const WEIGHT: f64 = 0.5;

/// The cost of plain stores, as far as it is known.
#[derive(Debug)]
pub(super) struct StoreCosts {
    /// The stores that are always used, if that is set.
    fixed: Option<Stores>,
    /// Mean nanoseconds a line of plain stores; `None` before the first copy.
    mean: Option<f64>,
    /// The last time, a line.
    last: Option<f64>,
    /// Cold cells written since the last that was timed, or since the last trial.
    since: u32,
}

impl StoreCosts {
    /// The costs at the start, with the stores that are set.
    pub(super) fn set() -> StoreCosts {
        let fixed = match SHM_CELL_STORES.get() {
            1 => Some(Stores::Ordinary),
            2 => Some(Stores::NonTemporal),
            _ => None,
        };
        StoreCosts::new(fixed)
    }

    fn new(fixed: Option<Stores>) -> StoreCosts {
        StoreCosts { fixed, mean: None, last: None, since: 0 }
    }

    fn are_dear(&self) -> bool {
        self.mean.is_some_and(|mean| mean > DEAR_NS)
    }

    /// The stores for the next cold cell, and whether the copy is to be timed.
    pub(super) fn choose(&mut self) -> (Stores, bool) {
        if let Some(fixed) = self.fixed {
            return (fixed, false);
        }
        self.since += 1;
        match self.are_dear() {
            false if self.since >= TIMED_EVERY => {
                self.since = 0;
                (Stores::Ordinary, true)
            }
            false => (Stores::Ordinary, false),
            true if self.since > TRIAL_EVERY => {
                self.since = 0;
                (Stores::Ordinary, true)
            }
            // The second of the two.
            true if self.since == TRIAL_EVERY => (Stores::Ordinary, true),
            true => (Stores::NonTemporal, false),
        }
    }

    /// Notes the time of a plain copy.
    pub(super) fn note(&mut self, lines: u64, ns: u64) {
        let now = ns as f64 / lines.max(1) as f64;
        let least = self.last.replace(now).map_or(now, |last| now.min(last));
        let mean = self.mean.unwrap_or(least);
        self.mean = Some(mean + (least - mean) * WEIGHT);
    }
}

impl fmt::Display for StoreCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |is_dear| if is_dear { "non-temporal" } else { "plain" };
        match (self.fixed, self.mean) {
            (Some(stores), _) => write!(f, "{} stores, as set", kind(stores == Stores::NonTemporal)),
            (None, None) => write!(f, "plain stores, not timed yet"),
            (None, Some(mean)) => {
                write!(f, "{} stores: plain ones took {mean:.1} ns a line", kind(self.are_dear()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes so many cells whose plain stores take `ns` a line; returns how many were written
    /// past the caches. `noise` is asked for what a copy takes beside, in nanoseconds.
    fn write(costs: &mut StoreCosts, cells: u32, ns: u64, mut noise: impl FnMut(u32) -> u64) -> u32 {
        let mut past = 0;
        for cell in 0..cells {
            let (stores, is_timed) = costs.choose();
            past += u32::from(stores == Stores::NonTemporal);
            if is_timed {
                assert_eq!(stores, Stores::Ordinary);
                costs.note(100, 100 * ns + noise(cell));
            }
        }
        past
    }

    #[test]
    fn cheap_stores_stay_and_dear_ones_are_left() {
        let mut costs = StoreCosts::new(None);
        assert_eq!(write(&mut costs, 10_000, 2, |_| 0), 0);
        // The mode changes: within a few timed copies it is noticed.
        let past = write(&mut costs, 10_000, 27, |_| 0);
        assert!(past > 9_800, "{past}");
        // And back, within some trials.
        write(&mut costs, 5 * TRIAL_EVERY, 2, |_| 0);
        assert_eq!(write(&mut costs, 10_000, 2, |_| 0), 0);
    }

    #[test]
    fn interruptions_do_not_count() {
        let mut costs = StoreCosts::new(None);
        // Every third timed copy is interrupted for a millisecond.
        let mut timed = 0;
        let past = write(&mut costs, 100_000, 2, |_| {
            timed += 1;
            if timed % 3 == 0 { 1_000_000 } else { 0 }
        });
        assert_eq!(past, 0);
    }

    #[test]
    fn a_time_near_the_bound_does_not_swing_for_ever() {
        let mut costs = StoreCosts::new(None);
        let mut changes = 0;
        let mut before = Stores::Ordinary;
        let mut seed = 1u32;
        for _ in 0..100_000 {
            let (stores, is_timed) = costs.choose();
            if is_timed {
                seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
                // 4 to 8 ns a line.
                costs.note(100, 400 + u64::from(seed >> 16) % 400);
            } else {
                changes += u32::from(stores != before);
                before = stores;
            }
        }
        // Both ways cost alike there; a change needs at least a trial.
        assert!(changes <= 2 * 100_000 / TRIAL_EVERY + 2, "{changes}");
    }

    #[test]
    fn a_setting_fixes_the_stores() {
        for fixed in [Stores::Ordinary, Stores::NonTemporal] {
            let mut costs = StoreCosts::new(Some(fixed));
            assert!((0..1000).all(|_| costs.choose() == (fixed, false)));
        }
    }
}
