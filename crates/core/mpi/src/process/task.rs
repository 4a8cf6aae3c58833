//! Tasks: work that progress moves on by itself (nonblocking collectives, communicator
//! duplication).

use super::Process;
use crate::error::Result;
use std::cell::Cell;
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
    fn is_due(&self, _round: &Round<'_>) -> bool {
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

/// A round of progress through the tasks.
pub struct Round<'a> {
    process: &'a Process,
    news: Cell<Option<News>>,
}

/// The messages so far that came before their receive, and the losses of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    held_messages: u64,
    losses: u64,
}

impl News {
    /// The news of now.
    pub fn of(process: &Process) -> News {
        process.look(|engine| News { held_messages: engine.held_messages(), losses: engine.losses() })
    }
}

impl<'a> Round<'a> {
    fn new(process: &'a Process) -> Round<'a> {
        Round { process, news: Cell::new(None) }
    }

    /// The news since the last step of a task: the engine is asked once for all the tasks that have
    /// nothing to do.
    #[inline]
    pub fn news(&self) -> News {
        self.news.get().unwrap_or_else(|| {
            let news = News::of(self.process);
            self.news.set(Some(news));
            news
        })
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
    fn advance(&self, round: &Round<'_>) -> bool {
        let Some(mut slot) = self.task.try_lock() else { return false };
        let Some(task) = slot.as_mut().filter(|task| task.is_due(round)) else { return false };
        round.news.set(None);
        match task.advance(round.process) {
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
        running.advance(&Round::new(process));
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
        let round = Round::new(process);
        let moved = tasks.iter().fold(false, |moved, task| task.advance(&round) | moved);
        if moved && tasks.iter().any(|task| task.is_done()) {
            let mut running = self.running.lock();
            Arc::make_mut(&mut *running).retain(|task| !task.is_done());
            self.count.store(running.len(), Ordering::Relaxed);
        }
        moved
    }
}
