//! The progress thread: makes progress while the program computes, so that transfers go on beside
//! it (`VERBENA_PROGRESS_THREAD`). A window whose members reach each other by messages has it too,
//! for as long as it lives, so that nobody waits for a target that computes.
//!
//! It sleeps on the same events as a thread that waits in MPI, and holds the engine no longer than
//! that thread does. While it runs, several threads are in MPI, so locks are real and the fast
//! paths are closed.

use crate::state;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;
use verbena_machine::first_thread::FirstThread;
use verbena_mpi::generated::constants::MPI_ERR_OTHER;
use verbena_mpi::window::Server;
use verbena_mpi::{Error, Result};
use verbena_waiting::{ThreadPlacement, lock};

static STOP: AtomicBool = AtomicBool::new(false);
/// The number of windows that need the thread.
static WINDOWS: AtomicUsize = AtomicUsize::new(0);
/// The thread, if it runs.
static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

/// Returns whether the user wants a progress thread, or a window needs it.
pub(crate) fn is_wanted() -> bool {
    verbena_settings::PROGRESS_THREAD.get() || WINDOWS.load(SeqCst) > 0
}

/// The progress thread, which serves windows.
pub(crate) struct Thread;

impl Server for Thread {
    fn require(&self) -> Result<()> {
        require()
    }

    fn release(&self) {
        release();
    }
}

/// Starts the progress thread for a window, until [`release`].
///
/// # Errors
/// The errors of [`start`].
fn require() -> Result<()> {
    WINDOWS.fetch_add(1, SeqCst);
    // Another thread of the program may be inside MPI.
    lock::share(true);
    // The fast paths close, since threads share now.
    state::set_open(true);
    start().inspect_err(|_| {
        WINDOWS.fetch_sub(1, SeqCst);
    })
}

/// Says that a window that had called [`require`] is gone.
pub(crate) fn release() {
    WINDOWS.fetch_sub(1, SeqCst);
    let mut thread = THREAD.lock().unwrap();
    // Another window may have been made, and has found the thread running.
    if !is_wanted() {
        end(&mut thread);
    }
}

/// Starts the progress thread, if it is wanted and does not run.
///
/// # Errors
/// `MPI_ERR_OTHER` if the process may have no more threads.
pub(crate) fn start() -> Result<()> {
    FirstThread::note();
    let mut thread = THREAD.lock().unwrap();
    if !is_wanted() || thread.is_some() {
        return Ok(());
    }
    STOP.store(false, SeqCst);
    let body = || {
        block_signals();
        state::process().run_progress_thread(&STOP, ThreadPlacement::new(FirstThread::noted()));
    };
    let started = std::thread::Builder::new().name("verbena-progress".into()).spawn(body);
    *thread = Some(started.map_err(|error| {
        Error::new(
            MPI_ERR_OTHER,
            format!("the progress thread cannot be started: {error}"),
            "VERBENA_PROGRESS_THREAD",
            "the limit of processes of this user or container is reached (ulimit -u)",
            "raise it, or unset VERBENA_PROGRESS_THREAD",
        )
    })?);
    Ok(())
}

/// Ends the progress thread, if it runs. Nothing may be under way.
pub(crate) fn stop() {
    end(&mut THREAD.lock().unwrap());
}

fn end(thread: &mut Option<JoinHandle<()>>) {
    if let Some(thread) = thread.take() {
        STOP.store(true, SeqCst);
        state::process().wake_sleepers();
        thread.thread().unpark();
        // The thread panics only because of a defect, which it has reported itself.
        let _ = thread.join();
    }
}

/// Blocks all signals: the program's handlers run on the program's threads.
pub(crate) fn block_signals() {
    // SAFETY: the set is filled in before it is used; the call concerns this thread only.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}
