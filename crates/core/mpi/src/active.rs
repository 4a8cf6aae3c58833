//! Operations that were started, whatever moves them on.

use crate::beside;
use crate::outcome::{Direction, Outcome};
use crate::partitioned::Partitioned;
use crate::process::Process;
use crate::task::Running;
use crate::window::service::Operation;
use std::sync::Arc;
use verbena_engine::{Posted, RequestId};
use verbena_memory::Owned;
use verbena_waiting::lock::Lock;

/// An operation that was started.
#[derive(Clone)]
pub enum Active {
    /// The engine has it.
    Engine(Direction, RequestId),
    /// A task runs it.
    Task(Arc<Running>),
    /// A send and a receive together.
    Both(Arc<Lock<Both>>),
    /// A round of partitioned communication.
    Partitioned(Partitioned),
    /// A one-sided operation by messages.
    Window(Operation),
    /// A one-sided operation by the device.
    Far(Arc<dyn Pending>),
    /// An operation on a file.
    File(beside::Operation),
    /// The operation was complete at once, or its completion was taken already.
    Done(Outcome),
}

/// An operation that knows by itself how it ended.
pub trait Pending: Send + Sync {
    /// Returns how it ended, if it has.
    fn poll(&self, process: &Process) -> Option<Outcome>;
}

impl Active {
    /// An operation that the engine was asked for.
    #[inline]
    pub fn posted(direction: Direction, posted: Posted) -> Active {
        match posted {
            Posted::Pending(id) => Active::Engine(direction, id),
            Posted::Done(completion) => Active::Done(Outcome::of(direction, completion)),
        }
    }

    /// The operation, for reports of programs that hang.
    pub fn operations(&self, process: &Process) -> Vec<verbena_hang::Operation> {
        use verbena_hang::Operation;
        match self {
            Active::Engine(_, id) => process.operation(*id).into_iter().collect(),
            Active::Task(running) => vec![running.operation()],
            Active::Both(both) => both.try_lock().map_or(vec![Operation::Other], |both| {
                [&both.send, &both.receive].iter().flat_map(|part| part.operations(process)).collect()
            }),
            Active::Partitioned(_) | Active::Window(_) | Active::Far(_) | Active::File(_) => {
                vec![Operation::Other]
            }
            Active::Done(_) => Vec::new(),
        }
    }

    /// Returns how it ended, if it has, or that it is in doubt.
    pub fn poll(&self, process: &Process) -> Option<Outcome> {
        match self {
            Active::Engine(direction, id) => poll_engine(process, *direction, *id),
            Active::Task(running) => {
                running.is_done().then(|| Outcome { error: running.outcome().err(), ..Outcome::EMPTY })
            }
            Active::Both(both) => both.lock().poll(process),
            Active::Partitioned(partitioned) => partitioned.poll(process),
            Active::Window(operation) => operation.poll(&mut { process }),
            Active::Far(operation) => operation.poll(process),
            Active::File(operation) => operation.poll(),
            Active::Done(outcome) => Some(outcome.clone()),
        }
    }
}

/// A send and a receive that end as one operation (`MPI_Isendrecv`).
pub struct Both {
    /// The send.
    pub send: Active,
    /// The receive, whose status counts.
    pub receive: Active,
    /// Keeps the memory that is sent from, if the library allocated it.
    pub _owner: Option<Owned>,
}

impl Both {
    fn poll(&mut self, process: &Process) -> Option<Outcome> {
        let sent = settle(&mut self.send, process);
        let received = settle(&mut self.receive, process)?;
        if received.is_in_doubt() {
            return Some(received);
        }
        Some(Outcome { error: received.error.clone().or(sent?.error), ..received })
    }
}

/// Polls a part. Once it has ended it stays so.
fn settle(part: &mut Active, process: &Process) -> Option<Outcome> {
    let outcome = part.poll(process)?;
    if !outcome.is_in_doubt() {
        *part = Active::Done(outcome.clone());
    }
    Some(outcome)
}

/// Takes the completion of an engine's request, if there is one.
#[inline]
pub fn poll_engine(process: &Process, direction: Direction, id: RequestId) -> Option<Outcome> {
    let (context, completion) =
        process.look_at(id, |engine, id| Some((engine.context(id)?, engine.take(id)?)))?;
    Some(Outcome { context, ..Outcome::of(direction, completion) })
}
