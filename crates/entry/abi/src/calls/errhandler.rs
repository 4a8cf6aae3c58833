//! Error handlers (MPI-5.0, 9.3).

use crate::args::{InOut, Out};
use crate::generated::types::*;
use crate::handles::{ERRHANDLERS, FILES};
use crate::report::{FILE_DEFAULT, Failed, Owner, handle_error};
use crate::survival;
use std::ffi::c_int;
use std::sync::Arc;
use verbena_mpi::codes::REGISTRY;
use verbena_mpi::errhandler::{Action, Callback, Kind};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Errhandler, Error, Result, Session, Win};

/// The C type of all error handler functions: they differ only in name, since handles are
/// pointer-sized.
type Function = Option<unsafe extern "C" fn(*mut usize, *mut c_int, ...)>;

/// Makes an error handler of the program's function; the null pointer is `MPI_ERR_ARG`.
fn create(kind: Kind, function: Function, errhandler: Out<'_, MPI_Errhandler>) -> Result<()> {
    let function = function.ok_or_else(no_function)?;
    let callback: Callback = Box::new(move |mut handle, mut code| {
        // SAFETY: the program's function, of this type (MPI-5.0, 9.3.1); the places for arguments
        // are ours.
        unsafe { function(&mut handle, &mut code) };
        code
    });
    make(kind, callback, errhandler)
}

/// Gives the program an error handler of its own.
pub(crate) fn make(kind: Kind, callback: Callback, errhandler: Out<'_, MPI_Errhandler>) -> Result<()> {
    hand_out(&Arc::new(Errhandler::new(Action::Call(kind, callback))), errhandler)
}

/// Gives the program a handle of an error handler: the same one until the program freed it as often
/// as it got it.
fn hand_out(errhandler: &Arc<Errhandler>, handle: Out<'_, MPI_Errhandler>) -> Result<()> {
    handle.set(match errhandler.action() {
        Action::AreFatal => mpi::MPI_ERRORS_ARE_FATAL,
        Action::Abort => mpi::MPI_ERRORS_ABORT,
        Action::Return => mpi::MPI_ERRORS_RETURN,
        Action::Call(..) => errhandler.hand_out(|| ERRHANDLERS.insert(errhandler.clone())),
    });
    Ok(())
}

/// Raises `code` on an object for the program (9.3.6).
fn call(
    errhandler: &Errhandler,
    handle: usize,
    code: c_int,
    function: &str,
) -> std::result::Result<(), Failed> {
    handle_error(errhandler, handle, code, function, || {
        let text = REGISTRY.string(code).unwrap_or_default();
        format!("the program called {function} with error code {code} ({})", String::from_utf8_lossy(&text))
    });
    Ok(())
}

/// `MPI_Errhandler_free`. A predefined handle may be freed, too, since `get` calls hand it out.
pub fn errhandler_free(errhandler: InOut<'_, MPI_Errhandler>) -> Result<()> {
    let handle = errhandler.get();
    let object = ERRHANDLERS.get(handle)?.clone();
    if !ERRHANDLERS.is_predefined(handle) {
        object.take_back(|| drop(ERRHANDLERS.remove(handle)));
    }
    errhandler.set(mpi::MPI_ERRHANDLER_NULL);
    Ok(())
}

/// `MPI_Comm_create_errhandler`.
pub fn comm_create_errhandler(
    comm_errhandler_fn: MPI_Comm_errhandler_function,
    errhandler: Out<'_, MPI_Errhandler>,
) -> Result<()> {
    create(Kind::Comm, comm_errhandler_fn, errhandler)
}

/// `MPI_Comm_set_errhandler`.
pub fn comm_set_errhandler(comm: &Arc<Comm>, errhandler: &Arc<Errhandler>) -> Result<()> {
    comm.set_errhandler(errhandler.clone())?;
    // Errors may end this process now, or do so no longer.
    survival::judge();
    Ok(())
}

/// `MPI_Comm_get_errhandler`.
pub fn comm_get_errhandler(comm: &Arc<Comm>, errhandler: Out<'_, MPI_Errhandler>) -> Result<()> {
    hand_out(&comm.errhandler(), errhandler)
}

/// `MPI_Comm_call_errhandler`.
pub fn comm_call_errhandler(comm: &Arc<Comm>, errorcode: c_int) -> std::result::Result<(), Failed> {
    call(&comm.errhandler(), comm.handle(), errorcode, "MPI_Comm_call_errhandler")
}

/// `MPI_Errhandler_create` (removed in MPI-3.0).
pub fn errhandler_create(
    handler_fn: MPI_Comm_errhandler_function,
    errhandler: Out<'_, MPI_Errhandler>,
) -> Result<()> {
    comm_create_errhandler(handler_fn, errhandler)
}

/// `MPI_Errhandler_set` (removed in MPI-3.0).
pub fn errhandler_set(comm: &Arc<Comm>, errhandler: &Arc<Errhandler>) -> Result<()> {
    comm_set_errhandler(comm, errhandler)
}

/// `MPI_Errhandler_get` (removed in MPI-3.0).
pub fn errhandler_get(comm: &Arc<Comm>, errhandler: Out<'_, MPI_Errhandler>) -> Result<()> {
    comm_get_errhandler(comm, errhandler)
}

/// `MPI_Session_create_errhandler`.
pub fn session_create_errhandler(
    session_errhandler_fn: MPI_Session_errhandler_function,
    errhandler: Out<'_, MPI_Errhandler>,
) -> Result<()> {
    create(Kind::Session, session_errhandler_fn, errhandler)
}

/// `MPI_Session_set_errhandler`.
pub fn session_set_errhandler(session: &Arc<Session>, errhandler: &Arc<Errhandler>) -> Result<()> {
    session.set_errhandler(errhandler.clone())
}

/// `MPI_Session_get_errhandler`.
pub fn session_get_errhandler(session: &Arc<Session>, errhandler: Out<'_, MPI_Errhandler>) -> Result<()> {
    hand_out(&session.errhandler(), errhandler)
}

/// `MPI_Session_call_errhandler`.
pub fn session_call_errhandler(session: &Arc<Session>, errorcode: c_int) -> std::result::Result<(), Failed> {
    call(&session.errhandler(), session.handle(), errorcode, "MPI_Session_call_errhandler")
}

/// `MPI_Win_create_errhandler`.
pub fn win_create_errhandler(
    win_errhandler_fn: MPI_Win_errhandler_function,
    errhandler: Out<'_, MPI_Errhandler>,
) -> Result<()> {
    create(Kind::Win, win_errhandler_fn, errhandler)
}

/// `MPI_Win_set_errhandler`.
pub fn win_set_errhandler(win: &Arc<Win>, errhandler: &Arc<Errhandler>) -> Result<()> {
    win.set_errhandler(errhandler.clone())
}

/// `MPI_Win_get_errhandler`.
pub fn win_get_errhandler(win: &Arc<Win>, errhandler: Out<'_, MPI_Errhandler>) -> Result<()> {
    hand_out(&win.errhandler(), errhandler)
}

/// `MPI_Win_call_errhandler`.
pub fn win_call_errhandler(win: &Arc<Win>, errorcode: c_int) -> std::result::Result<(), Failed> {
    call(&win.errhandler(), win.handle(), errorcode, "MPI_Win_call_errhandler")
}

/// `MPI_File_create_errhandler`.
pub fn file_create_errhandler(
    file_errhandler_fn: MPI_File_errhandler_function,
    errhandler: Out<'_, MPI_Errhandler>,
) -> Result<()> {
    create(Kind::File, file_errhandler_fn, errhandler)
}

/// `MPI_File_set_errhandler`. On `MPI_FILE_NULL` it sets the one that new files begin with (14.7).
pub fn file_set_errhandler(file: MPI_File, errhandler: &Arc<Errhandler>) -> std::result::Result<(), Failed> {
    if file == mpi::MPI_FILE_NULL {
        errhandler.check(Kind::File)?;
        FILE_DEFAULT.set(errhandler.clone());
        return Ok(());
    }
    let set = FILES.get(file).and_then(|file| file.set_errhandler(errhandler.clone()));
    set.map_err(|error| Failed::of(error, Some(Owner::File(file))))
}

/// `MPI_File_get_errhandler`. Of `MPI_FILE_NULL` it is the one that new files begin with (14.7).
pub fn file_get_errhandler(file: MPI_File, errhandler: Out<'_, MPI_Errhandler>) -> Result<()> {
    hand_out(&errhandler_of_file(file)?, errhandler)
}

fn errhandler_of_file(file: MPI_File) -> Result<Arc<Errhandler>> {
    match file {
        mpi::MPI_FILE_NULL => Ok(FILE_DEFAULT.get()),
        _ => Ok(FILES.get(file)?.errhandler()),
    }
}

/// `MPI_File_call_errhandler`. Of `MPI_FILE_NULL` it is the one that new files begin with (14.7).
pub fn file_call_errhandler(fh: MPI_File, errorcode: c_int) -> std::result::Result<(), Failed> {
    let errhandler = errhandler_of_file(fh)?;
    call(&errhandler, fh, errorcode, "MPI_File_call_errhandler")
}

#[cold]
pub(crate) fn no_function() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "an error handler needs a function",
        "the function argument, which is null",
        "the function's pointer was not set",
        "pass a function, or use MPI_ERRORS_RETURN or MPI_ERRORS_ARE_FATAL",
    )
}
