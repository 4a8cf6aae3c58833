//! Errors: an MPI error class and a text in four parts (what failed, on what, likely cause, what to
//! do).

use crate::generated::constants as mpi;
use verbena_boot::BootError;
use verbena_fault::Fault;

/// An error class or code (MPI-5.0, 9.4).
pub type Class = i32;

/// The result of MPI calls.
pub type Result<T> = std::result::Result<T, Error>;

/// An error as it reaches an error handler. Boxed parts keep `Result` small on the hot path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The error class, or a code that the program added.
    pub class: Class,
    /// The four parts.
    pub fault: Box<Fault>,
}

impl Error {
    /// An error with its four parts.
    #[cold]
    pub fn new(
        class: Class,
        what: impl Into<String>,
        on: impl Into<String>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        let fault = Fault { what: what.into(), on: on.into(), cause: cause.into(), remedy: remedy.into() };
        Error { class, fault: Box::new(fault) }
    }

    /// Makes an error of a channel's failure, as `MPI_ERR_OTHER`.
    #[cold]
    pub fn channel(fault: Fault) -> Error {
        Error { class: mpi::MPI_ERR_OTHER, fault: Box::new(fault) }
    }

    /// Makes an error of an invalid setting, as `MPI_ERR_OTHER`.
    #[cold]
    pub fn setting(fault: Fault) -> Error {
        Error { class: mpi::MPI_ERR_OTHER, fault: Box::new(fault) }
    }

    /// Makes an error of a failure to find the job, as `MPI_ERR_OTHER`.
    #[cold]
    pub fn boot(error: BootError) -> Error {
        Error { class: mpi::MPI_ERR_OTHER, fault: Box::new(error.fault()) }
    }

    /// Makes an error of something that Verbena cannot do in this place.
    #[cold]
    pub fn unsupported(what: &str) -> Error {
        Error::new(
            mpi::MPI_ERR_UNSUPPORTED_OPERATION,
            format!("{what} is not supported"),
            "this build of Verbena",
            "what the call asks for is not there in this place",
            "use another call",
        )
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for Error {}
