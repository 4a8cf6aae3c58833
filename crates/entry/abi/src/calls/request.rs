//! Requests as objects: persistent ones, freeing, cancelling, generalized requests
//! (MPI-5.0, 3.7.3, 3.8.4, 3.9 and 13.2).

use super::point::elements;
use crate::args::{Address, InOut, Out, OutFlag};
use crate::generated::types::{
    MPI_Grequest_cancel_function, MPI_Grequest_free_function, MPI_Grequest_query_function, MPI_Request,
};
use crate::handles::REQUESTS;
use crate::process;
use crate::report::{Failed, Owner};
use crate::requests::{ACCESSED_HANDLE, Pending, resolve};
use crate::status::Status;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};
use verbena_engine::Mode;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::point::Elements;
use verbena_mpi::request::{Active, Generalized, Outcome, Request, cancelled_access};
use verbena_mpi::{Comm, Datatype, Error, Process, Result, point};

/// Makes a persistent request that `start` performs with the engine.
fn persistent(
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
    start: impl Fn(&Comm) -> Result<Active> + Send + Sync + 'static,
) -> Result<()> {
    let on = comm.clone();
    let starter = Box::new(move |_: &Process| start(&on));
    request.set(REQUESTS.insert(Arc::new(Request::persistent(comm.clone(), starter))));
    Ok(())
}

fn persistent_send(
    to: (Elements, i32, i32),
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
    mode: Mode,
) -> Result<()> {
    let (elements, dest, tag) = to;
    persistent(comm, request, move |comm| Ok(point::send(process(), comm, elements.clone(), dest, tag, mode)))
}

/// `MPI_Send_init` (3.9).
pub fn send_init(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    persistent_send((elements(buf, count, datatype)?, dest, tag), comm, request, Mode::Standard)
}

/// `MPI_Ssend_init` (3.9).
pub fn ssend_init(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    persistent_send((elements(buf, count, datatype)?, dest, tag), comm, request, Mode::Synchronous)
}

/// `MPI_Rsend_init` (3.9).
pub fn rsend_init(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    persistent_send((elements(buf, count, datatype)?, dest, tag), comm, request, Mode::Standard)
}

/// `MPI_Bsend_init` (3.9).
pub fn bsend_init(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    let elements = elements(buf, count, datatype)?;
    persistent(comm, request, move |comm| {
        super::buffered::send_from(comm, elements.clone(), dest, tag)?;
        Ok(Active::Done(Outcome::EMPTY))
    })
}

/// `MPI_Recv_init` (3.9).
pub fn recv_init(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    let elements = elements(buf, count, datatype)?;
    persistent(comm, request, move |comm| Ok(point::receive(process(), comm, elements.clone(), source, tag)))
}

/// `MPI_Start` (3.9).
pub fn start(request: InOut<MPI_Request>) -> std::result::Result<(), Failed> {
    start_one(request.get())
}

/// `MPI_Startall` (3.9).
pub fn startall(_count: i32, requests: &mut [MPI_Request]) -> std::result::Result<(), Failed> {
    requests.iter().try_for_each(|&handle| start_one(handle))
}

fn start_one(handle: MPI_Request) -> std::result::Result<(), Failed> {
    let request = REQUESTS.get(handle)?;
    let owner = request.comm().map(|comm| Owner::Comm(comm.handle()));
    request.start(process()).map_err(|error| Failed::of(error, owner))
}

/// `MPI_Request_free` (3.7.3): an active operation completes by itself, except a partitioned one
/// (4.2.1).
pub fn request_free(request: InOut<MPI_Request>) -> Result<()> {
    let handle = request.get();
    match resolve(handle)? {
        Pending::Null => return Err(null_request()),
        Pending::Done => (),
        Pending::Engine(_, id) => process().command_at(id, |engine, id| engine.forget(id)),
        Pending::Object(object) => {
            object.check_free(process())?;
            free_object(handle)?;
        }
    }
    request.set(mpi::MPI_REQUEST_NULL);
    Ok(())
}

/// The generalized requests that were freed before they were complete. Their handles are invalid,
/// but not for `MPI_Grequest_complete`, which then frees them (13.2).
static FREED: Mutex<BTreeMap<MPI_Request, Arc<Request>>> = Mutex::new(BTreeMap::new());

/// Frees a request that has an object.
fn free_object(handle: MPI_Request) -> Result<()> {
    let mut freed = FREED.lock().unwrap();
    let object = REQUESTS.remove(handle)?;
    if object.is_incomplete_generalized() {
        freed.insert(handle, object);
        return Ok(());
    }
    drop(freed);
    object.release(process())
}

/// `MPI_Cancel` (3.8.4).
pub fn cancel(request: InOut<MPI_Request>) -> Result<()> {
    let handle = request.get();
    match resolve(handle)? {
        Pending::Null => Err(null_request()),
        Pending::Done if handle == ACCESSED_HANDLE => Err(cancelled_access()),
        Pending::Done => Ok(()),
        Pending::Engine(_, id) => {
            verbena_mpi::request::cancel(process(), id);
            Ok(())
        }
        Pending::Object(object) => object.cancel(process()),
    }
}

#[cold]
fn null_request() -> Error {
    Error::new(
        mpi::MPI_ERR_REQUEST,
        "the request is null",
        "MPI_REQUEST_NULL",
        "it was completed or freed already, or never started",
        "pass a live request",
    )
}

/// `MPI_Test_cancelled` (3.8.5).
pub fn test_cancelled(status: &Status, flag: OutFlag) -> Result<()> {
    flag.set(status.is_cancelled());
    Ok(())
}

/// The program's callbacks of a generalized request.
struct Callbacks {
    query: MPI_Grequest_query_function,
    free: MPI_Grequest_free_function,
    cancel: MPI_Grequest_cancel_function,
    extra_state: usize,
}

/// Makes a result of a callback's code.
fn callback_result(name: &str, code: i32) -> Result<()> {
    if code == mpi::MPI_SUCCESS {
        return Ok(());
    }
    Err(Error::new(
        code,
        format!("the {name} function of a generalized request failed"),
        format!("it returned {code}"),
        "the program's own function reported an error",
        "look at what that function does",
    ))
}

impl Generalized for Callbacks {
    fn query(&self) -> Result<Outcome> {
        let mut status = Status::EMPTY;
        let code = match self.query {
            // SAFETY: the program gave this function for just this call (MPI-5.0, 13.2).
            Some(query) => unsafe { query(self.extra_state as *mut c_void, &mut status) },
            None => mpi::MPI_SUCCESS,
        };
        let error = callback_result("query", code).err();
        Ok(Outcome {
            source: status.MPI_SOURCE,
            tag: status.MPI_TAG,
            bytes: status.bytes() as i64,
            cancelled: status.is_cancelled(),
            error,
            context: 0,
        })
    }

    fn free(&self) -> Result<()> {
        let code = match self.free {
            // SAFETY: as above.
            Some(free) => unsafe { free(self.extra_state as *mut c_void) },
            None => mpi::MPI_SUCCESS,
        };
        callback_result("free", code)
    }

    fn cancel(&self, complete: bool) -> Result<()> {
        let code = match self.cancel {
            // SAFETY: as above.
            Some(cancel) => unsafe { cancel(self.extra_state as *mut c_void, complete.into()) },
            None => mpi::MPI_SUCCESS,
        };
        callback_result("cancel", code)
    }
}

/// `MPI_Grequest_start` (13.2).
pub fn grequest_start(
    query_fn: MPI_Grequest_query_function,
    free_fn: MPI_Grequest_free_function,
    cancel_fn: MPI_Grequest_cancel_function,
    extra_state: *mut c_void,
    request: Out<MPI_Request>,
) -> Result<()> {
    let callbacks =
        Callbacks { query: query_fn, free: free_fn, cancel: cancel_fn, extra_state: extra_state as usize };
    request.set(REQUESTS.insert(Arc::new(Request::generalized(Box::new(callbacks)))));
    Ok(())
}

/// `MPI_Grequest_complete` (13.2).
pub fn grequest_complete(request: MPI_Request) -> Result<()> {
    let mut freed = FREED.lock().unwrap();
    let Some(object) = freed.remove(&request) else {
        return REQUESTS.get(request)?.complete(process());
    };
    // The program's function may call MPI.
    drop(freed);
    object.complete(process())?;
    object.release(process())
}
