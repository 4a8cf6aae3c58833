//! The state of MPI in this program, and the process behind it (MPI-5.0, 11.2 to 11.4).
//!
//! Two facts are kept apart: whether the *world model* was initialised and finalised (`MPI_Init`,
//! `MPI_Finalize`), and whether the [`Process`] runs, which a session needs too.
//!
//! A child after `fork` has all this from its parent, shared memory and the launcher's line too,
//! but is no process of the job. [`close_in_child`] closes the library to its calls.

use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::thread::ThreadId;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Error, Process, Result};
use verbena_waiting::lock::{SingleThread, is_shared};

/// The state of the world model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum World {
    /// Before `MPI_Init`.
    Before = 0,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Running = 1,
    /// After `MPI_Finalize`.
    Finalized = 2,
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// The process while calls that communicate are allowed, else null.
static OPEN: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// Like `OPEN`, but also null if several threads may be in MPI, if calls are watched, or if
/// messages say their types. So a fast path needs one look.
static FAST_PATH: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// True if calls are watched ([`crate::watched`]).
static WATCHED: AtomicBool = AtomicBool::new(false);
/// The number of the system's process that made [`PROCESS`], 0 before.
static PID: AtomicU32 = AtomicU32::new(0);
static WORLD: AtomicU8 = AtomicU8::new(World::Before as u8);
static THREAD_LEVEL: AtomicI32 = AtomicI32::new(mpi::MPI_THREAD_SINGLE);
/// Set once a call on a communicator, a window or a file has failed.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);
static MAIN_THREAD: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Sets the process, once in a program. It stays for good: threads may still hold it after
/// finalisation.
///
/// # Panics
/// If it was set before.
pub fn set_process(process: Process) {
    let old = PROCESS.swap(Box::into_raw(Box::new(process)), Ordering::AcqRel);
    assert!(old.is_null(), "the process is made once");
    PID.store(std::process::id(), Ordering::Relaxed);
    // SAFETY: the function has C's calling convention, and glibc forgets it with the library. If
    // there is no memory for it, only `is_forked_child` knows a child.
    unsafe { libc::pthread_atfork(None, None, Some(close_in_child)) };
}

/// Notes that a call on a communicator, a window or a file has failed.
pub fn note_failure() {
    HAS_FAILED.store(true, Ordering::Relaxed);
}

/// Returns whether a call on a communicator, a window or a file has failed. Then this process may
/// have left calls that others go on with, on other communicators too.
pub fn has_failed() -> bool {
    HAS_FAILED.load(Ordering::Relaxed)
}

/// Closes the library to the calls of a child, right after `fork`: all that communicates looks at
/// these words first. A child that a callback forks within a call, and that returns into that
/// call, has passed the look.
extern "C" fn close_in_child() {
    OPEN.store(std::ptr::null_mut(), Ordering::Release);
    FAST_PATH.store(std::ptr::null_mut(), Ordering::Release);
}

/// Returns whether this is a child of the process that initialised MPI. A system call: what ends
/// MPI or the job asks, no other call needs to.
pub fn is_forked_child() -> bool {
    ![0, std::process::id()].contains(&PID.load(Ordering::Relaxed))
}

/// The process, if it was made.
#[inline]
pub fn try_process() -> Option<&'static Process> {
    // SAFETY: null, or from `Box::into_raw` in `set_process` and never freed.
    unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
}

/// The process of this program.
///
/// # Panics
/// If there is none yet; entry points check with [`running`] first.
#[inline]
pub fn process() -> &'static Process {
    try_process().expect("no call gets here before initialisation")
}

/// Returns whether calls are watched.
#[inline(always)]
pub fn is_watched() -> bool {
    WATCHED.load(Ordering::Relaxed)
}

/// Lets calls be watched, or not, from the next [`set_open`] on.
pub fn set_watched(is_watched: bool) {
    WATCHED.store(is_watched, Ordering::Relaxed);
}

/// Opens (or closes) the library to calls that communicate: done by the first initialisation and
/// the last finalisation of the world model and sessions.
pub fn set_open(open: bool) {
    let process = if open { PROCESS.load(Ordering::Acquire) } else { std::ptr::null_mut() };
    OPEN.store(process, Ordering::Release);
    // Threads come to share before the library is opened to them, never after. One of a session
    // that was opened before may be inside with the old value.
    let open_to_fast_path = if is_shared() || is_watched() || verbena_settings::CHECK_TYPES.get() {
        std::ptr::null_mut()
    } else {
        process
    };
    FAST_PATH.store(open_to_fast_path, Ordering::Release);
}

/// Returns `Ok` between initialisation and finalisation, else `MPI_ERR_OTHER`.
#[inline]
pub fn running() -> Result<()> {
    if OPEN.load(Ordering::Acquire).is_null() { Err(not_running()) } else { Ok(()) }
}

/// The process, between initialisation and finalisation, if the calling thread is alone in MPI.
#[inline(always)]
pub fn process_alone() -> Option<(&'static Process, SingleThread)> {
    // SAFETY: null, or what `PROCESS` holds: see `try_process`. Not null only while threads do not
    // share (`set_open`). A fast path does not notice threads that come to share between this and
    // its lock (`Lock::lock_alone`).
    unsafe { Some((FAST_PATH.load(Ordering::Acquire).as_ref()?, SingleThread::known())) }
}

/// The state of the world model.
pub fn world() -> World {
    match WORLD.load(Ordering::Acquire) {
        0 => World::Before,
        1 => World::Running,
        _ => World::Finalized,
    }
}

/// Moves the world model on; at [`World::Running`] the calling thread becomes the main thread.
pub fn set_world(world: World) {
    if world == World::Running {
        *MAIN_THREAD.lock().unwrap() = Some(std::thread::current().id());
    }
    WORLD.store(world as u8, Ordering::Release);
}

/// Returns whether the calling thread initialised MPI (`MPI_Is_thread_main`).
pub fn is_main_thread() -> bool {
    *MAIN_THREAD.lock().unwrap() == Some(std::thread::current().id())
}

/// The thread level that `MPI_Init_thread` provided (`MPI_Query_thread`).
pub fn thread_level() -> c_int {
    THREAD_LEVEL.load(Ordering::Relaxed)
}

/// Sets the thread level.
pub fn set_thread_level(level: c_int) {
    THREAD_LEVEL.store(level, Ordering::Relaxed);
}

/// The error of a call after `MPI_Finalize`, in a few words.
pub const FINALIZED: &str = "MPI has been finalised";

#[cold]
fn not_running() -> Error {
    let (what, on, remedy) = match world() {
        World::Finalized => (FINALIZED, "after MPI_Finalize", "call it before MPI_Finalize"),
        _ if is_forked_child() => return in_forked_child(),
        _ => ("MPI is not initialised", "before MPI_Init", "call MPI_Init or MPI_Init_thread first"),
    };
    Error::new(mpi::MPI_ERR_OTHER, what, on, "the call came at the wrong time", remedy)
}

/// The error of a call in a child of the process that initialised MPI.
#[cold]
pub fn in_forked_child() -> Error {
    Error::new(
        mpi::MPI_ERR_OTHER,
        "a forked child called MPI",
        format!("the system's process {}, forked from {}", std::process::id(), PID.load(Ordering::Relaxed)),
        "the program forked after MPI_Init, and both went on with MPI; only the parent is a process of the job",
        "let the parent alone call MPI, and the child only compute, start another program, or end",
    )
}
