//! Tasks: work that progress moves on by itself (nonblocking collectives, communicator
//! duplication).

use super::Process;
use crate::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use verbena_hang::Operation;
use verbena_waiting::lock::Lock;

/// A state machine that makes a bounded step each time it is asked.
pub trait Task: Send {
    /// Moves on; `Ok(true)` when done. Never blocks. Not called again after `Ok(true)` or an error.
    fn advance(&mut self, process: &Process) -> Result<bool>;

    /// Returns whether a step may find anything to do. Asked in each round of progress.
    #[inline]
    fn is_due(&self, _process: &Process) -> bool {
        true
    }

    /// Returns whether the last step, which is bounded, left work that waits for nothing.
    #[inline]
    fn has_more(&self) -> bool {
        false
    }

    /// The operation, for reports of programs that hang.
    fn operation(&self) -> Operation {
        Operation::Other
    }
}

/// A task under way, shared by the request that waits for it and the list that drives it.
pub struct Running {
    task: Lock<Option<Box<dyn Task>>>,
    done: AtomicBool,
    outcome: Lock<Result<()>>,
}

impl Running {
    fn new(task: Box<dyn Task>) -> Running {
        Running { task: Lock::new(Some(task)), done: AtomicBool::new(false), outcome: Lock::new(Ok(())) }
    }

    /// Returns whether the task has ended.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// The operation of the task, for reports of programs that hang.
    pub fn operation(&self) -> Operation {
        let task = self.task.try_lock();
        task.and_then(|task| Some(task.as_ref()?.operation())).unwrap_or(Operation::Other)
    }

    /// The result of the task (`Ok` while it has not ended).
    pub fn outcome(&self) -> Result<()> {
        self.outcome.lock().clone()
    }

    /// Makes one step, unless another thread, or a callback's caller, is at it. Returns whether the
    /// next step need not wait for anything, or there is none: nobody may sleep then.
    fn advance(&self, process: &Process) -> bool {
        let Some(mut slot) = self.task.try_lock() else { return false };
        let Some(task) = slot.as_mut().filter(|task| task.is_due(process)) else { return false };
        match task.advance(process) {
            Ok(false) => return task.has_more(),
            Ok(true) => (),
            Err(error) => *self.outcome.lock() = Err(error),
        }
        *slot = None;
        drop(slot);
        self.done.store(true, Ordering::Release);
        true
    }
}

/// The tasks that progress drives.
#[derive(Default)]
pub struct TaskList {
    /// A round goes through them without the lock; the list is copied if it changes meanwhile.
    running: Lock<Arc<Vec<Arc<Running>>>>,
    count: AtomicUsize,
}

impl TaskList {
    /// Returns whether nothing is under way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Starts a task: makes its first step at once and keeps it for progress if that was not the
    /// last.
    pub fn start(&self, process: &Process, task: Box<dyn Task>) -> Arc<Running> {
        let running = Arc::new(Running::new(task));
        running.advance(process);
        if !running.is_done() {
            Arc::make_mut(&mut *self.running.lock()).push(running.clone());
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        running
    }

    /// Makes one step of every task that has something to do. Returns whether one ended, or has
    /// more to do.
    pub fn advance(&self, process: &Process) -> bool {
        let tasks = self.running.lock().clone();
        let moved = tasks.iter().fold(false, |moved, task| task.advance(process) | moved);
        if moved && tasks.iter().any(|task| task.is_done()) {
            let mut running = self.running.lock();
            Arc::make_mut(&mut *running).retain(|task| !task.is_done());
            self.count.store(running.len(), Ordering::Relaxed);
        }
        moved
    }
}
