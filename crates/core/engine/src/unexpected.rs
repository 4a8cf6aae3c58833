//! Messages that came before their receive, and the bound on the memory that they take.

use crate::control::{Control, MEMORY, Memory, WRITE};
use crate::event::{Event, EventKind};
use crate::matching::MatchKey;
use crate::state::EngineState;
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_channel::packet::Kind;

/// A message without a receive.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    pub peer: Peer,
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

impl EngineState {
    /// Holds a message until its receive comes.
    pub(crate) fn hold(&mut self, key: MatchKey, arrived: Arrived) {
        if let Body::Whole(data) | Body::Synchronous(data, _) = &arrived.body {
            self.add_held(arrived.peer, data.len());
        }
        self.tell(Event {
            kind: EventKind::Unexpected,
            peer: arrived.peer,
            source: key.source,
            tag: key.tag,
            bytes: arrived.bytes,
        });
        self.unexpected.push(key, arrived);
        self.counts.unexpected_high = self.counts.unexpected_high.max(self.unexpected.len());
    }

    fn add_held(&mut self, peer: Peer, bytes: usize) {
        self.counts.unexpected_bytes += bytes;
        self.counts.unexpected_bytes_high =
            self.counts.unexpected_bytes_high.max(self.counts.unexpected_bytes);
        let limit = self.settings.unexpected_bytes_max;
        let Some(state) = self.peers.open(peer) else { return };
        state.held_bytes += bytes;
        if state.held_bytes > limit && !state.throttling {
            state.throttling = true;
            self.counts.throttles += 1;
            self.post(peer, Control::new(Kind::Throttle, 0).flags(1));
        }
    }

    /// Gives the memory of a held message back.
    pub(crate) fn release(&mut self, peer: Peer, data: Vec<u8>) {
        let bytes = data.len();
        self.pool.give_back(data);
        self.counts.unexpected_bytes -= bytes;
        let limit = self.settings.unexpected_bytes_max;
        let Some(state) = self.peers.open(peer) else { return };
        state.held_bytes -= bytes;
        if state.throttling && state.held_bytes <= limit / 2 {
            state.throttling = false;
            self.post(peer, Control::new(Kind::Throttle, 0).flags(0));
        }
    }
}
