//! Completion of sends and receives that have no request object (MPI-5.0, 3.7.3 and 3.7.5).

use super::{Face, Rungs, receive_id};
use crate::state::process_alone;
use std::ffi::c_int;
use verbena_mpi::generated::constants as mpi;

impl<F: Face> Rungs<F> {
    /// `MPI_Wait` for a send that is complete.
    ///
    /// # Safety
    /// The arguments are what the MPI standard asks for: pointers that are not null lead to memory
    /// that is the call's.
    #[inline(always)]
    pub unsafe fn wait_sent(request: *mut F::Request, status: *mut F::Status) -> Option<c_int> {
        // SAFETY: the caller's promise, after the request was found not to be null.
        unsafe {
            if request.is_null() || *request != F::SENT {
                return None;
            }
            process_alone()?;
            request.write(F::NULL);
            F::tell(status, F::ANY_SOURCE, F::ANY_TAG, 0);
        }
        Some(mpi::MPI_SUCCESS)
    }

    /// `MPI_Wait` for a receive whose message is there: delivered, or next in a line of shared
    /// memory.
    ///
    /// # Safety
    /// As [`Rungs::wait_sent`].
    #[inline(always)]
    pub unsafe fn wait_received(request: *mut F::Request, status: *mut F::Status) -> Option<c_int> {
        if request.is_null() {
            return None;
        }
        let (process, alone) = process_alone()?;
        // SAFETY: the caller's promise; the request is not null.
        unsafe {
            let (index, generation) = F::receive_in(*request)?;
            let meant = |its| (its ^ generation) & F::GENERATIONS == 0;
            let (source, tag, bytes) = process.engine_alone(alone).try_end(index, meant)?;
            request.write(F::NULL);
            F::tell(status, source, tag, bytes);
        }
        Some(mpi::MPI_SUCCESS)
    }

    /// `MPI_Wait` for any other receive of contiguous data.
    ///
    /// # Safety
    /// As [`Rungs::wait_sent`].
    #[inline(always)]
    pub unsafe fn wait_contiguous(request: *mut F::Request, status: *mut F::Status) -> Option<c_int> {
        if request.is_null() {
            return None;
        }
        let (process, alone) = process_alone()?;
        // SAFETY: the caller's promise; the request is not null.
        unsafe {
            let id = receive_id::<F>(process, alone, *request)?;
            let (source, tag, bytes) = process.finish_plain(alone, id)?;
            request.write(F::NULL);
            F::tell(status, source, tag, bytes);
        }
        Some(mpi::MPI_SUCCESS)
    }

    /// `MPI_Waitall` from the first request on, while they are complete sends or receives of
    /// contiguous data.
    ///
    /// # Safety
    /// As [`Rungs::wait_sent`]; there are `count` requests and statuses.
    #[inline(always)]
    pub unsafe fn waitall_contiguous(
        count: c_int,
        requests: *mut F::Request,
        statuses: *mut F::Status,
    ) -> Option<c_int> {
        if count <= 0 || requests.is_null() {
            return None;
        }
        let ignored = F::is_ignored(statuses);
        for done in 0..count as usize {
            let status = if ignored { statuses } else { statuses.wrapping_add(done) };
            // SAFETY: the caller's promise.
            unsafe {
                let request = requests.add(done);
                let ended = Self::wait_sent(request, status)
                    .or_else(|| Self::wait_received(request, status))
                    .or_else(|| Self::wait_contiguous(request, status));
                match ended {
                    Some(_) => (),
                    None if done == 0 => return None,
                    None => return Some(F::waitall_rest(done, count, requests, statuses)),
                }
            }
        }
        Some(mpi::MPI_SUCCESS)
    }

    /// `MPI_Test` of a receive that is still under way after a round of progress.
    ///
    /// # Safety
    /// As [`Rungs::wait_sent`].
    #[inline(always)]
    pub unsafe fn test_under_way(
        request: *mut F::Request,
        flag: *mut c_int,
        _status: *mut F::Status,
    ) -> Option<c_int> {
        if request.is_null() || flag.is_null() {
            return None;
        }
        let (process, alone) = process_alone()?;
        // SAFETY: the caller's promise; neither is null.
        unsafe {
            let id = receive_id::<F>(process, alone, *request)?;
            if !process.engine_alone(alone).is_pending(id) {
                return None;
            }
            process.poll_alone(alone, move |process| Some(process.awaited(id)));
            if !process.engine_alone(alone).is_pending(id) {
                return None;
            }
            flag.write(0);
        }
        Some(mpi::MPI_SUCCESS)
    }
}
