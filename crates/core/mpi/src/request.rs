//! Requests: what the program waits for (MPI-5.0, 3.7 and 3.9).
//!
//! A plain nonblocking send or receive is just the engine's request and has no object here. A
//! [`Request`] object stands for all others: persistent and partitioned ones, collectives and other
//! tasks, generalized requests.

pub use crate::active::{Active, Both, poll_engine};
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::file::File;
use crate::generated::constants as mpi;
pub use crate::outcome::{Direction, Outcome};
use crate::partitioned::Partitioned;
use crate::process::Process;
use crate::window::Win;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use verbena_engine::RequestId;
use verbena_waiting::lock::Lock;

/// A function that starts a persistent request.
pub type Starter = Box<dyn Fn(&Process) -> Result<Active> + Send + Sync>;

/// The program's part of a generalized request (MPI-5.0, 13.2).
pub trait Generalized: Send + Sync {
    /// Fills the status when the request is waited for or tested.
    fn query(&self) -> Result<Outcome>;
    /// Called when the request is freed.
    fn free(&self) -> Result<()>;
    /// Called by `MPI_Cancel`; `complete` tells whether `MPI_Grequest_complete` was called.
    fn cancel(&self, complete: bool) -> Result<()>;
}

enum Kind {
    Once,
    Persistent(Starter),
    Partitioned(Partitioned),
    Generalized { callbacks: Box<dyn Generalized>, complete: AtomicBool },
}

/// A request object.
pub struct Request {
    kind: Kind,
    comm: Option<Arc<Comm>>,
    window: Option<Arc<Win>>,
    file: Option<Arc<File>>,
    active: Lock<Option<Active>>,
}

/// The state of a request when it is looked at.
pub enum Look {
    /// Under way.
    Pending,
    /// The request is not started (a persistent request): an empty status.
    Inactive,
    /// Ended now.
    Ended(Outcome),
    /// Under way, and may be so for ever ([`Outcome::is_in_doubt`]).
    InDoubt(Outcome),
}

impl Request {
    /// A request for an operation that was started; it ends with that operation.
    pub fn once(comm: Option<Arc<Comm>>, active: Active) -> Request {
        Request { kind: Kind::Once, comm, window: None, file: None, active: Lock::new(Some(active)) }
    }

    /// A request for an operation on a window that was started.
    pub fn of_window(window: Arc<Win>, active: Active) -> Request {
        Request { window: Some(window), ..Request::once(None, active) }
    }

    /// A request for an operation on a file that was started.
    pub fn of_file(file: Arc<File>, active: Active) -> Request {
        Request { file: Some(file), ..Request::once(None, active) }
    }

    /// A persistent request, not started.
    pub fn persistent(comm: Arc<Comm>, starter: Starter) -> Request {
        Request {
            kind: Kind::Persistent(starter),
            comm: Some(comm),
            window: None,
            file: None,
            active: Lock::new(None),
        }
    }

    /// A partitioned request, not started.
    pub fn partitioned(comm: Arc<Comm>, partitioned: Partitioned) -> Request {
        Request {
            kind: Kind::Partitioned(partitioned),
            comm: Some(comm),
            window: None,
            file: None,
            active: Lock::new(None),
        }
    }

    /// A generalized request.
    pub fn generalized(callbacks: Box<dyn Generalized>) -> Request {
        let kind = Kind::Generalized { callbacks, complete: AtomicBool::new(false) };
        Request { kind, comm: None, window: None, file: None, active: Lock::new(None) }
    }

    /// The communicator whose error handler hears of its errors.
    pub fn comm(&self) -> Option<&Arc<Comm>> {
        self.comm.as_ref()
    }

    /// The window whose error handler hears of its errors.
    pub fn window(&self) -> Option<&Arc<Win>> {
        self.window.as_ref()
    }

    /// The file whose error handler hears of its errors.
    pub fn file(&self) -> Option<&Arc<File>> {
        self.file.as_ref()
    }

    /// Returns whether it survives its completion.
    pub fn is_persistent(&self) -> bool {
        matches!(self.kind, Kind::Persistent(_) | Kind::Partitioned(_))
    }

    /// The partitioned operation behind it; `MPI_ERR_REQUEST` if there is none.
    pub fn as_partitioned(&self) -> Result<&Partitioned> {
        match &self.kind {
            Kind::Partitioned(partitioned) => Ok(partitioned),
            _ => Err(request_error(
                "the request is not partitioned",
                "it was not made by MPI_Psend_init or MPI_Precv_init",
            )),
        }
    }

    /// Returns whether it was started and is not complete.
    pub fn is_active(&self) -> bool {
        self.active.lock().is_some()
    }

    /// Starts a persistent request; `MPI_ERR_REQUEST` if it is not one or is active.
    pub fn start(&self, process: &Process) -> Result<()> {
        if !self.is_persistent() {
            return Err(request_error(
                "only persistent requests can be started",
                "the request is of another kind",
            ));
        }
        if self.is_active() {
            return Err(request_error(
                "an active request cannot be started",
                "it was started and not waited for",
            ));
        }
        self.comm.as_ref().map_or(Ok(()), |comm| comm.check_usable())?;
        let active = match &self.kind {
            Kind::Persistent(starter) => starter(process)?,
            Kind::Partitioned(partitioned) => {
                partitioned.start(process);
                Active::Partitioned(partitioned.clone())
            }
            Kind::Once | Kind::Generalized { .. } => unreachable!("checked above"),
        };
        *self.active.lock() = Some(active);
        Ok(())
    }

    /// Looks whether the request has ended. With `take`, one that has ended becomes inactive;
    /// without, a later look sees the same (`MPI_Request_get_status`).
    pub fn look(&self, process: &Process, take: bool) -> Look {
        if let Kind::Generalized { callbacks, complete } = &self.kind {
            return generalized_look(callbacks.as_ref(), complete.load(Ordering::Acquire));
        }
        let mut active = self.active.lock();
        let Some(operation) = active.as_ref() else { return Look::Inactive };
        match operation.poll(process) {
            None => Look::Pending,
            Some(outcome) if outcome.is_in_doubt() => Look::InDoubt(outcome),
            Some(outcome) => {
                *active = (!take).then(|| Active::Done(outcome.clone()));
                Look::Ended(outcome)
            }
        }
    }

    /// The operation, for reports of programs that hang.
    pub fn operations(&self, process: &Process) -> Vec<verbena_hang::Operation> {
        let active = self.active.try_lock();
        let operations = active.and_then(|active| Some(active.as_ref()?.operations(process)));
        operations.unwrap_or_else(|| vec![verbena_hang::Operation::Other])
    }

    /// Returns whether it has ended, is inactive, or is in doubt. Calls no callback and changes
    /// nothing that the program sees.
    pub fn is_ready(&self, process: &Process) -> bool {
        match &self.kind {
            Kind::Generalized { complete, .. } => complete.load(Ordering::Acquire),
            _ => !matches!(self.look(process, false), Look::Pending),
        }
    }

    /// Asks to cancel the active operation (`MPI_Cancel`). `MPI_ERR_REQUEST` unless it is a send, a
    /// receive or a generalized request, whether it has ended or not.
    pub fn cancel(&self, process: &Process) -> Result<()> {
        if self.window.is_some() {
            return Err(cancelled_access());
        }
        if self.file.is_some() {
            return Err(request_error(
                "an operation on a file cannot be cancelled",
                "MPI_Cancel is for point-to-point",
            ));
        }
        match &self.kind {
            Kind::Generalized { callbacks, complete } => callbacks.cancel(complete.load(Ordering::Acquire)),
            _ => match self.active.lock().as_ref() {
                Some(Active::Engine(_, id)) => {
                    cancel(process, *id);
                    Ok(())
                }
                Some(Active::Done(_)) => Ok(()),
                Some(Active::Partitioned(_)) => Err(request_error(
                    "a partitioned operation cannot be cancelled",
                    "some of its partitions may have left",
                )),
                Some(_) => Err(request_error(
                    "a collective operation cannot be cancelled",
                    "MPI_Cancel is for point-to-point",
                )),
                None => Err(request_error("an inactive request cannot be cancelled", "it was not started")),
            },
        }
    }

    /// Returns `MPI_ERR_REQUEST` if it may not be freed now: a partitioned operation is under way
    /// (MPI-5.0, 4.2.1).
    pub fn check_free(&self, process: &Process) -> Result<()> {
        match self.kind {
            Kind::Partitioned(_) if !self.is_ready(process) => Err(request_error(
                "a partitioned request cannot be freed while it is under way",
                "it was started and not completed",
            )),
            _ => Ok(()),
        }
    }

    /// Notes that the program gave the request up: an active operation ends by itself.
    pub fn release(&self, process: &Process) -> Result<()> {
        match &self.kind {
            Kind::Generalized { callbacks, .. } => callbacks.free(),
            Kind::Partitioned(partitioned) => {
                partitioned.release(process);
                Ok(())
            }
            Kind::Once | Kind::Persistent(_) => {
                if let Some(Active::Engine(_, id)) = self.active.lock().take() {
                    process.command_at(id, |engine, id| engine.forget(id));
                }
                Ok(())
            }
        }
    }

    /// Returns whether this is a generalized request that is not complete.
    pub fn is_incomplete_generalized(&self) -> bool {
        matches!(&self.kind, Kind::Generalized { complete, .. } if !complete.load(Ordering::Acquire))
    }

    /// Completes a generalized request (`MPI_Grequest_complete`); `MPI_ERR_REQUEST` for any other.
    pub fn complete(&self, process: &Process) -> Result<()> {
        let Kind::Generalized { complete, .. } = &self.kind else {
            return Err(request_error(
                "only a generalized request can be completed",
                "the request is of another kind",
            ));
        };
        complete.store(true, Ordering::Release);
        process.notify();
        Ok(())
    }
}

fn generalized_look(callbacks: &dyn Generalized, complete: bool) -> Look {
    if !complete {
        return Look::Pending;
    }
    Look::Ended(callbacks.query().unwrap_or_else(|error| Outcome { error: Some(error), ..Outcome::EMPTY }))
}

/// The error of `MPI_Cancel` for an operation on a window (MPI-5.0, 12.3.5).
#[cold]
pub fn cancelled_access() -> Error {
    request_error("a one-sided operation cannot be cancelled", "MPI_Cancel is for point-to-point")
}

#[cold]
fn request_error(what: &str, cause: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_REQUEST,
        what,
        "a request handle",
        cause,
        "check which request is passed to this call",
    )
}

/// Asks to cancel a send or receive of the engine, and makes progress while there is any. So a
/// message to oneself (or to a process that is just looking) is settled when the call returns:
/// programs expect that when they test the request right after.
pub fn cancel(process: &Process, id: RequestId) {
    process.command_at(id, |engine, id| engine.cancel(id));
    for _ in 0..CANCEL_ROUNDS_MAX {
        if process.look_at(id, |engine, id| !engine.is_pending(id)) || !process.progress() {
            break;
        }
    }
}

/// The most rounds of progress after a cancel: a question and its answer through the loopback
/// channel take two.
const CANCEL_ROUNDS_MAX: usize = 8;
