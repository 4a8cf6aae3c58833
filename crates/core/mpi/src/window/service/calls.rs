//! The origin's side as the calls of a window use it: by rank, and waiting where MPI does.

use super::Service;
use crate::error::Result;
use crate::op::Op;
use crate::process::Process;
use crate::request::Active;
use crate::window::{Remote, Swap, lock};
use std::sync::Arc;
use verbena_hang::Awaited;
use verbena_memory::{Buffer, Owned, Region};

impl Service {
    /// Stores `data` at the target (`MPI_Put`, `MPI_Rput`).
    pub fn put(&self, mut process: &Process, data: &Buffer, remote: &Remote) -> Result<Active> {
        self.origin.put(&mut process, remote, data).map(Active::Window)
    }

    /// Fetches what is at the target (`MPI_Get`, `MPI_Rget`).
    pub fn get(&self, mut process: &Process, into: &Buffer, remote: &Remote) -> Result<Active> {
        self.origin.get(&mut process, remote, into).map(Active::Window)
    }

    /// Combines `source` into what is at the target, and fetches what was there before (all
    /// accumulate calls, and `MPI_Fetch_and_op`).
    pub fn accumulate(
        &self,
        mut process: &Process,
        source: Option<&Buffer>,
        former: Option<&Buffer>,
        remote: &Remote,
        op: &Arc<Op>,
    ) -> Result<Active> {
        self.origin.accumulate(&mut process, remote, op, source, former).map(Active::Window)
    }

    /// Compares and swaps one element (`MPI_Compare_and_swap`).
    pub fn compare_and_swap(&self, mut process: &Process, swap: Swap, remote: &Remote) -> Result<Active> {
        let operands = operands(swap.origin, swap.compare);
        let (operands, former) = (Buffer::Contiguous(operands.lend()), Buffer::Contiguous(swap.result));
        self.origin.compare_and_swap(&mut process, remote, &operands, &former).map(Active::Window)
    }

    /// Takes the lock of `rank` and waits until it is held; `awaited` as in [`Process::wait_for`].
    pub fn lock(
        &self,
        process: &Process,
        rank: usize,
        kind: lock::Kind,
        awaited: impl Fn(&Process) -> Awaited,
        interrupted: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let lock = self.origin.lock(&mut { process }, rank as i32, kind);
        process.wait_for(awaited, |mut process| match lock.poll(&mut process) {
            Some(outcome) => Some(outcome.error.map_or(Ok(()), Err)),
            None => interrupted().err().map(Err),
        })
    }

    /// Returns whether something called on `rank` may not be finished on both sides.
    pub fn is_busy_with(&self, mut process: &Process, rank: usize) -> bool {
        self.origin.is_busy_with(&mut process, rank as i32)
    }
}

/// The new value and the one to compare with, side by side. A request takes them along at once.
fn operands(new: Region, compare: Region) -> Owned {
    let operands = Owned::zeroed(new.len() + compare.len());
    operands.lend().put(0, new);
    operands.lend().put(new.len(), compare);
    operands
}
