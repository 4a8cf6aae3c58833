//! What happens to an error: the error handler of the right object gets it (MPI-5.0, 9.3).

use crate::generated::types::{MPI_Comm, MPI_File, MPI_Session, MPI_Win};
use crate::handles::{COMMS, SESSIONS};
use crate::{startup, state};
use std::ffi::c_int;
use std::sync::Arc;
use verbena_mpi::errhandler::{Action, predefined};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Errhandler, Error};

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
    let Failed { error, owner: own } = failed;
    let owner = own.unwrap_or(owner);
    let (handler, handle) = handler(owner);
    match handler.action() {
        Action::Return => (),
        Action::Call(_, function) => function(handle, error.class),
        Action::AreFatal | Action::Abort => fatal(call, &error),
    }
    error.class
}

/// The error handler of an object, and the handle that a function of the program is told.
fn handler(owner: Owner) -> (Arc<Errhandler>, usize) {
    match owner {
        Owner::Comm(handle) if let Ok(comm) = COMMS.get(handle) => (comm.errhandler(), handle),
        Owner::Session(handle) if let Ok(session) = SESSIONS.get(handle) => (session.errhandler(), handle),
        // No window or file can be made yet, so an error on one is that of a wrong handle. Errors on files
        // return by default (MPI-5.0, 14.7).
        Owner::File(_) => (predefined::returning(), mpi::MPI_FILE_NULL),
        _ => match COMMS.get(mpi::MPI_COMM_SELF) {
            Ok(own) => (own.errhandler(), mpi::MPI_COMM_SELF),
            Err(_) => (predefined::are_fatal(), mpi::MPI_COMM_NULL),
        },
    }
}

/// Reports an error and ends the job: `MPI_ERRORS_ARE_FATAL`.
pub fn fatal(call: &str, error: &Error) -> ! {
    let who = state::try_process().map_or(String::new(), |process| format!(" in rank {}", process.me()));
    startup::abort(error.class.clamp(1, 127), &format!("verbena: {call}{who}: {error}"))
}

/// Says once that a call is not written yet, and returns `MPI_ERR_UNSUPPORTED_OPERATION`.
#[cold]
pub fn unsupported(call: &str, said: &std::sync::Once) -> c_int {
    said.call_once(|| eprintln!("verbena: {}", Error::unsupported(call)));
    mpi::MPI_ERR_UNSUPPORTED_OPERATION
}
