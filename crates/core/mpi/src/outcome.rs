//! The end of an operation (MPI-5.0, 3.7.3).

use crate::error::Error;
use crate::generated::constants as mpi;
use crate::process::{completion_error, failure_error};
use verbena_engine::Completion;

/// The end of an operation, as a status tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Rank of the sender (receives).
    pub source: i32,
    /// Tag of the message (receives).
    pub tag: i32,
    /// The number of bytes received.
    pub bytes: i64,
    /// True if the operation was cancelled.
    pub cancelled: bool,
    /// The error, if it failed.
    pub error: Option<Error>,
    /// The matching context of the message. It tells whose error handler hears of the error.
    pub context: u64,
}

impl Outcome {
    /// The empty status (MPI-5.0, 3.7.3).
    pub const EMPTY: Outcome = Outcome {
        source: mpi::MPI_ANY_SOURCE,
        tag: mpi::MPI_ANY_TAG,
        bytes: 0,
        cancelled: false,
        error: None,
        context: 0,
    };

    /// The status of a receive from `MPI_PROC_NULL` (MPI-5.0, 3.10).
    pub const NO_PROCESS: Outcome = Outcome {
        source: mpi::MPI_PROC_NULL,
        tag: mpi::MPI_ANY_TAG,
        bytes: 0,
        cancelled: false,
        error: None,
        context: 0,
    };

    /// Returns whether the operation is not over: a receive from any source that may wait for ever
    /// (`MPIX_ERR_PROC_FAILED_PENDING`). Its request is still valid.
    #[inline]
    pub fn is_in_doubt(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.class == mpi::MPIX_ERR_PROC_FAILED_PENDING)
    }

    /// The outcome of an operation of this direction, from its completion.
    pub fn of(direction: Direction, completion: Completion) -> Outcome {
        match direction {
            Direction::Send => Outcome::sent(completion),
            Direction::Receive => Outcome::received(completion),
        }
    }

    /// The outcome of a receive, from its completion.
    pub fn received(completion: Completion) -> Outcome {
        Outcome {
            source: completion.source,
            tag: completion.tag,
            bytes: completion.bytes as i64,
            cancelled: completion.cancelled,
            error: completion_error(&completion),
            context: 0,
        }
    }

    /// The outcome of a send: only whether it was cancelled or failed.
    pub fn sent(completion: Completion) -> Outcome {
        let error = completion.failure.map(failure_error);
        Outcome { cancelled: completion.cancelled, error, ..Outcome::EMPTY }
    }
}

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Out of this process.
    Send,
    /// Into this process.
    Receive,
}
