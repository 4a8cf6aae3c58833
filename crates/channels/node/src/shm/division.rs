//! Division of a message's copy between sender and receiver: one word that both sides see.
//!
//! The receiver opens a division for a message of this many parts, and has the first. It takes
//! parts from the front; the sender, while it is in the library, takes them from the back, until
//! they meet. Each part is handed out once. A sender that is busy elsewhere holds nothing up: it
//! takes a part only when it is about to copy it, and nobody asks and waits for an answer.
//!
//! | bits | field |
//! | --- | --- |
//! | 34 | tag of the division; 0 if the word is free |
//! | 10 | parts |
//! | 10 | parts taken from the front |
//! | 10 | parts taken from the back |
//!
//! The words stand in the page before a ring's lines, each on its own cache line. Only the receiver
//! of the ring opens and ends them. A word whose parts are all taken gives nothing any more, so the
//! receiver can leave it as it is: each look at a word that the other side wrote costs the transfer
//! of a cache line. The tag keeps a sender that has not heard of the end yet out of the next
//! division.

use super::mapped::{DIVISIONS, MappedRing};
use std::sync::atomic::{AtomicU64, Ordering::*};
use verbena_channel::{Division, End};

const COUNT_BITS: u32 = 10;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const TAG_BITS: u32 = 34;
const SLOT_BITS: u32 = 6;
const _: () = assert!(verbena_channel::PARTS_MAX as u64 <= COUNT_MASK && DIVISIONS <= 1 << SLOT_BITS);

/// The word; loom has another one.
pub(super) trait Word {
    fn load(&self) -> u64;
    fn replace(&self, old: u64, new: u64) -> Result<u64, u64>;
    fn swap(&self, new: u64) -> u64;
    fn store(&self, new: u64);
}

impl Word for AtomicU64 {
    #[inline]
    fn load(&self) -> u64 {
        AtomicU64::load(self, Acquire)
    }

    #[inline]
    fn replace(&self, old: u64, new: u64) -> Result<u64, u64> {
        self.compare_exchange(old, new, AcqRel, Acquire)
    }

    fn swap(&self, new: u64) -> u64 {
        AtomicU64::swap(self, new, AcqRel)
    }

    #[inline]
    fn store(&self, new: u64) {
        AtomicU64::store(self, new, Release);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    parts: u64,
    first: u64,
    last: u64,
}

impl Counts {
    fn of(word: u64) -> Counts {
        let field = |at: u32| word >> (at * COUNT_BITS) & COUNT_MASK;
        Counts { parts: field(2), first: field(1), last: field(0) }
    }

    fn word(self, tag: u64) -> u64 {
        tag << (3 * COUNT_BITS) | self.parts << (2 * COUNT_BITS) | self.first << COUNT_BITS | self.last
    }
}

/// Opens a division whose first part is taken.
fn open(word: &impl Word, tag: u64, parts: u32) {
    word.store(Counts { parts: parts.into(), first: 1, last: 0 }.word(tag));
}

/// Takes the next part from one end; `None` if all are taken, or if it is another division's word
/// by now.
fn take(word: &impl Word, tag: u64, end: End) -> Option<u32> {
    let mut seen = word.load();
    loop {
        let counts = Counts::of(seen);
        if seen >> (3 * COUNT_BITS) != tag || counts.first + counts.last >= counts.parts {
            return None;
        }
        let (taken, next) = match end {
            End::Front => (counts.first, Counts { first: counts.first + 1, ..counts }),
            End::Back => (counts.parts - 1 - counts.last, Counts { last: counts.last + 1, ..counts }),
        };
        match word.replace(seen, next.word(tag)) {
            Ok(_) => return Some(taken as u32),
            Err(now) => seen = now,
        }
    }
}

/// Ends the division and says how many parts were taken from the back.
fn end(word: &impl Word) -> u32 {
    Counts::of(word.swap(0)).last as u32
}

/// The receiver's list of free words of one ring.
#[derive(Debug)]
pub(super) struct DivisionWords {
    /// A bit for each word that is free.
    free: u64,
    /// The tag of the next division.
    tag: u64,
}

impl DivisionWords {
    pub(super) fn new() -> DivisionWords {
        DivisionWords { free: (1 << DIVISIONS) - 1, tag: 1 }
    }

    /// Opens a division of a message that comes through `ring`; `None` if all words are in use.
    pub(super) fn open(&mut self, ring: &MappedRing, parts: u32) -> Option<Division> {
        let slot = (self.free != 0).then(|| self.free.trailing_zeros())?;
        self.free &= !(1 << slot);
        let tag = self.tag;
        self.tag = if tag + 1 < 1 << TAG_BITS { tag + 1 } else { 1 };
        open(ring.division_word(slot as usize)?, tag, parts);
        Some(Division(tag << SLOT_BITS | u64::from(slot)))
    }

    /// Ends a division and says how many parts the sender took.
    pub(super) fn end(&mut self, ring: &MappedRing, division: Division) -> u32 {
        self.forget(division);
        ring.division_word(split(division).0).map_or(0, end)
    }

    /// Frees the word of a division whose parts are all taken.
    pub(super) fn forget(&mut self, division: Division) {
        self.free |= 1 << split(division).0;
    }
}

/// Takes a part of a message that goes through `ring`.
pub(super) fn take_part(ring: &MappedRing, division: Division, from: End) -> Option<u32> {
    let (slot, tag) = split(division);
    take(ring.division_word(slot)?, tag, from)
}

fn split(division: Division) -> (usize, u64) {
    ((division.0 & ((1 << SLOT_BITS) - 1)) as usize, division.0 >> SLOT_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as LoomWord;

    impl Word for LoomWord {
        fn load(&self) -> u64 {
            LoomWord::load(self, Acquire)
        }

        fn replace(&self, old: u64, new: u64) -> Result<u64, u64> {
            self.compare_exchange(old, new, AcqRel, Acquire)
        }

        fn swap(&self, new: u64) -> u64 {
            LoomWord::swap(self, new, AcqRel)
        }

        fn store(&self, new: u64) {
            LoomWord::store(self, new, Release);
        }
    }

    #[test]
    fn both_ends_meet_in_the_middle() {
        let word = AtomicU64::new(0);
        assert_eq!(take(&word, 7, End::Front), None);
        open(&word, 7, 6);
        let taken = [End::Front, End::Back, End::Back, End::Front, End::Back, End::Front];
        let taken = taken.map(|end| take(&word, 7, end));
        assert_eq!(taken, [Some(1), Some(5), Some(4), Some(2), Some(3), None]);
        assert_eq!(end(&word), 3);
    }

    #[test]
    fn the_largest_counts_fit() {
        let (word, tag) = (AtomicU64::new(0), (1 << TAG_BITS) - 1);
        open(&word, tag, verbena_channel::PARTS_MAX);
        let all = (1..verbena_channel::PARTS_MAX).map(|_| take(&word, tag, End::Back));
        assert!(all.eq((1..verbena_channel::PARTS_MAX).rev().map(Some)));
        assert_eq!((take(&word, tag, End::Back), end(&word)), (None, verbena_channel::PARTS_MAX - 1));
    }

    #[test]
    fn each_part_is_taken_once_in_every_interleaving() {
        loom::model(|| {
            let word = Arc::new(LoomWord::new(0));
            open(&*word, 1, 4);
            let theirs = word.clone();
            let sender = loom::thread::spawn(move || {
                (0..2).filter_map(|_| take(&*theirs, 1, End::Back)).collect::<Vec<u32>>()
            });
            let mut taken: Vec<u32> = (0..2).filter_map(|_| take(&*word, 1, End::Front)).collect();
            taken.extend(sender.join().unwrap());
            taken.sort_unstable();
            assert_eq!(taken, [1, 2, 3]);
        });
    }

    #[test]
    fn what_was_taken_before_the_end_is_counted_and_nothing_is_taken_after_it() {
        loom::model(|| {
            let word = Arc::new(LoomWord::new(0));
            open(&*word, 1, 4);
            let theirs = word.clone();
            let sender = loom::thread::spawn(move || {
                (0..2).filter(|_| take(&*theirs, 1, End::Back).is_some()).count()
            });
            let last = end(&*word);
            // The word serves another message; the sender has not heard of it.
            open(&*word, 2, 3);
            assert_eq!(last, sender.join().unwrap() as u32);
            assert_eq!(end(&*word), 0);
        });
    }

    #[test]
    fn a_word_that_is_used_up_gives_nothing_to_a_late_sender() {
        loom::model(|| {
            let word = Arc::new(LoomWord::new(0));
            open(&*word, 1, 2);
            assert_eq!(take(&*word, 1, End::Front), Some(1));
            let theirs = word.clone();
            let sender = loom::thread::spawn(move || take(&*theirs, 1, End::Back));
            // Forgotten, and opened for the next message.
            open(&*word, 2, 2);
            assert_eq!(sender.join().unwrap(), None);
            assert_eq!(take(&*word, 2, End::Back), Some(1));
        });
    }
}
