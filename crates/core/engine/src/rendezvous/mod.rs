//! Long messages: announced first, moved when the receive is there.
//!
//! The sender announces (`RequestToSend`), with a key of its memory where a channel can read it.
//! The receiver, once matched, chooses:
//! - *pull*: it reads the sender's memory part by part, and at the end says `Finish`. Where both
//!   sides see a division of the message ([`verbena_channel::Sharing::divide`]) and the message is
//!   worth it, it invites the sender to write parts from the back while it reads from the front;
//! - *write*: it shows its own memory (`ClearToSend`), the sender writes all of it there and says
//!   `Copied` (paper 2, 6);
//! - *stream*: it says `ClearToSend` and the sender sends `Data` packets.
//!
//! # The receiver's states
//!
//! A state is what is under way; [`Incoming::next_step`] decides after each event, and has no other
//! effect.
//!
//! | state | event | next state |
//! | --- | --- | --- |
//! | matched | empty message | finished |
//! | matched | pull chosen ([`choice`]) | reading |
//! | matched | write chosen, memory shown | awaits the write |
//! | matched | stream chosen, or nothing can be read or shown | awaits data |
//! | reading | a piece can be read | reading, one piece (or a window of them) more |
//! | reading | a read or a part of the sender ended in place | reading; when all is in place: finished |
//! | reading | the sender could not write a part | reading, with that part to be read again |
//! | reading | a read failed | draining: no part is given out any more |
//! | draining | the last read and the sender's last part ended | awaits data, for all that is not in place |
//! | awaits the write | the sender wrote all | finished |
//! | awaits the write | the sender could not | reading, or awaits data if it cannot read |
//! | awaits data | the last byte came | finished |
//! | any | the peer is lost | failed, once no read touches the buffer |
//!
//! The sender is simpler: *offered* until `Finish` (the receiver read all), or until it has written
//! all and said so (`Copied`), or until its last `Data` packet left; meanwhile it may write parts
//! by invitation.
//!
//! The division hands each part out once, to the side that is about to copy it. So the receiver
//! never waits for a sender that is busy elsewhere, but only for parts that the sender is copying
//! just then and will report; and the sender can never write into a buffer that the program has
//! back.
//!
//! The way follows from the channels' costs or from a setting ([`choice`]). Whatever fails, the
//! receiver can go on: a failed write is read instead (or streamed, if it cannot be read), and
//! after a failed read all that is not in place yet is streamed. A piece that is copied twice does
//! no harm.

pub(crate) mod choice;
mod incoming;
mod outgoing;
mod parts;
mod push;
mod rails;
pub(crate) mod receiver;
pub(crate) mod sender;
mod speeds;
mod stripe;
mod transfer;
pub(crate) mod ways;

use crate::control::Reader;
use crate::one_sided::is_one_sided;
use crate::slab::Id;
use crate::state::EngineState;
use verbena_channel::Peer;
use verbena_channel::packet::Header;
use verbena_fault::Fault;

pub(crate) use incoming::Incoming;
pub(crate) use outgoing::Outgoing;
pub(crate) use speeds::Speeds;
pub(crate) use transfer::TransferNote;
pub use ways::NodeKnowledge;
pub(crate) use ways::{NodeWays, TaughtWays};

/// Reads or writes of one message that are under way at once on a channel that does them in the
/// background.
pub(crate) const TRANSFERS_MAX: u32 = 4;
/// Data packets of one message per call of progress.
pub(crate) const STREAM_PACKETS_MAX: usize = 16;

/// Some bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub offset: u64,
    pub len: u64,
}

impl Piece {
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.len
    }

    /// The smallest span that holds both.
    pub(crate) fn union(self, other: Piece) -> Piece {
        let offset = self.offset.min(other.offset);
        Piece { offset, len: self.end().max(other.end()) - offset }
    }

    /// Cuts it into pieces of at most `bytes_max`, the last one first.
    pub(crate) fn cut(self, bytes_max: u64) -> impl Iterator<Item = Piece> {
        let cut = parts::Cut::for_one(self.len, bytes_max);
        let piece = move |part: Piece| Piece { offset: self.offset + part.offset, ..part };
        (0..cut.count()).rev().filter_map(move |index| cut.part(index)).map(piece)
    }

    /// Returns whether it is not empty and lies within a message of `bytes`.
    pub(crate) fn is_within(&self, bytes: u64) -> bool {
        self.len > 0 && self.len <= bytes && self.offset <= bytes - self.len
    }
}

impl EngineState {
    /// A transfer in the background has ended.
    pub(crate) fn transferred(&mut self, token: u64, outcome: Result<(), Fault>) {
        if is_one_sided(token) {
            return self.one_sided_ended(token, outcome.is_ok());
        }
        let Some(note) = self.transfers.remove(Id::of(token)) else { return };
        match note.put {
            true => self.put_ended(note, outcome.is_ok()),
            false => self.get_ended(note, outcome.is_ok()),
        }
    }

    /// The sender has copied a part, or could not.
    pub(crate) fn copied(&mut self, peer: Peer, header: &Header, payload: &[u8]) -> Option<()> {
        use crate::control::{DONE, FAILED};
        let piece = Piece { offset: header.length, len: Reader(payload).word()? };
        let in_place = match header.flags {
            DONE => true,
            FAILED => false,
            _ => return None,
        };
        self.help_ended(peer, Id::of(header.context), piece, in_place)
    }
}
