//! Long broadcasts through the slots of all members.
//!
//! The root copies the message into slots, once, and all others copy it out while it is still in a
//! cache. Every member makes one post for each piece, so the number of a post says what is ready
//! and what is read. The root takes any free slot, the last used first, and leaves when it has
//! copied everything. So if all keep up, the message goes through a few slots that stay in the
//! cache. If some members have no core at the moment, the root runs ahead of them while there are
//! free slots, through several messages.
//!
//! A member that expects another length than the root has goes through the root's pieces all the
//! same, so that it stays in step, and ends with an error.

use super::differing::{differing, of_other_length};
use crate::coll::execute::copy;
use crate::error::{Error, Result};
use verbena_channel::board::{ANY_BYTES, Announced, Board, Clash};
use verbena_channel::mark::Mark;
use verbena_memory::Buffer;

/// `MPI_Bcast` (MPI-5.0, 6.4) of a message whose length all members know.
pub struct LongBcast<'a> {
    message: &'a Buffer,
    root: usize,
    /// Bytes of a piece.
    piece: usize,
    /// The call of this member.
    call: Mark,
    /// The number of bytes that the root has, as far as is known, and of those that were copied.
    bytes: usize,
    done: usize,
    /// The pieces that were copied since it last went on.
    pieces: u32,
    failure: Option<Error>,
}

/// After this many pieces it pauses.
const PAUSE_EVERY: u32 = 64;

impl<'a> LongBcast<'a> {
    /// A broadcast that has not begun, in pieces of at most `piece` bytes.
    pub fn new(
        board: &dyn Board,
        call: Mark,
        message: &'a Buffer,
        root: usize,
        piece: usize,
    ) -> LongBcast<'a> {
        let (piece, bytes) = (piece.min(board.slot_bytes()), message.len());
        LongBcast { message, root, piece, call, bytes, done: 0, pieces: 0, failure: None }
    }

    /// Returns whether it stopped, before it had to wait, to let other communication progress.
    pub fn has_paused(&self) -> bool {
        self.pieces >= PAUSE_EVERY
    }

    /// Returns whether it waits for `rank`: all but the root wait for the root.
    pub fn awaits(&self, board: &dyn Board, rank: usize) -> bool {
        rank == self.root && board.me() != rank
    }

    /// Goes on until it would have to wait or pauses ([`LongBcast::has_paused`]); `Ok(true)` when
    /// done, and not to be called again then.
    ///
    /// # Errors
    /// The first one, when it has gone to its end for the sake of the other members.
    pub fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        self.pieces = 0;
        while self.done < self.bytes {
            if self.has_paused() {
                return Ok(false);
            }
            let is_root = board.me() == self.root;
            let slot = match is_root {
                true => board.free_slot(),
                false => self.announced(board)?,
            };
            let Some(slot) = slot else { return Ok(false) };
            let bytes = self.piece.min(self.bytes - self.done);
            let outcome = self.copy_piece(board, slot, bytes);
            self.failure = self.failure.take().or(outcome.err());
            if is_root {
                board.announce(slot)
            } else {
                board.release(slot)
            }
            self.done += bytes;
            self.pieces += 1;
        }
        self.failure.take().map_or(Ok(true), Err)
    }

    /// Copies the next piece to or from a slot, as much as the message has of it.
    fn copy_piece(&self, board: &dyn Board, slot: usize, bytes: usize) -> Result<()> {
        let bytes = bytes.min(self.message.len().saturating_sub(self.done));
        let piece = self.message.part(self.done.min(self.message.len()), bytes);
        let room = Buffer::Contiguous(board.any_slot(slot).part(0, bytes));
        if board.me() == self.root { copy(&piece, &room) } else { copy(&room, &piece) }
    }

    /// The slot that the root announced next; an error if it called something else.
    fn announced(&mut self, board: &dyn Board) -> Result<Option<usize>> {
        let Some(Announced { slot, call: theirs, bytes }) = board.announced(self.root) else {
            return Ok(None);
        };
        let own = self.message.len() as u64;
        if self.call.is_unlike(theirs) {
            board.give_up();
            let (rank, mine) = (self.root, self.call);
            return Err(differing(
                board,
                &Clash { number: board.number(), rank, mine, theirs, bytes: [own, bytes] },
            ));
        }
        if bytes != own && bytes != ANY_BYTES && self.failure.is_none() {
            self.bytes = bytes as usize;
            self.failure = Some(of_other_length(self.root, self.bytes, self.message.len()));
        }
        Ok(Some(slot))
    }
}
