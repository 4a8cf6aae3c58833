//! Getters by id: what the layer above asks before it waits for a request that the program named.

use crate::matching::MatchKey;
use crate::request::{NOBODY, Request, State, sent};
use crate::slab::Id;
use crate::{Completion, Engine, Envelope, MessageId, Posted, Receive, RequestId};
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_channel::trace;
use verbena_memory::Buffer;

/// What [`Engine::take_known`] found.
#[derive(Debug)]
pub enum Taken {
    /// No such request, or its completion was taken.
    Unknown,
    /// Under way.
    Pending,
    /// Complete; with the matching context of the message.
    Done(Completion, u64),
}

/// What [`Engine::take_plain`] found.
#[derive(Clone, Copy, Debug)]
pub enum Plain {
    /// Under way.
    Pending,
    /// Ended, not cancelled and without failure; as in [`Completion`].
    Ended {
        /// Rank of the sender.
        source: i32,
        /// Tag.
        tag: i32,
        /// Bytes received or sent.
        bytes: u64,
    },
    /// No such request, or one that failed or was cancelled: [`Engine::take_known`] tells.
    Unusual,
}

impl Engine {
    /// As [`Engine::take`], for a request of which it is not sure that it exists.
    #[inline]
    pub fn take_known(&mut self, request: RequestId) -> Taken {
        let id = request.into();
        let Some(known) = self.core.requests.get(id) else { return Taken::Unknown };
        let context = known.context;
        match self.take(request) {
            Some(completion) => Taken::Done(completion, context),
            None => Taken::Pending,
        }
    }

    /// As [`Engine::receive_of`], but a receive that completes at once keeps its completion under a request too.
    #[inline(always)]
    pub fn receive_from(&mut self, peer: Option<Peer>, receive: Receive) -> RequestId {
        if self.core.unexpected.is_empty() && !self.core.any_broken {
            return self.post_receive(receive, peer.unwrap_or(NOBODY)).into();
        }
        self.receive_or_keep(peer, receive)
    }

    /// As [`Engine::receive_from`], with a mark (see [`Engine::receive_marked`]).
    pub fn receive_from_marked(&mut self, peer: Option<Peer>, receive: Receive, mark: Mark) -> RequestId {
        let context = receive.context;
        match self.receive_marked(peer, receive, mark) {
            Posted::Pending(id) => id,
            Posted::Done(completion) => self.keep(context, completion),
        }
    }

    #[inline(never)]
    fn receive_or_keep(&mut self, peer: Option<Peer>, receive: Receive) -> RequestId {
        let context = receive.context;
        match self.receive_of(peer, receive) {
            Posted::Pending(id) => id,
            Posted::Done(completion) => self.keep(context, completion),
        }
    }

    /// A request that keeps this completion.
    #[inline]
    fn keep(&mut self, context: u64, completion: Completion) -> RequestId {
        let key = MatchKey { context, source: completion.source, tag: completion.tag };
        let state = match completion.is_plain() {
            true => State::Received(completion.bytes),
            false => State::Complete(completion),
        };
        self.core.add(Request::receive(NOBODY, key, Buffer::EMPTY, state)).into()
    }

    /// Sends a short message if the peer's channel takes it at once; then it is complete and needs no
    /// request. `false` says that nothing happened: use [`Engine::send`].
    #[inline]
    pub fn send_at_once(&mut self, send: &crate::Send) -> bool {
        trace::in_engine();
        self.send_now(send, Mark::NONE)
    }

    /// The completion of a request that ended as requests usually do, which is then forgotten. It takes no copy of
    /// what may be in a completion, and its caller needs no code for it. A receive whose message is next in its channel ends
    /// now.
    #[inline(always)]
    pub fn take_plain(&mut self, request: RequestId) -> Plain {
        match self.take_posted(request) {
            Plain::Unusual => self.take_owning(request.into()),
            found => found,
        }
    }

    #[inline(never)]
    fn take_owning(&mut self, id: Id) -> Plain {
        let completion = match self.core.requests.get(id).map(|request| &request.state) {
            Some(State::Complete(completion)) if completion.is_plain() => completion,
            Some(State::Complete(_)) | None => return Plain::Unusual,
            Some(_) => return Plain::Pending,
        };
        let (source, tag, bytes) = (completion.source, completion.tag, completion.bytes);
        self.core.requests.remove(id);
        Plain::Ended { source, tag, bytes }
    }

    /// Whether any message waits for its receive.
    #[inline(always)]
    pub fn has_unexpected(&self) -> bool {
        !self.core.unexpected.is_empty()
    }

    /// As [`Engine::probe`], and once more after a round of progress.
    #[inline(never)]
    pub fn probe_or_progress(&mut self, context: u64, source: i32, tag: i32) -> Option<Envelope> {
        if let Some(found) = self.probe(context, source, tag) {
            return Some(found);
        }
        self.progress();
        self.probe(context, source, tag)
    }

    /// The generation of the request at this place of the table, if there is one.
    #[inline(always)]
    pub fn generation(&self, index: u32) -> Option<u32> {
        self.core.requests.generation(index)
    }

    /// Whether this request was made and its completion not taken yet.
    #[inline]
    pub fn contains(&self, request: RequestId) -> bool {
        self.core.requests.get(request.into()).is_some()
    }

    /// Whether the request exists and has not ended.
    #[inline]
    pub fn is_pending(&self, request: RequestId) -> bool {
        self.core.requests.get(request.into()).is_some_and(|request| !request.is_over())
    }

    /// The context of a message that was taken out of matching; `None` if there is none, or it was
    /// received.
    pub fn context_of_message(&self, message: MessageId) -> Option<u64> {
        self.core.messages.get(message.into()).map(|(key, _)| key.context)
    }

    /// The completion, left where it is; `None` while the request is under way.
    pub fn peek(&self, request: RequestId) -> Option<Completion> {
        let request = self.core.requests.get(request.into())?;
        match &request.state {
            State::Received(bytes) => Some(sent(request.source, request.tag, *bytes)),
            State::Complete(completion) => Some(completion.clone()),
            _ => None,
        }
    }

    /// The matching context of a request.
    #[inline]
    pub fn context(&self, request: RequestId) -> Option<u64> {
        self.core.requests.get(request.into()).map(|request| request.context)
    }
}
