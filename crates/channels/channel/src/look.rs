//! The price of a look that finds nothing, measured when a channel is opened (paper 3, 3.1).
//!
//! It decides which channels are worth a look in each round, so it is no constant: an empty
//! completion queue costs tens of nanoseconds where it is a load, and hundreds where the look is a
//! system call. A channel looks at its queue before anybody can have sent anything to it, or else
//! does not care whether there was something.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The looks that are timed as one: the clock takes longer than the cheapest of them.
const LOOKS: u32 = 8;
/// The series of looks at most.
const SERIES: u32 = 8;
/// No series begins later than this after the first.
const TIME_MAX: Duration = Duration::from_micros(200);

/// Measures how many nanoseconds a look takes that finds nothing, and at least 1, by at most 64
/// looks within some 200 us. The quickest series counts, since whatever else the machine does only
/// adds to the others. `look` tells whether it found nothing; `None` if one found something.
pub fn empty_look_ns(mut look: impl FnMut() -> bool) -> Option<u32> {
    let begun = Instant::now();
    let mut least = Duration::MAX;
    for _ in 0..SERIES {
        let start = Instant::now();
        if !(0..LOOKS).all(|_| black_box(look())) {
            return None;
        }
        least = least.min(start.elapsed());
        if begun.elapsed() > TIME_MAX {
            break;
        }
    }
    let ns = least.as_nanos().div_ceil(u128::from(LOOKS)).max(1);
    Some(u32::try_from(ns).unwrap_or(u32::MAX))
}

/// Tells the price as a finding for [`crate::Report`].
pub fn finding(empty_ns: Option<u32>) -> String {
    match empty_ns {
        Some(ns) => format!("a look that finds nothing takes {ns} ns (measured when it was opened)"),
        None => "the price of a look is unknown, so it is looked at in each round".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dear_look_is_told_from_a_cheap_one_by_few_looks() {
        let mut looks = 0;
        let slow = empty_look_ns(|| {
            looks += 1;
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(5) {}
            true
        });
        assert!(slow.is_some_and(|ns| ns >= 5_000), "{slow:?}");
        assert!((LOOKS..=LOOKS * SERIES).contains(&looks), "{looks} looks");
        let quick = empty_look_ns(|| true);
        assert!(quick.is_some_and(|ns| (1..5_000).contains(&ns)), "{quick:?}");
    }

    #[test]
    fn the_time_is_bounded_where_looks_are_very_slow() {
        let mut looks = 0;
        let price = empty_look_ns(|| {
            looks += 1;
            std::thread::sleep(Duration::from_micros(100));
            true
        });
        assert!(price.is_some_and(|ns| ns >= 100_000), "{price:?}");
        assert_eq!(looks, LOOKS, "one series is longer than the bound already");
    }

    #[test]
    fn a_look_that_finds_something_measures_nothing() {
        let mut looks = 0;
        let price = empty_look_ns(|| {
            looks += 1;
            looks < 20
        });
        assert_eq!(price, None);
        assert!(finding(price).contains("each round"));
    }
}
