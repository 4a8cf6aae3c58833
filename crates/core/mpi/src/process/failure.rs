//! The errors of completions, in the words of MPI.

use super::abroad::has_ended;
use super::watch::is_told_dead;
use crate::datatype::sort;
use crate::error::{Error, Result};
use verbena_channel::mark::Mark;
use verbena_engine::{Completion, Failure};
use verbena_fault::Fault;

/// The error of a failure whose message is not known.
#[cold]
pub fn failure_error(failure: Failure) -> Error {
    error_of(failure, None)
}

/// The error of a completion, if it failed: with the message's source and tag.
#[inline]
pub fn completion_error(completion: &Completion) -> Option<Error> {
    let failure = completion.failure.clone()?;
    Some(error_of(failure, Some((completion.source, completion.tag))))
}

/// Returns whether all members of a communicator hear of this failure, and leave its collectives.
/// Those that have lost a link alone say so themselves.
pub(crate) fn ends_all(failure: &Failure) -> bool {
    matches!(failure, Failure::Dead(_) | Failure::Revoked)
}

/// Returns whether this is the loss of a process of another job that is seen to have ended.
#[cold]
pub(crate) fn is_end(failure: &Failure) -> bool {
    matches!(failure, Failure::Channel(peer, _) if has_ended(*peer))
}

#[cold]
fn error_of(failure: Failure, message: Option<(i32, i32)>) -> Error {
    use crate::generated::constants::{
        MPI_ERR_PROC_ABORTED, MPI_ERR_TRUNCATE, MPI_ERR_TYPE, MPIX_ERR_PROC_FAILED,
        MPIX_ERR_PROC_FAILED_PENDING,
    };
    let whence =
        message.map_or(String::new(), |(source, tag)| format!(", from rank {source} with tag {tag}"));
    match failure {
        // A channel may see the end of a process before the launcher has told it.
        Failure::Channel(peer, fault) if is_told_dead(peer) => Error { class: MPIX_ERR_PROC_FAILED, fault },
        Failure::Channel(peer, fault) if has_ended(peer) => Error { class: MPI_ERR_PROC_ABORTED, fault },
        Failure::Channel(_, fault) => Error::channel(*fault),
        Failure::Dead(fault) => Error { class: MPIX_ERR_PROC_FAILED, fault },
        Failure::InDoubt(fault) => Error {
            class: MPIX_ERR_PROC_FAILED_PENDING,
            fault: Box::new(Fault {
                what: "a receive from any source may wait for ever: a process has failed".into(),
                remedy:
                    "call MPIX_Comm_ack_failed and wait again for what others send, or cancel the receive"
                        .into(),
                ..*fault
            }),
        },
        Failure::Revoked => revoked(),
        Failure::Truncated { sent, room } => Error::new(
            MPI_ERR_TRUNCATE,
            "a message was longer than the receive buffer and was cut",
            format!("{sent} bytes were sent, the receive has room for {room}{whence}"),
            "the receive's count or datatype is smaller than the send's, or it matched a message that was meant for another receive",
            "receive with room for the longest message, or ask with MPI_Probe and MPI_Get_count first",
        ),
        Failure::Unlike { mine, theirs } => {
            let [mine, theirs] = [mine, theirs].map(|mark| sort::name(mark.0 & Mark::TYPE));
            Error::new(
                MPI_ERR_TYPE,
                "a message has elements of another type than its receive, and was not received",
                format!("{theirs} were sent, the receive is for {mine}{whence}"),
                "the datatypes of the send and the receive do not match (MPI-5.0, 3.3.1)",
                "use the same basic datatypes on both sides, or MPI_BYTE on both",
            )
        }
    }
}

/// Returns a completion, or the error in it.
#[inline]
pub fn checked(completion: Completion) -> Result<Completion> {
    completion_error(&completion).map_or(Ok(completion), Err)
}

/// The error of an operation on a communicator that was revoked.
#[cold]
pub fn revoked() -> Error {
    Error::new(
        crate::generated::constants::MPIX_ERR_REVOKED,
        "the communicator was revoked",
        "a communicator on which this process, or another one, called MPIX_Comm_revoke",
        "a process of the communicator has failed, and one that noticed it interrupts all others",
        "call MPIX_Comm_shrink for a communicator of the processes that are left, or MPIX_Comm_agree",
    )
}
