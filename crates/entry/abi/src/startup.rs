//! Starting and ending this program's process: shared by the world model and by sessions
//! (MPI-5.0, 11.2 and 11.3).
//!
//! The process is made once, at the first `MPI_Init` or `MPI_Session_init`, and stays. The library
//! is open while the world model or any session is; when the last of them ends, operations under
//! way are completed, also with other jobs. Once nothing can begin again, the launcher is told.

use crate::handles::{COMMS, WINS};
use crate::owner::{Owner, on_comm};
use crate::tool::clock_ns;
use crate::{
    alone, crash, gpu, news, panic, progress_thread, python, state, survival, unreceived, watch, whereabouts,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use verbena_channel::{Peer, trace};
use verbena_mpi::comm::{Traffic, private, world};
use verbena_mpi::dynamic::{names, spawn};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::startup::{Launch, Started, abort_unlaunched, fail_unlaunched, start};
use verbena_mpi::unreceived::settle_abroad;
use verbena_mpi::{Comm, Error, Process, Result, coll, log, tool};
use verbena_waiting::lock;

static LAUNCH: OnceLock<Launch> = OnceLock::new();
/// The handle of the intercommunicator with the program that spawned this one.
static PARENT: OnceLock<usize> = OnceLock::new();
/// Set once the world model has ended without a meeting.
static IS_APART: AtomicBool = AtomicBool::new(false);
/// The number of users that hold the library open: the world model and each session.
static USERS: Mutex<usize> = Mutex::new(0);

/// Makes the process if this is the first call, and holds the library open until [`leave`].
pub fn enter(thread_level: i32) -> Result<()> {
    if state::is_forked_child() {
        return Err(state::in_forked_child());
    }
    panic::explain();
    let mut users = USERS.lock().unwrap();
    let is_new = state::try_process().is_none();
    if is_new {
        let has_gpu = gpu::is_loaded();
        make_process(thread_level == mpi::MPI_THREAD_MULTIPLE)?;
        gpu::decide(has_gpu);
        state::set_watched(trace::is_on() || gpu::is_wanted());
    }
    // The settings are known only now.
    crash::explain(watch::place());
    whereabouts::answer(watch::place());
    if thread_level == mpi::MPI_THREAD_MULTIPLE || progress_thread::is_wanted() {
        // A thread that is in MPI already may hold the locks of a process that was there before.
        lock::share(!is_new);
    }
    progress_thread::start()?;
    if *users == 0 {
        state::process().refuse_foreign(false);
    }
    *users += 1;
    state::set_open(true);
    if is_new {
        survival::begin();
        meet_parent()?;
    }
    Ok(())
}

/// Connects with the program that spawned this one, if one did.
fn meet_parent() -> Result<()> {
    let (Some(launch), world) = (launch(), COMMS.get(mpi::MPI_COMM_WORLD)?) else { return Ok(()) };
    if let Some(parent) = spawn::meet_parent(&world, launch, state::process())? {
        let parent = Arc::new(parent);
        let handle = COMMS.insert(parent.clone());
        let _ = PARENT.set(handle);
        survival::published(&parent, handle);
        // The parent may be where nobody sees its end.
        survival::judge();
    }
    Ok(())
}

/// The intercommunicator with the program that spawned this one; `MPI_COMM_NULL` if nobody did.
pub fn parent() -> usize {
    PARENT.get().copied().filter(|handle| COMMS.get(*handle).is_ok()).unwrap_or(mpi::MPI_COMM_NULL)
}

fn make_process(has_threads: bool) -> Result<()> {
    let Started { process, launch } = start(has_threads)?;
    COMMS.define(mpi::MPI_COMM_WORLD, Arc::new(world::world(&process)));
    COMMS.define(mpi::MPI_COMM_SELF, Arc::new(world::own(&process)));
    crate::predefined::learn_element_bytes();
    let watcher = watch::launcher().or_else(|| alone::watcher(process.me(), process.size()));
    let process = process.with_senders(may_send, may_have_left).with_watch(watcher);
    state::set_process(process.with_on_revoke(on_revoke).with_on_death(on_death));
    tool::event::attach(state::process(), clock_ns);
    log::started(state::process(), launch.launcher, &launch.job);
    // Set only here, under the lock of `USERS`.
    let _ = LAUNCH.set(launch);
    // SAFETY: the function has C's calling convention and lives as long as the library.
    unsafe { libc::atexit(at_exit) };
    Ok(())
}

/// Returns whether a receive from any source in this context might have been for a message of this
/// peer.
fn may_send(context: u64, peer: Peer) -> bool {
    COMMS.find(|comm| comm.may_hear(context, peer)).is_some() || private::may_hear(context, peer)
}

/// Returns whether a peer that is lost, and not known to be dead, may have left properly. A process
/// of the world model cannot while this one is in MPI (`MPI_Finalize` is collective); one that has
/// only sessions may. One of another job parts from this one first (`MPI_Comm_disconnect`).
fn may_have_left(peer: Peer) -> bool {
    let is_foreign = state::try_process().is_some_and(|process| peer >= process.size());
    match state::world() {
        state::World::Before => !is_foreign,
        state::World::Running => false,
        state::World::Finalized => true,
    }
}

/// Notes that the communicator with this context was revoked, and with it the windows and files
/// that were made over it: their calls fail from now on. Returns the contexts of these, and of the
/// communicator behind it, if there is one.
fn on_revoke(context: u64) -> Vec<u64> {
    if let Some(process) = state::try_process() {
        process.note_revoked_beside(context);
    }
    let mut more = private::revoke_with(context);
    let found = COMMS.find(|comm| comm.has_context(context));
    if let Some((handle, comm)) = found.and_then(|handle| Some((handle, COMMS.get(handle).ok()?))) {
        comm.note_revoked();
        COMMS.hide(handle);
        more.extend(comm.is_inter().then(|| comm.inner().context(Traffic::Point)));
    }
    more
}

/// Keeps windows from the fast paths, which look for no dead members.
fn on_death() {
    WINS.find(|win| {
        WINS.hide(win.handle());
        false
    });
}

/// Ends one use of the library; the last one waits for what is under way. A forked child ends
/// nothing: the communication is its parent's.
pub fn leave() -> Result<()> {
    if state::is_forked_child() {
        return Ok(());
    }
    let mut users = USERS.lock().unwrap();
    *users -= 1;
    if *users > 0 {
        return Ok(());
    }
    // From here on nobody posts a receive.
    state::process().refuse_foreign(true);
    let parted = match IS_APART.load(Ordering::Relaxed) {
        true => leave_apart(state::process()),
        false => Ok(()),
    };
    drain(state::process());
    progress_thread::stop();
    news::stop();
    log::ended(state::process());
    state::process().wait(|process| process.farewell().then_some(()));
    state::set_open(false);
    names::withdraw();
    let parted = parted.and(spawn::part(launch(), true));
    // The launcher is told all the same.
    let traced = trace::finish(state::process().me()).map_err(Error::channel);
    if state::world() == state::World::Finalized {
        launch().map_or(Ok(()), Launch::finalize)?;
    }
    parted.and(traced)
}

/// Waits until nothing needs this process's progress any more.
pub fn drain(process: &Process) {
    settle_abroad(process);
    process.wait(|process| process.is_quiet().then_some(()));
}

/// Waits for all processes of the world model (MPI-5.0, 11.2.2: finalising is collective over it).
pub fn meet_world(process: &Process) -> Result<()> {
    let world = COMMS.get(mpi::MPI_COMM_WORLD)?;
    // The call names no communicator, so the error does.
    let named = |error| on_comm(error, Owner::Comm(mpi::MPI_COMM_WORLD));
    let has_sessions = *USERS.lock().unwrap() > 1;
    process.note_deaths();
    // A process of another job may wait for this one to receive, and this one for its own world.
    if !has_sessions {
        process.refuse_foreign(true);
    }
    let met = meet_members(process, &world, coll::Kind::Finalize);
    if is_apart(process, &world) {
        return part(process, has_sessions);
    }
    met.map_err(named)?;
    // From here on nobody posts a receive.
    unreceived::take_back(process, has_sessions);
    drain(process);
    let met = meet_members(process, &world, coll::Kind::Finalize);
    if is_apart(process, &world) {
        return part(process, has_sessions);
    }
    met.map_err(named)?;
    unreceived::warn_of_arrived(process, has_sessions);
    // The collectives of a session may go on.
    if has_sessions { Ok(()) } else { check_received(process) }
}

/// Returns whether not all processes of the world can meet any more: one of its has died, or the
/// world was revoked. The others may know it or not.
fn is_apart(process: &Process, world: &Comm) -> bool {
    let is_own = |peer: &Peer| *peer < process.size();
    world.is_revoked() || process.look(|engine| engine.dead().iter().any(is_own))
}

/// Ends the world model without a meeting. Sessions that go on may still send and receive: the last
/// one does the rest.
fn part(process: &Process, has_sessions: bool) -> Result<()> {
    IS_APART.store(true, Ordering::Relaxed);
    if has_sessions { Ok(()) } else { leave_apart(process) }
}

/// Leaves without a meeting. Only the launcher knows who is left: this process tells it that it is
/// ready, and serves the others until all are. Under other launchers than ours, where no death is
/// survived, it waits for those alone that have yet to receive something from it.
fn leave_apart(process: &Process) -> Result<()> {
    let Some(place) = watch::place() else {
        drain(process);
        return Ok(());
    };
    settle_abroad(process);
    // Another one may need what waits here for room in a channel.
    unreceived::let_leave(process);
    // The others may still be connected with spawned jobs: the launcher parts from those when all
    // ranks have left.
    launch().map_or(Ok(()), Launch::finalize)?;
    process.wait(|_| place.is_parted().then_some(()));
    // All that live are here, or have left: whatever was not received never will be.
    unreceived::drop_all(process);
    Ok(())
}

/// Refuses messages of collectives that nobody received, now that all ranks have ended theirs. A
/// rank in which a call has failed may have left them itself.
fn check_received(process: &Process) -> Result<()> {
    if state::has_failed() {
        return Ok(());
    }
    // Those of a communicator that was revoked were interrupted.
    let error_on = |comm: &Comm| match comm.is_revoked() {
        true => None,
        false => coll::unreceived::mismatch_error(process, comm),
    };
    let Some(handle) = COMMS.find(|comm| error_on(comm).is_some()) else { return Ok(()) };
    error_on(&*COMMS.get(handle)?).map_or(Ok(()), |error| Err(on_comm(error, Owner::Comm(handle))))
}

/// Waits for all members of a communicator, and those of the other side, in a call of this kind.
pub fn meet_members(process: &Process, world: &Comm, kind: coll::Kind) -> Result<()> {
    let tag = world.next_collective_tag();
    let call = coll::Call::new(kind, world).mark();
    if let Some(met) = coll::board::blocking::meet(process, world, call) {
        met?;
    } else {
        let mut barrier = coll::Collective::of(world, tag);
        barrier.set_call(call);
        coll::operations::barrier(barrier.schedule(), world);
        barrier.run(process, None)?;
        barrier.recycle();
    }
    Ok(())
}

/// The line to the launcher, once the process is made.
pub fn launch() -> Option<&'static Launch> {
    LAUNCH.get()
}

/// Ends the whole job; a forked child, which is no part of it, ends alone.
pub fn abort(code: i32, message: &str) -> ! {
    match launch().filter(|_| !state::is_forked_child()) {
        Some(launch) => launch.abort(code, message),
        None => abort_unlaunched(code, message),
    }
}

/// Like [`abort`], after an error in `call`; the place of the call in the program is told.
pub fn fail(code: i32, call: &str, message: &str) -> ! {
    let message = match &python::lines()[..] {
        [] => {
            crash::tell_error(code, message);
            message.to_owned()
        }
        lines => format!("{message}\n  in the program: at {}", lines.join(", called from ")),
    };
    match launch().filter(|_| !state::is_forked_child()) {
        Some(launch) => launch.fail(code, call, &message),
        None if launch().is_none() => fail_unlaunched(code, call, &message),
        None => abort_unlaunched(code, &message),
    }
}

/// Tells the launcher that a program which used only sessions, and ended them all, has left MPI
/// properly. It does so only at exit, since until then another session might begin. A program that
/// is still inside MPI has not left it, and the launcher says so.
extern "C" fn at_exit() {
    if !state::is_forked_child()
        && state::running().is_err()
        && let Some(Err(error)) = launch().map(Launch::finalize)
    {
        verbena_fault::complain(format!("verbena: {error}"));
    }
}
