//! Initialisation, finalisation, thread levels, abort (MPI-5.0, 9.7 and 11.2 to 11.6).

use crate::args::{Out, OutFlag};
use crate::generated::types::MPI_Comm;
use crate::handles::COMMS;
use crate::startup;
use crate::state::{self, World};
use std::ffi::{c_char, c_int};
use verbena_channel::trace::calls::Starting;
use verbena_fault::Fault;
use verbena_mpi::coll::Kind;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Error, Result};

/// `MPI_Init` (11.2.1).
pub fn init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) -> Result<()> {
    initialise("MPI_Init", mpi::MPI_THREAD_SINGLE)
}

/// `MPI_Init_thread` (11.2.1): every level is provided.
pub fn init_thread(
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: Out<c_int>,
) -> Result<()> {
    let level = provided_level(required);
    initialise("MPI_Init_thread", level)?;
    provided.set(level);
    Ok(())
}

/// The lowest level that is at least `required`; the highest if there is none.
pub fn provided_level(required: c_int) -> c_int {
    let levels = [mpi::MPI_THREAD_SINGLE, mpi::MPI_THREAD_FUNNELED, mpi::MPI_THREAD_SERIALIZED];
    levels.into_iter().find(|&level| level >= required).unwrap_or(mpi::MPI_THREAD_MULTIPLE)
}

fn initialise(call: &'static str, level: c_int) -> Result<()> {
    let starting = Starting::begin(call);
    match state::world() {
        World::Before => (),
        World::Running if state::is_forked_child() => return Err(state::in_forked_child()),
        World::Running => return Err(wrong_time("MPI is initialised already", "after MPI_Init")),
        World::Finalized => return Err(wrong_time("MPI cannot be initialised again", "after MPI_Finalize")),
    }
    startup::enter(level)?;
    state::set_thread_level(level);
    state::set_world(World::Running);
    if startup::launch().is_some_and(|launch| launch.any_survives) {
        // Until all are here, one that does not know the wish would end the job with a killed rank.
        // One that is killed meanwhile is told of at the next call. All meet, or none.
        let world = COMMS.get(mpi::MPI_COMM_WORLD)?;
        let _ = startup::meet_members(state::process(), &world, Kind::Creation);
    }
    starting.end();
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
    match state::world() {
        World::Running => {}
        World::Before => return Err(wrong_time("MPI is not initialised", "at MPI_Finalize")),
        World::Finalized => return Err(wrong_time(state::FINALIZED, "at MPI_Finalize")),
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

/// `MPI_Abort` (9.7): ends all processes of the job, whatever the communicator. The exit code of
/// `mpiexec` is the low byte of `errorcode`, or 1 if that is 0 and `errorcode` is not. So 0 gives
/// 0, as in MPICH and Open MPI, and only the messages tell that the job was aborted. Before
/// initialisation, and in a forked child, it ends the calling process.
pub fn abort(comm: MPI_Comm, errorcode: c_int) -> Result<()> {
    let pid = std::process::id();
    let (on, remedy) = if state::is_forked_child() {
        (
            format!("the system's process {pid}, forked from a process of the job, which goes on"),
            "call it in the process that initialised MPI to end the job",
        )
    } else if state::try_process().is_none() {
        (
            format!("the system's process {pid}, where MPI is not initialised: it alone ends"),
            "call MPI_Init first to end the whole job",
        )
    } else {
        let comm = COMMS.get(comm)?;
        let (rank, size, me) = (comm.rank(), comm.size(), state::process().me());
        (
            format!(
                "rank {rank} of a communicator of {}, process {me} of the job",
                verbena_fault::count(size, "process")
            ),
            "look at what the program printed before",
        )
    };
    let cause = format!("the program itself decided to end, with error code {errorcode}");
    let fault = Fault::new("MPI_Abort was called", on, cause, remedy);
    startup::abort(errorcode, &format!("verbena: {fault}"))
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
