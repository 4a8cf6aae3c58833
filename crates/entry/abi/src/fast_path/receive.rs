//! Receives of contiguous data, and probes (MPI-5.0, 3.2.4, 3.7.2 and 3.8.1).

use super::{Face, Incoming, Rungs, contiguous};
use crate::args::{self, Address};
use crate::generated::types::MPI_Comm;
use crate::handles::COMMS;
use crate::predefined::element_bytes;
use crate::state::process_alone;
use std::ffi::c_int;
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_engine::{Engine, ReceiveRequest, RequestId};
use verbena_memory::{Buffer, Region};
use verbena_mpi::comm::Traffic;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Process, point};
use verbena_waiting::lock::{SingleThread, SingleThreadGuard};

/// The engine, sender, matching context and memory of a receive from one process into elements of a
/// predefined datatype.
///
/// # Safety
/// As [`Rungs::recv_in_a_line`], and the buffer stays valid until the receive has ended.
#[inline(always)]
unsafe fn from_one(message: &Incoming) -> Option<(SingleThreadGuard<'static, Engine>, Peer, u64, Region)> {
    let bytes = element_bytes(message.datatype);
    let region = args::solid_of(Address::new(message.buf), message.count, bytes, args::SOLID_BYTES_MAX)?;
    let (process, alone) = process_alone()?;
    // SAFETY: this thread is alone in MPI, and receiving runs no code of the program.
    let comm = unsafe { COMMS.peek(alone, message.comm)? };
    let peer = point::sender(comm, message.source)?;
    Some((process.engine_alone(alone), peer, comm.context(Traffic::Point), region))
}

/// Starts a receive of contiguous data from any process.
///
/// # Safety
/// As [`from_one`].
#[inline(always)]
unsafe fn start<F: Face>((process, alone): (&Process, SingleThread), message: Incoming) -> Option<RequestId> {
    let Incoming { buf, count, datatype, source, tag, comm } = message;
    // SAFETY: posting a receive runs no code of the program.
    let (comm, region) = unsafe { contiguous(alone, buf, count, datatype, comm)? };
    let peer = point::sender(comm, source);
    // Any other value below 0 may be a wildcard of the other face.
    if peer.is_none() && source != F::ANY_SOURCE || tag < 0 && tag != F::ANY_TAG {
        return None;
    }
    let source = translated(source, F::ANY_SOURCE, mpi::MPI_ANY_SOURCE);
    let tag = translated(tag, F::ANY_TAG, mpi::MPI_ANY_TAG);
    let (context, buffer, mark) = (comm.context(Traffic::Point), Buffer::Contiguous(region), Mark::NONE);
    let receive = ReceiveRequest { peer, context, source, tag, buffer, mark };
    Some(process.engine_alone(alone).post(receive))
}

/// Translates a rank or tag, which is the face's wildcard or not below 0, for the engine.
#[inline(always)]
fn translated(value: c_int, wildcard: c_int, standard: c_int) -> c_int {
    // The first comparison is of constants: on the standard face nothing is left of all this.
    if wildcard != standard && value == wildcard { standard } else { value }
}

impl<F: Face> Rungs<F> {
    /// `MPI_Irecv` from one process into elements of a predefined datatype, while no message is
    /// unexpected.
    ///
    /// # Safety
    /// As [`Rungs::recv_in_a_line`], and the buffer stays valid until the receive has ended.
    #[inline(always)]
    pub unsafe fn irecv_at_once(message: Incoming, request: *mut F::Request) -> Option<c_int> {
        if request.is_null() {
            return None;
        }
        // SAFETY: the caller's promise; the request is not null.
        unsafe {
            let (mut engine, peer, context, region) = from_one(&message)?;
            let id = engine.try_post(peer, context, (message.source, message.tag), region)?;
            request.write(F::receive(id));
        }
        Some(mpi::MPI_SUCCESS)
    }

    /// `MPI_Irecv` of contiguous data.
    ///
    /// # Safety
    /// As [`Rungs::irecv_at_once`].
    #[inline(always)]
    pub unsafe fn irecv_contiguous(message: Incoming, request: *mut F::Request) -> Option<c_int> {
        if request.is_null() {
            return None;
        }
        // SAFETY: the caller's promise; the request is not null.
        unsafe {
            let id = start::<F>(process_alone()?, message)?;
            request.write(F::receive(id));
        }
        Some(mpi::MPI_SUCCESS)
    }

    /// `MPI_Recv` of a message that is there, in a line of shared memory.
    ///
    /// # Safety
    /// The arguments are what the MPI standard asks for: pointers that are not null lead to memory
    /// that is the call's.
    #[inline(always)]
    pub unsafe fn recv_in_a_line(message: Incoming, status: *mut F::Status) -> Option<c_int> {
        let (source, tag) = (message.source, message.tag);
        // SAFETY: the caller's promise.
        unsafe {
            let (mut engine, peer, context, region) = from_one(&message)?;
            // No message has a tag below 0, so a wildcard or a wrong tag is handled elsewhere.
            let bytes = engine.try_receive_line(peer, context, (source, tag), region)?;
            F::tell(status, source, tag, bytes);
        }
        Some(mpi::MPI_SUCCESS)
    }

    /// `MPI_Recv` of contiguous data; waits for the message.
    ///
    /// # Safety
    /// As [`Rungs::recv_in_a_line`].
    #[inline(always)]
    pub unsafe fn recv_contiguous(message: Incoming, status: *mut F::Status) -> Option<c_int> {
        let comm = message.comm;
        let (process, alone) = process_alone()?;
        // SAFETY: the caller's promise.
        unsafe {
            let id = start::<F>((process, alone), message)?;
            match process.finish_plain(alone, id) {
                Some((source, tag, bytes)) => F::tell(status, source, tag, bytes),
                None => return Some(F::end_receive(id, comm, status)),
            }
        }
        Some(mpi::MPI_SUCCESS)
    }

    /// `MPI_Iprobe`, unless a process that finds nothing should yield.
    ///
    /// # Safety
    /// As [`Rungs::recv_in_a_line`].
    #[inline(always)]
    pub unsafe fn iprobe_at_once(
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        flag: *mut c_int,
        status: *mut F::Status,
    ) -> Option<c_int> {
        if flag.is_null() {
            return None;
        }
        let (process, alone) = process_alone()?;
        // SAFETY: this thread is alone in MPI, and probing runs no code of the program.
        let comm = unsafe { COMMS.peek(alone, comm)? };
        let known = (source as u32) < comm.targets().size() as u32 || source == F::ANY_SOURCE;
        if !known || tag < 0 && tag != F::ANY_TAG {
            return None;
        }
        let source = translated(source, F::ANY_SOURCE, mpi::MPI_ANY_SOURCE);
        let tag = translated(tag, F::ANY_TAG, mpi::MPI_ANY_TAG);
        let found = process.probe_alone(alone, comm.context(Traffic::Point), source, tag)?;
        // SAFETY: the caller's promise; the flag is not null.
        unsafe {
            flag.write(found.is_some().into());
            if let Some(found) = found {
                F::tell(status, found.source, found.tag, found.bytes);
            }
        }
        Some(mpi::MPI_SUCCESS)
    }
}
