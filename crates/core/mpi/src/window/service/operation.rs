//! An operation under way, at its origin: what still leaves, and the answer.

use super::pieces::Pieces;
use super::{Addresses, error, explanation};
use crate::error::Error;
use crate::outcome::Outcome;
use crate::process::{Access, failure_error};
use std::sync::Arc;
use verbena_engine::{Completion, Engine, Posted, RequestId, SendRequest};
use verbena_memory::{Buffer, Owned};
use verbena_waiting::lock::Lock;

/// An operation that was begun. Clones are the same operation.
#[derive(Clone)]
pub struct Operation(Arc<Lock<State>>);

#[derive(Default)]
struct State {
    /// The request's bytes, as long as they leave.
    message: Option<Owned>,
    /// The messages that leave, in order.
    sends: Vec<RequestId>,
    reply: Reply,
    error: Option<Error>,
    /// True once somebody heard of the error.
    is_heard: bool,
}

/// The state of the answer.
#[derive(Default)]
enum Reply {
    /// There is none, or it is there.
    #[default]
    Ended,
    /// The piece from `at` on is awaited.
    Piece { answer: Answer, at: usize, receive: RequestId },
    /// The target could not do it; the error is awaited.
    Explanation { bytes: Owned, receive: RequestId },
}

/// The answer that a target gives.
pub(super) struct Answer {
    /// The addresses of the window.
    pub(super) addresses: Arc<Addresses>,
    /// The target.
    pub(super) target: i32,
    pub(super) tag: i32,
    /// The memory for the answer; not empty.
    pub(super) buffer: Buffer,
    /// The messages in which it comes.
    pub(super) pieces: Pieces,
}

impl Answer {
    /// Waits for the piece from `at` on.
    fn await_piece(self, engine: &mut Engine, at: usize) -> Reply {
        let part = self.buffer.part(at, self.pieces.len(at));
        let receive = engine.post(self.addresses.receive(self.target, self.tag, part));
        Reply::Piece { answer: self, at, receive }
    }

    /// Waits for the target's error.
    fn await_explanation(&self, engine: &mut Engine) -> Reply {
        let bytes = Owned::zeroed(explanation::BYTES_MAX);
        let buffer = Buffer::Contiguous(bytes.lend());
        let receive = engine.post(self.addresses.receive(self.target, self.tag, buffer));
        Reply::Explanation { bytes, receive }
    }
}

impl Operation {
    /// An operation whose request, the bytes `message`, and payload leave, and whose answer is
    /// awaited from now on, if there is one.
    pub(super) fn begin(
        engine: &mut Engine,
        answer: Option<Answer>,
        message: Owned,
        sends: impl Iterator<Item = SendRequest>,
    ) -> Operation {
        let reply = answer.map_or(Reply::Ended, |answer| answer.await_piece(engine, 0));
        let mut state = State { reply, ..State::default() };
        for send in sends {
            match engine.send(send) {
                Posted::Pending(id) => state.sends.push(id),
                Posted::Done(completion) => state.note(completion.failure.map(failure_error)),
            }
        }
        state.message = (!state.sends.is_empty()).then_some(message);
        Operation(Arc::new(Lock::new(state)))
    }

    /// An operation that is complete.
    pub fn complete() -> Operation {
        Operation(Arc::new(Lock::new(State::default())))
    }

    /// Returns how it ended, if it has: the origin's memory may be used again, and the answer is
    /// there.
    pub fn poll(&self, access: &mut impl Access) -> Option<Outcome> {
        let mut state = self.0.lock();
        if !state.is_over() {
            access.look(|engine| state.settle(engine));
        }
        if !state.is_over() {
            return None;
        }
        state.is_heard = true;
        Some(Outcome { error: state.error.clone(), ..Outcome::EMPTY })
    }

    /// Like [`Operation::poll`], for the window: the error, if nobody heard of it.
    pub(super) fn end(&self, access: &mut impl Access) -> Option<Option<Error>> {
        let mut state = self.0.lock();
        if !state.is_over() {
            access.look(|engine| state.settle(engine));
        }
        state.is_over().then(|| if state.is_heard { None } else { state.error.clone() })
    }
}

impl State {
    fn is_over(&self) -> bool {
        self.sends.is_empty() && matches!(self.reply, Reply::Ended)
    }

    /// Keeps the first error.
    fn note(&mut self, error: Option<Error>) {
        self.error = self.error.take().or(error);
    }

    fn settle(&mut self, engine: &mut Engine) {
        while let Some(completion) = self.sends.last().and_then(|&id| engine.take(id)) {
            self.sends.pop();
            self.note(completion.failure.map(failure_error));
        }
        if self.sends.is_empty() {
            self.message = None;
        }
        while let Some(completion) = self.reply.take(engine) {
            self.reply = match std::mem::take(&mut self.reply) {
                Reply::Piece { answer, at, .. } => self.received(engine, answer, at, completion),
                Reply::Explanation { bytes, .. } => self.explained(&bytes, completion),
                Reply::Ended => Reply::Ended,
            };
        }
    }

    /// Goes on after a piece of the answer. One without bytes says that an error follows.
    fn received(&mut self, engine: &mut Engine, answer: Answer, at: usize, completion: Completion) -> Reply {
        let wanted = answer.pieces.len(at);
        if let Some(failure) = completion.failure {
            self.note(Some(failure_error(failure)));
            return Reply::Ended;
        }
        match completion.bytes {
            0 => answer.await_explanation(engine),
            bytes if bytes != wanted as u64 => {
                self.note(Some(error::wrong_length(bytes, wanted)));
                Reply::Ended
            }
            _ if at + wanted == answer.buffer.len() => Reply::Ended,
            _ => answer.await_piece(engine, at + wanted),
        }
    }

    fn explained(&mut self, bytes: &Owned, completion: Completion) -> Reply {
        let error = match completion.failure {
            Some(failure) => failure_error(failure),
            None => explanation::decode(&bytes.lend().part(0, completion.bytes as usize).to_vec()),
        };
        self.note(Some(error));
        Reply::Ended
    }
}

impl Reply {
    /// Takes the completion of what is awaited.
    fn take(&self, engine: &mut Engine) -> Option<Completion> {
        match self {
            Reply::Ended => None,
            Reply::Piece { receive, .. } | Reply::Explanation { receive, .. } => engine.take(*receive),
        }
    }
}
