//! The receiving side: the sender's partitions come straight to their places, whatever the
//! receiver's partitions are.

use super::{Announced, Partitions, error};
use crate::comm::words::unpack;
use crate::comm::{Comm, Traffic};
use crate::error::{Error, Result};
use crate::generated::constants::MPI_PROC_NULL;
use crate::outcome::Outcome;
use crate::point::sender;
use crate::process::{Access, Process, failure_error};
use crate::task::Task;
use std::sync::Arc;
use verbena_channel::Peer;
use verbena_engine::{Completion, Engine, Posted, ReceiveRequest, RequestId};
use verbena_memory::{Buffer, Owned};
use verbena_waiting::lock::Lock;

/// Bytes of an announcement: context, number of partitions, number of bytes.
const ANNOUNCEMENT_BYTES: usize = 24;

/// A partitioned receive.
pub struct Receiving {
    partitions: Partitions,
    source: i32,
    /// The process of the sender's rank: if it is given up, the receives fail.
    peer: Option<Peer>,
    tag: i32,
    state: Lock<State>,
}

struct State {
    sender: Sender,
    round: Round,
    /// Set once the request was freed: what is under way ends by itself.
    is_released: bool,
}

/// The state of the other side.
enum Sender {
    /// The announcement has not come.
    Awaited(RequestId, Owned),
    /// `MPI_PROC_NULL`.
    Nobody,
    /// The sender is known, and sends these partitions; an error if they do not fit.
    Known { announced: Announced, misfit: Option<Error> },
    /// The announcement failed.
    Lost(Error),
}

enum Round {
    /// The request is not started, or has ended.
    Idle,
    /// Started, but the other side is not known.
    Waiting,
    /// The receives of the sender's partitions, `None` for those that have ended; all before `next`
    /// have.
    Posted { receives: Vec<Option<RequestId>>, next: usize, error: Option<Error> },
}

impl Receiving {
    /// Makes a receive of these partitions from rank `source`, not started. Its announcement is
    /// awaited from now on.
    pub fn new(
        comm: &Comm,
        partitions: Partitions,
        (source, tag): (i32, i32),
        access: &mut impl Access,
    ) -> Receiving {
        let peer = sender(comm, source);
        let sender = match source {
            MPI_PROC_NULL => Sender::Nobody,
            _ => Sender::awaited(peer, comm.context(Traffic::Partitioned), (source, tag), access),
        };
        let state = State { sender, round: Round::Idle, is_released: false };
        Receiving { partitions, peer, source, tag, state: Lock::new(state) }
    }

    /// The buffer and its partitions.
    pub(super) fn partitions(&self) -> &Partitions {
        &self.partitions
    }

    /// Begins a round.
    pub fn start(&self, access: &mut impl Access) {
        let mut state = self.state.lock();
        state.round = Round::Waiting;
        self.post(&mut state, access);
    }

    /// Takes the announcement if it has come, and posts the receives of a round that waited for it.
    /// Returns whether the sender is known now.
    pub fn meet(&self, access: &mut impl Access) -> bool {
        let mut state = self.state.lock();
        self.meet_in(&mut state, access)
    }

    fn meet_in(&self, state: &mut State, access: &mut impl Access) -> bool {
        let Sender::Awaited(id, message) = &state.sender else { return true };
        let Some(completion) = access.look(|engine| engine.take(*id)) else { return false };
        state.sender = Sender::announced(&completion, &message.lend().to_vec(), self.partitions.bytes());
        self.post(state, access);
        if state.is_released {
            state.forget(access);
        }
        true
    }

    /// Receives the sender's partitions if a round waits for that and the sender is known.
    fn post(&self, state: &mut State, access: &mut impl Access) {
        let (Round::Waiting, Sender::Known { announced, misfit }) = (&state.round, &state.sender) else {
            return;
        };
        let mut error = misfit.clone();
        let each = announced.each();
        let place =
            |i| if misfit.is_some() { Buffer::EMPTY } else { self.partitions.buffer.part(i * each, each) };
        let receives = access.with(|engine| {
            (0..announced.count)
                .map(|i| {
                    let (context, buffer) = (announced.context, place(i));
                    let receive = ReceiveRequest::new(context, self.source, i as i32, buffer);
                    match engine.receive(ReceiveRequest { peer: self.peer, ..receive }) {
                        Posted::Pending(id) => Some(id),
                        Posted::Done(completion) => {
                            note(&mut error, completion);
                            None
                        }
                    }
                })
                .collect()
        });
        state.round = Round::Posted { receives, next: 0, error };
    }

    /// Returns how the round ended, if it has: all of the sender's partitions are there.
    pub fn poll(&self, access: &mut impl Access) -> Option<Outcome> {
        let mut state = self.state.lock();
        self.meet_in(&mut state, access);
        let State { sender, round, .. } = &mut *state;
        match (sender, round) {
            (Sender::Nobody, _) => Some(Outcome::NO_PROCESS),
            (Sender::Lost(error), _) => Some(Outcome { error: Some(error.clone()), ..Outcome::EMPTY }),
            (Sender::Known { announced, .. }, Round::Posted { receives, next, error }) => {
                access.look(|engine| {
                    while *next < receives.len() && settle(engine, &mut receives[*next], error) {
                        *next += 1;
                    }
                });
                (*next == receives.len()).then(|| self.outcome(announced.bytes, error.clone()))
            }
            _ => None,
        }
    }

    fn outcome(&self, sent: usize, error: Option<Error>) -> Outcome {
        let bytes = if error.is_none() { sent as i64 } else { 0 };
        Outcome { source: self.source, tag: self.tag, bytes, error, ..Outcome::EMPTY }
    }

    /// Returns whether a partition of the round under way has arrived (`MPI_Parrived`).
    /// `MPI_ERR_ARG` if there is no such partition.
    pub fn has_arrived(&self, access: &mut impl Access, partition: i32) -> Result<bool> {
        let index = self.partitions.index(partition)?;
        let mut state = self.state.lock();
        self.meet_in(&mut state, access);
        let State { sender, round, .. } = &mut *state;
        Ok(match (sender, round) {
            (Sender::Nobody | Sender::Lost(_), _) | (_, Round::Idle) => true,
            (Sender::Known { announced, .. }, Round::Posted { receives, error, .. }) => {
                let range = announced.cover(index, &self.partitions);
                access.look(|engine| receives[range].iter_mut().all(|one| settle(engine, one, error)))
            }
            _ => false,
        })
    }

    /// Says that nobody will ask again: what is under way ends by itself, now or when the
    /// announcement comes.
    pub fn release(&self, access: &mut impl Access) {
        let mut state = self.state.lock();
        state.is_released = true;
        state.forget(access);
    }
}

impl State {
    fn forget(&mut self, access: &mut impl Access) {
        if let Round::Posted { receives, .. } = &mut self.round {
            access.with(|engine| receives.drain(..).flatten().for_each(|id| engine.forget(id)));
        }
    }
}

impl Sender {
    fn awaited(
        peer: Option<Peer>,
        context: u64,
        (source, tag): (i32, i32),
        access: &mut impl Access,
    ) -> Sender {
        let message = Owned::zeroed(ANNOUNCEMENT_BYTES);
        let receive = ReceiveRequest::new(context, source, tag, Buffer::Contiguous(message.lend()));
        let receive = ReceiveRequest { peer, ..receive };
        Sender::Awaited(access.with(|engine| engine.post(receive)), message)
    }

    fn announced(completion: &Completion, words: &[u8], room: usize) -> Sender {
        if let Some(failure) = &completion.failure {
            return Sender::Lost(failure_error(failure.clone()));
        }
        match unpack(words).map(Announced::read) {
            Ok(Some(announced)) => {
                let misfit = (announced.bytes > room).then(|| error::too_long(announced.bytes, room));
                Sender::Known { announced, misfit }
            }
            Ok(None) => Sender::Lost(error::garbled()),
            Err(error) => Sender::Lost(error),
        }
    }
}

/// Returns whether a receive has ended; takes its completion if it just has.
fn settle(engine: &mut Engine, receive: &mut Option<RequestId>, error: &mut Option<Error>) -> bool {
    if let Some(completion) = receive.and_then(|id| engine.take(id)) {
        note(error, completion);
        *receive = None;
    }
    receive.is_none()
}

/// Keeps the first error. One from before the round (too little room) explains all others.
fn note(error: &mut Option<Error>, completion: Completion) {
    *error = error.take().or(completion.failure.map(failure_error));
}

/// Waits for the announcement, so that a started receive moves on in whatever call the program is.
pub struct Handshake(pub Arc<Receiving>);

impl Task for Handshake {
    fn advance(&mut self, mut process: &Process) -> Result<bool> {
        Ok(self.0.meet(&mut process))
    }
}
