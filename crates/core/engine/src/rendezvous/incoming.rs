//! A long message on its way here: its state, and the next step that follows from it (the table in
//! [`super`]).

use super::parts::{Cut, Parts};
use super::stripe::Stripe;
use super::ways::NodeChoice;
use super::{Piece, TRANSFERS_MAX, TransferNote};
use crate::arrived::Offer;
use crate::control::Memory;
use verbena_channel::{Choice, Key};

/// A long message on its way here.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub offer: Offer,
    /// The message's length.
    pub total: u64,
    /// The bytes that fit, and are moved.
    pub bytes: u64,
    /// The sender writes all, and has not reported yet.
    pub is_pushed: bool,
    /// Bytes of `Data` still to come, once that was asked for.
    pub awaited: u64,
    /// The memory channel's choice for it, with that channel.
    pub chosen: Option<(usize, Choice)>,
    /// The choice among the ways on a node.
    pub learned: Option<NodeChoice>,
    /// True if it goes that way; false if another had to be taken.
    pub is_as_learned: bool,
    /// Own memory that the sender was shown, with its channel.
    pub exposed: Option<(usize, Key)>,
    /// Own memory that the sender was shown on further rails; or, for a message that is read over
    /// several, the keys that keep it registered there.
    pub rails: Vec<(usize, Key)>,
    /// The pieces of a message that is read over several rails, instead of parts.
    pub stripe: Option<Box<Stripe>>,
    /// The parts, once it is clear that they are read.
    pub parts: Parts,
    /// Pieces that the sender could not write: this side takes them.
    pub redo: Vec<Piece>,
    /// The span to be streamed, since reading failed.
    pub missing: Option<Piece>,
    /// Reads under way.
    pub reads: u32,
    /// True if it is on the list of work.
    pub listed: bool,
}

/// The receiver's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Fail the receive: the peer is lost, and no read touches the buffer.
    Fail,
    /// Read a piece, or keep the sender from taking further parts.
    Read,
    /// Ask the sender to stream this span.
    Stream(Piece),
    /// Tell the sender that its buffer is free, and complete.
    Finish,
    /// Wait for what is under way.
    Wait,
}

impl Incoming {
    pub(crate) fn new(offer: Offer, total: u64, bytes: u64) -> Incoming {
        Incoming {
            offer,
            total,
            bytes,
            is_pushed: false,
            awaited: 0,
            chosen: None,
            learned: None,
            is_as_learned: false,
            exposed: None,
            rails: Vec::new(),
            stripe: None,
            parts: Parts::alone(Cut { bytes, part_bytes: bytes.max(1) }),
            redo: Vec::new(),
            missing: None,
            reads: 0,
            listed: false,
        }
    }

    /// Returns whether this side reads (else the sender streams, or writes).
    fn is_pulling(&self) -> bool {
        self.awaited == 0 && !self.is_pushed
    }

    /// Returns whether there may be a piece to read now.
    pub(crate) fn can_read(&self) -> bool {
        let left = match &self.stripe {
            Some(stripe) => stripe.has_room(),
            None => self.reads < TRANSFERS_MAX && (!self.redo.is_empty() || self.parts.is_open()),
        };
        self.is_pulling() && self.missing.is_none() && left
    }

    /// Memory of the sender that can be read.
    pub(crate) fn memory(&self) -> Option<Memory> {
        self.offer.memory()
    }

    /// Lets the message be read by rails, on which it is registered.
    pub(crate) fn stripe_by(&mut self, stripe: Stripe, registered: Vec<(usize, Key)>) {
        (self.stripe, self.rails) = (Some(Box::new(stripe)), registered);
        self.parts = Parts::none(self.bytes);
    }

    /// Takes all that this side shows or has registered, with its channels.
    pub(crate) fn take_exposed(&mut self) -> impl Iterator<Item = (usize, Key)> + use<> {
        self.exposed.take().into_iter().chain(std::mem::take(&mut self.rails))
    }

    /// Returns whether the sender must be kept from further parts, since all that is not in place
    /// will be streamed.
    pub(crate) fn must_end_division(&self) -> bool {
        self.missing.is_some() && self.parts.division.is_some()
    }

    pub(crate) fn read_ended(&mut self, note: &TransferNote, in_place: bool) {
        let missing = match &mut self.stripe {
            Some(stripe) => {
                stripe.ended(note.channel, note.piece, in_place);
                // Another rail may do it.
                if stripe.is_open() { None } else { stripe.missing() }
            }
            None => Some(note.piece).filter(|_| !in_place),
        };
        self.missing = self.missing.into_iter().chain(missing).reduce(Piece::union);
    }

    /// Decides what is to be done now: see the table of states in [`super`].
    pub(crate) fn next_step(&self, is_broken: bool) -> Step {
        if is_broken {
            return if self.reads == 0 { Step::Fail } else { Step::Wait };
        }
        if self.can_read() || self.must_end_division() {
            return Step::Read;
        }
        let is_still = self.reads == 0 && self.parts.is_settled() && self.is_pulling();
        match self.missing {
            _ if !is_still => Step::Wait,
            Some(missing) => Step::Stream(self.gap(missing)),
            None => Step::Finish,
        }
    }

    /// The span of all that is not in place, given that something is missing.
    fn gap(&self, missing: Piece) -> Piece {
        self.redo.iter().copied().chain(self.parts.untaken()).fold(missing, Piece::union)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_channel::Division;

    /// A message of 40 bytes that is read in parts of 10.
    fn reading() -> Incoming {
        let offer = Offer::new(7, Memory { channel: 0, key: Key::default() }, Vec::new(), 0);
        let cut = Cut { bytes: 40, part_bytes: 10 };
        Incoming { parts: Parts::alone(cut), ..Incoming::new(offer, 40, 40) }
    }

    /// Like [`reading`], with every part taken.
    fn all_taken() -> Incoming {
        let mut incoming = reading();
        while incoming.parts.take_own().is_some() {}
        incoming
    }

    #[test]
    fn parts_are_read_until_all_are_in_place() {
        assert_eq!(reading().next_step(false), Step::Read);
        let full = Incoming { reads: TRANSFERS_MAX, ..reading() };
        assert_eq!(full.next_step(false), Step::Wait);
        assert_eq!(Incoming { reads: 1, ..all_taken() }.next_step(false), Step::Wait);
        assert_eq!(all_taken().next_step(false), Step::Finish);
    }

    #[test]
    fn a_part_that_the_sender_could_not_write_is_read() {
        let redo = vec![Piece { offset: 30, len: 10 }];
        assert_eq!(Incoming { redo, ..all_taken() }.next_step(false), Step::Read);
    }

    #[test]
    fn after_a_failed_read_all_that_is_missing_is_streamed_once_nothing_is_under_way() {
        let mut incoming = reading();
        incoming.parts.take_own();
        let missing = Some(Piece { offset: 0, len: 10 });
        let mut incoming = Incoming { missing, reads: 1, ..incoming };
        assert_eq!(incoming.next_step(false), Step::Wait);
        incoming.reads = 0;
        assert_eq!(incoming.next_step(false), Step::Stream(Piece { offset: 0, len: 40 }));
    }

    #[test]
    fn a_division_ends_before_anything_is_streamed() {
        let cut = Cut { bytes: 40, part_bytes: 10 };
        let missing = Some(Piece { offset: 0, len: 10 });
        let mut incoming = Incoming { parts: Parts::divided(cut, 0, Division(1)), missing, ..reading() };
        assert_eq!(incoming.next_step(false), Step::Read);
        incoming.parts.end(1);
        assert_eq!(incoming.next_step(false), Step::Wait, "the sender has not reported its part");
        assert!(incoming.parts.report());
        assert_eq!(incoming.next_step(false), Step::Stream(Piece { offset: 0, len: 30 }));
    }

    #[test]
    fn a_lost_peer_fails_the_receive_once_no_read_touches_the_buffer() {
        assert_eq!(reading().next_step(true), Step::Fail);
        assert_eq!(Incoming { reads: 1, ..reading() }.next_step(true), Step::Wait);
    }

    #[test]
    fn who_awaits_the_senders_write_or_data_does_nothing() {
        assert_eq!(Incoming { is_pushed: true, ..reading() }.next_step(false), Step::Wait);
        assert_eq!(Incoming { awaited: 5, ..reading() }.next_step(false), Step::Wait);
    }
}
