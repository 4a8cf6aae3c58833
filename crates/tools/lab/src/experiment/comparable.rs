//! The choice of samples that may be compared where a device has several speeds.
//!
//! On Soft-RoCE a latency test comes out quick or slow by where the kernel runs the device's work:
//! within the sender's call, or in a thread of its own that must be woken first (26 or 41 us for
//! the same perftest). A median over both says mostly how often each came up. So latencies are
//! compared by their *comparable* samples, on both sides alike: those that take at most
//! [`SPREAD`] times the least, if they are at least [`FEWEST`]; their median counts. No device
//! takes longer for a write than for a send: where it seems so, the quick speed was not seen.

use crate::timing::median;

/// A comparable sample takes at most this many times the least one: less than the gap between the
/// speeds.
pub(super) const SPREAD: f64 = 1.2;
/// The fewest comparable samples to compare: a lucky one proves nothing.
pub(super) const FEWEST: usize = 3;
/// A write may seem, by noise, to take this many times as long as a send.
const WRITE_TO_SEND: f64 = 1.05;

/// The median of the comparable samples, and their number; `None` if they are too few.
pub fn comparable(samples: &[f64]) -> Option<(f64, usize)> {
    let least = samples.iter().copied().reduce(f64::min)?;
    let comparable: Vec<f64> = samples.iter().copied().filter(|&sample| sample <= SPREAD * least).collect();
    let middle = median(&comparable).filter(|_| comparable.len() >= FEWEST)?;
    Some((middle, comparable.len()))
}

/// Returns whether these can be times of one speed: a write takes no longer than a send.
pub fn is_one_speed(write: f64, send: f64) -> bool {
    write <= WRITE_TO_SEND * send
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_samples_do_not_count() {
        assert_eq!(comparable(&[41.0, 26.0, 42.0, 27.0, 25.0, 41.5, 40.0]), Some((26.0, 3)));
    }

    #[test]
    fn too_few_comparable_samples_prove_nothing() {
        assert_eq!(comparable(&[41.0, 26.0, 42.0, 27.0]), None);
        assert_eq!(comparable(&[]), None);
    }

    #[test]
    fn a_write_seen_only_slow_is_noticed() {
        assert!(is_one_speed(26.0, 27.5) && is_one_speed(27.5, 27.0));
        assert!(!is_one_speed(39.9, 27.5));
    }
}
