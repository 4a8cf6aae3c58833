//! The places of the parts of a round in the slots.
//!
//! The first half of a member's slots is for its operand, the second half for the results of its
//! parts. So a member may put its next operand there while others still read results.

use crate::coll::algorithms::part;
use std::ops::Range;
use verbena_channel::board::Board;
use verbena_memory::Region;

/// The division of a vector into rounds and parts, the same for all members.
#[derive(Clone, Copy, Debug)]
pub struct RoundSlots {
    ranks: usize,
    /// Bytes of an element.
    pub(super) size: usize,
    /// Bytes of the vector.
    total: usize,
    /// Bytes of a part; the last one may have fewer.
    pub(super) piece: usize,
    /// The number of parts in a slot.
    per_slot: usize,
    /// The number of slots of a half.
    half: usize,
    /// The number of parts of the vector.
    parts: usize,
    /// The number of parts of a round; the last one may have fewer.
    pub(super) round: usize,
}

impl RoundSlots {
    /// The least bytes of a round, if there is more than one: with fewer the members would meet too
    /// often.
    const ROUND_BYTES_MIN: usize = 64 << 10;

    /// Divides a vector of `bytes` bytes, at least one, of elements of `size` bytes into parts of
    /// about `piece` bytes; `None` if it does not fit the slots and there is too little room for
    /// rounds, as where many members share a board.
    pub fn new(board: &dyn Board, bytes: usize, piece: usize, size: usize) -> Option<RoundSlots> {
        let slots = RoundSlots::of_any_length(board, bytes, piece, size)?;
        let suits = slots.rounds() == 1 || slots.half * board.slot_bytes() >= RoundSlots::ROUND_BYTES_MIN;
        suits.then_some(slots)
    }

    /// Divides a vector as [`RoundSlots::new`] does, however little room there is; `None` only if
    /// an element does not fit a slot.
    pub fn of_any_length(board: &dyn Board, bytes: usize, piece: usize, size: usize) -> Option<RoundSlots> {
        let (ranks, half) = (board.ranks(), board.slots() / 2);
        // As many parts in a slot as pieces of that length, and no room beside them.
        let piece = board.slot_bytes() / board.slot_bytes().div_ceil(piece.max(1));
        let piece = (piece / size).max(1) * size;
        let (per_slot, total, parts) = (board.slot_bytes() / piece, bytes, bytes.div_ceil(piece));
        // Rounds of one length, as far as that goes.
        let rounds = parts.div_ceil((half * per_slot).max(1));
        let round = parts.div_ceil(rounds);
        (half * per_slot > 0).then_some(RoundSlots {
            ranks,
            size,
            total,
            piece,
            per_slot,
            half,
            parts,
            round,
        })
    }

    /// The number of rounds.
    pub(super) fn rounds(&self) -> usize {
        self.parts.div_ceil(self.round)
    }

    /// The parts of a round.
    pub(super) fn parts(&self, round: usize) -> Range<usize> {
        round * self.round..((round + 1) * self.round).min(self.parts)
    }

    /// The parts of a round that a member has.
    pub(super) fn own(&self, round: usize, owner: usize) -> Range<usize> {
        let parts = self.parts(round);
        let (first, len) = part(parts.len(), self.ranks, owner);
        parts.start + first..parts.start + first + len
    }

    /// The number of parts that a member had in all rounds before.
    pub(super) fn before(&self, round: usize, owner: usize) -> usize {
        round * part(self.round, self.ranks, owner).1
    }

    /// The bytes of part `n` in the vector.
    pub(super) fn bytes(&self, n: usize) -> Range<usize> {
        n * self.piece..((n + 1) * self.piece).min(self.total)
    }

    fn at(&self, board: &dyn Board, rank: usize, (slot, place): (usize, usize), n: usize) -> Region {
        let slot = board.slot(rank, slot + place / self.per_slot);
        slot.part(place % self.per_slot * self.piece, self.bytes(n).len())
    }

    /// The place where `rank` puts part `n` of its operand.
    pub(super) fn operand(&self, board: &dyn Board, rank: usize, n: usize) -> Region {
        self.at(board, rank, (0, n % self.round), n)
    }

    /// The place of the result of part `n`, which `owner` has.
    pub(super) fn result(&self, board: &dyn Board, owner: usize, n: usize) -> Region {
        let first = self.own(n / self.round, owner).start;
        self.at(board, owner, (self.half, n - first), n)
    }
}
