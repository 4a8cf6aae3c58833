//! Getters by id: what the layer above asks before it waits for a request that the program named.

use crate::request::{Request, State};
use crate::{Completion, Engine, MessageId, Posted, Receive, RequestId};

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

    /// As [`Engine::receive`], but a receive that completes at once keeps its completion under a request too.
    #[inline]
    pub fn receive_by_request(&mut self, receive: Receive) -> RequestId {
        let context = receive.context;
        match self.receive(receive) {
            Posted::Pending(id) => id,
            Posted::Done(completion) => self.core.add(Request::ended(context, completion)).into(),
        }
    }

    /// Sends a short message if the peer's channel takes it at once; then it is complete and needs no
    /// request. `false` says that nothing happened: use [`Engine::send`].
    #[inline]
    pub fn send_at_once(&mut self, send: &crate::Send) -> bool {
        self.send_now(send)
    }

    /// Whether this request was made and its completion not taken yet.
    #[inline]
    pub fn contains(&self, request: RequestId) -> bool {
        self.core.requests.get(request.into()).is_some()
    }

    /// Whether this message was taken out of matching and not received yet.
    pub fn contains_message(&self, message: MessageId) -> bool {
        self.core.messages.get(message.into()).is_some()
    }

    /// The completion, left where it is; `None` while the request is under way.
    pub fn peek(&self, request: RequestId) -> Option<Completion> {
        match &self.core.requests.get(request.into())?.state {
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
