//! The search for a record that does not stand where its reader looks for it.
//!
//! Only a member that has gone on, or waits for records itself, leaves its record of the open
//! collective to be found, and nobody writes over it while a reader is in that collective. So the
//! last record that it told of is either the one, or comes behind it. In the latter case the whole
//! log is searched. Payload may look like a head: one counts only if records lead from it to the
//! last one, each behind the other, in collectives that come one after the other.

use super::{LENGTH_BITS, Logs, NUMBER_BITS, QUARTERS, Words, granule, record_bytes};
use verbena_channel::board::Packing;

impl Logs {
    /// Goes to the record of the open collective in the log of `rank`, if it stands elsewhere than
    /// `at`; returns whether it does.
    #[cold]
    pub(super) fn search(&mut self, words: &impl Words, rank: usize, at: u64) -> bool {
        let found = self.locate(words, rank, at).filter(|&found| found != at);
        let Some(found) = found else { return false };
        self.next[rank] = found;
        self.found_in = rank;
        self.crossed = true;
        true
    }

    /// Returns whether the last record of `rank` is of a later collective than the open one.
    pub(super) fn is_ahead(&self, words: &impl Words, rank: usize) -> bool {
        let number = words.latest(rank) >> LENGTH_BITS;
        number != 0 && !self.is_past(number)
    }

    /// The position of the record of `rank` of the open collective, which may stand at `expected`;
    /// `None` if there is none, or none yet.
    fn locate(&self, words: &impl Words, rank: usize, expected: u64) -> Option<u64> {
        let latest = words.latest(rank);
        let (number, offset) = (latest >> LENGTH_BITS, latest & (self.capacity - 1));
        if number == self.stated() {
            return Some(self.position(words, rank, offset));
        }
        if number == 0 || self.is_past(number) {
            return None;
        }
        let is_ours = |&offset: &u64| words.head(rank, offset) >> LENGTH_BITS == self.stated();
        let is_it = |offset: &u64| is_ours(offset) && self.leads(words, rank, *offset, latest);
        // Most often it has just come, and stands where it should.
        let offset = Some(expected & (self.capacity - 1)).filter(is_it).or_else(|| {
            let step = granule(Packing::Tight) as usize;
            (0..self.capacity).step_by(step).find(is_it)
        })?;
        Some(self.position(words, rank, offset))
    }

    /// The position of the record at `offset` of the log of `rank`, which is not written over yet.
    fn position(&self, words: &impl Words, rank: usize, offset: u64) -> u64 {
        let newest = words.entered(rank) + QUARTERS - 1;
        let behind = (newest - self.quarter(offset)) % QUARTERS;
        (newest - behind) * (self.capacity / QUARTERS) + offset % (self.capacity / QUARTERS)
    }

    /// Returns whether records lead from `offset` to the one that `latest` tells of.
    fn leads(&self, words: &impl Words, rank: usize, mut offset: u64, latest: u64) -> bool {
        let mut head = words.head(rank, offset);
        // As many as a log has room for.
        for _ in 0..self.capacity / granule(Packing::Tight) {
            let number = head >> LENGTH_BITS;
            if number << LENGTH_BITS | offset == latest {
                return true;
            }
            let end = offset + record_bytes(self.shape_of(head));
            let places =
                [Packing::Tight, Packing::Lines].map(|packing| end.next_multiple_of(granule(packing)));
            let at = |&place: &u64| place < self.capacity && words.head(rank, place) != 0;
            // One that does not fit before the end stands at the start.
            offset = places.into_iter().find(at).unwrap_or(0);
            head = words.head(rank, offset);
            let ahead = (head >> LENGTH_BITS).wrapping_sub(number) & ((1 << NUMBER_BITS) - 1);
            if head >> LENGTH_BITS == 0 || !(1..1 << (NUMBER_BITS - 1)).contains(&ahead) {
                return false;
            }
        }
        false
    }
}
