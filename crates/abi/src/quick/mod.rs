//! The quick ways of the most frequent calls: small messages of plain data, with one thread in MPI.
//!
//! An entry point with a quick way tries that first. It checks every argument as the general way does, but has no
//! words for what is wrong: `None` says that nothing happened, and the general way takes the call, checks
//! again and reports. So the two never differ in what they do, only in how many instructions it takes.
//!
//! The generator finds a quick way by its name, that of the call's body. If there is a second of that name with `_next`,
//! it is tried after the first, in a function of its own: the first, which calls nothing, then saves no registers. `_last` is a third
//! step of the same sort.

pub mod mpich;

use crate::args::{self, Address};
use crate::generated::types::{MPI_Comm, MPI_Datatype, MPI_Request};
use crate::handles::{COMMS, DATATYPES, engine_receive, handle_of_engine_receive};
use crate::predefined::element_bytes;
use crate::report::{Failed, Owner, raise};
use crate::requests::SENT_HANDLE;
use crate::state::{process, process_alone};
use crate::status::Status;
use std::ffi::{c_int, c_void};
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_engine::{Engine, Envelope, LINE_BYTES_MAX, RequestId};
use verbena_memory::{Buffer, Region};
use verbena_mpi::comm::Traffic;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::process::checked;
use verbena_mpi::{Comm, Process, point};
use verbena_waiting::lock::{Alone, AloneGuard};

/// The communicator and the buffer of a message, if they are plain.
///
/// # Safety
/// No code of the program runs while the communicator is used.
#[inline(always)]
unsafe fn plain(
    alone: Alone,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Option<(&'static Comm, Region)> {
    // SAFETY: this thread is alone in MPI, and the caller keeps the program's code away.
    let (comm, datatype) = unsafe { (COMMS.peek(alone, comm)?, DATATYPES.peek(alone, datatype)?) };
    if count < 0 || !datatype.is_committed() {
        return None;
    }
    Some((comm, args::solid(Address::new(buf), count, datatype)?))
}

/// Sends if the message can leave at once.
///
/// # Safety
/// As the call: the buffer holds what count and datatype say.
#[inline(always)]
unsafe fn leaves(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Option<()> {
    let (process, alone) = process_alone()?;
    // SAFETY: to send runs no code of the program.
    let (comm, region) = unsafe { plain(alone, buf, count, datatype, comm)? };
    let (peer, context, source) = point::address(comm, dest)?;
    if tag < 0 {
        return None;
    }
    process.engine_alone(alone).try_send_region(peer, context, (source, tag), region).then_some(())
}

/// As [`leaves`], for elements of a predefined datatype that fit a line of shared memory.
///
/// # Safety
/// As [`leaves`].
#[inline(always)]
unsafe fn leaves_in_line(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Option<()> {
    let region = args::solid_of(Address::new(buf), count, element_bytes(datatype), LINE_BYTES_MAX)?;
    let (process, alone) = process_alone()?;
    // SAFETY: this thread is alone in MPI, and to send runs no code of the program.
    let comm = unsafe { COMMS.peek(alone, comm)? };
    let (peer, context, source) = point::address(comm, dest)?;
    if tag < 0 {
        return None;
    }
    process.engine_alone(alone).try_send_line(peer, context, (source, tag), region).then_some(())
}

/// `MPI_Send` (MPI-5.0, 3.2.1).
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn send(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Option<c_int> {
    // SAFETY: the caller's promise.
    unsafe { leaves_in_line(buf, count, datatype, dest, tag, comm)? };
    Some(mpi::MPI_SUCCESS)
}

/// `MPI_Send` of what fits no line.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn send_next(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Option<c_int> {
    // SAFETY: the caller's promise.
    unsafe { leaves(buf, count, datatype, dest, tag, comm)? };
    Some(mpi::MPI_SUCCESS)
}

/// `MPI_Isend` (MPI-5.0, 3.7.2).
///
/// # Safety
/// The arguments are what the MPI standard asks for: pointers that are not null lead to memory that is the call's.
#[inline(always)]
pub unsafe fn isend(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> Option<c_int> {
    if request.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the request is not null.
    unsafe {
        leaves_in_line(buf, count, datatype, dest, tag, comm)?;
        *request = SENT_HANDLE;
    }
    Some(mpi::MPI_SUCCESS)
}

/// `MPI_Isend` of what fits no line.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn isend_next(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> Option<c_int> {
    if request.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the request is not null.
    unsafe {
        leaves(buf, count, datatype, dest, tag, comm)?;
        *request = SENT_HANDLE;
    }
    Some(mpi::MPI_SUCCESS)
}

/// What a receive from rank `source` into elements of a predefined datatype asks of the engine: the process, the matching
/// context and the memory.
///
/// # Safety
/// As [`isend`], and the buffer stays valid until the receive has ended.
#[inline(always)]
unsafe fn receipt(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    comm: MPI_Comm,
) -> Option<(AloneGuard<'static, Engine>, Peer, u64, Region)> {
    let region = args::solid_of(Address::new(buf), count, element_bytes(datatype), args::SOLID_BYTES_MAX)?;
    let (process, alone) = process_alone()?;
    // SAFETY: this thread is alone in MPI, and to receive runs no code of the program.
    let comm = unsafe { COMMS.peek(alone, comm)? };
    let peer = point::sender(comm, source)?;
    Some((process.engine_alone(alone), peer, comm.context(Traffic::Point), region))
}

/// Starts a receive.
///
/// # Safety
/// As [`isend`], and the buffer stays valid until the receive has ended.
#[inline(always)]
unsafe fn start_receive(
    (process, alone): (&Process, Alone),
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    (source, tag): (c_int, c_int),
    comm: MPI_Comm,
) -> Option<RequestId> {
    // SAFETY: to post a receive runs no code of the program.
    let (comm, region) = unsafe { plain(alone, buf, count, datatype, comm)? };
    let receive = point::receipt(comm, (Buffer::Contiguous(region), Mark::NONE), source, tag);
    let names_nobody = receive.peer.is_none() && source != mpi::MPI_ANY_SOURCE;
    if names_nobody || tag < 0 && tag != mpi::MPI_ANY_TAG {
        return None;
    }
    Some(process.engine_alone(alone).post(receive))
}

/// `MPI_Irecv` (MPI-5.0, 3.7.2).
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn irecv(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> Option<c_int> {
    if request.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the request is not null.
    unsafe {
        let id = started(buf, count, datatype, source, tag, comm)?;
        *request = handle_of_engine_receive(id);
    }
    Some(mpi::MPI_SUCCESS)
}

/// Starts a receive of the most frequent sort.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn started(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Option<RequestId> {
    // SAFETY: the caller's promise.
    let (mut engine, peer, context, region) = unsafe { receipt(buf, count, datatype, source, comm)? };
    engine.try_post(peer, context, (source, tag), region)
}

/// `MPI_Irecv` of what is rarer.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn irecv_next(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> Option<c_int> {
    if request.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the request is not null.
    unsafe {
        let id = start_receive(process_alone()?, buf, count, datatype, (source, tag), comm)?;
        *request = handle_of_engine_receive(id);
    }
    Some(mpi::MPI_SUCCESS)
}

/// `MPI_Recv` (MPI-5.0, 3.2.4) of a message that is there.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn recv(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: *mut Status,
) -> Option<c_int> {
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = received(buf, count, datatype, source, tag, comm)?;
        Status::tell(status, source, tag, bytes);
    }
    Some(mpi::MPI_SUCCESS)
}

/// Receives a message that is there, and returns its length.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn received(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Option<u64> {
    // SAFETY: the caller's promise.
    let (mut engine, peer, context, region) = unsafe { receipt(buf, count, datatype, source, comm)? };
    // No message has a tag below 0, so such a one is found out elsewhere.
    engine.try_receive_line(peer, context, (source, tag), region)
}

/// `MPI_Iprobe` (MPI-5.0, 3.8.1).
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn iprobe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    flag: *mut c_int,
    status: *mut Status,
) -> Option<c_int> {
    if flag.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the flag is not null.
    unsafe {
        let found = probed(source, tag, comm)?;
        *flag = found.is_some().into();
        if let Some(found) = found {
            Status::tell(status, found.source, found.tag, found.bytes);
        }
    }
    Some(mpi::MPI_SUCCESS)
}

/// The message that a receive would match, or that there is none.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn probed(source: c_int, tag: c_int, comm: MPI_Comm) -> Option<Option<Envelope>> {
    let (process, alone) = process_alone()?;
    // SAFETY: this thread is alone in MPI, and to probe runs no code of the program.
    let comm = unsafe { COMMS.peek(alone, comm)? };
    let known = (source as u32) < comm.targets().size() as u32 || source == mpi::MPI_ANY_SOURCE;
    if !known || tag < 0 && tag != mpi::MPI_ANY_TAG {
        return None;
    }
    process.probe_alone(alone, comm.context(Traffic::Point), source, tag)
}

/// `MPI_Recv` of what is rarer, or has still to come.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn recv_next(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: *mut Status,
) -> Option<c_int> {
    // SAFETY: the caller's promise.
    match unsafe { waited_for(buf, count, datatype, source, tag, comm)? } {
        // SAFETY: as above.
        Ok((source, tag, bytes)) => unsafe { Status::tell(status, source, tag, bytes) },
        // SAFETY: as above.
        Err(id) => return Some(unsafe { end_receive(id, comm, status) }),
    }
    Some(mpi::MPI_SUCCESS)
}

/// Receives a message, and waits until it is there: source, tag and bytes; or the request of a receive that ends otherwise than
/// receives usually do, for [`end_receive`].
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn waited_for(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Option<Result<(i32, i32, u64), RequestId>> {
    let (process, alone) = process_alone()?;
    // SAFETY: the caller's promise.
    let id = unsafe { start_receive((process, alone), buf, count, datatype, (source, tag), comm)? };
    Some(process.finish_plain(alone, id).ok_or(id))
}

/// The end of a blocking receive that failed: the error code.
///
/// # Safety
/// Unless it is `MPI_STATUS_IGNORE`, `status` leads to a status that only this call uses.
#[cold]
#[inline(never)]
pub unsafe fn end_receive(id: RequestId, comm: MPI_Comm, status: *mut Status) -> c_int {
    let completion = process().finish_request(id);
    let ended = Status::new(completion.source, completion.tag, completion.bytes, completion.cancelled);
    if !status.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *status = ended.with_error((*status).MPI_ERROR) };
    }
    match checked(completion) {
        Ok(_) => mpi::MPI_SUCCESS,
        Err(error) => raise("MPI_Recv", Owner::Comm(comm), Failed::from(error)),
    }
}

/// `MPI_Wait` (MPI-5.0, 3.7.3) for a send that is complete.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn wait(request: *mut MPI_Request, status: *mut Status) -> Option<c_int> {
    // SAFETY: the caller's promise, after the request was found not to be null.
    unsafe {
        if request.is_null() || *request != SENT_HANDLE {
            return None;
        }
        process_alone()?;
        *request = mpi::MPI_REQUEST_NULL;
        Status::tell(status, mpi::MPI_ANY_SOURCE, mpi::MPI_ANY_TAG, 0);
    }
    Some(mpi::MPI_SUCCESS)
}

/// `MPI_Wait` for a receive of which the message is there.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn wait_next(request: *mut MPI_Request, status: *mut Status) -> Option<c_int> {
    if request.is_null() {
        return None;
    }
    let (process, alone) = process_alone()?;
    // SAFETY: the caller's promise; the request is not null.
    unsafe {
        let RequestId { index, generation } = engine_receive(*request)?;
        let mut engine = process.engine_alone(alone);
        let (source, tag, bytes) = engine.try_end(index, |its| its == generation)?;
        *request = mpi::MPI_REQUEST_NULL;
        Status::tell(status, source, tag, bytes);
    }
    Some(mpi::MPI_SUCCESS)
}

/// `MPI_Wait` for any other receive.
///
/// # Safety
/// As [`isend`].
#[inline(always)]
pub unsafe fn wait_last(request: *mut MPI_Request, status: *mut Status) -> Option<c_int> {
    if request.is_null() {
        return None;
    }
    let (process, alone) = process_alone()?;
    // SAFETY: the caller's promise; the request is not null.
    unsafe {
        let (source, tag, bytes) = process.finish_plain(alone, engine_receive(*request)?)?;
        *request = mpi::MPI_REQUEST_NULL;
        Status::tell(status, source, tag, bytes);
    }
    Some(mpi::MPI_SUCCESS)
}
