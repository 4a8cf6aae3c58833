//! What happens to an error: the error handler of the right object gets it (MPI-5.0, 9.3).

use crate::generated::types::{MPI_Comm, MPI_File, MPI_Session, MPI_Win};
use std::ffi::c_int;
use verbena_mpi::Error;
use verbena_mpi::generated::constants as mpi;

/// The object whose error handler an error goes to, by its handle. A handle that is not valid stands for
/// `MPI_COMM_SELF`, as the standard says for errors of no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// No object: `MPI_COMM_SELF`.
    None,
    /// A communicator.
    Comm(MPI_Comm),
    /// A window.
    Win(MPI_Win),
    /// A file.
    File(MPI_File),
    /// A session.
    Session(MPI_Session),
}

/// An error, and the object that it belongs to if that is not the one that the API table names.
#[derive(Debug)]
pub struct Failed {
    /// The error.
    pub error: Error,
    /// The object; `None` for the one that the table names.
    pub owner: Option<Owner>,
}

impl From<Error> for Failed {
    #[inline]
    fn from(error: Error) -> Failed {
        Failed { error, owner: None }
    }
}

/// Calls the error handler of `owner` (or of the error's own) and returns the code for the program.
#[cold]
pub fn raise(call: &str, owner: Owner, failed: Failed) -> c_int {
    let _owner = failed.owner.unwrap_or(owner);
    fatal(call, &failed.error)
}

/// Reports an error and ends the job: `MPI_ERRORS_ARE_FATAL`.
pub fn fatal(call: &str, error: &Error) -> ! {
    eprintln!("verbena: {call}: {error}");
    std::process::exit(error.class.clamp(1, 127))
}

/// Says once that a call is not written yet, and returns `MPI_ERR_UNSUPPORTED_OPERATION`.
#[cold]
pub fn unsupported(call: &str, said: &std::sync::Once) -> c_int {
    said.call_once(|| eprintln!("verbena: {}", Error::unsupported(call)));
    mpi::MPI_ERR_UNSUPPORTED_OPERATION
}
