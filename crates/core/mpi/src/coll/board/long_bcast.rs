//! Long broadcasts through the slots of all members.
//!
//! The root copies the message into slots, once, and all others copy it out while it is still in a
//! cache. Every member makes one post for each piece, so the number of a post says what is ready
//! and what is read. The root takes any free slot, the last used first, and leaves when it has
//! copied everything. So if all keep up, the message goes through a few slots that stay in the
//! cache. If some members have no core at the moment, the root runs ahead of them while there are
//! free slots, through several messages.
//!
//! A member that expects another length than the root has does not know the root's pieces. It takes
//! no part ([`Board::skip`]): the others go on, and it fills no slot before they have ended.

use super::differing::{differing, differing_ways, of_other_length};
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
    /// The number of bytes that were copied.
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
        let piece = piece.min(board.slot_bytes());
        LongBcast { message, root, piece, call, done: 0, pieces: 0, failure: None }
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
    /// The first one: at once if the members' calls or lengths do not match, else when it has gone
    /// to its end for the sake of the other members.
    pub fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        self.pieces = 0;
        while self.done < self.message.len() {
            if self.has_paused() {
                return Ok(false);
            }
            let is_root = board.me() == self.root;
            let slot = match is_root {
                true => board.free_slot(),
                false => self.announced(board)?,
            };
            let Some(slot) = slot else { return Ok(false) };
            let bytes = self.piece.min(self.message.len() - self.done);
            let outcome = self.copy_piece(board, slot, bytes);
            self.failure = self.failure.take().or(outcome.err());
            if is_root {
                board.announce(slot)
            } else if board.still_holds(slot) {
                board.release(slot)
            } else {
                board.give_up();
                return Err(differing_ways(board, self.root));
            }
            self.done += bytes;
            self.pieces += 1;
        }
        self.failure.take().map_or(Ok(true), Err)
    }

    /// Copies the next piece to or from a slot.
    fn copy_piece(&self, board: &dyn Board, slot: usize, bytes: usize) -> Result<()> {
        let piece = self.message.part(self.done, bytes);
        let room = Buffer::Contiguous(board.any_slot(slot).part(0, bytes));
        if board.me() == self.root { copy(&piece, &room) } else { copy(&room, &piece) }
    }

    /// The slot that the root announced next; an error if it called something else, or has another
    /// length.
    fn announced(&self, board: &mut dyn Board) -> Result<Option<usize>> {
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
        if bytes != own && bytes != ANY_BYTES {
            board.skip();
            return Err(of_other_length(self.root, bytes as usize, self.message.len()));
        }
        Ok(Some(slot))
    }
}
