//! Getters by id: what the layer above asks before it waits for a request that the program named.

use crate::request::State;
use crate::{Completion, Engine, MessageId, RequestId};

impl Engine {
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
