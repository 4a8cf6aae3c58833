//! The contents of the members' slots in a direct reduction.
//!
//! The first half of a member's slots is for its operand, if that is short, and for temporary
//! memory; the second half for the results of its parts. The halves never move. So a member may put
//! its next operand there while others still read the results: those are written again only when
//! all have come to the next reduction.

use crate::coll::algorithms::part;
use verbena_channel::board::Board;
use verbena_memory::Region;

/// The route of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// True if members put their operands into slots before they meet.
    pub(super) stages: bool,
    /// True if results go through slots, from where each member copies them; else a member with a
    /// result writes it to all others.
    pub(super) shows: bool,
}

/// The pieces in the slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperandSlots {
    /// Bytes of a piece.
    pub(super) piece: usize,
    pub(super) route: Route,
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
    /// process costs less than a system call, and a short operand is at hand in its owner's cache.
    pub(super) fn new(board: &dyn Board, bytes: usize, piece: usize) -> OperandSlots {
        let (ranks, half, per_slot) = (board.ranks(), board.slots() / 2, board.slot_bytes() / piece);
        let parts = bytes.div_ceil(piece);
        let room = half * per_slot;
        let shows = ranks > 2 && half >= 3 && parts.div_ceil(ranks) <= room;
        let route = Route { stages: shows && parts + 2 <= room, shows };
        OperandSlots { piece, route, per_slot, half, parts }
    }

    /// Number of parts.
    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    fn at(&self, board: &dyn Board, rank: usize, slot: usize, n: usize, len: usize) -> Region {
        let slot = board.slot(rank, slot + n / self.per_slot);
        slot.part(n % self.per_slot * self.piece, len)
    }

    /// The place where `rank` puts part `n` of its operand.
    pub(super) fn operand(&self, board: &dyn Board, rank: usize, n: usize, len: usize) -> Region {
        self.at(board, rank, 0, n, len)
    }

    /// The place where the result of part `n` is shown, by the member that has it.
    pub(super) fn result(&self, board: &dyn Board, n: usize, len: usize) -> Region {
        let ranks = board.ranks();
        let has = |&owner: &usize| {
            let (first, len) = part(self.parts, ranks, owner);
            (first..first + len).contains(&n)
        };
        let owner = (0..ranks).find(has).expect("every part has an owner");
        self.at(board, owner, self.half, n - part(self.parts, ranks, owner).0, len)
    }

    /// Temporary memory of this member: one piece for what comes in, and two for what was combined.
    pub(super) fn temporary(&self, board: &dyn Board, len: usize) -> [Region; 3] {
        let me = board.me();
        match self.route.stages {
            true => [0, 0, 1].map(|i| self.at(board, me, 0, self.parts + i, len)),
            false => [0, 1, 2].map(|i| board.slot(me, i).part(0, len)),
        }
    }
}
