//! A few threads that run jobs beside the program.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A job: it runs once, on some thread.
pub type Job = Box<dyn FnOnce() + Send>;

/// The time after which a thread that has nothing to do ends.
const IDLE_MAX: Duration = Duration::from_secs(5);

/// The time after which jobs that wait get one more thread, if none of them was begun: those that
/// run wait for an empty pipe, or for a server that does not answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Threads of a pool at most, for each that it has without such jobs.
const STUCK_FACTOR: usize = 16;

thread_local! {
    /// True in threads of a pool.
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the calling thread is one of a pool, and none of the program.
pub(crate) fn is_own_thread() -> bool {
    IS_OWN.get()
}

/// Threads of all pools that have worked.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// The number of threads that have worked for all pools so far.
pub fn threads_started() -> u64 {
    STARTED.load(Ordering::Relaxed)
}

/// Threads that run jobs in the order in which they came. A thread starts when there is a job and
/// nobody free, and ends when it has been idle for a while. If jobs wait and none is begun for a
/// while, a thread more than there should be begins one, and so on up to a limit.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    ready: Condvar,
    threads_max: usize,
    jobs_max: usize,
    /// The number of threads that the system lets this process have from now on.
    #[cfg(test)]
    granted: std::sync::atomic::AtomicUsize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// Number of jobs that were begun.
    begun: u64,
    /// True while a thread looks whether the jobs that wait are ever begun.
    is_watched: bool,
}

impl Shared {
    fn new(threads_max: usize, jobs_max: usize) -> Shared {
        Shared {
            state: Mutex::default(),
            ready: Condvar::new(),
            threads_max: threads_max.max(1),
            jobs_max,
            #[cfg(test)]
            granted: usize::MAX.into(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A job runs without the lock, so nothing is half done in it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// A pool of at most this many threads, with at most this many jobs that wait for one.
    pub fn new(threads_max: usize, jobs_max: usize) -> Pool {
        Pool { shared: Arc::new(Shared::new(threads_max, jobs_max)) }
    }

    /// A pool of four threads at most, of which the system grants only so many.
    #[cfg(test)]
    pub(crate) fn granted(threads: usize) -> Pool {
        Pool { shared: Arc::new(Shared { granted: threads.into(), ..Shared::new(4, 100) }) }
    }

    /// Hands in a job. Gives it back if as many wait already as may, or as [`Pool::push`] does: the
    /// caller then runs it, and so comes no faster than the disk.
    ///
    /// # Errors
    /// The job itself.
    pub fn submit(&self, job: Job) -> Result<(), Job> {
        match self.waiting() >= self.shared.jobs_max.max(1) {
            true => Err(job),
            false => self.push(job),
        }
    }

    /// Hands in a job however many wait: for callers that must not block. Gives it back if the
    /// system refuses the thread that the job takes: it would wait for jobs that may wait for it.
    ///
    /// # Errors
    /// The job itself.
    pub fn push(&self, job: Job) -> Result<(), Job> {
        let mut state = self.shared.lock();
        if !self.shared.find_thread(&mut state) {
            return Err(job);
        }
        state.jobs.push_back(job);
        Ok(())
    }

    /// Number of jobs that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.shared.lock().jobs.len()
    }
}

impl Shared {
    /// Starts a thread that runs `body`, where the system allows it.
    fn start_thread(self: &Arc<Self>, body: fn(&Arc<Shared>)) -> bool {
        #[cfg(test)]
        if self.granted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err()
        {
            return false;
        }
        let shared = self.clone();
        let builder = std::thread::Builder::new().name("verbena-files".into());
        let blocked = Signals::block();
        let started = builder.spawn(move || body(&shared));
        blocked.restore();
        started.is_ok()
    }

    /// Sees to it that a job more than those that wait is begun. Returns false if the system
    /// refuses the thread that this takes: the job would be begun only if one before it ends. The
    /// state stays locked, so nobody counts on a thread that does not come.
    fn find_thread(self: &Arc<Self>, state: &mut State) -> bool {
        if state.idle > state.jobs.len() {
            self.ready.notify_one();
            return true;
        }
        if state.threads >= self.threads_max {
            return self.watch(state);
        }
        let is_started = self.start_thread(serve);
        state.threads += usize::from(is_started);
        is_started
    }

    /// Lets a thread look whether the jobs that wait are begun, if none does so yet and there may
    /// be one more. Returns false if the system refuses it.
    fn watch(self: &Arc<Self>, state: &mut State) -> bool {
        let limit = self.threads_max.saturating_mul(STUCK_FACTOR);
        if !state.is_watched && state.threads < limit {
            state.is_watched = self.start_thread(wait_for_begin);
            return state.is_watched;
        }
        true
    }
}

/// Waits until no job waits any more, or works itself once none was begun for a while.
fn wait_for_begin(shared: &Arc<Shared>) {
    loop {
        let begun = shared.lock().begun;
        std::thread::sleep(PATIENCE);
        let mut state = shared.lock();
        if state.jobs.is_empty() {
            state.is_watched = false;
            return;
        }
        if state.begun == begun {
            state.is_watched = false;
            state.threads += 1;
            break;
        }
    }
    serve(shared);
}

/// Runs jobs until there has been none for a while.
fn serve(shared: &Arc<Shared>) {
    IS_OWN.set(true);
    STARTED.fetch_add(1, Ordering::Relaxed);
    let mut state = shared.lock();
    loop {
        while let Some(job) = state.jobs.pop_front() {
            state.begun += 1;
            if state.threads > shared.threads_max && !state.jobs.is_empty() {
                // If there is no watcher, the next job that comes asks for one again.
                shared.watch(&mut state);
            }
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
