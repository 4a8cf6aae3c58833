//! Answers that leave a target for an origin.

use super::{Addresses, answer_tag, explanation};
use crate::error::Error;
use crate::process::Access;
use std::collections::VecDeque;
use std::sync::Arc;
use verbena_channel::Peer;
use verbena_engine::{Posted, ReceiveRequest, RequestId};
use verbena_memory::{Buffer, Owned};

/// The most answers that leave for an origin at a time.
const ANSWERS_MAX: usize = 64;

/// Answers that leave for an origin.
pub(super) struct Outbox {
    addresses: Arc<Addresses>,
    pub(super) origin: i32,
    /// In order, with the memory that the library keeps for them.
    leaving: VecDeque<(RequestId, Option<Owned>)>,
}

impl Outbox {
    /// An outbox for this origin.
    pub(super) fn new(addresses: Arc<Addresses>, origin: i32) -> Outbox {
        Outbox { addresses, origin, leaving: VecDeque::new() }
    }

    /// The origin: its rank and its process.
    pub(super) fn address(&self) -> (i32, Peer) {
        (self.origin, self.addresses.group.peer(self.origin))
    }

    /// The receive of a payload from the origin.
    pub(super) fn receive(&self, tag: i32, buffer: Buffer) -> ReceiveRequest {
        self.addresses.receive(self.origin, tag, buffer)
    }

    /// Returns whether answers should wait.
    pub(super) fn is_full(&self) -> bool {
        self.leaving.len() >= ANSWERS_MAX
    }

    /// Returns whether everything has left.
    pub(super) fn is_empty(&self) -> bool {
        self.leaving.is_empty()
    }

    /// Lets go of what has left. Returns whether there was any.
    pub(super) fn reap(&mut self, access: &mut impl Access) -> bool {
        let before = self.leaving.len();
        if before > 0 {
            access.look(|engine| {
                // An origin that is lost needs no answer.
                while self.leaving.front().is_some_and(|(id, _)| engine.take(*id).is_some()) {
                    self.leaving.pop_front();
                }
            });
        }
        self.leaving.len() < before
    }

    /// Answers with these bytes.
    pub(super) fn answer(&mut self, access: &mut impl Access, number: u32, bytes: Owned) {
        let buffer = Buffer::Contiguous(bytes.lend());
        self.send(access, number, buffer, Some(bytes));
    }

    /// Answers with what is in exposed memory.
    pub(super) fn answer_from(&mut self, access: &mut impl Access, number: u32, buffer: Buffer) {
        self.send(access, number, buffer, None);
    }

    /// Answers that something is done. Returns whether the origin can be reached.
    pub(super) fn done(&mut self, access: &mut impl Access, number: u32) -> bool {
        let byte = Owned::zeroed(1);
        let buffer = Buffer::Contiguous(byte.lend());
        self.send(access, number, buffer, Some(byte))
    }

    /// Answers with an error.
    pub(super) fn explain(&mut self, access: &mut impl Access, number: u32, error: &Error) {
        self.send(access, number, Buffer::EMPTY, None);
        self.answer(access, number, Owned::from(&explanation::encode(error)[..]));
    }

    fn send(&mut self, access: &mut impl Access, number: u32, buffer: Buffer, bytes: Option<Owned>) -> bool {
        let send = self.addresses.data(self.origin, answer_tag(number), buffer);
        match access.with(|engine| engine.send(send)) {
            Posted::Pending(id) => self.leaving.push_back((id, bytes)),
            Posted::Done(completion) => return completion.failure.is_none(),
        }
        true
    }
}
