//! The bytes of a stretch of the file that some process accesses.

/// A set of bytes: a bit for each.
pub(super) struct Coverage {
    words: Vec<u64>,
    bytes: u64,
}

const BITS: u64 = u64::BITS as u64;

impl Coverage {
    /// No bytes of a stretch of this length.
    pub(super) fn new(bytes: u64) -> Coverage {
        Coverage { words: vec![0; bytes.div_ceil(BITS) as usize], bytes }
    }

    /// Adds bytes.
    pub(super) fn add(&mut self, at: u64, len: u64) {
        let (mut at, end) = (at, (at + len).min(self.bytes));
        while at < end {
            let (word, bit) = ((at / BITS) as usize, at % BITS);
            let here = (BITS - bit).min(end - at);
            let ones = if here == BITS { u64::MAX } else { (1 << here) - 1 };
            self.words[word] |= ones << bit;
            at += here;
        }
    }

    /// Calls `each` with the beginning and the length of every run of bytes. Gaps of at most
    /// `gap_max` bytes count as part of it.
    pub(super) fn for_each_run(&self, gap_max: u64, mut each: impl FnMut(u64, u64)) {
        let mut at = self.next(0, true);
        while at < self.bytes {
            let mut end = self.next(at, false);
            let mut following = self.next(end, true);
            while following < self.bytes && following - end <= gap_max {
                end = self.next(following, false);
                following = self.next(end, true);
            }
            each(at, end - at);
            at = following;
        }
    }

    /// The first byte from `at` on that is in the set, or is not; the end if there is none.
    fn next(&self, at: u64, is_in: bool) -> u64 {
        let mut at = at;
        while at < self.bytes {
            let word = self.words[(at / BITS) as usize];
            let rest = (if is_in { word } else { !word }) >> (at % BITS);
            if rest != 0 {
                return (at + u64::from(rest.trailing_zeros())).min(self.bytes);
            }
            at = (at / BITS + 1) * BITS;
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(coverage: &Coverage, gap_max: u64) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        coverage.for_each_run(gap_max, |at, len| runs.push((at, len)));
        runs
    }

    #[test]
    fn runs_are_joined_over_short_gaps_only() {
        let mut coverage = Coverage::new(1000);
        for (at, len) in [(0, 10), (10, 5), (20, 1), (63, 2), (128, 64), (990, 100)] {
            coverage.add(at, len);
        }
        assert_eq!(runs(&coverage, 0), [(0, 15), (20, 1), (63, 2), (128, 64), (990, 10)]);
        assert_eq!(runs(&coverage, 5), [(0, 21), (63, 2), (128, 64), (990, 10)]);
        assert_eq!(runs(&coverage, 1000), [(0, 1000)]);
        assert_eq!(runs(&Coverage::new(77), 1000), []);
    }

    #[test]
    fn any_set_of_bytes_is_found_again() {
        let mut seed = 1_u64;
        for _ in 0..300 {
            let mut coverage = Coverage::new(300);
            let mut plain = [false; 300];
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (at, len) = ((seed >> 33) % 300, (seed >> 50) % 90);
                coverage.add(at, len);
                (at..(at + len).min(300)).for_each(|byte| plain[byte as usize] = true);
            }
            let mut found = [false; 300];
            coverage.for_each_run(0, |at, len| (at..at + len).for_each(|byte| found[byte as usize] = true));
            assert_eq!(found, plain);
        }
    }
}
