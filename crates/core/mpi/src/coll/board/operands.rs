//! The contents of the members' slots in a direct reduction.
//!
//! The first half of a member's slots is for temporary memory, the second half for the results of
//! its parts.

use crate::coll::algorithms::part;
use verbena_channel::board::Board;
use verbena_memory::Region;

/// The pieces in the slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperandSlots {
    /// Bytes of a piece.
    pub(super) piece: usize,
    /// True if results go through slots, from where each member copies them; else a member with a
    /// result writes it to all others.
    pub(super) shows: bool,
    per_slot: usize,
    /// The number of slots of a half.
    half: usize,
    /// The number of parts of the vector.
    parts: usize,
}

impl OperandSlots {
    /// Divides the slots for a vector of `bytes` bytes in pieces of `piece` bytes, which must fit a
    /// slot.
    ///
    /// Two members, which come here with vectors that are too short to be reduced in place, do
    /// without slots: each byte crosses once. More of them are quickest with slots: a copy within a
    /// process costs less than a system call.
    pub(super) fn new(board: &dyn Board, bytes: usize, piece: usize) -> OperandSlots {
        let (ranks, half, per_slot) = (board.ranks(), board.slots() / 2, board.slot_bytes() / piece);
        let parts = bytes.div_ceil(piece);
        let shows = ranks > 2 && half >= 3 && parts.div_ceil(ranks) <= half * per_slot;
        OperandSlots { piece, shows, per_slot, half, parts }
    }

    /// Number of parts.
    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    /// The place where the result of part `n` is shown, by the member that has it.
    pub(super) fn result(&self, board: &dyn Board, n: usize, len: usize) -> Region {
        let ranks = board.ranks();
        let has = |&owner: &usize| {
            let (first, len) = part(self.parts, ranks, owner);
            (first..first + len).contains(&n)
        };
        let owner = (0..ranks).find(has).expect("every part has an owner");
        let n = n - part(self.parts, ranks, owner).0;
        board.slot(owner, self.half + n / self.per_slot).part(n % self.per_slot * self.piece, len)
    }

    /// Temporary memory of this member: one piece for what comes in, and two for what was combined.
    pub(super) fn temporary(&self, board: &dyn Board, len: usize) -> [Region; 3] {
        [0, 1, 2].map(|i| board.slot(board.me(), i).part(0, len))
    }
}
