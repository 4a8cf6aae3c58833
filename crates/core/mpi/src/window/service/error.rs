//! Errors of the service, in words.

use crate::error::{Class, Error};
use crate::generated::constants as mpi;
use crate::window::lock::Claim;
use verbena_fault::count;

const VERSIONS: &str = "the ranks use different versions of the library, or memory was overwritten";
const REPORT: &str = "let all ranks use one installation; if they do, report this";

/// The error of a request that no origin sends.
#[cold]
pub(super) fn garbled(bytes: usize) -> Error {
    intern("a process asks this window for what makes no sense", format!("a request of {bytes} bytes"))
}

/// The error of an answer that no target gives.
#[cold]
pub(in crate::window) fn garbled_answer(bytes: usize) -> Error {
    intern("the target of an operation answers what makes no sense", format!("an answer of {bytes} bytes"))
}

/// The error of a payload or an answer that has another length than its request says.
#[cold]
pub(super) fn wrong_length(got: u64, wanted: usize) -> Error {
    intern(
        "a part of a one-sided operation has another length than was said before",
        format!("{got} bytes came instead of {wanted}"),
    )
}

/// The error of a request from a rank that the window does not have.
#[cold]
pub(super) fn no_member(source: i32, size: i32) -> Error {
    intern(
        "a request for this window comes from a rank that it does not have",
        format!("rank {source} of a window of {}", count(size, "rank")),
    )
}

/// The error of elements whose bytes are not those of the payload.
#[cold]
pub(super) fn unlike(bytes: usize, datatype: usize, elements: usize) -> Error {
    intern(
        "a one-sided operation has other data than its datatype says",
        format!("{} for {} of {}", count(bytes, "byte"), count(elements, "element"), count(datatype, "byte")),
    )
}

/// The error of a request that came when the window was freed.
#[cold]
pub(super) fn freed(requests: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_SYNC,
        "a window was freed while operations on it were under way",
        format!("{} of other processes that nobody has finished", count(requests, "request")),
        "a process called operations after its last synchronisation, or without one",
        "close all epochs on every process before MPI_Win_free",
    )
}

/// The error of a datatype that an origin names and has not told.
#[cold]
pub(super) fn untold(origin: i32, number: u8) -> Error {
    intern(
        "a request for this window names a datatype that its origin has not told",
        format!("datatype {number} of rank {origin}"),
    )
}

/// The error of a lock that an origin has already, or has not.
#[cold]
pub(super) fn lock_state(is_held: bool) -> Error {
    let (what, on) = match is_held {
        true => ("a lock of a target was asked for twice", "a window that this origin has locked already"),
        false => ("a lock of a target was given back twice", "a window that this origin has not locked"),
    };
    sync(mpi::MPI_ERR_RMA_SYNC, what, on)
}

/// The error of a lock for which a process waits behind this member, which has died with this
/// claim: as the launcher says, or lost at least.
#[cold]
pub(in crate::window) fn dead_ahead(member: i32, claim: Claim, target: i32, is_told: bool) -> Error {
    let (what, on) = match claim {
        Claim::Holds => (
            "a lock of a window will never be free: the rank that holds it has died",
            format!("the lock of rank {target}, held by rank {member}"),
        ),
        Claim::Waits(_) => (
            "the turn to have a lock of a window will never come: a rank before this one has died",
            format!("the queue for the lock of rank {target}, in which rank {member} waited"),
        ),
    };
    Error::new(
        if is_told { mpi::MPIX_ERR_PROC_FAILED } else { mpi::MPI_ERR_PROC_ABORTED },
        what,
        on,
        "the process was killed, or its node is gone; what it changed may be half done",
        "look for the end of that rank in the output of the launcher",
    )
}

fn sync(class: Class, what: &str, on: &str) -> Error {
    Error::new(
        class,
        what,
        on,
        "calls of MPI_Win_lock and MPI_Win_unlock are not paired",
        "call each of the two once",
    )
}

#[cold]
fn intern(what: &str, on: String) -> Error {
    Error::new(mpi::MPI_ERR_INTERN, what, on, VERSIONS, REPORT)
}
