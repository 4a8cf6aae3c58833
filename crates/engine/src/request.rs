//! The table of operations under way.

use crate::matching::MatchKey;
use crate::slab::Id;
use crate::{Completion, Failure, MessageId, RequestId};
use verbena_channel::Peer;
use verbena_channel::memory::Buffer;

impl From<RequestId> for Id {
    fn from(id: RequestId) -> Id {
        Id { index: id.index, generation: id.generation }
    }
}

impl From<Id> for RequestId {
    fn from(id: Id) -> RequestId {
        RequestId { index: id.index, generation: id.generation }
    }
}

impl From<MessageId> for Id {
    fn from(id: MessageId) -> Id {
        Id { index: id.index, generation: id.generation }
    }
}

impl From<Id> for MessageId {
    fn from(id: Id) -> MessageId {
        MessageId { index: id.index, generation: id.generation }
    }
}

/// Where an operation stands.
#[derive(Debug)]
pub(crate) enum State {
    /// A send that waits for room in the channel.
    Queued,
    /// A synchronous eager send that waits for the match.
    AwaitMatch,
    /// A send by rendezvous; the rest is in the table of those.
    Offered(Id),
    /// A receive that waits in the posted queue, at this place.
    Posted(u32),
    /// A receive by rendezvous; the rest is in the table of those.
    Incoming(Id),
    /// Over as receives of short messages are: so many bytes, of the request's source and tag. Such a request owns nothing, so
    /// that it can be forgotten without a look.
    Received(u64),
    /// Over.
    Complete(Completion),
}

/// The other side of a receive while it may be several.
pub(crate) const NOBODY: Peer = Peer::MAX;

/// One operation.
#[derive(Debug)]
pub(crate) struct Request {
    /// The other side; of a posted receive [`NOBODY`] if it is not known yet.
    pub peer: Peer,
    pub context: u64,
    pub source: i32,
    pub tag: i32,
    pub buffer: Buffer,
    /// A send that completes only when matched.
    pub synchronous: bool,
    /// Cancelling was asked for and the peer was asked.
    pub cancelling: bool,
    /// Nobody will take the completion.
    pub forgotten: bool,
    pub state: State,
}

impl Request {
    /// A receive by `peer` (or several) of this pattern that is in this state.
    #[inline(always)]
    pub fn receive(peer: Peer, key: MatchKey, buffer: Buffer, state: State) -> Request {
        Request {
            peer,
            context: key.context,
            source: key.source,
            tag: key.tag,
            buffer,
            synchronous: false,
            cancelling: false,
            forgotten: false,
            state,
        }
    }

    /// The completion, if it is over.
    pub fn into_completion(self) -> Option<Completion> {
        match self.state {
            State::Received(bytes) => Some(sent(self.source, self.tag, bytes)),
            State::Complete(completion) => Some(completion),
            _ => None,
        }
    }

    /// Whether it is over.
    #[inline]
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Received(_) | State::Complete(_))
    }

    /// Whether this side must still do something, or the peer with this side's memory.
    pub fn is_under_way(&self) -> bool {
        !matches!(self.state, State::Posted(_) | State::Received(_) | State::Complete(_))
    }
}

/// The completion of a receive of a message of `sent` bytes into `room` bytes.
#[inline]
pub(crate) fn received(source: i32, tag: i32, sent: u64, room: u64) -> Completion {
    let failure = if sent > room { Some(Failure::Truncated { sent, room }) } else { None };
    Completion { source, tag, bytes: sent.min(room), cancelled: false, failure }
}

/// The completion of a send, or of a receive of a message that fits.
#[inline]
pub(crate) fn sent(source: i32, tag: i32, bytes: u64) -> Completion {
    Completion { source, tag, bytes, cancelled: false, failure: None }
}

/// The completion of an operation that did not take place.
pub(crate) fn not_done(source: i32, tag: i32, failure: Option<Failure>) -> Completion {
    Completion { source, tag, bytes: 0, cancelled: failure.is_none(), failure }
}
