//! Operations that a thread beside the program carries out: on files.

use crate::error::Result;
use crate::outcome::Outcome;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use verbena_waiting::current::CurrentWaiter;

/// An operation on a file that was started.
#[derive(Clone)]
pub struct Operation(Arc<Shared>);

struct Shared {
    is_done: AtomicBool,
    outcome: Mutex<Option<Outcome>>,
    /// `None` if nobody can be waiting.
    waker: Option<CurrentWaiter>,
}

impl Operation {
    /// An operation that has not ended; `waker` wakes the threads that wait for it.
    pub(crate) fn new(waker: CurrentWaiter) -> Operation {
        let (is_done, outcome) = (AtomicBool::new(false), Mutex::default());
        Operation(Arc::new(Shared { is_done, outcome, waker: Some(waker) }))
    }

    /// An operation that has ended.
    pub(crate) fn ended(outcome: Result<usize>) -> Operation {
        let (is_done, outcome) = (AtomicBool::new(true), Mutex::new(Some(outcome_of(outcome))));
        Operation(Arc::new(Shared { is_done, outcome, waker: None }))
    }

    /// Ends it, once.
    pub(crate) fn finish(&self, outcome: Result<usize>) {
        *self.0.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome_of(outcome));
        self.0.is_done.store(true, Ordering::SeqCst);
        if let Some(waker) = &self.0.waker {
            waker.get().ring_self();
        }
    }

    /// Returns how it ended, if it has.
    pub fn poll(&self) -> Option<Outcome> {
        if !self.0.is_done.load(Ordering::SeqCst) {
            return None;
        }
        self.0.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The outcome of an access that moved these bytes.
pub(crate) fn outcome_of(moved: Result<usize>) -> Outcome {
    match moved {
        Ok(bytes) => Outcome { bytes: bytes as i64, ..Outcome::EMPTY },
        Err(error) => Outcome { error: Some(error), ..Outcome::EMPTY },
    }
}
