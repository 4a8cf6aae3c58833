//! Request handles: finding the request behind a handle, and completing it (MPI-5.0, 3.7.3).
//!
//! A plain nonblocking send or receive is the engine's own request, encoded in the handle: no
//! object, no allocation. Everything else is a [`Request`] in the table [`REQUESTS`].

use crate::arguments::Words;
use crate::generated::types::MPI_Request;
use crate::handles::{COMMS, Kind, REQUESTS, Ref, decode_request, encode_request, engine_receive};
use crate::last_errors;
use crate::process;
use crate::report::{Failed, Owner};
use crate::status::Status;
use std::sync::Arc;
use verbena_channel::trace;
use verbena_engine::{Completion, ReceiveRequest, RequestId, SendRequest};
use verbena_faces::mpich;
use verbena_hang::{Awaited, Operation};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::process::completion_error;
use verbena_mpi::request::{Active, Direction, Look, Outcome, Request, poll_engine};
use verbena_mpi::{Comm, Error, File, Process, Result, Win};
use verbena_waiting::lock::SingleThread;

/// The handles of every send and every operation on a window that were complete at once: they have
/// nothing to remember.
pub use verbena_faces::standard::{ACCESSED as ACCESSED_HANDLE, SENT as SENT_HANDLE};

/// The request that a handle stands for.
pub enum Pending {
    /// `MPI_REQUEST_NULL`.
    Null,
    /// A send, or an operation on a window, that was complete when it was started.
    Done,
    /// An operation of the engine.
    Engine(Direction, RequestId),
    /// A request object.
    Object(Ref<'static, Request>),
}

/// The state of a request.
pub enum State {
    /// Under way.
    Pending,
    /// Null or inactive: its status is empty, and calls that wait for any or some skip it.
    Inactive,
    /// Ended.
    Ended(Outcome),
    /// Under way, and may be so for ever ([`Outcome::is_in_doubt`]).
    InDoubt(Outcome),
}

impl State {
    /// The state of an engine's operation.
    #[inline]
    fn of(outcome: Option<Outcome>) -> State {
        match outcome {
            None => State::Pending,
            Some(outcome) if outcome.is_in_doubt() => State::InDoubt(outcome),
            Some(outcome) => State::Ended(outcome),
        }
    }
}

/// Starts a send of the engine and returns its handle. Not in line: the fast paths before
/// it are the shorter.
#[inline(never)]
pub fn start_send(process: &Process, comm: &Arc<Comm>, send: SendRequest) -> MPI_Request {
    match process.start_send(comm.engine(), send) {
        Ok(None) => sent(),
        Ok(Some(id)) => handle_of_engine(Some(comm), Direction::Send, id),
        Err(completion) => handle_of_object(Some(comm), Active::Done(Outcome::sent(*completion))),
    }
}

/// Starts a receive of the engine and returns its handle. Not in line: the fast paths before
/// it are the shorter.
#[inline(never)]
pub fn start_receive(process: &Process, comm: &Arc<Comm>, receive: ReceiveRequest) -> MPI_Request {
    let id = process.post_in(comm.engine(), receive);
    handle_of_engine(Some(comm), Direction::Receive, id)
}

/// The handle of a send that is complete and told nothing.
#[inline]
pub fn sent() -> MPI_Request {
    SENT_HANDLE
}

/// The handle of a receive that was started. A completion that came at once is kept for the status.
#[inline]
pub fn handle_of_receive(comm: Option<&Arc<Comm>>, active: Active) -> MPI_Request {
    match active {
        Active::Engine(direction, id) => handle_of_engine(comm, direction, id),
        other => handle_of_object(comm, other),
    }
}

/// The handle of an operation of the engine. One whose id does not fit into the 32 bits that a
/// handle has on MPICH's face gets an object.
#[inline]
fn handle_of_engine(comm: Option<&Arc<Comm>>, direction: Direction, id: RequestId) -> MPI_Request {
    let kind = if direction == Direction::Send { Kind::EngineSend } else { Kind::EngineReceive };
    match mpich::index_of(id.index) {
        Some(_) => encode_request(kind, id),
        None => handle_of_object(comm, Active::Engine(direction, id)),
    }
}

/// The handle of any other operation that was started.
pub fn handle_of_object(comm: Option<&Arc<Comm>>, active: Active) -> MPI_Request {
    REQUESTS.insert(Arc::new(Request::once(comm.cloned(), active)))
}

/// The handle of an operation on a window. One that is complete has nothing to remember, and
/// nothing is waited for: so progress is made here.
pub fn handle_of_window(win: &Arc<Win>, active: Active) -> MPI_Request {
    match active {
        Active::Done(Outcome { error: None, .. }) => {
            win.make_progress(process());
            ACCESSED_HANDLE
        }
        active => REQUESTS.insert(Arc::new(Request::of_window(win.clone(), active))),
    }
}

/// The handle of an operation on a file.
pub fn handle_of_file(file: &Arc<File>, active: Active) -> MPI_Request {
    REQUESTS.insert(Arc::new(Request::of_file(file.clone(), active)))
}

/// Finds what `handle` stands for; `MPI_ERR_REQUEST` if it is not a live request.
#[inline]
pub fn resolve(handle: MPI_Request) -> Result<Pending> {
    if handle == SENT_HANDLE || handle == ACCESSED_HANDLE {
        return Ok(Pending::Done);
    }
    if let Some((kind, id)) = decode_request(handle)
        && process().look_at(id, |engine, id| engine.contains(id))
    {
        let direction = if kind == Kind::EngineSend { Direction::Send } else { Direction::Receive };
        return Ok(Pending::Engine(direction, id));
    }
    if handle == mpi::MPI_REQUEST_NULL {
        Ok(Pending::Null)
    } else {
        Ok(Pending::Object(REQUESTS.get(handle)?))
    }
}

/// The number of the engine that has all of these requests, if one has and the first few say so: a
/// call that waits for them or asks after them looks there first.
#[inline]
pub fn engine_of(requests: &[MPI_Request]) -> Option<usize> {
    let active = requests.iter().filter(|&&handle| handle != mpi::MPI_REQUEST_NULL && handle != SENT_HANDLE);
    let mut numbers = active.take(LOOKED_AT_MAX).map(|&handle| Some(decode_request(handle)?.1.engine()));
    let first = numbers.next()??;
    numbers.all(|number| number == Some(first)).then_some(first)
}

/// Requests that are looked at to choose the engine that is looked at first.
const LOOKED_AT_MAX: usize = 4;

/// Returns whether there are requests here and all are sends and receives of the engine that are
/// under way. A test in a loop nearly always finds this. `false` says nothing.
#[inline]
pub fn all_under_way(process: &Process, requests: &[MPI_Request]) -> bool {
    let mut active = requests.iter().filter(|&&handle| handle != mpi::MPI_REQUEST_NULL);
    let Some((_, first)) = active.next().and_then(|&handle| decode_request(handle)) else { return false };
    // Most often one engine has them all.
    process.look_at(first, |engine, first_in_engine| {
        let is_there =
            |(_, id): (Kind, RequestId)| id.engine() == first.engine() && engine.is_pending(id.in_engine());
        engine.is_pending(first_in_engine)
            && active.all(|&handle| decode_request(handle).is_some_and(is_there))
    })
}

impl Pending {
    /// Returns the request's state. With `take`, engine or object forgets an ended operation; the
    /// caller then calls [`retire`].
    #[inline]
    pub fn look(&self, process: &Process, take: bool) -> State {
        match self {
            Pending::Null => State::Inactive,
            Pending::Done => State::Ended(Outcome::EMPTY),
            Pending::Engine(direction, id) if take => State::of(poll_engine(process, *direction, *id)),
            Pending::Engine(direction, id) => look_engine(process, *direction, *id),
            Pending::Object(request) => match request.look(process, take) {
                Look::Pending => State::Pending,
                Look::Inactive => State::Inactive,
                Look::Ended(outcome) => State::Ended(outcome),
                Look::InDoubt(outcome) => State::InDoubt(outcome),
            },
        }
    }

    /// Returns whether there is nothing to wait for, or it is in doubt. Calls no callback and
    /// changes nothing.
    pub fn is_ready(&self, process: &Process) -> bool {
        match self {
            Pending::Null | Pending::Done => true,
            Pending::Engine(_, id) => process.look_at(*id, |engine, id| !engine.is_pending(id)),
            Pending::Object(request) => request.is_ready(process),
        }
    }

    /// The operation of the request, for reports of programs that hang.
    #[cold]
    pub fn operations(&self, process: &Process) -> Vec<Operation> {
        match self {
            Pending::Null | Pending::Done => Vec::new(),
            Pending::Engine(_, id) => process.operation(*id).into_iter().collect(),
            Pending::Object(request) => request.operations(process),
        }
    }

    /// The object whose error handler hears of an error in `outcome`.
    pub fn owner(&self, outcome: &Outcome) -> Owner {
        if let Pending::Object(request) = self
            && let Some(win) = request.window()
        {
            return Owner::Win(win.handle());
        }
        if let Pending::Object(request) = self
            && let Some(file) = request.file()
        {
            return Owner::File(file.handle());
        }
        let comm = match self {
            Pending::Object(request) => request.comm().map(|comm| comm.handle()),
            Pending::Engine(..) => COMMS.find(|comm| comm.has_context(outcome.context)),
            _ => None,
        };
        comm.map_or(Owner::None, Owner::Comm)
    }
}

/// Looks at an engine's request and leaves its completion there.
fn look_engine(process: &Process, direction: Direction, id: RequestId) -> State {
    let found = process.look_at(id, |engine, id| Some((engine.context(id)?, engine.peek(id)?)));
    State::of(found.map(|(context, completion)| Outcome { context, ..Outcome::of(direction, completion) }))
}

/// Retires an ended request: a persistent one lives on, others become `MPI_REQUEST_NULL`.
pub fn retire(process: &Process, handle: &mut MPI_Request, pending: &Pending) -> Result<()> {
    let Pending::Object(request) = pending else {
        *handle = mpi::MPI_REQUEST_NULL;
        return Ok(());
    };
    if request.is_persistent() {
        return Ok(());
    }
    // The handle goes whatever the program's own free function says.
    let old = std::mem::replace(handle, mpi::MPI_REQUEST_NULL);
    REQUESTS.remove(old)?.release(process)
}

/// Waits for one request, retires it, and stores the status of an active one; `MPI_ERR_REQUEST` if
/// there is no such request. Sends and receives of the engine, by far the most frequent, need no
/// object and no outcome.
#[inline]
pub fn finish_into(
    process: &Process,
    handle: &mut MPI_Request,
    store: impl FnOnce(Option<Status>),
) -> std::result::Result<(), Failed> {
    if *handle == SENT_HANDLE {
        *handle = mpi::MPI_REQUEST_NULL;
        store(Some(Status::EMPTY));
        return Ok(());
    }
    // A trace wants to know of each completion.
    if !trace::is_on()
        && let Some(alone) = SingleThread::now()
        && let Some(id) = engine_receive(*handle)
    {
        // The guard must be gone before anything else is asked of the engine.
        let ended = process.engine_alone(alone).try_end(id.index, |its| its == id.generation);
        if let Some((source, tag, bytes)) = ended.or_else(|| process.finish_plain(alone, id)) {
            *handle = mpi::MPI_REQUEST_NULL;
            store(Some(Status::new(source, tag, bytes, false)));
            return Ok(());
        }
    }
    finish_any(process, handle, store)
}

/// The rest of [`finish_into`], for all but the most frequent requests.
#[inline(never)]
fn finish_any(
    process: &Process,
    handle: &mut MPI_Request,
    store: impl FnOnce(Option<Status>),
) -> std::result::Result<(), Failed> {
    if let Some((kind, id)) = decode_request(*handle)
        && let Some((completion, context)) = process.finish_known(id)
    {
        if completion.is_in_doubt() {
            store(Some(Status::EMPTY));
            return Err(failed_in(context, &completion));
        }
        *handle = mpi::MPI_REQUEST_NULL;
        store(Some(match kind {
            Kind::EngineSend => Status::EMPTY.with_cancelled(completion.cancelled),
            _ => Status::new(completion.source, completion.tag, completion.bytes, completion.cancelled),
        }));
        return match completion.failure {
            None => Ok(()),
            Some(_) => Err(failed_in(context, &completion)),
        };
    }
    finish_object(process, handle, store)
}

/// The error of an engine's operation, for the communicator of its context.
#[cold]
fn failed_in(context: u64, completion: &Completion) -> Failed {
    let comm = COMMS.find(|comm| comm.has_context(context));
    let error = completion_error(completion).expect("it failed");
    Failed::of(error, Some(comm.map_or(Owner::None, Owner::Comm)))
}

/// The rest of [`finish_into`], for requests that are not the engine's own.
#[inline(never)]
fn finish_object(
    process: &Process,
    handle: &mut MPI_Request,
    store: impl FnOnce(Option<Status>),
) -> std::result::Result<(), Failed> {
    let pending = resolve(*handle)?;
    let outcome = finish(process, handle, &pending)?;
    store(outcome.as_ref().map(status_of));
    outcome.and_then(|outcome| failed(&pending, &outcome)).map_or(Ok(()), Err)
}

/// Waits for one request and retires it, unless it is in doubt. `None` if it was null or inactive.
fn finish(process: &Process, handle: &mut MPI_Request, pending: &Pending) -> Result<Option<Outcome>> {
    let outcome = process.wait_for(
        |process| Awaited::All(pending.operations(process)),
        |process| match pending.look(process, true) {
            State::Pending => None,
            State::Inactive => Some(None),
            State::Ended(outcome) | State::InDoubt(outcome) => Some(Some(outcome)),
        },
    );
    if outcome.as_ref().is_some_and(|outcome| !outcome.is_in_doubt()) {
        retire(process, handle, pending)?;
    }
    Ok(outcome)
}

/// The status of an outcome.
#[inline]
pub fn status_of(outcome: &Outcome) -> Status {
    Status::new(outcome.source, outcome.tag, outcome.bytes as u64, outcome.cancelled)
}

/// The error in an outcome, with the object that hears of it.
pub fn failed(pending: &Pending, outcome: &Outcome) -> Option<Failed> {
    let error = outcome.error.clone()?;
    Some(Failed::of(error, Some(pending.owner(outcome))))
}

/// Returns `MPI_ERR_IN_STATUS` for calls that complete several operations; it tells of the first
/// that failed.
#[cold]
pub fn in_status(first: Failed) -> Failed {
    let Failed { error: Error { mut fault, class }, owner, .. } = first;
    // The operation's status has its own code.
    last_errors::keep(class, "an operation", &Words::of(&[]), &fault);
    fault.what = format!("an operation failed among those waited for: {}", fault.what);
    Failed { error: Error { class: mpi::MPI_ERR_IN_STATUS, fault }, owner, in_status: Some(class) }
}
