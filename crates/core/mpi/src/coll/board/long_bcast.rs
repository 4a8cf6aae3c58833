//! Long broadcasts through the slots of all members.
//!
//! The root copies the message into slots, once, and all others copy it out while it is still in a
//! cache. Every member makes one post for each piece, so the number of a post says what is ready
//! and what is read. The root takes any free slot, the last used first, and leaves when it has
//! copied everything. So if all keep up, the message goes through a few slots that stay in the
//! cache. If some members have no core at the moment, the root runs ahead of them while there are
//! free slots, through several messages.

use super::short::differing;
use crate::coll::execute::copy;
use crate::error::{Error, Result};
use verbena_channel::board::{Board, Clash};
use verbena_channel::mark::Mark;
use verbena_memory::Buffer;

/// `MPI_Bcast` (MPI-5.0, 6.4) of a message whose length all members know.
pub struct LongBcast<'a> {
    message: &'a Buffer,
    root: usize,
    /// Bytes of a piece.
    piece: usize,
    /// The call of this member, and the number of the collective.
    call: Mark,
    number: u64,
    /// The number of bytes that were copied.
    done: usize,
    failure: Option<Error>,
}

impl<'a> LongBcast<'a> {
    /// A broadcast that has not begun, in pieces of at most `piece` bytes.
    pub fn new(
        board: &dyn Board,
        (number, call): (u32, Mark),
        message: &'a Buffer,
        root: usize,
        piece: usize,
    ) -> LongBcast<'a> {
        let (piece, number) = (piece.min(board.slot_bytes()), u64::from(number));
        LongBcast { message, root, piece, call, number, done: 0, failure: None }
    }

    /// Goes on until it would have to wait; `Ok(true)` when done, and not to be called again then.
    ///
    /// # Errors
    /// The first one, when it has gone to its end for the sake of the other members.
    pub fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        while self.done < self.message.len() {
            let bytes = self.piece.min(self.message.len() - self.done);
            let is_root = board.me() == self.root;
            let slot = match is_root {
                true => board.free_slot(),
                false => self.announced(board)?,
            };
            let Some(slot) = slot else { return Ok(false) };
            let piece = self.message.part(self.done, bytes);
            let room = Buffer::Contiguous(board.any_slot(slot).part(0, bytes));
            let outcome = if is_root { copy(&piece, &room) } else { copy(&room, &piece) };
            self.failure = self.failure.take().or(outcome.err());
            if is_root {
                board.announce(slot)
            } else {
                board.release(slot)
            }
            self.done += bytes;
        }
        self.failure.take().map_or(Ok(true), Err)
    }

    /// The slot that the root announced next; an error if it called something else.
    fn announced(&self, board: &dyn Board) -> Result<Option<usize>> {
        let Some((slot, theirs)) = board.announced(self.root) else { return Ok(None) };
        if self.call.is_unlike(theirs) {
            let clash = Clash { number: self.number, rank: self.root, mine: self.call, theirs };
            return Err(differing(board, &clash));
        }
        Ok(Some(slot))
    }
}
