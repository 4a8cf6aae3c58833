//! The MPICH ABI's face of the fast paths (`crates/entry/mpich`, `libmpi.so.12`).
//!
//! The entry points of that library translate the handles of communicator and datatype and jump
//! here ([`crate::generated::mpich`]). A call that no rung takes goes back to it ([`Fallbacks`]):
//! it translates the other arguments and makes the standard call.

use super::{Face, standard::Standard};
use crate::generated::types::MPI_Comm;
use crate::handles::{Kind, encode_request};
use crate::state::{process_alone, try_process};
use crate::status::Status;
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};
use verbena_engine::RequestId;
use verbena_faces::{Fallbacks, mpich};

/// The MPICH ABI.
pub enum Mpich {}

impl Face for Mpich {
    type Request = i32;
    type Status = mpich::Status;
    const SENT: i32 = mpich::SENT;
    const NULL: i32 = mpich::REQUEST_NULL;
    const ANY_SOURCE: c_int = mpich::ANY_SOURCE;
    const ANY_TAG: c_int = mpich::ANY_TAG;
    const GENERATIONS: u32 = mpich::GENERATIONS;

    #[inline(always)]
    fn receive(id: RequestId) -> i32 {
        if id.index > mpich::PLAIN_INDEX {
            (fallbacks().too_many)();
        }
        mpich::receive(id.index, id.generation)
    }

    #[inline(always)]
    fn receive_in(request: i32) -> Option<(u32, u32)> {
        mpich::receive_in(request)
    }

    #[inline(always)]
    fn is_ignored(place: *mut mpich::Status) -> bool {
        place as usize <= mpich::STATUS_IGNORE
    }

    #[inline(always)]
    unsafe fn tell(place: *mut mpich::Status, source: c_int, tag: c_int, bytes: u64) {
        if !Mpich::is_ignored(place) {
            // SAFETY: the caller's promise.
            unsafe {
                (*place).count_lo = bytes as c_int;
                (*place).count_hi_and_cancelled = (bytes >> 31) as c_int & !1;
                ((*place).MPI_SOURCE, (*place).MPI_TAG) = (source, tag);
            }
        }
    }

    unsafe fn end_receive(id: RequestId, comm: MPI_Comm, status: *mut mpich::Status) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { (fallbacks().end_receive)(id.index, id.generation, comm, status) }
    }

    unsafe fn waitall_rest(
        done: usize,
        count: c_int,
        requests: *mut i32,
        statuses: *mut mpich::Status,
    ) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { (fallbacks().waitall_rest)(done, count, requests, statuses) }
    }
}

static FALLBACKS: AtomicPtr<Fallbacks> = AtomicPtr::new(std::ptr::null_mut());

/// Keeps the other library's functions for calls that no rung takes.
///
/// # Safety
/// They are never changed and never go away. No function of [`crate::generated::mpich`] was called
/// before.
pub unsafe extern "C" fn attach(fallbacks: *const Fallbacks) {
    FALLBACKS.store(fallbacks.cast_mut(), Ordering::Release);
}

/// The functions of the other library.
#[inline(always)]
pub(crate) fn fallbacks() -> &'static Fallbacks {
    // SAFETY: the other library calls `attach` before anything else.
    unsafe { &*FALLBACKS.load(Ordering::Acquire) }
}

/// Implements [`verbena_faces::Services::end_receive`].
///
/// # Safety
/// As [`Face::tell`].
pub unsafe extern "C" fn end_receive(
    index: u32,
    generation: u32,
    comm: usize,
    status: *mut verbena_faces::standard::Status,
) -> c_int {
    // SAFETY: the caller's promise; both types of the status have one layout (`status.rs`).
    unsafe { Standard::end_receive(RequestId { index, generation }, comm, status.cast::<Status>()) }
}

/// Implements [`verbena_faces::Services::waitall_rest`].
///
/// # Safety
/// As `MPI_Waitall`.
pub unsafe extern "C" fn waitall_rest(
    done: usize,
    count: c_int,
    requests: *mut usize,
    statuses: *mut verbena_faces::standard::Status,
) -> c_int {
    // SAFETY: as in `end_receive`.
    unsafe { Standard::waitall_rest(done, count, requests, statuses.cast::<Status>()) }
}

/// Implements [`verbena_faces::Services::receive`].
pub extern "C" fn receive(index: u32, known: u32) -> usize {
    let (index, whole) = match process_alone() {
        // Without threads there is one engine.
        Some((process, alone)) => (index, process.engine_alone(alone).generation(index)),
        None => of_threads(index),
    };
    whole
        .filter(|whole| (whole ^ known) & mpich::GENERATIONS == 0)
        .map_or(0, |generation| encode_request(Kind::EngineReceive, RequestId { index, generation }))
}

/// The standard index and the generation of the request with this index on MPICH's face.
#[inline(never)]
fn of_threads(index: u32) -> (u32, Option<u32>) {
    let index = mpich::standard_index(index);
    (index, try_process().and_then(|process| process.generation(index)))
}
