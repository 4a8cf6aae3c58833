//! A message that came before its receive: as much of it as is there.

use crate::control::{MEMORY, Memory, WRITE};
use verbena_channel::Peer;
use verbena_channel::mark::Mark;

/// A message without a receive.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    pub peer: Peer,
    /// The number of its first packet.
    pub sequence: u32,
    /// The message's length.
    pub bytes: u64,
    /// The call that it belongs to.
    pub mark: Mark,
    pub body: Body,
}

/// The part of the message that is there.
#[derive(Debug)]
pub(crate) enum Body {
    /// The whole message.
    Whole(Vec<u8>),
    /// The whole message; the sender's request waits for the match.
    Synchronous(Vec<u8>, u64),
    /// The message's announcement.
    Offer(Offer),
}

/// A long message that a sender announced.
#[derive(Debug)]
pub(crate) struct Offer {
    /// The sender's request.
    pub sender: u64,
    /// Memory of the message; where the sender cannot be read, only the channel's name is of use.
    memory: Memory,
    /// Further rails on which the sender is connected.
    pub rails: Option<Box<OnRails>>,
    /// The uses of `memory`.
    flags: u8,
}

/// Memory of one message on several rails.
#[derive(Debug)]
pub(crate) struct OnRails(pub Vec<Memory>);

impl Offer {
    /// An offer with memory that is good for what the flags say ([`MEMORY`], [`WRITE`]).
    pub(crate) fn new(sender: u64, memory: Memory, rails: Vec<Memory>, flags: u8) -> Offer {
        let rails = if rails.is_empty() { None } else { Some(Box::new(OnRails(rails))) };
        Offer { sender, memory, rails, flags }
    }

    /// The memory of the message, if it can be read there.
    pub(crate) fn memory(&self) -> Option<Memory> {
        (self.flags & MEMORY != 0).then_some(self.memory)
    }

    /// The channel (its name hashed) by which the sender can write the message to where it is
    /// received.
    pub(crate) fn writes_by(&self) -> Option<u32> {
        (self.flags & WRITE != 0).then_some(self.memory.channel)
    }
}

impl Default for Body {
    fn default() -> Body {
        Body::Whole(Vec::new())
    }
}

impl Arrived {
    /// The sender's request, if it waits for an answer.
    pub(crate) fn sender(&self) -> Option<u64> {
        match &self.body {
            Body::Whole(_) => None,
            Body::Synchronous(_, sender) => Some(*sender),
            Body::Offer(offer) => Some(offer.sender),
        }
    }
}
