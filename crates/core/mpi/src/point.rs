//! Point-to-point communication (MPI-5.0, chapter 3): from a communicator's ranks to the engine's
//! messages.

use crate::comm::{Comm, Traffic};
use crate::datatype::Datatype;
use crate::error::Error;
use crate::generated::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL};
use crate::process::{Process, failure_error};
use crate::request::{Active, Both, Direction, Outcome};
use std::sync::Arc;
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_engine::{Envelope, MessageId, Mode, ReceiveRequest, RequestId, SendRequest};
use verbena_hang::{Awaited, Message};
use verbena_memory::{Buffer, Owned};
use verbena_waiting::lock::Lock;

/// The engine's form of a send to `dest` (not `MPI_PROC_NULL`).
#[inline]
pub fn message(comm: &Comm, (buffer, mark): Elements, dest: i32, tag: i32, mode: Mode) -> SendRequest {
    SendRequest {
        peer: comm.peer(dest),
        context: comm.context(Traffic::Point),
        source: comm.rank(),
        tag,
        buffer,
        mark,
        mode,
    }
}

/// The parts of the engine's address for a message to `dest`: the process, the matching context and
/// the sender's rank. `None` if there is no such process (`dest` may be `MPI_PROC_NULL`, for one).
#[inline(always)]
pub fn address(comm: &Comm, dest: i32) -> Option<(Peer, u64, i32)> {
    let &peer = comm.targets().members().get(dest as usize)?;
    Some((peer, comm.context(Traffic::Point), comm.rank()))
}

/// The elements of a message: where they are, and what its mark says of them ([`mark`]).
pub type Elements = (Buffer, Mark);

/// The mark of a message's elements, if messages carry it (`VERBENA_CHECK_TYPES`): their sort and
/// their size. Bytes, elements of several types, and no elements match everything.
#[inline]
pub fn mark(datatype: &Datatype, count: i64) -> Mark {
    let is_told = verbena_settings::CHECK_TYPES.get() && count > 0;
    if is_told { elements_mark(datatype) } else { Mark::NONE }
}

#[cold]
fn elements_mark(datatype: &Datatype) -> Mark {
    datatype.basic().map_or(Mark::NONE, |basic| Mark(basic.sort))
}

/// Starts a send.
#[inline]
pub fn send(process: &Process, comm: &Comm, elements: Elements, dest: i32, tag: i32, mode: Mode) -> Active {
    if dest == MPI_PROC_NULL {
        return Active::Done(Outcome::EMPTY);
    }
    let message = message(comm, elements, dest, tag, mode);
    Active::posted(Direction::Send, process.send_in(comm.engine(), message))
}

/// Starts a receive.
#[inline]
pub fn receive(process: &Process, comm: &Comm, elements: Elements, source: i32, tag: i32) -> Active {
    if source == MPI_PROC_NULL {
        return Active::Done(Outcome::NO_PROCESS);
    }
    let receive = receipt(comm, elements, source, tag);
    Active::posted(Direction::Receive, process.receive_in(comm.engine(), receive))
}

/// The process that a receive from `source` names; `None` for `MPI_ANY_SOURCE`, or if there is no
/// such process.
#[inline(always)]
pub fn sender(comm: &Comm, source: i32) -> Option<Peer> {
    // A negative source becomes too large.
    comm.targets().members().get(source as usize).copied()
}

/// The engine's form of a receive from `source` (not `MPI_PROC_NULL`).
#[inline(always)]
pub fn receipt(comm: &Comm, (buffer, mark): Elements, source: i32, tag: i32) -> ReceiveRequest {
    let (peer, context) = (sender(comm, source), comm.context(Traffic::Point));
    ReceiveRequest { peer, context, source, tag, buffer, mark }
}

/// Starts to receive a message that a matching probe took.
pub fn receive_matched(process: &Process, message: MessageId, (buffer, mark): Elements) -> Active {
    let posted =
        process.command_at_message(message, |engine, message| engine.receive_matched(message, mark, buffer));
    Active::posted(Direction::Receive, posted)
}

/// Starts a send to `(buffer, dest, tag)` and a receive from `(buffer, source, tag)` as one
/// operation (MPI-5.0, 3.11), which keeps `owner`'s memory until both have ended.
pub fn exchange(
    process: &Process,
    comm: &Comm,
    (out, dest, sendtag): (Elements, i32, i32),
    (into, source, recvtag): (Elements, i32, i32),
    owner: Option<Owned>,
) -> Active {
    let receive = receive(process, comm, into, source, recvtag);
    let send = send(process, comm, out, dest, sendtag, Mode::Standard);
    Active::Both(Arc::new(Lock::new(Both { send, receive, _owner: owner })))
}

/// Waits for an operation of the engine. One that is in doubt fails.
fn wait_for_good(process: &Process, direction: Direction, id: RequestId) -> Outcome {
    Outcome::of(direction, process.finish_request(id))
}

/// Waits for the operation. The outcome holds its error.
#[inline]
pub fn wait(process: &Process, active: &Active) -> Outcome {
    match active {
        Active::Done(outcome) => outcome.clone(),
        Active::Engine(direction, id) => wait_for_good(process, *direction, *id),
        other => process.wait_for(|process| awaited(process, other), |process| other.poll(process)),
    }
}

#[cold]
fn awaited(process: &Process, active: &Active) -> Awaited {
    Awaited::All(active.operations(process))
}

/// The message that a probe waits for, for reports of programs that hang.
pub fn probed(comm: &Comm, source: i32, tag: i32) -> Awaited {
    let tag = (tag != MPI_ANY_TAG).then_some(tag);
    let (context, process) = (comm.context(Traffic::Point), sender(comm, source));
    Awaited::Probe(Message { context, process, tag, bytes: 0 })
}

/// The first message that such a receive would match, if there is one after a poll.
pub fn probe(process: &Process, comm: &Comm, source: i32, tag: i32) -> Option<Envelope> {
    let context = comm.context(Traffic::Point);
    let look = || process.look_in(comm.engine(), |engine| engine.probe(context, source, tag));
    let polled = |_: &Process| Some(probed(comm, source, tag));
    look().or_else(|| if process.poll_in(Some(comm.engine()), polled) { look() } else { None })
}

/// The error for which a waiting probe would wait for ever: the process that it names was lost, or
/// one of those that may send to it.
#[inline]
pub fn loss(process: &Process, comm: &Comm, source: i32) -> Option<Error> {
    let peer = (source != MPI_ANY_SOURCE).then(|| comm.peer(source));
    let context = comm.context(Traffic::Point);
    process.look_in(comm.engine(), |engine| engine.loss(context, peer)).map(failure_error)
}

/// Like [`probe`], but takes the message out of matching.
pub fn match_probe(process: &Process, comm: &Comm, source: i32, tag: i32) -> Option<(MessageId, Envelope)> {
    let look = || process.match_probe_in(comm.engine(), comm.context(Traffic::Point), source, tag);
    let polled = |_: &Process| Some(probed(comm, source, tag));
    look().or_else(|| if process.poll_in(Some(comm.engine()), polled) { look() } else { None })
}

impl From<Envelope> for Outcome {
    fn from(envelope: Envelope) -> Outcome {
        Outcome { source: envelope.source, tag: envelope.tag, bytes: envelope.bytes as i64, ..Outcome::EMPTY }
    }
}
