//! An operation under way.

use crate::matching::MatchKey;
use crate::slab::Id;
use crate::{Completion, Failure, MessageId, RequestId};
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_memory::{Buffer, Region};

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

/// The state of an operation.
#[derive(Debug)]
pub(crate) enum State {
    /// A send that waits for room in the channel.
    Queued,
    /// A synchronous eager send that waits for the match.
    AwaitMatch,
    /// A send by rendezvous; the rest is in the table of those.
    Offered(Id),
    /// A receive that waits in the posted queue.
    Posted,
    /// A receive by rendezvous; the rest is in the table of those.
    Incoming(Id),
    /// Over, as receives of short messages are, with this many bytes from the request's source
    /// under its tag. Such a request owns nothing, so that it can be forgotten without a look.
    Received(u64),
    /// Over.
    Complete(Completion),
    /// No operation: its place in the table is vacant.
    Vacant,
}

/// The other side of a receive while it may be several.
pub(crate) const NOBODY: Peer = Peer::MAX;

/// An operation under way.
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
    /// True if nobody will take the completion.
    pub forgotten: bool,
    /// The call that the message belongs to; in a vacant place that of an earlier use.
    pub mark: Mark,
    /// The mark of the message that was matched, if it does not go with this one.
    pub unlike: Mark,
    pub state: State,
}

impl Request {
    /// A receive by `peer` (or several) of this pattern that is in this state.
    #[inline(always)]
    pub(crate) fn receive(peer: Peer, key: MatchKey, buffer: Buffer, state: State) -> Request {
        Request {
            peer,
            context: key.context,
            source: key.source,
            tag: key.tag,
            buffer,
            synchronous: false,
            cancelling: false,
            forgotten: false,
            mark: Mark::NONE,
            unlike: Mark::NONE,
            state,
        }
    }

    /// The value of a vacant place.
    pub(crate) fn vacant() -> Request {
        let key = MatchKey { context: 0, source: 0, tag: 0 };
        Request::receive(NOBODY, key, Buffer::EMPTY, State::Vacant)
    }

    /// Returns whether the place is vacant.
    #[inline(always)]
    pub(crate) fn is_vacant(&self) -> bool {
        matches!(self.state, State::Vacant)
    }

    /// Makes a request that owns nothing and was no synchronous send a vacant one.
    #[inline(always)]
    pub(crate) fn vacate(&mut self) {
        debug_assert!(!self.synchronous && !self.cancelling);
        debug_assert!(matches!(self.buffer, Buffer::Contiguous(_)));
        self.forgotten = false;
        // Not dropped: it owns nothing, and to drop it would be a call.
        std::mem::forget(std::mem::replace(&mut self.state, State::Vacant));
    }

    /// Makes a vacant request a posted receive by `peer` into this memory.
    #[inline(always)]
    pub(crate) fn receive_again(&mut self, peer: Peer, key: MatchKey, region: Region) {
        debug_assert!(self.is_vacant());
        self.peer = peer;
        (self.context, self.source, self.tag) = (key.context, key.source, key.tag);
        // Not dropped, as in `vacate`.
        std::mem::forget(std::mem::replace(&mut self.buffer, Buffer::Contiguous(region)));
        std::mem::forget(std::mem::replace(&mut self.state, State::Posted));
    }

    /// Compares the mark of the long message that this receive matches. A message whose mark does
    /// not fit is accepted into no memory, so that its sender ends.
    pub(crate) fn refuse_unlike(&mut self, theirs: Mark) {
        if self.mark.is_unlike(theirs) {
            self.unlike = theirs;
            self.buffer = Buffer::EMPTY;
        }
    }

    /// The key that it matches, or matched.
    #[inline(always)]
    pub(crate) fn key(&self) -> MatchKey {
        MatchKey { context: self.context, source: self.source, tag: self.tag }
    }

    /// The completion, if it is over.
    pub(crate) fn into_completion(self) -> Option<Completion> {
        match self.state {
            State::Received(bytes) => Some(sent(self.source, self.tag, bytes)),
            State::Complete(completion) => Some(completion),
            _ => None,
        }
    }

    /// Returns whether it is over.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Received(_) | State::Complete(_))
    }

    /// Returns whether this side must still do something, or the peer with this side's memory.
    pub(crate) fn is_under_way(&self) -> bool {
        !matches!(self.state, State::Posted | State::Received(_) | State::Complete(_))
    }
}

/// The completion of a receive of a message of `sent` bytes into `room` bytes.
#[inline]
pub(crate) fn received(source: i32, tag: i32, sent: u64, room: u64) -> Completion {
    let failure = if sent > room { Some(Failure::Truncated { sent, room }) } else { None };
    Completion { source, tag, bytes: sent.min(room), cancelled: false, failure }
}

/// The completion of a receive whose mark does not go with the message's.
pub(crate) fn unlike(source: i32, tag: i32, mine: Mark, theirs: Mark) -> Completion {
    let failure = Some(Failure::Unlike { mine, theirs });
    Completion { source, tag, bytes: 0, cancelled: false, failure }
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
