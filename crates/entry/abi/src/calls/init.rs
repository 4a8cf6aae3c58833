//! Initialisation, finalisation, thread levels, abort (MPI-5.0, 9.7 and 11.2 to 11.6).

use crate::args::{Out, OutFlag};
use crate::handles::COMMS;
use crate::startup;
use crate::state::{self, World};
use std::ffi::{c_char, c_int};
use std::sync::Arc;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Error, Result};

/// `MPI_Init` (11.2.1).
pub fn init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) -> Result<()> {
    initialise(mpi::MPI_THREAD_SINGLE)
}

/// `MPI_Init_thread` (11.2.1): every level is provided.
pub fn init_thread(
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: Out<c_int>,
) -> Result<()> {
    let level = provided_level(required);
    initialise(level)?;
    provided.set(level);
    Ok(())
}

/// The lowest level that is at least `required`; the highest if there is none.
pub fn provided_level(required: c_int) -> c_int {
    let levels = [mpi::MPI_THREAD_SINGLE, mpi::MPI_THREAD_FUNNELED, mpi::MPI_THREAD_SERIALIZED];
    levels.into_iter().find(|&level| level >= required).unwrap_or(mpi::MPI_THREAD_MULTIPLE)
}

fn initialise(level: c_int) -> Result<()> {
    match state::world() {
        World::Before => (),
        World::Running if state::is_forked_child() => return Err(state::in_forked_child()),
        World::Running => return Err(wrong_time("MPI is initialised already", "after MPI_Init")),
        World::Finalized => return Err(wrong_time("MPI cannot be initialised again", "after MPI_Finalize")),
    }
    startup::enter(level)?;
    state::set_thread_level(level);
    state::set_world(World::Running);
    Ok(())
}

#[cold]
fn wrong_time(what: &str, when: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_OTHER,
        what,
        when,
        "the call came twice, or too late",
        "ask MPI_Initialized and MPI_Finalized first; sessions can begin again",
    )
}

/// `MPI_Finalize` (11.2.2). In a forked child, whose functions at exit call it too, it does
/// nothing.
pub fn finalize() -> Result<()> {
    if state::is_forked_child() {
        state::set_world(World::Finalized);
        return Ok(());
    }
    state::running()?;
    if state::world() != World::Running {
        return Err(wrong_time("MPI is not initialised", "at MPI_Finalize"));
    }
    // The callbacks of MPI_COMM_SELF's attributes run first, while MPI is still whole (11.2.4).
    COMMS.get(mpi::MPI_COMM_SELF)?.attributes().clear(mpi::MPI_COMM_SELF)?;
    startup::meet_world(state::process())?;
    state::set_world(World::Finalized);
    startup::leave()
}

/// `MPI_Initialized` (11.2.3).
pub fn initialized(flag: OutFlag) -> Result<()> {
    flag.set(state::world() != World::Before);
    Ok(())
}

/// `MPI_Finalized` (11.2.3).
pub fn finalized(flag: OutFlag) -> Result<()> {
    flag.set(state::world() == World::Finalized);
    Ok(())
}

/// `MPI_Abort` (9.7): ends all processes of the job, whatever the communicator.
pub fn abort(comm: &Arc<Comm>, errorcode: c_int) -> Result<()> {
    let message = format!(
        "verbena: MPI_Abort was called\n  on: rank {} of a communicator of {} processes, process {} of the job\n  \
         likely cause: the program itself decided to end, with error code {errorcode}\n  \
         what to do: look at what the program printed before",
        comm.rank(),
        comm.size(),
        state::process().me(),
    );
    startup::abort(errorcode, &message)
}

/// `MPI_Query_thread` (11.2.1).
pub fn query_thread(provided: Out<c_int>) -> Result<()> {
    provided.set(state::thread_level());
    Ok(())
}

/// `MPI_Is_thread_main` (11.2.1).
pub fn is_thread_main(flag: OutFlag) -> Result<()> {
    flag.set(state::is_main_thread());
    Ok(())
}

/// `MPI_Pcontrol` (15.2.4): the level means something to profiling libraries only.
pub fn pcontrol(_level: c_int) -> Result<()> {
    Ok(())
}
