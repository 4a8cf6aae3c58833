//! Short collectives: each member that contributes appends one record to its log, and the members
//! that need it read it there. One cache line each way is enough for a few bytes, and a member that
//! only writes does not wait.

use super::differing::{differing, differing_ways, of_other_length};
use crate::coll::call::out_of_step;
use crate::error::{Error, Result};
use verbena_channel::board::{Board, Look, Packing, Shape};
use verbena_memory::Region;

/// The use that a collective makes of the logs. The values for all members must be the same on all
/// of them.
pub trait Exchange {
    /// The packing of its records in the logs.
    const PACKING: Packing = Packing::Lines;
    /// True if its records tell what is elsewhere: see [`Shape::meets`].
    const MEETS: bool = false;

    /// Bytes of the record that `rank` appends; `None` if it appends none.
    fn bytes(&self, rank: usize) -> Option<usize>;

    /// Fills this member's record.
    fn write(&mut self, record: Region) -> Result<()>;

    /// Returns whether this member reads the record of `rank`.
    fn reads(&self, rank: usize) -> bool;

    /// Uses the record of `rank`, which stays valid until the end. Called in rank order.
    fn read(&mut self, rank: usize, record: Region) -> Result<()>;

    /// Called when all was read.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A short collective and its progress so far.
pub struct Short<E> {
    exchange: E,
    appended: bool,
    /// The member whose record is next.
    next: usize,
    failure: Option<Error>,
}

impl<E: Exchange> Short<E> {
    /// A collective that has not begun.
    #[inline]
    pub fn new(exchange: E) -> Short<E> {
        Short { exchange, appended: false, next: 0, failure: None }
    }

    /// Goes on until it would have to wait; `Ok(true)` when done. Not to be called again then, nor
    /// after an error. It goes to its end after an error too, for the sake of the other members.
    ///
    /// # Errors
    /// The first one; at once if the members are in different collectives.
    #[inline]
    pub fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        if !self.appended && !self.append(board) {
            return Ok(false);
        }
        let ranks = board.ranks();
        while self.next < ranks {
            if let Some(bytes) = self.exchange.bytes(self.next)
                && !self.pass(board, bytes)?
            {
                return Ok(false);
            }
            self.next += 1;
        }
        let finished = self.exchange.finish();
        board.close();
        match self.failure.take() {
            None => finished.map(|()| true),
            Some(failure) => Err(failure),
        }
    }

    /// The exchange.
    pub fn exchange_mut(&mut self) -> &mut E {
        &mut self.exchange
    }

    /// Looks elsewhere for what it waits for, in an idle round (see [`Board::seek`]).
    #[inline]
    pub fn seek(&mut self, board: &mut dyn Board) {
        let waits = self.appended && self.next < board.ranks();
        if waits && let Some(bytes) = self.exchange.bytes(self.next) {
            board.seek(self.next, shape::<E>(bytes));
        }
    }

    /// Returns whether it waits for the record of `rank`.
    pub fn awaits(&self, rank: usize) -> bool {
        self.appended && self.next == rank
    }

    /// Appends this member's record; false if there is no room yet.
    #[inline]
    fn append(&mut self, board: &mut dyn Board) -> bool {
        if let Some(bytes) = self.exchange.bytes(board.me()) {
            let Some(record) = board.claim(shape::<E>(bytes)) else { return false };
            let written = self.exchange.write(record);
            self.note(written);
            board.publish();
        }
        self.appended = true;
        true
    }

    /// Reads or skips the next record; false if it is not there yet.
    #[inline]
    fn pass(&mut self, board: &mut dyn Board, bytes: usize) -> Result<bool> {
        let mut passed = bytes;
        if self.exchange.reads(self.next) {
            match board.look(self.next, shape::<E>(bytes)) {
                Look::Nothing => return Ok(false),
                Look::Astray(clash) => {
                    board.give_up();
                    // It may have gone another way through this collective, and on.
                    return Err(match board.clash() {
                        Some(told) => differing(board, &told),
                        None => out_of_step(board.me(), board.number(), &clash),
                    });
                }
                Look::Unlike(clash) => {
                    board.give_up();
                    return Err(differing(board, &clash));
                }
                Look::Record(record) => {
                    passed = record.len();
                    let read = match passed == bytes {
                        true => self.exchange.read(self.next, record),
                        false if E::MEETS => {
                            board.give_up();
                            return Err(differing_ways(board, self.next));
                        }
                        false => Err(of_other_length(self.next, passed, bytes)),
                    };
                    self.note(read);
                }
            }
        }
        board.pass(self.next, shape::<E>(passed));
        Ok(true)
    }

    #[inline]
    fn note(&mut self, outcome: Result<()>) {
        if let Err(error) = outcome {
            self.failure.get_or_insert(error);
        }
    }
}

#[inline]
fn shape<E: Exchange>(bytes: usize) -> Shape {
    Shape { bytes, packing: E::PACKING, meets: E::MEETS }
}
