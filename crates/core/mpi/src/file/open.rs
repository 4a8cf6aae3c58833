//! Opening, closing and deleting (MPI-5.0, 14.2). The processes agree on the outcome: a file is
//! open in all of them or in none, and nobody waits for a process that failed.

use super::access::Pointer;
use super::{File, Mode, View, fault};
use crate::comm::words::{pack, unpack};
use crate::comm::{Comm, Exchange};
use crate::errhandler::{Errhandler, Handling};
use crate::error::{Class, Result};
use crate::generated::constants as mpi;
use crate::info::Info;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use verbena_machine::kept::Kept;

impl File {
    /// Opens a file in all processes of `comm`. Collective. The first process creates it if need
    /// be, then the others open it. `MPI_ERR_COMM` for an intercommunicator, `MPI_ERR_AMODE` for an
    /// impossible mode, `MPI_ERR_NOT_SAME` if the modes differ, else the class of the system's
    /// error in any process.
    pub fn open(
        comm: &Comm,
        path: &Path,
        amode: i32,
        info: Option<&Info>,
        errhandler: Arc<Errhandler>,
        exchange: &dyn Exchange,
    ) -> Result<File> {
        comm.check_intra()?;
        let comm = comm.create(comm.group(), exchange)?.expect("every process is in the group of all");
        let mode = agree_on_mode(&comm, path, amode, exchange)?;
        let first = open_if(comm.rank() == 0, path, mode, true);
        let bytes = first.as_ref().map_or(0, |file| file.as_ref().map_or(0, size_of));
        let (first, words) = agree(&comm, path, first, bytes, exchange)?;
        let other = open_if(comm.rank() != 0, path, mode, false);
        let (other, _) = agree(&comm, path, other, 0, exchange)?;
        let position = if mode.has(mpi::MPI_MODE_APPEND) { words[0] } else { 0 };
        Ok(File {
            comm,
            path: path.to_path_buf(),
            mode,
            hints: info.cloned().unwrap_or_default(),
            errhandling: Handling::new(errhandler),
            system: first.or(other).expect("every process opened it in its turn"),
            pointer: Mutex::new(Pointer { view: View::bytes(), position }),
            turn: Mutex::new(()),
            is_atomic: AtomicBool::new(false),
            is_written: AtomicBool::new(false),
            handle: AtomicUsize::new(0),
        })
    }

    /// Ends the use of the file in all its processes: it synchronises what was written, then
    /// deletes the file if it was opened so. Collective (`MPI_File_close`).
    pub fn close(&self, exchange: &dyn Exchange) -> Result<()> {
        self.sync(exchange)?;
        if !self.mode.has(mpi::MPI_MODE_DELETE_ON_CLOSE) {
            return Ok(());
        }
        let outcome = if self.comm.rank() == 0 { delete_if_there(&self.path) } else { Ok(()) };
        self.agree(outcome, 0, exchange).map(|_| ())
    }
}

/// Deletes a file (`MPI_File_delete`).
pub fn delete(path: &Path) -> Result<()> {
    std::fs::remove_file(path).map_err(|error| fault::system("delete", path, &error))
}

fn delete_if_there(path: &Path) -> Result<()> {
    match delete(path) {
        // The program deleted the file itself: it is gone as asked.
        Err(error) if error.class == mpi::MPI_ERR_NO_SUCH_FILE => Ok(()),
        outcome => outcome,
    }
}

fn open_if(turn: bool, path: &Path, mode: Mode, is_first: bool) -> Result<Option<Kept<std::fs::File>>> {
    if !turn {
        return Ok(None);
    }
    let file = mode.options(is_first).open(path).map_err(|error| fault::system("open", path, &error))?;
    // The system lets a folder be opened for reading, too.
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(fault::system("open", path, &std::io::ErrorKind::IsADirectory.into()));
    }
    Kept::marked(file).map(Some).map_err(|error| fault::system("open", path, &error))
}

/// The size of a file in bytes; 0 if it has none, like a pipe.
fn size_of(file: &Kept<std::fs::File>) -> u64 {
    file.get().and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len())
}

fn agree_on_mode(comm: &Comm, path: &Path, amode: i32, exchange: &dyn Exchange) -> Result<Mode> {
    let (_, words) = agree(comm, path, Ok(()), amode as u32 as u64, exchange)?;
    if words.iter().any(|&word| word != amode as u32 as u64) {
        return Err(fault::not_same("amode", path));
    }
    Mode::new(amode)
}

/// Tells all processes how each one fared, with a word each. Returns the words in rank order if it
/// went well everywhere.
pub(super) fn agree<T>(
    comm: &Comm,
    path: &Path,
    own: Result<T>,
    word: u64,
    exchange: &dyn Exchange,
) -> Result<(T, Vec<u64>)> {
    let class = own.as_ref().err().map_or(mpi::MPI_SUCCESS, |error| error.class);
    let told = exchange.allgather(comm, &pack(&[class as u32 as u64, word]))?;
    let own = own?;
    let told: Vec<[u64; 2]> = told.iter().map(|bytes| unpack(bytes)).collect::<Result<_>>()?;
    match told.iter().position(|[class, _]| *class as Class != mpi::MPI_SUCCESS) {
        Some(rank) => Err(fault::elsewhere(rank, told[rank][0] as Class, path)),
        None => Ok((own, told.iter().map(|[_, word]| *word).collect())),
    }
}
