//! One-sided calls in a trace: what an origin called, on which target, which way it went, and how
//! long the call took.

use super::{clock, is_on, with};
use crate::Peer;
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// A call of one-sided communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// `MPI_Put`, `MPI_Rput`.
    Put,
    /// `MPI_Get`, `MPI_Rget`.
    Get,
    /// `MPI_Accumulate`, `MPI_Get_accumulate` and those with requests.
    Accumulate,
    /// `MPI_Fetch_and_op`.
    FetchAndOp,
    /// `MPI_Compare_and_swap`.
    CompareAndSwap,
    /// `MPI_Win_lock`: the time is that of waiting for the lock.
    Lock,
    /// `MPI_Win_unlock`, `MPI_Win_unlock_all`.
    Unlock,
    /// `MPI_Win_flush`, `MPI_Win_flush_all`.
    Flush,
    /// `MPI_Win_flush_local`, `MPI_Win_flush_local_all`.
    FlushLocal,
    /// `MPI_Win_fence`.
    Fence,
    /// `MPI_Win_complete`.
    Complete,
    /// `MPI_Win_wait`.
    Wait,
}

/// The way to a target's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Memory that is mapped at the origin.
    Mapped,
    /// Copies by the kernel.
    Neighbor,
    /// Messages.
    Messages,
    /// The origin's device, in the target's memory.
    Device,
}

/// A call as its origin made it. Times are ticks of [`Log::tick_ns`](super::Log::tick_ns).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OneSided {
    /// The call.
    pub call: Call,
    /// The process whose memory it is about; `None` if it is about all members of the window.
    pub target: Option<Peer>,
    /// Bytes at the target.
    pub bytes: u64,
    /// The way that it went; `None` if it is about several targets, or goes no way.
    pub way: Option<Way>,
    /// The time at which the program called.
    pub entered: u64,
    /// The time at which the call was about to return.
    pub left: u64,
}

thread_local! {
    /// The operation under way in this thread.
    static OPERATION: Cell<Option<(Call, Way)>> = const { Cell::new(None) };
}

/// Returns the time now, which is not 0, if messages are traced, else 0.
#[inline]
pub fn begin() -> u64 {
    if is_on() { now() } else { 0 }
}

#[cold]
fn now() -> u64 {
    OPERATION.set(None);
    clock::ticks().max(1)
}

/// Notes the way that an operation of this thread goes.
#[inline]
pub fn goes(call: Call, way: Way) {
    if is_on() {
        OPERATION.set(Some((call, way)));
    }
}

/// Records the operation of this thread that began then ([`begin`]), unless it went nowhere.
#[cold]
pub fn operated(began: u64, target: Peer, bytes: u64) {
    if let Some((call, way)) = OPERATION.take() {
        record(OneSided { call, target: Some(target), bytes, way: Some(way), entered: began, left: 0 });
    }
}

/// Records a call of this thread, which ends now.
#[cold]
pub fn record(call: OneSided) {
    let left = clock::ticks();
    with(|recorder| recorder.one_sided(OneSided { left, ..call }));
}
