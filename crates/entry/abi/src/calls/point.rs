//! Sending, receiving and probing (MPI-5.0, 3.2 to 3.11).

use crate::args::{self, Address, InOut, Out, OutFlag, StatusOut};
use crate::generated::types::{MPI_Message, MPI_Request};
use crate::handles::{COMMS, Kind, decode, encode};
use crate::process;
use crate::report::{Failed, Owner};
use crate::requests::{handle_of_object, handle_of_receive, sent, start_receive, start_send, status_of};
use crate::status::Status;
use crate::table::Place;
use std::sync::Arc;
use verbena_engine::{Completion, Envelope, MessageId, Mode};
use verbena_memory::Buffer;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::point::Elements;
use verbena_mpi::process::checked;
use verbena_mpi::request::{Active, Outcome};
use verbena_mpi::{Comm, Datatype, Error, Process, Result, point};

/// Stores the status of a completed blocking call, if it is wanted, and returns its error.
#[inline]
fn conclude(outcome: Outcome, status: Option<StatusOut<'_>>) -> Result<()> {
    if let Some(status) = status {
        status.set(status_of(&outcome));
    }
    outcome.error.map_or(Ok(()), Err)
}

/// The elements of a message, and its mark.
#[inline]
pub(super) fn elements(address: Address, count: i64, datatype: &Arc<Datatype>) -> Result<Elements> {
    Ok((args::buffer(address, count, datatype)?, point::mark(datatype, count)))
}

#[inline(always)]
fn send_mode(
    b: Address,
    count: i64,
    d: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Comm,
    mode: Mode,
) -> Result<()> {
    let elements = elements(b, count, d)?;
    if dest == mpi::MPI_PROC_NULL {
        return Ok(());
    }
    let process = process();
    let message = point::message(comm, elements, dest, tag, mode);
    let completion = match process.start_send(comm.engine(), message) {
        Ok(None) => return Ok(()),
        Ok(Some(id)) => process.finish_request(id),
        Err(failed) => *failed,
    };
    checked(completion).map(drop)
}

#[inline]
fn isend_mode(
    (elements, dest, tag): (Elements, i32, i32),
    comm: &Arc<Comm>,
    mode: Mode,
    request: Out<MPI_Request>,
) -> Result<()> {
    request.set(match dest {
        mpi::MPI_PROC_NULL => sent(),
        _ => start_send(process(), comm, point::message(comm, elements, dest, tag, mode)),
    });
    Ok(())
}

/// `MPI_Send` (3.2.1).
#[inline]
pub fn send(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    send_mode(buf, count, datatype, dest, tag, comm, Mode::Standard)
}

/// `MPI_Ssend` (3.4).
pub fn ssend(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    send_mode(buf, count, datatype, dest, tag, comm, Mode::Synchronous)
}

/// `MPI_Rsend` (3.4): the receive is posted already, so a standard send will do.
pub fn rsend(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    send_mode(buf, count, datatype, dest, tag, comm, Mode::Standard)
}

/// `MPI_Bsend` (3.4): complete when the message is in the attached buffer.
pub fn bsend(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    super::buffered::send_from(comm, elements(buf, count, datatype)?, dest, tag)
}

/// `MPI_Isend` (3.7.2).
#[inline]
pub fn isend(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    isend_mode((elements(buf, count, datatype)?, dest, tag), comm, Mode::Standard, request)
}

/// `MPI_Issend` (3.7.2).
pub fn issend(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    isend_mode((elements(buf, count, datatype)?, dest, tag), comm, Mode::Synchronous, request)
}

/// `MPI_Irsend` (3.7.2).
pub fn irsend(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    isend_mode((elements(buf, count, datatype)?, dest, tag), comm, Mode::Standard, request)
}

/// `MPI_Ibsend` (3.7.2): complete when the message is in the attached buffer, which is at once.
pub fn ibsend(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    super::buffered::send_from(comm, elements(buf, count, datatype)?, dest, tag)?;
    request.set(sent());
    Ok(())
}

/// `MPI_Recv` (3.2.4).
#[inline]
pub fn recv(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    status: StatusOut,
) -> Result<()> {
    let buffer = args::buffer(buf, count, datatype)?;
    if source == mpi::MPI_PROC_NULL {
        status.set(Status::PROC_NULL);
        return Ok(());
    }
    let process = process();
    let has_gaps = buffer.region().is_none();
    let receive = point::receipt(comm, (buffer, point::mark(datatype, count)), source, tag);
    let posted = process.receive_in(comm.engine(), receive);
    let completion = process.finish(posted);
    status.set(Status::new(completion.source, completion.tag, completion.bytes, completion.cancelled));
    let completion = checked(completion)?;
    // Checked only where elements are unpacked one by one anyhow.
    match has_gaps && datatype.elements_in(completion.bytes).is_none() {
        true => Err(cut_element(&completion)),
        false => Ok(()),
    }
}

#[cold]
fn cut_element(completion: &Completion) -> Error {
    Error::new(
        mpi::MPI_ERR_TYPE,
        "a message ended within an element of the receive's datatype",
        format!("{} bytes from rank {} with tag {}", completion.bytes, completion.source, completion.tag),
        "the datatypes of the send and the receive do not match (MPI-5.0, 3.3.1)",
        "use datatypes with the same basic elements on both sides",
    )
}

/// `MPI_Irecv` (3.7.2).
#[inline]
pub fn irecv(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    let elements = elements(buf, count, datatype)?;
    request.set(match source {
        mpi::MPI_PROC_NULL => handle_of_receive(Some(comm), Active::Done(Outcome::NO_PROCESS)),
        _ => start_receive(process(), comm, point::receipt(comm, elements, source, tag)),
    });
    Ok(())
}

/// `MPI_Sendrecv` (3.11).
#[allow(clippy::too_many_arguments)]
pub fn sendrecv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: &Arc<Datatype>,
    dest: i32,
    sendtag: i32,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    source: i32,
    recvtag: i32,
    comm: &Arc<Comm>,
    status: StatusOut,
) -> Result<()> {
    let (out, into) = (elements(sendbuf, sendcount, sendtype)?, elements(recvbuf, recvcount, recvtype)?);
    exchange(comm, (out, dest, sendtag), (into, source, recvtag), status)
}

/// `MPI_Sendrecv_replace` (3.11).
#[allow(clippy::too_many_arguments)]
pub fn sendrecv_replace(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: &Arc<Comm>,
    status: StatusOut,
) -> Result<()> {
    let into = args::buffer(buf, count, datatype)?;
    // The owner lives to the end of this call, and `exchange` returns when both operations have
    // ended.
    let copy = args::copy_for(dest, &into);
    let mark = point::mark(datatype, count);
    let out = (Buffer::Contiguous(copy.lend()), mark);
    exchange(comm, (out, dest, sendtag), ((into, mark), source, recvtag), status)
}

/// `MPI_Isendrecv` (3.11).
#[allow(clippy::too_many_arguments)]
pub fn isendrecv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: &Arc<Datatype>,
    dest: i32,
    sendtag: i32,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    source: i32,
    recvtag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    let (out, into) = (elements(sendbuf, sendcount, sendtype)?, elements(recvbuf, recvcount, recvtype)?);
    let active = point::exchange(process(), comm, (out, dest, sendtag), (into, source, recvtag), None);
    request.set(handle_of_object(Some(comm), active));
    Ok(())
}

/// `MPI_Isendrecv_replace` (3.11).
#[allow(clippy::too_many_arguments)]
pub fn isendrecv_replace(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    let into = args::buffer(buf, count, datatype)?;
    let copy = args::copy_for(dest, &into);
    let mark = point::mark(datatype, count);
    let out = ((Buffer::Contiguous(copy.lend()), mark), dest, sendtag);
    let active = point::exchange(process(), comm, out, ((into, mark), source, recvtag), Some(copy));
    request.set(handle_of_object(Some(comm), active));
    Ok(())
}

/// Sends and receives at once; both have ended when it returns.
fn exchange(
    comm: &Comm,
    (out, dest, sendtag): (Elements, i32, i32),
    (into, source, recvtag): (Elements, i32, i32),
    status: StatusOut,
) -> Result<()> {
    let receive = point::receive(process(), comm, into, source, recvtag);
    let send = point::send(process(), comm, out, dest, sendtag, Mode::Standard);
    let sent = point::wait(process(), &send);
    conclude(point::wait(process(), &receive), Some(status))?;
    conclude(sent, None)
}

fn envelope_status(envelope: Envelope) -> Status {
    status_of(&envelope.into())
}

/// Waits until `look` finds something; fails if nothing can come any more.
fn wait_or_lose<T>(
    comm: &Comm,
    (source, tag): (i32, i32),
    look: impl Fn(&Process) -> Option<T>,
) -> Result<T> {
    process().wait_in(
        Some(comm.engine()),
        |_| point::probed(comm, source, tag),
        |process| look(process).map(Ok).or_else(|| point::loss(process, comm, source).map(Err)),
    )
}

/// `MPI_Probe` (3.8.1).
pub fn probe(source: i32, tag: i32, comm: &Arc<Comm>, status: StatusOut) -> Result<()> {
    if source == mpi::MPI_PROC_NULL {
        status.set(Status::PROC_NULL);
        return Ok(());
    }
    let envelope = wait_or_lose(comm, (source, tag), |process| point::probe(process, comm, source, tag))?;
    status.set(envelope_status(envelope));
    Ok(())
}

/// `MPI_Iprobe` (3.8.1).
pub fn iprobe(source: i32, tag: i32, comm: &Arc<Comm>, flag: OutFlag, status: StatusOut) -> Result<()> {
    if source == mpi::MPI_PROC_NULL {
        status.set(Status::PROC_NULL);
        flag.set(true);
        return Ok(());
    }
    let found = point::probe(process(), comm, source, tag);
    flag.set(found.is_some());
    match found {
        Some(envelope) => status.set(envelope_status(envelope)),
        None => check_loss(comm, source)?,
    }
    Ok(())
}

/// Returns the error of a probe that will never find anything, since a process was lost. The loop
/// of a program around it would not end.
fn check_loss(comm: &Comm, source: i32) -> Result<()> {
    point::loss(process(), comm, source).map_or(Ok(()), Err)
}

fn message_handle(id: MessageId) -> MPI_Message {
    encode(Kind::Message, Place { index: id.index, generation: id.generation })
}

/// `MPI_Mprobe` (3.8.2).
pub fn mprobe(
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    message: Out<MPI_Message>,
    status: StatusOut,
) -> Result<()> {
    if source == mpi::MPI_PROC_NULL {
        status.set(Status::PROC_NULL);
        message.set(mpi::MPI_MESSAGE_NO_PROC);
        return Ok(());
    }
    let (id, envelope) =
        wait_or_lose(comm, (source, tag), |process| point::match_probe(process, comm, source, tag))?;
    message.set(message_handle(id));
    status.set(envelope_status(envelope));
    Ok(())
}

/// `MPI_Improbe` (3.8.2).
pub fn improbe(
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    flag: OutFlag,
    message: Out<MPI_Message>,
    status: StatusOut,
) -> Result<()> {
    if source == mpi::MPI_PROC_NULL {
        flag.set(true);
        return mprobe(source, tag, comm, message, status);
    }
    let found = point::match_probe(process(), comm, source, tag);
    flag.set(found.is_some());
    message.set(found.map_or(mpi::MPI_MESSAGE_NULL, |(id, _)| message_handle(id)));
    match found {
        Some((_, envelope)) => status.set(envelope_status(envelope)),
        None => check_loss(comm, source)?,
    }
    Ok(())
}

/// Starts to receive the message of this handle, which becomes null. Returns the receive and the
/// message's context.
fn start_matched(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    message: InOut<MPI_Message>,
) -> Result<(Active, u64)> {
    let elements = elements(buf, count, datatype)?;
    let handle = message.get();
    if handle == mpi::MPI_MESSAGE_NO_PROC {
        message.set(mpi::MPI_MESSAGE_NULL);
        return Ok((Active::Done(Outcome::NO_PROCESS), Outcome::NO_PROCESS.context));
    }
    let place = decode(Kind::Message, handle).ok_or_else(|| no_message(handle))?;
    let id = MessageId { index: place.index, generation: place.generation };
    let context = process().look_at_message(id, |engine, id| engine.context_of_message(id));
    let context = context.ok_or_else(|| no_message(handle))?;
    message.set(mpi::MPI_MESSAGE_NULL);
    Ok((point::receive_matched(process(), id, elements), context))
}

#[cold]
fn no_message(handle: MPI_Message) -> Error {
    Error::new(
        mpi::MPI_ERR_REQUEST,
        "not a message that a matching probe gave out",
        format!("message handle {handle:#x}"),
        "it is null, was received already, or was never set",
        "pass the handle that MPI_Mprobe or MPI_Improbe returned, once",
    )
}

/// `MPI_Mrecv` (3.8.3).
pub fn mrecv(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    message: InOut<MPI_Message>,
    status: StatusOut,
) -> std::result::Result<(), Failed> {
    let (active, context) = start_matched(buf, count, datatype, message)?;
    conclude(point::wait(process(), &active), Some(status)).map_err(|error| {
        let owner = COMMS.find(|comm| comm.has_context(context)).map(Owner::Comm);
        Failed::of(error, owner)
    })
}

/// `MPI_Imrecv` (3.8.3).
pub fn imrecv(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    message: InOut<MPI_Message>,
    request: Out<MPI_Request>,
) -> Result<()> {
    let (active, context) = start_matched(buf, count, datatype, message)?;
    // An error that is there already belongs to the message's communicator; later ones are known by
    // their context.
    let comm = match &active {
        Active::Done(Outcome { error: Some(_), .. }) => COMMS.find(|comm| comm.has_context(context)),
        _ => None,
    };
    let comm = comm.and_then(|handle| COMMS.get(handle).ok().map(|comm| comm.clone()));
    request.set(handle_of_receive(comm.as_ref(), active));
    Ok(())
}
