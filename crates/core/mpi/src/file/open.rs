//! Opening, closing and deleting (MPI-5.0, 14.2). The processes agree on the outcome: a file is
//! open in all of them or in none, and nobody waits for a process that failed.

use super::access::Pointer;
use super::agree::{agree, agree_words};
use super::hints::{About, Hints, Tuning, WORDS, tuning_of};
use super::pending::pool;
use super::shared::SharedPointer;
use super::word::Word;
use super::{File, Mode, View, fault, hint_file, name, together};
use crate::comm::{Comm, Exchange};
use crate::errhandler::{Errhandler, Handling};
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::info::Info;
use crate::log;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use verbena_settings::FILE_IO_URING;
use verbena_storage::{Disk, FileSystem, Identity, Lane, OpenFile};

/// The things that opening a file needs besides the exchanges of its processes.
pub struct Opening<'a> {
    /// The exchanges.
    pub exchange: &'a dyn Exchange,
    /// A number of this process's node.
    pub node: u64,
    /// Makes the shared file pointer, which is 0. Collective.
    pub word: &'a dyn Fn(&Comm) -> Result<Box<dyn Word>>,
    /// Makes the disk of an open file; tests put another one in its place.
    pub disk: &'a dyn Fn(std::fs::File) -> std::io::Result<Arc<dyn Disk>>,
}

/// The disk of an open file of the system.
pub(crate) fn real_disk(file: std::fs::File) -> std::io::Result<Arc<dyn Disk>> {
    Ok(Arc::new(OpenFile::new(file, FILE_IO_URING.get())?))
}

impl<'a> Opening<'a> {
    /// The surroundings of a file of the system.
    pub fn new(
        exchange: &'a dyn Exchange,
        node: u64,
        word: &'a dyn Fn(&Comm) -> Result<Box<dyn Word>>,
    ) -> Opening<'a> {
        Opening { exchange, node, word, disk: &real_disk }
    }
}

/// The words that processes tell each other first: context, amode, node, then the hints.
const FIRST_WORDS: usize = 3;

impl File {
    /// Opens a file in all processes of `comm`. Collective. The first process creates it if need
    /// be, then the others open it. `MPI_ERR_COMM` for an intercommunicator, `MPI_ERR_AMODE` for an
    /// impossible mode, `MPI_ERR_NOT_SAME` if the modes differ, else what is wrong with the path or
    /// the hints, or the class of the system's error, in any process.
    pub fn open(
        comm: &Comm,
        path: Result<&Path>,
        amode: i32,
        info: Result<Option<&Info>>,
        errhandler: Arc<Errhandler>,
        opening: &Opening<'_>,
    ) -> Result<File> {
        comm.check_intra()?;
        let exchange = opening.exchange;
        let given = path.clone().unwrap_or(Path::new(""));
        let first = path.and_then(mounted).and_then(|path| {
            let info = info?;
            Ok((path, info, first_tuning(comm, info, exchange)?))
        });
        let mut words = vec![exchange.new_context(), u64::from(amode as u32), opening.node];
        words.extend(first.as_ref().map_or([0; WORDS], |(_, _, tuning)| tuning.words()));
        let ((path, info, _), told) = agree_words(comm, given, first, &words, exchange)?;
        if told.iter().any(|words| words[1] != u64::from(amode as u32)) {
            return Err(fault::not_same("amode", path));
        }
        let mode = Mode::new(amode)?;
        let comm = comm.private(told[0][0], exchange);
        let nodes: Vec<u64> = told.iter().map(|words| words[2]).collect();
        let node_count = distinct(&nodes);
        let tuning = tuning_of(&told[0][FIRST_WORDS..])?;
        let way = Way { mode, is_shared: node_count > 1, permissions: tuning.permissions };
        // The program may change its folder before it closes the file.
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let (disk, [bytes, is_striped]) = open_in_turn(&comm, path, way, opening)?;
        let position = if mode.has(mpi::MPI_MODE_APPEND) { bytes } else { 0 };
        let shared = (opening.word)(&comm)?;
        if position > 0 {
            let placed = if comm.rank() == 0 { shared.store(position) } else { Ok(()) };
            // Nobody may move the pointer before it is there.
            agree(&comm, path, placed, 0, exchange)?;
        }
        let about = About {
            processes: told.len() as u64,
            nodes: node_count,
            file_system: disk.file_system(),
            is_striped: is_striped != 0,
            reads: mode.reads(),
        };
        Ok(File {
            aggregators: together::order(&nodes),
            path: absolute,
            identity: disk.identity().unwrap_or(None),
            mode,
            hints: Hints::new(tuning, about, info),
            errhandling: Handling::new(errhandler),
            disk,
            pointer: Mutex::new(Pointer { view: View::bytes(), position }),
            shared: SharedPointer::new(shared, position > 0),
            split: Mutex::new(None),
            turn: Mutex::new(()),
            lanes: [(); 2].map(|()| Lane::new(pool())),
            is_atomic: AtomicBool::new(false),
            is_written: AtomicBool::new(false),
            is_delete_due: AtomicBool::new(mode.has(mpi::MPI_MODE_DELETE_ON_CLOSE)),
            handle: AtomicUsize::new(0),
            comm,
        })
    }

    /// Ends the use of the file in all its processes: it synchronises what was written, or deletes
    /// the file if it was opened so, which is tried once. Collective (`MPI_File_close`).
    pub fn close(&self, exchange: &dyn Exchange) -> Result<()> {
        let is_deleted = self.is_delete_due.load(Ordering::Acquire);
        let flushed = self.check_no_split().and_then(|()| if is_deleted { Ok(()) } else { self.flush() });
        self.agree(flushed, 0, exchange)?;
        if is_deleted {
            // All are here: nobody uses the file by its name any more.
            self.is_delete_due.store(false, Ordering::Release);
            let outcome = if self.comm.rank() == 0 { self.delete_own() } else { Ok(()) };
            self.agree(outcome, 0, exchange)?;
        }
        self.shared.free(exchange)
    }
}

/// The number of values that differ.
fn distinct(values: &[u64]) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    values.len() as u64
}

/// The path of a file in a file system that is mounted.
fn mounted(path: &Path) -> Result<&Path> {
    name::path_of(path, std::env::var_os(name::TYPE_VARIABLE).as_deref())
}

/// The hints of the program, and of those who run it: the first process counts for all.
fn first_tuning(comm: &Comm, info: Option<&Info>, exchange: &dyn Exchange) -> Result<Tuning> {
    let tuning = info.map_or(Ok(Tuning::default()), |info| Tuning::default().with(info))?;
    let file = if comm.rank() == 0 { std::env::var_os(hint_file::VARIABLE) } else { None };
    let Some(file) = file else { return Ok(tuning) };
    let (tuning, note) = tuning.with_file(Path::new(&file));
    if let Some((note, process)) = note.zip(exchange.process()) {
        static TOLD: Once = Once::new();
        TOLD.call_once(|| log::warn(process, &note));
    }
    Ok(tuning)
}

/// Deletes a file (`MPI_File_delete`).
pub fn delete(path: &Path) -> Result<()> {
    remove(mounted(path)?)
}

fn remove(path: &Path) -> Result<()> {
    std::fs::remove_file(path).map_err(|error| fault::system("delete", path, &error))
}

impl File {
    /// Deletes the file by the name with which it was opened. Another file that has the name now
    /// stays.
    fn delete_own(&self) -> Result<()> {
        let named = std::fs::metadata(&self.path).map(Identity::from);
        match (named, self.identity) {
            (Ok(named), Some(own)) if !named.is_same(&own) => self.check_gone(),
            (Err(error), _) if error.kind() == ErrorKind::NotFound => self.check_gone(),
            _ => remove(&self.path),
        }
    }

    /// Returns `MPI_ERR_NO_SUCH_FILE` if the file has another name now. If not, the program has
    /// deleted it itself: it is gone as asked.
    fn check_gone(&self) -> Result<()> {
        // Linux' client of nfs gives a file that was deleted while it is open a name of its own.
        let keeps_deleted = self.disk.file_system().name == "nfs";
        match self.disk.identity() {
            Ok(Some(Identity { links: 1.., .. })) if !keeps_deleted => Err(fault::renamed(&self.path)),
            _ => Ok(()),
        }
    }
}

/// The way in which a file is opened.
#[derive(Clone, Copy)]
struct Way {
    mode: Mode,
    /// True if its processes run on several nodes.
    is_shared: bool,
    /// The permissions of a new file; 0: nobody said.
    permissions: u64,
}

impl Way {
    /// Deletes a file that this process has just made, where the call that made it fails: it was
    /// not there before (`MPI_MODE_EXCL`).
    fn unmake(self, path: &Path) {
        if self.mode.has(mpi::MPI_MODE_CREATE) && self.mode.has(mpi::MPI_MODE_EXCL) {
            // The call fails in any case; an empty file that cannot be deleted stays.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Opens the file: a new one in the first process before the others, else in all at once. Returns
/// the size that the first process sees as well, and 1 if that finds stripes.
fn open_in_turn(
    comm: &Comm,
    path: &Path,
    way: Way,
    opening: &Opening<'_>,
) -> Result<(Arc<dyn Disk>, [u64; 2])> {
    let is_first = comm.rank() == 0;
    let mut own = None;
    if way.mode.has(mpi::MPI_MODE_CREATE) {
        let first = if is_first { open_one(path, way, true, opening).map(Some) } else { Ok(None) };
        own = agree(comm, path, first, 0, opening.exchange)?.0;
    }
    let opened = own.map_or_else(|| open_one(path, way, false, opening), Ok);
    // A pipe or another device has no size.
    let bytes = opened.as_ref().map_or(0, |disk| disk.size().unwrap_or(0));
    let is_striped = opened.as_ref().is_ok_and(|disk| disk.file_system().is_striped);
    let words = [bytes, is_striped.into()];
    let is_open = opened.is_ok();
    let agreed = agree_words(comm, path, opened, &words, opening.exchange);
    if agreed.is_err() && is_first && is_open {
        way.unmake(path);
    }
    let (disk, told) = agreed?;
    Ok((disk, [told[0][0], told[0][1]]))
}

/// Returns whether all machines that have this folder have the same one. On local file systems each
/// has its own.
fn is_on_server(path: &Path) -> bool {
    let FileSystem { is_shared, is_coherent, .. } = verbena_storage::file_system(path);
    is_shared && !is_coherent
}

fn open_one(path: &Path, way: Way, is_first: bool, opening: &Opening<'_>) -> Result<Arc<dyn Disk>> {
    let failed = |error| fault::system("open", path, &error);
    // A machine may still believe what it has seen in the folder before the first process created
    // the file. Asked to create it, it asks the server.
    let may_create = way.is_shared && is_on_server(path);
    let file = way.mode.options(is_first, may_create, way.permissions).open(path).map_err(failed)?;
    // The system lets a folder be opened for reading, too.
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    }
    let disk = (opening.disk)(file).and_then(|disk| {
        if way.is_shared {
            disk.share_pages()?;
        }
        Ok(disk)
    });
    if disk.is_err() && is_first {
        way.unmake(path);
    }
    disk.map_err(failed)
}
