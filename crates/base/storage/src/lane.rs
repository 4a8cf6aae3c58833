//! One job after the other, in the order in which they came: for files whose bytes have an order
//! and no places.

use crate::pool::{Job, Pool};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A lane: what enters it first is done first, jobs of a pool and threads of the program alike.
#[derive(Clone)]
pub struct Lane(Arc<Shared>);

struct Shared {
    pool: Pool,
    state: Mutex<State>,
    granted: Condvar,
}

#[derive(Default)]
struct State {
    is_busy: bool,
    waiting: VecDeque<Entry>,
    /// Number of threads that had to wait so far.
    tickets: u64,
    /// The ticket of the thread whose turn it is, until it goes on.
    called: Option<u64>,
}

enum Entry {
    Job(Job),
    Thread(u64),
}

/// The turn of a thread or a job; the next one follows when this goes.
pub struct Turn(Option<Arc<Shared>>);

impl Lane {
    /// A lane whose jobs run on threads of this pool.
    pub fn new(pool: Pool) -> Lane {
        Lane(Arc::new(Shared { pool, state: Mutex::default(), granted: Condvar::new() }))
    }

    /// Waits until all that came before is done.
    pub fn enter(&self) -> Turn {
        let mut state = self.0.lock();
        if state.is_busy {
            let ticket = state.tickets;
            state.tickets += 1;
            state.waiting.push_back(Entry::Thread(ticket));
            let waited = self.0.granted.wait_while(state, |state| state.called != Some(ticket));
            state = waited.unwrap_or_else(PoisonError::into_inner);
            state.called = None;
        }
        state.is_busy = true;
        Turn(Some(self.0.clone()))
    }

    /// Hands in a job, which runs once all that came before is done. Returns at once, unless the
    /// system refuses the thread that it takes.
    pub fn push(&self, job: Job) {
        let mut state = self.0.lock();
        if state.is_busy {
            state.waiting.push_back(Entry::Job(job));
            return;
        }
        state.is_busy = true;
        drop(state);
        self.0.run(job);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A job runs without the lock, so nothing is half done in it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a job, which has the turn, on a thread of the pool, and then what comes next. If the
    /// system refuses the thread that this takes, the calling one does all that waits, one job
    /// after the other: those that have a thread may be at the other end of this pipe.
    fn run(self: &Arc<Self>, job: Job) {
        let mut next = Some(job);
        while let Some(job) = next.take() {
            let is_callers = Arc::new(AtomicBool::new(false));
            let (mut turn, told) = (Turn(Some(self.clone())), is_callers.clone());
            let job = Box::new(move || {
                job();
                if told.load(Ordering::Relaxed) {
                    // The caller looks for the next one, so that calls do not pile up.
                    turn.0 = None;
                }
                drop(turn);
            });
            if let Err(job) = self.pool.push(job) {
                is_callers.store(true, Ordering::Relaxed);
                job();
                next = self.next();
            }
        }
    }

    /// Ends a turn and gives it to the next. Returns that if it is a job.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        match state.waiting.pop_front() {
            None => state.is_busy = false,
            Some(Entry::Thread(ticket)) => {
                state.called = Some(ticket);
                self.granted.notify_all();
            }
            Some(Entry::Job(job)) => return Some(job),
        }
        None
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(lane) = self.0.take()
            && let Some(job) = lane.next()
        {
            lane.run(job);
        }
    }
}
