//! The word that holds a shared file pointer: in memory that all processes of a node have mapped,
//! or reached by messages to the first process of the file. Nothing lies in the file system.

use crate::comm::{Comm, Exchange};
use crate::datatype::Datatype;
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::op::Op;
use crate::process::Process;
use crate::window::{Means, Remote, Server, Wanted, Win};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use verbena_memory::{Buffer, Owned};

/// A number that all processes of a file share.
pub trait Word: Send + Sync {
    /// Adds to it and returns the value of before. Not collective.
    ///
    /// # Errors
    /// The process that holds it cannot be reached.
    fn fetch_add(&self, more: u64) -> Result<u64>;

    /// The value. Not collective.
    ///
    /// # Errors
    /// As [`Word::fetch_add`].
    fn load(&self) -> Result<u64>;

    /// Sets the value. Not collective.
    ///
    /// # Errors
    /// As [`Word::fetch_add`].
    fn store(&self, value: u64) -> Result<()>;

    /// Ends its use. Collective.
    ///
    /// # Errors
    /// Those of `MPI_Win_free`.
    fn free(&self, exchange: &dyn Exchange) -> Result<()>;

    /// Returns whether others reach it by messages to this process only: its thread serves them.
    fn needs_progress(&self) -> bool;
}

/// The word of a file that one process opened alone.
#[derive(Debug, Default)]
pub struct LocalWord(AtomicU64);

impl Word for LocalWord {
    fn fetch_add(&self, more: u64) -> Result<u64> {
        Ok(self.0.fetch_add(more, Ordering::SeqCst))
    }

    fn load(&self) -> Result<u64> {
        Ok(self.0.load(Ordering::SeqCst))
    }

    fn store(&self, value: u64) -> Result<()> {
        self.0.store(value, Ordering::SeqCst);
        Ok(())
    }

    fn free(&self, _exchange: &dyn Exchange) -> Result<()> {
        Ok(())
    }

    fn needs_progress(&self) -> bool {
        false
    }
}

/// A word in a window, at its first process.
pub struct WindowWord {
    process: &'static Process,
    win: Win,
}

/// The thread of a process that nobody asks: it does not hold the word.
struct NoThread;

impl Server for NoThread {
    fn require(&self) -> Result<()> {
        Ok(())
    }

    fn release(&self) {}
}

impl WindowWord {
    /// Makes the word, which is 0. Collective. The thread of the process that holds the word serves
    /// the others, if they reach it by messages.
    ///
    /// # Errors
    /// Those of `MPI_Win_allocate`.
    pub fn new(process: &'static Process, comm: &Comm, means: Means<'_>) -> Result<WindowWord> {
        let holds = comm.rank() == 0;
        let bytes = if holds { size_of::<u64>() as i64 } else { 0 };
        let means = if holds { means } else { Means { server: &NoThread, ..means } };
        let win = Win::allocate(process, comm, Ok(()), Wanted { size: bytes, unit: 1, info: None }, means)?;
        win.lock_all(process, mpi::MPI_MODE_NOCHECK)?;
        Ok(WindowWord { process, win })
    }

    /// Changes the word by an operation and returns the value of before.
    fn change(&self, operation: usize, operand: u64) -> Result<u64> {
        let datatype = Datatype::predefined(mpi::MPI_UINT64_T).expect("MPI_UINT64_T is predefined");
        let op: &Arc<Op> = Op::predefined(operation).expect("the operation is predefined");
        let (origin, former) = (Owned::from(&operand.to_ne_bytes()[..]), Owned::zeroed(size_of::<u64>()));
        let [given, found] = [&origin, &former].map(|owned| Buffer::Contiguous(owned.lend()));
        let source = (operation != mpi::MPI_NO_OP).then_some((&given, datatype));
        let remote = Remote { rank: 0, displacement: 0, count: 1, datatype };
        self.win.fetch_and_op(self.process, source, &found, remote, op)?;
        self.win.flush(self.process, 0)?;
        Ok(former.lend().load(0))
    }
}

impl Word for WindowWord {
    fn fetch_add(&self, more: u64) -> Result<u64> {
        self.change(mpi::MPI_SUM, more)
    }

    fn load(&self) -> Result<u64> {
        self.change(mpi::MPI_NO_OP, 0)
    }

    fn store(&self, value: u64) -> Result<()> {
        self.change(mpi::MPI_REPLACE, value).map(|_| ())
    }

    fn free(&self, exchange: &dyn Exchange) -> Result<()> {
        self.win.unlock_all(self.process)?;
        self.win.free(self.process, exchange)?.map_or(Ok(()), Err)
    }

    fn needs_progress(&self) -> bool {
        self.win.needs_progress() && self.win.rank() == 0
    }
}
