//! Calls that the fast paths of the standard face leave to this face, and the one rung that this
//! face has of its own.

use crate::handles::{Request, too_many};
use crate::status::{Status, StatusOut, Statuses};
use crate::table::entries;
use crate::{arrays::Handles, values::code};
use std::ffi::c_int;
use verbena_faces::{Fallbacks, mpich};

/// All fallbacks, for the standard face.
pub static FALLBACKS: Fallbacks =
    Fallbacks { calls: crate::generated::fallbacks::CALLS, end_receive, waitall_rest, too_many };

/// `MPI_Wait` for a send that is complete: it needs no call into the library.
///
/// # Safety
/// The rules of the call hold.
#[inline(always)]
pub unsafe fn wait_sent(request: *mut i32, status: *mut Status) -> Option<c_int> {
    // SAFETY: by the caller's promise, if the request is not null.
    unsafe {
        if request.is_null() || request.read() != mpich::SENT {
            return None;
        }
        request.write(mpich::REQUEST_NULL);
        if status as usize > mpich::STATUS_IGNORE {
            *status = Status { MPI_ERROR: (*status).MPI_ERROR, ..EMPTY };
        }
    }
    Some(0)
}

/// The empty status (MPI-5.0, 3.7.3).
const EMPTY: Status = Status {
    count_lo: 0,
    count_hi_and_cancelled: 0,
    MPI_SOURCE: mpich::ANY_SOURCE,
    MPI_TAG: mpich::ANY_TAG,
    MPI_ERROR: 0,
};

unsafe extern "C" fn end_receive(index: u32, generation: u32, comm: usize, status: *mut Status) -> c_int {
    let mut out = StatusOut::new(status);
    // SAFETY: the caller's promise.
    unsafe {
        let native = (entries().services.end_receive)(index, generation, comm, out.native());
        out.store();
        code(native)
    }
}

unsafe extern "C" fn waitall_rest(
    done: usize,
    count: c_int,
    requests: *mut i32,
    statuses: *mut Status,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let mut handles = Handles::<Request>::new(requests, count.into());
        let mut out = Statuses::new(statuses, count.into());
        let native = (entries().services.waitall_rest)(done, count, handles.native(), out.native());
        handles.store(requests);
        out.store();
        code(native)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{status_face, status_native};

    #[test]
    fn the_empty_status_is_as_if_it_were_translated() {
        let (mut request, mut status) = (mpich::SENT, Status { count_lo: 7, MPI_ERROR: 9, ..EMPTY });
        // SAFETY: the places are our own.
        let code = unsafe { wait_sent(&mut request, &mut status) };
        assert_eq!((code, request), (Some(0), mpich::REQUEST_NULL));
        assert_eq!(status, Status { MPI_ERROR: 9, ..EMPTY });
        let native = status_native(&EMPTY);
        // `MPI_ANY_SOURCE` and `MPI_ANY_TAG` of the standard ABI.
        assert_eq!((native.MPI_SOURCE, native.MPI_TAG), (-1, -2));
        assert_eq!(status_face(&native), EMPTY);
    }
}
