//! Sends that leave at once (MPI-5.0, 3.2.1 and 3.7.2).

use super::{Face, Outgoing, Rungs, contiguous};
use crate::args::{self, Address};
use crate::handles::COMMS;
use crate::predefined::element_bytes;
use crate::state::process_alone;
use std::ffi::c_int;
use verbena_engine::LINE_BYTES_MAX;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::point;

impl<F: Face> Rungs<F> {
    /// `MPI_Send` of elements of a predefined datatype that fit into a line of shared memory.
    ///
    /// # Safety
    /// The arguments are what the MPI standard asks for: pointers that are not null lead to memory
    /// that is the call's, and the buffer holds what count and datatype say.
    #[inline(always)]
    pub unsafe fn send_in_a_line(message: Outgoing) -> Option<c_int> {
        let Outgoing { buf, count, datatype, dest, tag, comm } = message;
        let region = args::solid_of(Address::new(buf), count, element_bytes(datatype), LINE_BYTES_MAX)?;
        let (process, alone) = process_alone()?;
        // SAFETY: this thread is alone in MPI, and sending runs no code of the program.
        let comm = unsafe { COMMS.peek(alone, comm)? };
        let (peer, context, source) = point::address(comm, dest)?;
        if tag < 0 {
            return None;
        }
        let sent = process.engine_alone(alone).try_send_line(peer, context, (source, tag), region);
        sent.then_some(mpi::MPI_SUCCESS)
    }

    /// `MPI_Send` of contiguous data that the channel takes at once.
    ///
    /// # Safety
    /// As [`Rungs::send_in_a_line`].
    #[inline(always)]
    pub unsafe fn send_at_once(message: Outgoing) -> Option<c_int> {
        let Outgoing { buf, count, datatype, dest, tag, comm } = message;
        let (process, alone) = process_alone()?;
        // SAFETY: sending runs no code of the program.
        let (comm, region) = unsafe { contiguous(alone, buf, count, datatype, comm)? };
        let (peer, context, source) = point::address(comm, dest)?;
        if tag < 0 {
            return None;
        }
        let sent = process.engine_alone(alone).try_send_region(peer, context, (source, tag), region);
        sent.then_some(mpi::MPI_SUCCESS)
    }

    /// `MPI_Isend` of what [`Rungs::send_in_a_line`] takes.
    ///
    /// # Safety
    /// As [`Rungs::send_in_a_line`].
    #[inline(always)]
    pub unsafe fn isend_in_a_line(message: Outgoing, request: *mut F::Request) -> Option<c_int> {
        if request.is_null() {
            return None;
        }
        // SAFETY: the caller's promise; the request is not null.
        unsafe {
            let code = Self::send_in_a_line(message)?;
            request.write(F::SENT);
            Some(code)
        }
    }

    /// `MPI_Isend` of what [`Rungs::send_at_once`] takes.
    ///
    /// # Safety
    /// As [`Rungs::send_in_a_line`].
    #[inline(always)]
    pub unsafe fn isend_at_once(message: Outgoing, request: *mut F::Request) -> Option<c_int> {
        if request.is_null() {
            return None;
        }
        // SAFETY: the caller's promise; the request is not null.
        unsafe {
            let code = Self::send_at_once(message)?;
            request.write(F::SENT);
            Some(code)
        }
    }
}
