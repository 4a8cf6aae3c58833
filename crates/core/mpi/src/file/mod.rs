//! Files (MPI-5.0, chapter 14): opening, sizes, hints, atomicity and consistency.
//!
//! | file | what it does |
//! | --- | --- |
//! | `counts` | how many went which way |
//! | `access` | accesses at explicit offsets, at individual and at shared file pointers |
//! | `transfer` | the bytes of an access, between memory and disk |
//! | `pending` | operations that go on beside the program |
//! | `shared` | the shared file pointer, and accesses in the order of ranks |
//! | `word` | the word that holds a shared file pointer |
//! | `split` | split collective accesses |
//! | `together` | collective accesses, in which some processes may move the bytes of all |
//! | `agree` | exchanges in which a failure of one process reaches all |
//! | `mode` | the access mode |
//! | `open` | opening, closing, deleting: collective, and agreed on by all processes |
//! | `fault` | errors of files |
//! | `name` | the type of a file system before a path |
//! | `hints` | info keys, and the values in use |
//! | `hint_file` | hints of those who run the program |
//! | `view` | which bytes of the file a process sees |
//! | `representation` | the form of elements in the file |
//!
//! Every process has its own descriptor; the system keeps what they write to one file coherent. A
//! program that closes all descriptors closes this one, too. Each access looks whether the number
//! still means this open file, and fails with `MPI_ERR_IO` if not.

mod access;
mod agree;
pub(crate) mod counts;
mod fault;
mod hint_file;
mod hints;
mod mode;
mod name;
mod open;
mod pending;
mod representation;
mod shared;
mod split;
#[cfg(test)]
mod tests;
mod together;
mod transfer;
mod view;
mod word;

pub use access::{NewView, Place};
pub use mode::Mode;
pub use open::{Opening, delete};
pub use representation::{Conversion, Data, Direction, Representation, register};
pub use split::{Split, Way};
pub use view::View;
pub use word::{LocalWord, WindowWord, Word};

use crate::comm::{Comm, Exchange};
use crate::errhandler::{Errhandler, Handling, Kind};
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::group::Group;
use crate::info::Info;
use hints::{Hints, Tuning, WORDS};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use verbena_storage::{Disk, Extent, Identity, Lane};

/// An open file.
pub struct File {
    comm: Comm,
    /// The absolute path by which it was opened.
    path: PathBuf,
    /// The file that was opened, whatever its names.
    identity: Option<Identity>,
    mode: Mode,
    hints: Hints,
    /// The ranks, in the order in which they move the bytes of all in collective accesses.
    aggregators: Vec<usize>,
    errhandling: Handling,
    disk: Arc<dyn Disk>,
    pointer: Mutex<access::Pointer>,
    shared: shared::SharedPointer,
    /// The split collective access that was begun and has not ended.
    split: Mutex<Option<split::Begun>>,
    /// The lock that keeps accesses of this process apart in atomic mode.
    turn: Mutex<()>,
    /// The order of reads and that of writes, if the file is a stream: they are used then only.
    lanes: [Lane; 2],
    is_atomic: AtomicBool,
    /// Set while this process has written something and not synchronised it.
    is_written: AtomicBool,
    /// Set until the file was deleted, or could not be, if it was opened to be deleted.
    is_delete_due: AtomicBool,
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

    /// The file's own communicator under its path, as the report of a hang has it.
    pub fn told(&self) -> verbena_hang::Communicator {
        self.comm.told(format!("file {}", self.path.display()))
    }

    /// The hints, with the values in use (`MPI_File_get_info`).
    pub fn hints(&self) -> Result<Info> {
        // Without locks nobody writes gaps back. With any other error of a lock a write fails, too.
        let has_locks = !self.sieves_writes()
            || self.with_lock(Extent { start: 0, end: 1 }, |is_locked| is_locked).unwrap_or(true);
        self.hints.info(has_locks)
    }

    /// Takes over the valid ones of these hints; those of the first process count for all.
    /// Collective (`MPI_File_set_info`).
    ///
    /// # Errors
    /// What is wrong with the hints of some process, which then fails in all.
    pub fn set_hints(&self, given: Result<Option<&Info>>, exchange: &dyn Exchange) -> Result<()> {
        let own = self.hints.tuning();
        let tuning = given.clone().and_then(|given| given.map_or(Ok(own), |given| own.with(given)));
        let given = given.unwrap_or(None);
        let words = tuning.as_ref().map_or([0; WORDS], Tuning::words);
        let (_, told) = agree::agree_words(&self.comm, &self.path, tuning, &words, exchange)?;
        self.hints.set(hints::tuning_of(&told[0])?, given);
        Ok(())
    }

    /// Returns whether other processes need this one's progress though it calls nothing: their
    /// accesses at the shared file pointer are messages to it.
    pub fn needs_progress(&self) -> bool {
        self.shared.needs_progress()
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
        self.disk.size().map_err(|error| self.failed("ask for the size", &error))
    }

    /// Cuts or extends it to `size` bytes. Collective (`MPI_File_set_size`).
    pub fn set_size(&self, size: i64, exchange: &dyn Exchange) -> Result<()> {
        let bytes = self.checked_size(size);
        self.resize_together(bytes, exchange, |bytes| {
            self.disk.set_size(bytes).map_err(|error| self.failed("set the size", &error))
        })
    }

    /// Makes sure that the first `size` bytes have room on the device. Collective
    /// (`MPI_File_preallocate`).
    pub fn preallocate(&self, size: i64, exchange: &dyn Exchange) -> Result<()> {
        let bytes = self.checked_size(size);
        self.resize_together(bytes, exchange, |bytes| {
            self.disk.reserve(bytes).map_err(|error| self.failed("reserve room", &error))
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
        let outcome = match self.comm.rank() {
            0 => {
                self.note_written(Direction::Write);
                resize(bytes)
            }
            _ => Ok(()),
        };
        self.agree(outcome, 0, exchange)?;
        self.refresh()
    }

    fn checked_size(&self, size: i64) -> Result<u64> {
        self.check_no_split()?;
        self.check_not_sequential()?;
        self.check_writes()?;
        u64::try_from(size).map_err(|_| fault::bad_value("size", size, "pass a size of 0 or more bytes"))
    }

    /// Moves what this process wrote to the device, and shows it what others have moved there so.
    /// Collective (`MPI_File_sync`).
    pub fn sync(&self, exchange: &dyn Exchange) -> Result<()> {
        let flushed = self.check_no_split().and_then(|()| self.flush());
        self.agree(flushed, 0, exchange)?;
        self.refresh()
    }

    /// Forgets what this machine keeps of the file, where other machines may have changed it. All
    /// have moved to the device what they wrote.
    fn refresh(&self) -> Result<()> {
        match self.disk.file_system().is_coherent {
            true => Ok(()),
            false => self.disk.refresh().map_err(|error| self.failed("look for what others wrote", &error)),
        }
    }

    fn flush(&self) -> Result<()> {
        if !self.is_written.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        match self.disk.sync() {
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
    ///
    /// # Errors
    /// Those of a lock, in any process, if the mode is to be atomic.
    pub fn set_atomic(&self, atomic: bool, exchange: &dyn Exchange) -> Result<()> {
        let able = self.check_no_split().and_then(|()| if atomic { self.try_lock() } else { Ok(()) });
        let (_, words) = self.agree(able, atomic.into(), exchange)?;
        if words.iter().any(|&word| word != u64::from(atomic)) {
            return Err(fault::not_same("atomicity", &self.path));
        }
        self.is_atomic.store(atomic, Ordering::Release);
        Ok(())
    }

    /// Takes the lock of one byte and gives it back: atomic mode needs locks.
    fn try_lock(&self) -> Result<()> {
        let (part, lock) = (Extent { start: 0, end: 1 }, self.mode.lock());
        let outcome = self.disk.lock(part, lock).and_then(|()| self.disk.unlock(part));
        outcome.map_err(|error| self.failed("lock for atomic access", &error))
    }

    fn agree<T>(&self, own: Result<T>, word: u64, exchange: &dyn Exchange) -> Result<(T, Vec<u64>)> {
        agree::agree(&self.comm, &self.path, own, word, exchange)
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

    #[cold]
    fn failed(&self, verb: &str, error: &io::Error) -> crate::Error {
        self.failed_at(verb, None, error)
    }

    /// The error of the system for a call on the byte at a place.
    #[cold]
    fn failed_at(&self, verb: &str, at: Option<u64>, error: &io::Error) -> crate::Error {
        let spot = fault::Spot { path: &self.path, at, file_system: self.disk.file_system() };
        fault::in_use(verb, spot, error)
    }
}
