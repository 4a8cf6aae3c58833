//! Gives an error to the error handler of the right object (MPI-5.0, 9.3).

use crate::arguments::{Argument, Words};
use crate::handles::{COMMS, ERRHANDLERS, FILES, Ref, SESSIONS, WINS};
pub use crate::owner::Owner;
use crate::owner::on_comm;
use crate::{last_errors, startup, state};
use std::ffi::c_int;
use std::sync::{Arc, LazyLock};
use verbena_mpi::errhandler::{Action, Handling, Kind, predefined};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Errhandler, Error};

/// An error, and the object that it belongs to if that is not the one that the API table names.
#[derive(Debug)]
pub struct Failed {
    /// The error.
    pub error: Error,
    /// The object; `None` for the one that the table names.
    pub owner: Option<Owner>,
    /// The code of the operation that failed, if the call fails with `MPI_ERR_IN_STATUS`: a handler
    /// of the program is given that one (MPI-5.0, 9.3.1).
    pub in_status: Option<c_int>,
}

impl Failed {
    /// An error of this object; `None` for the one that the table names.
    pub fn of(error: Error, owner: Option<Owner>) -> Failed {
        Failed { error, owner, in_status: None }
    }
}

impl From<Error> for Failed {
    #[inline]
    fn from(error: Error) -> Failed {
        Failed::of(error, None)
    }
}

/// The error handler of `MPI_FILE_NULL`, which new files begin with (MPI-5.0, 14.7).
pub static FILE_DEFAULT: LazyLock<Handling> = LazyLock::new(|| Handling::new(predefined::returning()));

/// Calls the error handler of `owner` (or of the error's own owner) for an error of `call` with
/// these arguments, and returns the code for the program, which a handler of the program may
/// change.
#[cold]
pub fn raise(call: &str, arguments: &[Argument], owner: Owner, failed: Failed) -> c_int {
    let Failed { error, owner: own, in_status } = failed;
    if owner == Owner::Tool {
        return tool_code(error.class);
    }
    if state::running().is_ok() && state::process().goes_on() {
        // A program may repeat a call that fails at once, until another process revokes the
        // communicator.
        state::process().poll();
    }
    let owner = own.unwrap_or(owner);
    if matches!(owner, Owner::Comm(_) | Owner::Win(_) | Owner::File(_)) {
        state::note_failure();
    }
    let (errhandler, handle) = find(owner);
    let told = Words::of(arguments);
    let named = on_comm(error.clone(), owner);
    last_errors::keep(error.class, call, &told, &named.fault);
    let message = || format!("{call}{} failed: {named}", told.whole());
    // Hardly any program looks at the code of this call, and the launcher knows only that it heard
    // of no end.
    if call == "MPI_Finalize" && !matches!(errhandler.action(), Action::AreFatal | Action::Abort) {
        verbena_fault::complain(fatal_text(&message()));
    }
    let calls = matches!(errhandler.action(), Action::Call(..));
    match in_status.filter(|_| calls) {
        None => handle_error(&errhandler, handle, error.class, call, message),
        Some(given) => match handle_error(&errhandler, handle, given, call, message) {
            left if left == given => error.class,
            left => left,
        },
    }
}

/// The return code of the tool interface, which has its own: any other class, from another part of
/// the library, is `MPI_T_ERR_INVALID`.
fn tool_code(class: c_int) -> c_int {
    let own = mpi::MPI_T_ERR_CANNOT_INIT..=mpi::MPI_T_ERR_PVAR_NO_ATOMIC;
    if own.contains(&class) { class } else { mpi::MPI_T_ERR_INVALID }
}

/// Lets an error handler act on a code of `call` and returns the resulting code; a fatal one says
/// `message`.
pub fn handle_error(
    errhandler: &Errhandler,
    handle: usize,
    code: c_int,
    call: &str,
    message: impl FnOnce() -> String,
) -> c_int {
    match errhandler.action() {
        Action::Return => code,
        Action::Call(_, callback) => callback(handle, code),
        Action::AreFatal | Action::Abort => startup::fail(code, call, &fatal_text(&message())),
    }
}

pub(crate) fn fatal_text(message: &str) -> String {
    match state::try_process() {
        Some(process) => format!("verbena: process {} of {}: {message}", process.me(), process.size()),
        None => format!("verbena: {message}"),
    }
}

/// The error handler of an object, and the handle that it is called with.
fn find(owner: Owner) -> (Arc<Errhandler>, usize) {
    match owner {
        Owner::Comm(handle) => {
            let with_own = |comm: Ref<'_, Comm>| (comm.errhandler(), handle);
            COMMS.get(handle).map_or_else(|_| of_no_object(), with_own)
        }
        Owner::Session(handle) => {
            SESSIONS.get(handle).map_or_else(|_| of_no_object(), |session| (session.errhandler(), handle))
        }
        Owner::File(handle) => {
            (FILES.get(handle).map_or_else(|_| FILE_DEFAULT.get(), |file| file.errhandler()), handle)
        }
        Owner::Handler(handle) => ERRHANDLERS.get(handle).map_or_else(
            |_| of_no_object(),
            |given| {
                let no_object = match given.action() {
                    Action::Call(Kind::Session, _) => mpi::MPI_SESSION_NULL,
                    _ => mpi::MPI_COMM_NULL,
                };
                (given.clone(), no_object)
            },
        ),
        Owner::Win(handle) => {
            WINS.get(handle).map_or_else(|_| of_no_object(), |win| (win.errhandler(), handle))
        }
        Owner::None | Owner::Tool => of_no_object(),
    }
}

/// The error handler of errors without an object. The standard names `MPI_COMM_SELF`. A program
/// that set an error handler on `MPI_COMM_WORLD` alone expects such errors there, as they were
/// before MPI-4.0 and are in MPICH.
fn of_no_object() -> (Arc<Errhandler>, usize) {
    let was_set = |handle| COMMS.get(handle).is_ok_and(|comm| comm.errhandler_was_set());
    let of_world = was_set(mpi::MPI_COMM_WORLD) && !was_set(mpi::MPI_COMM_SELF);
    let handle = if of_world { mpi::MPI_COMM_WORLD } else { mpi::MPI_COMM_SELF };
    (COMMS.get(handle).map_or_else(|_| predefined::initial(), |comm| comm.errhandler()), handle)
}
