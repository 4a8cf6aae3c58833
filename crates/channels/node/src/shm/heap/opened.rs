//! The pages of other ranks' blocks that were opened in this process. They stay open, so that the
//! kernel is asked once for each.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges of bytes that do not touch each other.
#[derive(Debug, Default)]
pub(super) struct Opened {
    /// The byte after the last, by the first byte.
    ends: BTreeMap<u64, u64>,
}

impl Opened {
    /// Returns whether all of these bytes are open.
    pub(super) fn has(&self, range: &Range<u64>) -> bool {
        range.is_empty() || self.ends.range(..=range.start).next_back().is_some_and(|it| *it.1 >= range.end)
    }

    /// Notes that these bytes are open.
    pub(super) fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut first, mut end) = (range.start, range.end);
        // Those that touch it become a part of it.
        while let Some((at, other)) = self.ends.range(..=end).next_back().map(|(&at, &end)| (at, end)) {
            if other < first {
                break;
            }
            self.ends.remove(&at);
            (first, end) = (first.min(at), end.max(other));
        }
        self.ends.insert(first, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut opened = Opened::default();
        for range in [10..20, 40..50, 30..35, 20..30, 0..5] {
            opened.add(range);
        }
        assert_eq!(opened.ends, BTreeMap::from([(0, 5), (10, 35), (40, 50)]));
        opened.add(4..45);
        assert_eq!(opened.ends, BTreeMap::from([(0, 50)]));
        opened.add(10..20);
        opened.add(60..60);
        assert_eq!(opened.ends, BTreeMap::from([(0, 50)]));
    }

    #[test]
    fn only_what_was_added_is_open() {
        let mut opened = Opened::default();
        assert!(opened.has(&(7..7)) && !opened.has(&(7..8)));
        opened.add(10..20);
        assert!([10..20, 10..11, 19..20, 15..15].iter().all(|range| opened.has(range)));
        assert!(![9..11, 19..21, 0..9, 20..21, 0..100].iter().any(|range| opened.has(range)));
    }
}
