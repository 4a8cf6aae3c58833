//! The forms of a collective: blocking, nonblocking, persistent (MPI-5.0, 6.12 and 6.13). All run
//! the same schedules. Each is given its tag ([`Comm::next_collective_tag`],
//! [`Comm::next_nonblocking_tag`]) and the call ([`super::call`]).

use super::board::{SharedBoard, or_lost};
use super::execute::{Collective, Reduction};
use super::schedule::Schedule;
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::op::Op;
use crate::process::Process;
use crate::request::{Active, Outcome, Starter};
use crate::task::Task;
use std::sync::Arc;
use verbena_channel::board::{ANY_BYTES, Way};
use verbena_channel::mark::Mark;
use verbena_hang::Operation;
use verbena_waiting::lock::Lock;

/// Runs to its end the schedule that `fill` writes.
#[inline]
pub fn blocking(
    process: &Process,
    comm: &Comm,
    (tag, call): (i32, Mark),
    reduction: Option<Reduction<'_>>,
    fill: impl FnOnce(&mut Schedule),
) -> Result<()> {
    let lost = |error| or_lost(process, comm, error);
    let board = comm.board_handle().board(process, comm).map_err(lost)?;
    let mut collective = Collective::of(comm, tag);
    collective.set_call(call);
    if let Some(board) = board {
        // The posts of the schedule are numbered from this collective on.
        board.lock().open(comm.collectives_begun());
        collective.schedule().lend(board);
    }
    fill(collective.schedule());
    if let Some(board) = board {
        tell_call(board, call, collective.schedule().common_bytes());
    }
    let outcome = collective.run(process, reduction);
    collective.recycle();
    outcome.map_err(lost)
}

/// Says on the board what this rank calls, for the ranks that look there.
fn tell_call(board: &SharedBoard, call: Mark, bytes: Option<usize>) {
    let bytes = bytes.map_or(ANY_BYTES, |bytes| bytes as u64);
    board.lock().tell_call(call, bytes, Way::Messages);
}

/// The operation and datatype of a reduction that outlives the call.
pub type Kept = Option<(Arc<Op>, Arc<Datatype>)>;

fn borrowed(kept: &Kept) -> Option<Reduction<'_>> {
    kept.as_ref().map(|(op, datatype)| Reduction { op, datatype })
}

/// A nonblocking collective as progress drives it.
struct Once {
    /// `None` once it has ended.
    collective: Option<Box<Collective>>,
    kept: Kept,
}

impl Task for Once {
    fn advance(&mut self, mut process: &Process) -> Result<bool> {
        let Some(collective) = self.collective.as_mut() else { return Ok(true) };
        let state = collective.advance(&mut process, borrowed(&self.kept));
        if !matches!(state, Ok(false))
            && let Some(collective) = self.collective.take()
        {
            collective.recycle();
        }
        state
    }

    fn operation(&self) -> Operation {
        self.collective
            .as_ref()
            .map_or(Operation::Other, |collective| Operation::Collective(collective.said()))
    }
}

/// Starts the schedule that `fill` writes.
pub fn nonblocking(
    process: &Process,
    comm: &Comm,
    (tag, call): (i32, Mark),
    kept: Kept,
    fill: impl FnOnce(&mut Schedule),
) -> Active {
    let mut collective = Collective::of(comm, tag);
    collective.set_call(call);
    fill(collective.schedule());
    begin(process, Once { collective: Some(collective), kept })
}

fn begin(process: &Process, task: impl Task + 'static) -> Active {
    let running = process.tasks().start(process, Box::new(task));
    if running.is_done() {
        return Active::Done(Outcome { error: running.outcome().err(), ..Outcome::EMPTY });
    }
    Active::Task(running)
}

/// A persistent collective while it is active. The lock is never contended: a persistent request is
/// started only while inactive.
struct Again {
    collective: Arc<Lock<Box<Collective>>>,
    kept: Kept,
}

impl Task for Again {
    fn advance(&mut self, mut process: &Process) -> Result<bool> {
        self.collective.lock().advance(&mut process, borrowed(&self.kept))
    }

    fn operation(&self) -> Operation {
        let collective = self.collective.try_lock();
        collective.map_or(Operation::Other, |collective| Operation::Collective(collective.said()))
    }
}

/// A function that starts the schedule that `fill` writes, as often as it is called. All starts use
/// the same tag: they cannot overlap, and messages between two ranks keep their order.
pub fn persistent(
    comm: &Comm,
    (tag, call): (i32, Mark),
    kept: Kept,
    fill: impl FnOnce(&mut Schedule),
) -> Starter {
    let mut collective = Collective::of(comm, tag);
    collective.set_call(call);
    fill(collective.schedule());
    let collective = Arc::new(Lock::new(collective));
    Box::new(move |process| {
        collective.lock().rewind();
        Ok(begin(process, Again { collective: collective.clone(), kept: kept.clone() }))
    })
}
