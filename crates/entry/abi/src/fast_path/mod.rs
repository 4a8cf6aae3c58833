//! The fast paths of the most frequent calls: small messages of plain data, and memory of windows
//! that is mapped, with one thread in MPI.
//!
//! A fast path is a ladder of rungs. Each rung checks every argument as the general entry point
//! does, but reports no error: `None` says that nothing happened to the call's arguments, and the
//! next rung tries. Behind the last one stands the general entry point, which checks again and
//! reports. So the rungs never change what a call does, only how many instructions it takes.
//!
//! A rung is named after the call and what it takes. `api/functions` lists the rungs where the call
//! is declared, in the order in which they are tried; the macro `ladder!` (`crate::entry`) puts
//! each but the first into a function of its own. A first rung that calls nothing then saves no
//! registers.
//!
//! The rungs are written once for both faces: [`Face`] says how a face writes requests, statuses
//! and wildcards. Handles of communicators and datatypes are the standard ones on both
//! (`crates/entry/mpich` translates them).
//!
//! | module | rungs of |
//! | --- | --- |
//! | [`send`] | `MPI_Send`, `MPI_Isend` |
//! | [`receive`] | `MPI_Recv`, `MPI_Irecv`, `MPI_Iprobe` |
//! | [`wait`] | `MPI_Wait`, `MPI_Waitall`, `MPI_Test` |
//! | [`window`] | `MPI_Put`, `MPI_Get`, atomics of one target, flushes; on the standard face only |
//!
//! [`standard`] and [`mpich`] are the two faces.

pub mod mpich;
pub mod receive;
pub mod send;
pub mod standard;
pub mod wait;
pub mod window;

use crate::args;
use crate::generated::types::{MPI_Comm, MPI_Datatype};
use crate::handles::{COMMS, DATATYPES};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use verbena_engine::RequestId;
use verbena_memory::Region;
use verbena_mpi::{Comm, Process};
use verbena_waiting::lock::SingleThread;

/// A face of the library: how it writes what the rungs read and store.
pub trait Face {
    /// `MPI_Request`.
    type Request: Copy + PartialEq;
    /// `MPI_Status`.
    type Status;
    /// The request of every send that was complete when it started.
    const SENT: Self::Request;
    /// `MPI_REQUEST_NULL`.
    const NULL: Self::Request;
    /// `MPI_ANY_SOURCE`.
    const ANY_SOURCE: c_int;
    /// `MPI_ANY_TAG`.
    const ANY_TAG: c_int;
    /// The bits of a request's generation that its handle keeps.
    const GENERATIONS: u32;

    /// The handle of an engine's receive.
    fn receive(id: RequestId) -> Self::Request;

    /// The index and the generation, if this is the handle of an engine's receive. Only the bits
    /// [`Face::GENERATIONS`] of the generation count.
    fn receive_in(request: Self::Request) -> Option<(u32, u32)>;

    /// Returns whether the program wants no status at `place`.
    fn is_ignored(place: *mut Self::Status) -> bool;

    /// Stores the status of a message that was not cancelled, of fewer than 2 to the 63 bytes,
    /// unless the program ignores it. `MPI_ERROR` and the words that mean nothing stay as they are.
    ///
    /// # Safety
    /// Unless it is ignored, `place` leads to a status that only this call uses.
    unsafe fn tell(place: *mut Self::Status, source: c_int, tag: c_int, bytes: u64);

    /// Ends a blocking receive that failed or was cancelled, and returns the error code.
    ///
    /// # Safety
    /// As [`Face::tell`].
    unsafe fn end_receive(id: RequestId, comm: MPI_Comm, status: *mut Self::Status) -> c_int;

    /// Finishes an `MPI_Waitall` whose first `done` requests are complete, with their statuses
    /// stored.
    ///
    /// # Safety
    /// As `MPI_Waitall`.
    unsafe fn waitall_rest(
        done: usize,
        count: c_int,
        requests: *mut Self::Request,
        statuses: *mut Self::Status,
    ) -> c_int;
}

/// The rungs of a face; the modules of this folder implement them.
pub struct Rungs<F>(PhantomData<F>);

/// The arguments of a call that sends.
#[derive(Clone, Copy)]
pub struct Outgoing {
    /// Address of the first element.
    pub buf: *const c_void,
    /// Number of elements.
    pub count: i64,
    /// Datatype of the elements.
    pub datatype: MPI_Datatype,
    /// Rank of the receiver.
    pub dest: c_int,
    /// Tag.
    pub tag: c_int,
    /// Communicator.
    pub comm: MPI_Comm,
}

/// The arguments of a call that receives.
#[derive(Clone, Copy)]
pub struct Incoming {
    /// Address of the first element.
    pub buf: *mut c_void,
    /// Number of elements.
    pub count: i64,
    /// Datatype of the elements.
    pub datatype: MPI_Datatype,
    /// Rank of the sender, or `MPI_ANY_SOURCE` of the face.
    pub source: c_int,
    /// Tag, or `MPI_ANY_TAG` of the face.
    pub tag: c_int,
    /// Communicator.
    pub comm: MPI_Comm,
}

/// The communicator and the memory of a message whose elements lie one right after the other.
///
/// # Safety
/// No code of the program runs while the communicator is used.
#[inline(always)]
unsafe fn contiguous(
    alone: SingleThread,
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
    Some((comm, args::solid(args::Address::new(buf), count, datatype)?))
}

/// The whole id of the receive that a handle of this face names by an index and the kept bits of a
/// generation.
#[inline(always)]
fn receive_id<F: Face>(process: &Process, alone: SingleThread, request: F::Request) -> Option<RequestId> {
    let (index, generation) = F::receive_in(request)?;
    if F::GENERATIONS == u32::MAX {
        return Some(RequestId { index, generation });
    }
    let whole = process.engine_alone(alone).generation(index)?;
    ((whole ^ generation) & F::GENERATIONS == 0).then_some(RequestId { index, generation: whole })
}
