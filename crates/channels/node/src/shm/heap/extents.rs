//! The free extents of a slice of the heap. Bytes are counted from the beginning of the heap.

use std::collections::BTreeMap;

/// The free extents, none of which touches another one.
#[derive(Debug, Default)]
pub(super) struct Extents {
    /// Bytes, by first byte.
    free: BTreeMap<u64, u64>,
}

impl Extents {
    /// The extents of a slice that is all free.
    pub(super) fn new(first: u64, bytes: u64) -> Extents {
        Extents { free: BTreeMap::from([(first, bytes)]) }
    }

    /// Takes `bytes` bytes out of the lowest extent that has them, and returns the first. That one,
    /// `base` added to it, is a multiple of `alignment`. Low extents are preferred, so that used
    /// ones lie side by side and the kernel keeps few ranges apart.
    pub(super) fn take(&mut self, bytes: u64, alignment: u64, base: u64) -> Option<u64> {
        let aligned = |first: u64| Some((first + base).checked_next_multiple_of(alignment)? - base);
        let fits = |(&first, &len): (&u64, &u64)| {
            let at = aligned(first)?;
            (at.checked_add(bytes)? <= first + len).then_some((first, len, at))
        };
        let (first, len, at) = self.free.iter().find_map(fits)?;
        self.free.remove(&first);
        self.insert(first, at - first);
        self.insert(at + bytes, first + len - (at + bytes));
        Some(at)
    }

    /// Gives back what [`Extents::take`] took, all or in parts.
    pub(super) fn give(&mut self, first: u64, bytes: u64) {
        let below = self.free.range(..first).next_back().map(|(&at, &len)| (at, len));
        let (mut start, mut end) = (first, first + bytes);
        if let Some((at, _)) = below.filter(|(at, len)| at + len == first) {
            self.free.remove(&at);
            start = at;
        }
        if let Some(len) = self.free.remove(&end) {
            end += len;
        }
        self.insert(start, end - start);
    }

    /// The bytes that are free, and those of the largest extent.
    pub(super) fn free_bytes(&self) -> (u64, u64) {
        (self.free.values().sum(), self.free.values().copied().max().unwrap_or(0))
    }

    fn insert(&mut self, first: u64, bytes: u64) {
        if bytes > 0 {
            self.free.insert(first, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: u64 = 1000;
    const BYTES: u64 = 300;

    /// A small generator (xorshift), so that a failure repeats.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }
    }

    /// A slice byte by byte: true is free.
    struct Plain(Vec<bool>);

    impl Plain {
        fn take(&mut self, bytes: u64, alignment: u64, base: u64) -> Option<u64> {
            let fits = |&first: &u64| {
                (first + base).is_multiple_of(alignment)
                    && (first..first + bytes).all(|at| self.0.get((at - FIRST) as usize) == Some(&true))
            };
            let first = (FIRST..FIRST + BYTES).find(fits)?;
            self.set(first, bytes, false);
            Some(first)
        }

        fn set(&mut self, first: u64, bytes: u64, free: bool) {
            self.0[(first - FIRST) as usize..][..bytes as usize].fill(free);
        }

        /// Bytes that are free, and those of the longest run.
        fn free_bytes(&self) -> (u64, u64) {
            let runs = || self.0.split(|free| !free).map(|run| run.len() as u64);
            (runs().sum(), runs().max().unwrap())
        }
    }

    #[test]
    fn random_sequences_do_as_a_plain_model() {
        let (mut random, mut refused) = (Random(7), 0);
        for _ in 0..200 {
            let base = random.below(64);
            let (mut extents, mut plain) = (Extents::new(FIRST, BYTES), Plain(vec![true; BYTES as usize]));
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for _ in 0..200 {
                if taken.is_empty() || random.below(5) < 3 {
                    let (bytes, alignment) = (1 + random.below(40), 1 << random.below(6));
                    let first = extents.take(bytes, alignment, base);
                    assert_eq!(first, plain.take(bytes, alignment, base));
                    refused += u32::from(first.is_none());
                    taken.extend(first.map(|first| (first, bytes)));
                } else {
                    let (first, bytes) = taken.swap_remove(random.below(taken.len() as u64) as usize);
                    extents.give(first, bytes);
                    plain.set(first, bytes, true);
                }
                assert_eq!(extents.free_bytes(), plain.free_bytes());
            }
            taken.into_iter().for_each(|(first, bytes)| extents.give(first, bytes));
            assert_eq!(extents.free, BTreeMap::from([(FIRST, BYTES)]));
        }
        assert!(refused > 1000, "{refused} times there was no room");
    }

    #[test]
    fn no_number_is_too_large_to_be_refused() {
        let mut extents = Extents::new(FIRST, BYTES);
        assert_eq!(extents.take(u64::MAX, 1, 0), None);
        assert_eq!(extents.take(1, 1 << 63, 0), None);
        assert_eq!(extents.take(BYTES + 1, 1, 0), None);
        assert_eq!(extents.take(BYTES, 1, 0), Some(FIRST));
        assert_eq!((extents.take(1, 1, 0), extents.free_bytes()), (None, (0, 0)));
    }
}
