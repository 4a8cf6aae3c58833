//! The places of operands and results in the slots.
//!
//! A member's slots hold, for each chunk, a piece for each other member: the operand of that
//! member's share, and then its result. The first half of the slots is used. The second half may
//! hold results of a reduction in rounds or of a direct one that others still read.

use verbena_channel::board::Board;
use verbena_memory::{LINE_BYTES, Region};

/// The measures of the pieces in the slots, the same for all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Bytes from one piece to the next.
    stride: usize,
    /// The number of elements of a piece.
    pub(super) elements: usize,
    /// Bytes of an element.
    pub(super) size: usize,
    /// The pieces of a chunk in a member's slots: one for each other member.
    others: usize,
    /// The number of chunks in a slot.
    per_slot: usize,
    /// The number of chunks in all slots that are used.
    pub(super) chunks: usize,
}

impl Area {
    /// The area for pieces of at most `piece` bytes, of elements of `size` bytes; `None` if a slot
    /// has no room for one element of each member.
    pub fn new(board: &dyn Board, piece: usize, size: usize) -> Option<Area> {
        let others = board.ranks() - 1;
        let room = piece.min(board.slot_bytes() / others);
        let stride = if room < LINE_BYTES { room } else { room / LINE_BYTES * LINE_BYTES };
        let elements = stride.checked_div(size)?;
        if elements == 0 {
            return None;
        }
        let per_slot = board.slot_bytes() / (stride * others);
        let chunks = per_slot * (board.slots() / 2);
        (chunks > 0).then_some(Area { stride, elements, size, others, per_slot, chunks })
    }

    /// The piece of chunk `chunk` for the share of `owner` in the slots of `holder`, another
    /// member.
    pub(super) fn piece(
        &self,
        board: &dyn Board,
        holder: usize,
        owner: usize,
        chunk: usize,
        elements: usize,
    ) -> Region {
        let place = chunk % self.chunks;
        let piece = place % self.per_slot * self.others + owner - usize::from(owner > holder);
        board.slot(holder, place / self.per_slot).part(piece * self.stride, elements * self.size)
    }
}
