//! Taking completions: each is handed out once, and its request is forgotten.

use crate::request::State;
use crate::slab::Id;
use crate::{Completion, Engine, Failure, RequestId};
use verbena_channel::trace::{self, messages};

/// The result of [`Engine::take_known`].
#[derive(Debug)]
pub enum Taken {
    /// No such request, or its completion was taken.
    Unknown,
    /// Under way.
    Pending,
    /// Complete; with the matching context of the message.
    Done(Completion, u64),
}

/// The result of [`Engine::take_plain`].
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
    /// Hands out the completion and forgets the request; `None` while it is under way. The
    /// completion of a receive that is [in doubt](crate::Failure::InDoubt) says so, and is handed
    /// out until the doubt is gone.
    #[inline]
    pub fn take(&mut self, request: RequestId) -> Option<Completion> {
        let id: Id = request.into();
        if !self.state.requests.get(id)?.is_over() {
            return self.state.doubt(id);
        }
        if trace::is_on() {
            messages::completed(id.number());
        }
        self.state.requests.remove(id)?.into_completion()
    }

    /// Like [`Engine::take`], for a call that waits for the request alone: a receive that is in
    /// doubt fails.
    #[inline]
    pub fn take_for_good(&mut self, request: RequestId) -> Option<Completion> {
        let completion = self.take(request)?;
        Some(if completion.is_in_doubt() { self.end_doubt(request.into(), completion) } else { completion })
    }

    #[cold]
    fn end_doubt(&mut self, id: Id, completion: Completion) -> Completion {
        let failure = match completion.failure {
            Some(Failure::InDoubt(fault)) => Some(Failure::Dead(fault)),
            other => other,
        };
        self.state.requests.unpost(id.index).1.state = State::Received(0);
        self.state.requests.remove(id);
        Completion { failure, ..completion }
    }

    /// Like [`Engine::take`], for a request that may not exist.
    #[inline]
    pub fn take_known(&mut self, request: RequestId) -> Taken {
        let id = request.into();
        let Some(known) = self.state.requests.get(id) else { return Taken::Unknown };
        let context = known.context;
        match self.take(request) {
            Some(completion) => Taken::Done(completion, context),
            None => Taken::Pending,
        }
    }

    /// Takes the completion of a request that ended as requests usually do, and forgets the
    /// request. It copies nothing that may be in a completion, and its caller needs no code for it.
    /// A receive whose message is next in its channel ends now.
    #[inline(always)]
    pub fn take_plain(&mut self, request: RequestId) -> Plain {
        match self.take_posted(request) {
            Plain::Unusual => self.take_owning(request.into()),
            found => found,
        }
    }

    #[inline(never)]
    fn take_owning(&mut self, id: Id) -> Plain {
        let completion = match self.state.requests.get(id).map(|request| &request.state) {
            Some(State::Complete(completion)) if completion.is_plain() => completion,
            Some(State::Complete(_)) | None => return Plain::Unusual,
            Some(_) => return Plain::Pending,
        };
        let (source, tag, bytes) = (completion.source, completion.tag, completion.bytes);
        self.state.requests.remove(id);
        Plain::Ended { source, tag, bytes }
    }
}
