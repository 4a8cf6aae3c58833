//! The standard ABI's face of the fast paths.

use super::Face;
use crate::args::{self, StatusesOut};
use crate::calls::completion;
use crate::generated::types::{MPI_Comm, MPI_Request};
use crate::handles::{engine_receive, handle_of_engine_receive};
use crate::report::{Failed, Owner, raise};
use crate::requests::SENT_HANDLE;
use crate::state::process;
use crate::status::Status;
use std::ffi::c_int;
use verbena_engine::RequestId;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::process::checked;

/// The standard ABI.
pub enum Standard {}

impl Face for Standard {
    type Request = MPI_Request;
    type Status = Status;
    const SENT: MPI_Request = SENT_HANDLE;
    const NULL: MPI_Request = mpi::MPI_REQUEST_NULL;
    const ANY_SOURCE: c_int = mpi::MPI_ANY_SOURCE;
    const ANY_TAG: c_int = mpi::MPI_ANY_TAG;
    const GENERATIONS: u32 = u32::MAX;

    #[inline(always)]
    fn receive(id: RequestId) -> MPI_Request {
        handle_of_engine_receive(id)
    }

    #[inline(always)]
    fn receive_in(request: MPI_Request) -> Option<(u32, u32)> {
        engine_receive(request).map(|id| (id.index, id.generation))
    }

    #[inline(always)]
    fn is_ignored(place: *mut Status) -> bool {
        place.is_null()
    }

    #[inline(always)]
    unsafe fn tell(place: *mut Status, source: c_int, tag: c_int, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { Status::tell(place, source, tag, bytes) };
    }

    #[cold]
    #[inline(never)]
    unsafe fn end_receive(id: RequestId, comm: MPI_Comm, status: *mut Status) -> c_int {
        let completion = process().finish_request(id);
        let ended = Status::new(completion.source, completion.tag, completion.bytes, completion.cancelled);
        if !status.is_null() {
            // SAFETY: the caller's promise.
            unsafe { *status = ended.with_error((*status).MPI_ERROR) };
        }
        match checked(completion) {
            Ok(_) => mpi::MPI_SUCCESS,
            Err(error) => raise("MPI_Recv", &[], Owner::Comm(comm), Failed::from(error)),
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn waitall_rest(
        done: usize,
        count: c_int,
        requests: *mut MPI_Request,
        statuses: *mut Status,
    ) -> c_int {
        let rest = || -> Result<(), Failed> {
            // SAFETY: the caller's promise.
            let (requests, statuses) = unsafe {
                (args::slice_mut(requests, count.into())?, StatusesOut::new(statuses, count.into()))
            };
            completion::waitall_from(done, requests, statuses)
        };
        match rest() {
            Ok(()) => mpi::MPI_SUCCESS,
            Err(failed) => raise("MPI_Waitall", &[], Owner::None, failed),
        }
    }
}
