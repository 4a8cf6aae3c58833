//! The synchronisation of windows (MPI-5.0, 12.5).

use crate::args::OutFlag;
use crate::process;
use std::ffi::c_int;
use std::sync::Arc;
use verbena_mpi::window::{Call, Traced};
use verbena_mpi::{Group, Result, Win};

/// Makes a call on this rank, or on all members, which a trace may have.
#[inline]
fn traced(win: &Win, call: Call, rank: Option<c_int>, act: impl FnOnce() -> Result<()>) -> Result<()> {
    let traced = Traced::begin();
    act()?;
    traced.synchronized(win, call, rank);
    Ok(())
}

/// `MPI_Win_fence` (12.5.1).
pub fn win_fence(assert: c_int, win: &Arc<Win>) -> Result<()> {
    traced(win, Call::Fence, None, || win.fence(process(), assert))
}

/// `MPI_Win_start` (12.5.2).
pub fn win_start(group: &Arc<Group>, assert: c_int, win: &Arc<Win>) -> Result<()> {
    win.start(process(), group, assert)
}

/// `MPI_Win_complete` (12.5.2).
pub fn win_complete(win: &Arc<Win>) -> Result<()> {
    traced(win, Call::Complete, None, || win.complete(process()))
}

/// `MPI_Win_post` (12.5.2).
pub fn win_post(group: &Arc<Group>, assert: c_int, win: &Arc<Win>) -> Result<()> {
    win.post(process(), group, assert)
}

/// `MPI_Win_wait` (12.5.2).
pub fn win_wait(win: &Arc<Win>) -> Result<()> {
    traced(win, Call::Wait, None, || win.wait(process()))
}

/// `MPI_Win_test` (12.5.2).
pub fn win_test(win: &Arc<Win>, flag: OutFlag<'_>) -> Result<()> {
    flag.set(win.test(process())?);
    Ok(())
}

/// `MPI_Win_lock` (12.5.3).
pub fn win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: &Arc<Win>) -> Result<()> {
    traced(win, Call::Lock, Some(rank), || win.lock(process(), lock_type, rank, assert))
}

/// `MPI_Win_lock_all` (12.5.3).
pub fn win_lock_all(assert: c_int, win: &Arc<Win>) -> Result<()> {
    win.lock_all(process(), assert)
}

/// `MPI_Win_unlock` (12.5.3).
pub fn win_unlock(rank: c_int, win: &Arc<Win>) -> Result<()> {
    traced(win, Call::Unlock, Some(rank), || win.unlock(process(), rank))
}

/// `MPI_Win_unlock_all` (12.5.3).
pub fn win_unlock_all(win: &Arc<Win>) -> Result<()> {
    traced(win, Call::Unlock, None, || win.unlock_all(process()))
}

/// `MPI_Win_flush` (12.5.4).
pub fn win_flush(rank: c_int, win: &Arc<Win>) -> Result<()> {
    traced(win, Call::Flush, Some(rank), || win.flush(process(), rank))
}

/// `MPI_Win_flush_all` (12.5.4).
pub fn win_flush_all(win: &Arc<Win>) -> Result<()> {
    traced(win, Call::Flush, None, || win.flush_all(process()))
}

/// `MPI_Win_flush_local` (12.5.4).
pub fn win_flush_local(rank: c_int, win: &Arc<Win>) -> Result<()> {
    traced(win, Call::FlushLocal, Some(rank), || win.flush_local(process(), rank))
}

/// `MPI_Win_flush_local_all` (12.5.4).
pub fn win_flush_local_all(win: &Arc<Win>) -> Result<()> {
    traced(win, Call::FlushLocal, None, || win.flush_local_all(process()))
}

/// `MPI_Win_sync` (12.5.4).
pub fn win_sync(win: &Arc<Win>) -> Result<()> {
    win.sync(process());
    Ok(())
}
