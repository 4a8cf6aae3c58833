//! Operations that go on beside the program (MPI-5.0, 14.4): a thread of the library carries them
//! out, and wakes who waits for them.

use super::access::{Access, Place};
use super::counts::{self, Count};
use super::representation::{Data, Direction};
use super::{File, fault};
use crate::active::Active;
use crate::beside::{Operation, outcome_of};
use crate::error::Result;
use crate::process::Process;
use std::sync::{Arc, LazyLock};
use verbena_settings::{FILE_JOBS_MAX, FILE_THREADS_MAX};
use verbena_storage::{Job, Pool, beside_program};
use verbena_waiting::current::CurrentWaiter;

static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::new(FILE_THREADS_MAX.get(), FILE_JOBS_MAX.get()));

/// The duty to end an operation: one that goes without having done so ends it with an error, so
/// that nobody waits for ever.
struct Duty {
    operation: Operation,
    file: Arc<File>,
    is_done: bool,
}

impl Duty {
    fn end(mut self, outcome: Result<usize>) {
        self.is_done = true;
        self.operation.finish(outcome);
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        if !self.is_done {
            self.operation.finish(Err(fault::given_up(&self.file.path)));
        }
    }
}

/// The threads that carry operations out.
pub(super) fn pool() -> Pool {
    POOL.clone()
}

/// Those who start an operation beside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starter {
    /// A call of the program, which carries the operation out itself if as many wait already as
    /// may.
    Call,
    /// A task, which must not block: it starts one at a time.
    Task,
}

/// The bytes of an access, from which a computation beside it would lose if both had one core.
const LONG_BYTES: usize = 1 << 20;

/// Moves the bytes of an access beside the program, a long one on another core.
pub(super) fn move_beside(
    how: (Starter, Direction),
    file: &Arc<File>,
    waker: CurrentWaiter,
    access: Access,
) -> Operation {
    run_beside(how, file, waker, move |file| {
        let work = || file.carry_out(&access).map(|moved| moved.memory);
        if access.bytes < LONG_BYTES { work() } else { beside_program(work) }
    })
}

/// Runs `work` beside the program. Those of a stream run one after the other.
pub(super) fn run_beside(
    (starter, direction): (Starter, Direction),
    file: &Arc<File>,
    waker: CurrentWaiter,
    work: impl FnOnce(&File) -> Result<usize> + Send + 'static,
) -> Operation {
    let operation = Operation::new(waker);
    let duty = Duty { operation: operation.clone(), file: file.clone(), is_done: false };
    let job: Job = Box::new(move || {
        let outcome = work(&duty.file);
        duty.end(outcome);
    });
    let handed = match starter {
        _ if file.disk.is_stream() => {
            file.lane(direction).push(job);
            Ok(())
        }
        Starter::Call => POOL.submit(job),
        Starter::Task => POOL.push(job),
    };
    match handed {
        Ok(()) => counts::add(Count::Beside, 1),
        Err(job) => {
            counts::add(Count::HeldBack, 1);
            job();
        }
    }
    operation
}

impl File {
    /// Reads or writes as [`File::access`]. The bytes of a stream move beside the program, which
    /// makes progress until they are there (MPI-5.0, 2.9): who is to send them may wait for that.
    ///
    /// # Errors
    /// As [`File::access`].
    pub fn access_with_progress(
        self: &Arc<Self>,
        process: &Process,
        direction: Direction,
        place: Place,
        data: &Data,
    ) -> Result<usize> {
        if !self.disk.is_stream() {
            return self.access(direction, place, data);
        }
        let access = self.prepare(direction, place, data)?;
        let active = self.start_prepared(process.waker().clone(), access.clone());
        let outcome = process.wait(|process| active.poll(process));
        if outcome.error.is_some() && place == Place::Individual {
            self.take_back(&access);
        }
        outcome.error.map_or(Ok(outcome.bytes as usize), Err)
    }

    /// Starts an access, which goes on beside the program. Errors of the disk come with its end.
    ///
    /// # Errors
    /// Those of [`File::access`] that can be told at once.
    pub fn start(
        self: &Arc<Self>,
        waker: CurrentWaiter,
        direction: Direction,
        place: Place,
        data: &Data,
    ) -> Result<Active> {
        let access = self.prepare(direction, place, data)?;
        let active = self.start_prepared(waker, access.clone());
        let has_failed = matches!(&active, Active::Done(outcome) if outcome.error.is_some());
        if has_failed && place == Place::Individual {
            self.take_back(&access);
        }
        Ok(active)
    }

    /// Starts an access that knows where it goes. Functions of the program run in its own thread
    /// only, so an access that calls them is complete at once.
    pub(super) fn start_prepared(self: &Arc<Self>, waker: CurrentWaiter, access: Access) -> Active {
        if access.bytes == 0 || access.view.representation.calls_program(access.direction) {
            return Active::Done(outcome_of(self.carry_out_in_order(&access).map(|moved| moved.memory)));
        }
        Active::File(move_beside((Starter::Call, access.direction), self, waker, access))
    }
}
