//! A few threads that run jobs beside the program.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A job: it runs once, on some thread.
pub type Job = Box<dyn FnOnce() + Send>;

/// The time after which a thread that has nothing to do ends.
const IDLE_MAX: Duration = Duration::from_secs(5);

/// Threads of all pools that have started.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// The number of threads that all pools have started so far.
pub fn threads_started() -> u64 {
    STARTED.load(Ordering::Relaxed)
}

/// Threads that run jobs in the order in which they came. A thread starts when there is a job and
/// nobody free, and ends when it has been idle for a while.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    ready: Condvar,
    threads_max: usize,
    jobs_max: usize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A job runs without the lock, so nothing is half done in it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// A pool of at most this many threads, with at most this many jobs that wait for one.
    pub fn new(threads_max: usize, jobs_max: usize) -> Pool {
        let (state, ready) = (Mutex::default(), Condvar::new());
        Pool { shared: Arc::new(Shared { state, ready, threads_max: threads_max.max(1), jobs_max }) }
    }

    /// Hands in a job. Gives it back if as many wait already as may, or if the system lets this
    /// process have no thread: the caller then runs it, and so comes no faster than the disk.
    ///
    /// # Errors
    /// The job itself.
    pub fn submit(&self, job: Job) -> Result<(), Job> {
        let mut state = self.shared.lock();
        if state.jobs.len() >= self.shared.jobs_max.max(1) {
            return Err(job);
        }
        state.jobs.push_back(job);
        if state.idle >= state.jobs.len() {
            self.shared.ready.notify_one();
            return Ok(());
        }
        if state.threads < self.shared.threads_max {
            state.threads += 1;
            drop(state);
            if !self.start_thread() {
                return self.take_back();
            }
        }
        Ok(())
    }

    /// Number of jobs that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.shared.lock().jobs.len()
    }

    fn start_thread(&self) -> bool {
        let shared = self.shared.clone();
        let builder = std::thread::Builder::new().name("verbena-files".into());
        let blocked = Signals::block();
        let started = builder.spawn(move || serve(&shared));
        blocked.restore();
        STARTED.fetch_add(started.is_ok().into(), Ordering::Relaxed);
        started.is_ok()
    }

    /// Notes that there is no new thread. If there is no other either, the last job goes back.
    fn take_back(&self) -> Result<(), Job> {
        let mut state = self.shared.lock();
        state.threads -= 1;
        match state.threads {
            0 => state.jobs.pop_back().map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }
}

/// Runs jobs until there has been none for a while.
fn serve(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        while let Some(job) = state.jobs.pop_front() {
            drop(state);
            job();
            state = shared.lock();
        }
        state.idle += 1;
        let waited = shared.ready.wait_timeout_while(state, IDLE_MAX, |state| state.jobs.is_empty());
        let (guard, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        state = guard;
        state.idle -= 1;
        if waited.timed_out() && state.jobs.is_empty() {
            state.threads -= 1;
            return;
        }
    }
}

/// The signals that the calling thread lets through. A new thread inherits them, and the program's
/// signals are for its own threads.
struct Signals(libc::sigset_t);

impl Signals {
    /// Blocks all signals, until [`Signals::restore`].
    fn block() -> Signals {
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the calls fill the sets, and cannot fail with these arguments.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Signals(before.assume_init())
        }
    }

    fn restore(self) {
        // SAFETY: the set is the thread's own of before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}
