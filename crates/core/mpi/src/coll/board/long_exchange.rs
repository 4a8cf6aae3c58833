//! Exchanges of blocks that are too long for the logs: each member puts what it has for the others
//! into its slots, once, and they copy it from there.
//!
//! The record of a member says that its slots are filled, and each member reads all records. So
//! either all of them do the exchange, or none makes its post: they stay in step if one of them
//! is in another collective. The first half of the slots is used, as for the operands of reductions
//! in rounds ([`super::rounds`]).

use super::differing::of_other_length;
use super::short::{Exchange, Short};
use crate::error::Result;
use verbena_channel::board::Board;
use verbena_memory::Region;

/// An exchange in which every member has bytes for the others, and reads what all others have.
pub struct LongExchange<E> {
    /// True once all have read what stood in this member's slots.
    may_fill: bool,
    meeting: Short<Filled<E>>,
}

/// The most bytes that a member can show the others.
pub fn room(board: &dyn Board) -> usize {
    board.slots() / 2 * board.slot_bytes()
}

/// The slots of a member that hold `bytes` bytes. Slots of a member lie side by side.
fn slots(board: &dyn Board, rank: usize, bytes: usize) -> Region {
    let all = (1..board.slots() / 2).fold(board.slot(rank, 0), |all, index| {
        all.joined(board.slot(rank, index)).expect("a member's slots lie side by side")
    });
    all.part(0, bytes)
}

impl<E: Exchange> LongExchange<E> {
    /// An exchange that has not begun, of at most [`room`] bytes of each member, in which all take
    /// part.
    pub fn new(board: &dyn Board, exchange: E) -> LongExchange<E> {
        let slots = (0..board.ranks()).map(|rank| slots(board, rank, room(board))).collect();
        let filled = Filled { exchange, slots, me: board.me(), seen: 0 };
        LongExchange { may_fill: false, meeting: Short::new(filled) }
    }

    /// Goes on until it would have to wait; `Ok(true)` when done, and not to be called again then.
    ///
    /// # Errors
    /// Those of [`Short::advance`].
    pub fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        if !self.may_fill {
            if !board.slots_are_read() {
                return Ok(false);
            }
            self.may_fill = true;
            board.note_filled();
        }
        let done = self.meeting.advance(board);
        if done != Ok(false) && self.meeting.exchange_mut().seen == board.ranks() {
            board.post();
        }
        done
    }

    /// Returns whether it waits for `rank`, see [`Short::awaits`].
    pub fn awaits(&self, rank: usize) -> bool {
        // Nobody goes on without this member.
        !self.may_fill || self.meeting.awaits(rank)
    }

    /// Looks elsewhere in an idle round, see [`Short::seek`].
    pub fn seek(&mut self, board: &mut dyn Board) {
        self.meeting.seek(board);
    }
}

/// The exchange, with its bytes in slots. A record says how many they are.
struct Filled<E> {
    exchange: E,
    /// The slots of all members.
    slots: Vec<Region>,
    me: usize,
    /// The number of records that were read.
    seen: usize,
}

impl<E: Exchange> Filled<E> {
    fn length(&self, rank: usize) -> usize {
        self.exchange.bytes(rank).unwrap_or(0)
    }
}

impl<E: Exchange> Exchange for Filled<E> {
    const MEETS: bool = true;

    fn bytes(&self, _: usize) -> Option<usize> {
        Some(size_of::<u64>())
    }
    fn write(&mut self, record: Region) -> Result<()> {
        let bytes = self.length(self.me);
        record.write(0, &(bytes as u64).to_le_bytes());
        self.exchange.write(self.slots[self.me].part(0, bytes))
    }
    fn reads(&self, _: usize) -> bool {
        true
    }
    fn read(&mut self, rank: usize, record: Region) -> Result<()> {
        self.seen += 1;
        if !self.exchange.reads(rank) {
            return Ok(());
        }
        let (sent, expected) = (record.load::<u64>(0), self.length(rank));
        match sent == expected as u64 {
            true => self.exchange.read(rank, self.slots[rank].part(0, expected)),
            false => Err(of_other_length(rank, sent as usize, expected)),
        }
    }
    fn finish(&mut self) -> Result<()> {
        self.exchange.finish()
    }
}
