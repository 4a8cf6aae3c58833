//! Files (MPI-5.0, chapter 14): opening, sizes, hints, atomicity and consistency.
//!
//! | file | what it does |
//! | --- | --- |
//! | `access` | reading and writing, individual file pointers |
//! | `mode` | the access mode |
//! | `open` | opening, closing, deleting: collective, and agreed on by all processes |
//! | `fault` | errors of files |
//! | `view` | which bytes of the file a process sees |
//!
//! Every process has its own descriptor; the system keeps what they write to one file coherent. A
//! program that closes all descriptors closes this one, too. Each access looks whether the number
//! still means this open file, and fails with `MPI_ERR_IO` if not.

mod access;
mod fault;
mod mode;
mod open;
#[cfg(test)]
mod tests;
mod view;

pub use mode::Mode;
pub use open::delete;
pub use view::View;

use crate::comm::{Comm, Exchange};
use crate::errhandler::{Errhandler, Handling, Kind};
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::group::Group;
use crate::info::Info;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use verbena_machine::kept::Kept;

/// An open file.
pub struct File {
    comm: Comm,
    path: PathBuf,
    mode: Mode,
    hints: Info,
    errhandling: Handling,
    /// Read with [`File::system`].
    system: Kept<std::fs::File>,
    pointer: Mutex<access::Pointer>,
    /// The lock that keeps accesses of this process apart in atomic mode.
    turn: Mutex<()>,
    is_atomic: AtomicBool,
    /// Set while this process has written something and not synchronised it.
    is_written: AtomicBool,
    handle: AtomicUsize,
}

impl File {
    /// The access mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The processes that opened it together (`MPI_File_get_group`).
    pub fn group(&self) -> &Arc<Group> {
        self.comm.group()
    }

    /// The hints that the program gave (`MPI_File_get_info`, `MPI_File_set_info`).
    pub fn hints(&self) -> &Info {
        &self.hints
    }

    /// The error handler in use.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        self.errhandling.get()
    }

    /// Uses another error handler. `MPI_ERR_ERRHANDLER` if it is for another kind of object.
    pub fn set_errhandler(&self, errhandler: Arc<Errhandler>) -> Result<()> {
        errhandler.check(Kind::File)?;
        self.errhandling.set(errhandler);
        Ok(())
    }

    /// The handle by which the program knows it, 0 if it has none.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Acquire)
    }

    /// Tells the file its handle.
    pub fn set_handle(&self, handle: usize) {
        self.handle.store(handle, Ordering::Release);
    }

    /// The size in bytes (`MPI_File_get_size`).
    pub fn size(&self) -> Result<u64> {
        let metadata = self.system()?.metadata();
        metadata.map(|metadata| metadata.len()).map_err(|error| self.failed("ask for the size", &error))
    }

    /// Cuts or extends it to `size` bytes. Collective (`MPI_File_set_size`).
    pub fn set_size(&self, size: i64, exchange: &dyn Exchange) -> Result<()> {
        let bytes = self.checked_size(size);
        self.resize_together(bytes, exchange, |bytes| {
            self.system()?.set_len(bytes).map_err(|error| self.failed("set the size", &error))
        })
    }

    /// Makes sure that the first `size` bytes have room on the device. Collective
    /// (`MPI_File_preallocate`).
    pub fn preallocate(&self, size: i64, exchange: &dyn Exchange) -> Result<()> {
        let bytes = self.checked_size(size);
        self.resize_together(bytes, exchange, |bytes| match bytes {
            0 => Ok(()),
            bytes => nix::fcntl::posix_fallocate(self.system()?, 0, bytes as i64)
                .map_err(|error| self.failed("reserve room", &io::Error::from(error))),
        })
    }

    /// Changes the size: one process does it for all, if all ask for the same.
    fn resize_together(
        &self,
        bytes: Result<u64>,
        exchange: &dyn Exchange,
        resize: impl FnOnce(u64) -> Result<()>,
    ) -> Result<()> {
        let word = *bytes.as_ref().unwrap_or(&0);
        let (bytes, words) = self.agree(bytes, word, exchange)?;
        if words.iter().any(|&word| word != bytes) {
            return Err(fault::not_same("size", &self.path));
        }
        let outcome = if self.comm.rank() == 0 { resize(bytes) } else { Ok(()) };
        self.agree(outcome, 0, exchange)?;
        self.is_written.store(true, Ordering::Release);
        Ok(())
    }

    fn checked_size(&self, size: i64) -> Result<u64> {
        self.check_not_sequential()?;
        self.check_writes()?;
        u64::try_from(size).map_err(|_| fault::bad_value("size", size, "pass a size of 0 or more bytes"))
    }

    /// Moves what this process wrote to the device. Collective (`MPI_File_sync`).
    pub fn sync(&self, exchange: &dyn Exchange) -> Result<()> {
        self.agree(self.flush(), 0, exchange).map(|_| ())
    }

    fn flush(&self) -> Result<()> {
        if !self.is_written.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        match self.system()?.sync_data() {
            // A pipe, a terminal or another device: there is no storage behind it.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            outcome => outcome.map_err(|error| self.failed("synchronise", &error)),
        }
    }

    /// Returns whether accesses of several processes are atomic (`MPI_File_get_atomicity`).
    pub fn is_atomic(&self) -> bool {
        self.is_atomic.load(Ordering::Acquire)
    }

    /// Chooses atomic or nonatomic mode. Collective (`MPI_File_set_atomicity`).
    pub fn set_atomic(&self, atomic: bool, exchange: &dyn Exchange) -> Result<()> {
        let (_, words) = self.agree(Ok(()), atomic.into(), exchange)?;
        if words.iter().any(|&word| word != u64::from(atomic)) {
            return Err(fault::not_same("atomicity", &self.path));
        }
        self.is_atomic.store(atomic, Ordering::Release);
        Ok(())
    }

    fn agree<T>(&self, own: Result<T>, word: u64, exchange: &dyn Exchange) -> Result<(T, Vec<u64>)> {
        open::agree(&self.comm, &self.path, own, word, exchange)
    }

    fn check_not_sequential(&self) -> Result<()> {
        match self.mode.has(mpi::MPI_MODE_SEQUENTIAL) {
            true => Err(fault::forbidden(
                mpi::MPI_ERR_UNSUPPORTED_OPERATION,
                "a sequential file has a shared file pointer only, and its size cannot be set",
                &self.path,
            )),
            false => Ok(()),
        }
    }

    fn check_writes(&self) -> Result<()> {
        match self.mode.writes() {
            true => Ok(()),
            false => Err(fault::forbidden(mpi::MPI_ERR_READ_ONLY, "the file may only be read", &self.path)),
        }
    }

    /// The system's file. `MPI_ERR_IO` if the program has closed it, whatever its number means now.
    fn system(&self) -> Result<&std::fs::File> {
        self.system.get().ok_or_else(|| fault::lost(&self.path))
    }

    #[cold]
    fn failed(&self, verb: &str, error: &io::Error) -> crate::Error {
        fault::in_use(verb, &self.path, error)
    }
}
