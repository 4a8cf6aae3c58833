//! The errors of files: the system's, in MPI's error classes (MPI-5.0, 14.7 and 14.8).

use crate::error::{Class, Error};
use crate::generated::constants as mpi;
use nix::errno::Errno;
use std::io;
use std::path::Path;
use verbena_storage::{FileSystem, file_system};

/// The error of something that the system refused; `verb` names it ("open", "delete").
#[cold]
pub(super) fn system(verb: &str, path: &Path, error: &io::Error) -> Error {
    let (class, cause, remedy) = explain(error);
    let on = format!("the file \"{}\", on {}", path.display(), file_system(path).name);
    Error::new(class, format!("a file could not be used: {verb}: {error}"), on, cause, remedy)
}

/// The place of something that failed in an open file: its path, the offset in bytes if there is
/// one, and the file system.
pub(super) struct Spot<'a> {
    /// The path.
    pub path: &'a Path,
    /// The first byte that was not moved.
    pub at: Option<u64>,
    /// The file system.
    pub file_system: FileSystem,
}

/// The error of an open file that the system refused to use.
#[cold]
pub(super) fn in_use(verb: &str, spot: Spot<'_>, error: &io::Error) -> Error {
    let has_no_places = [ESPIPE, ENODEV].map(Some).contains(&error.raw_os_error());
    let (class, cause, remedy) = match error.kind() {
        _ if error.raw_os_error() == Some(EBADF) => return lost(spot.path),
        kind if has_no_places || kind == io::ErrorKind::InvalidInput => (
            mpi::MPI_ERR_UNSUPPORTED_OPERATION,
            "it is no regular file, or its file system allows no such size or offset",
            "use a regular file, on a file system for large files",
        ),
        _ => explain(error),
    };
    let at = spot.at.map_or(String::new(), |at| format!(", at byte {at}"));
    let on = format!("the file \"{}\"{at}, on {}", spot.path.display(), spot.file_system.name);
    Error::new(class, format!("a file could not be used: {verb}: {error}"), on, cause, remedy)
}

/// The system's number for a descriptor that is not open.
const EBADF: i32 = Errno::EBADF as i32;
/// Those for what a pipe and a device cannot do.
const ESPIPE: i32 = Errno::ESPIPE as i32;
const ENODEV: i32 = Errno::ENODEV as i32;

/// The error of an open file whose descriptor the program has closed.
#[cold]
pub(super) fn lost(path: &Path) -> Error {
    Error::new(
        mpi::MPI_ERR_IO,
        "a file is open no more: its descriptor was closed",
        format!("the file \"{}\"", path.display()),
        "the program closed all descriptors (as a daemon does), or one that it had not opened",
        "close only descriptors of the program's own, or open files after that",
    )
}

/// The class, the likely cause and the remedy of an error of the system.
fn explain(error: &io::Error) -> (Class, &'static str, &'static str) {
    use io::ErrorKind::*;
    if let Some(number) = error.raw_os_error()
        && let Some(known) = explain_number(Errno::from_raw(number))
    {
        return known;
    }
    match error.kind() {
        NotFound => (
            mpi::MPI_ERR_NO_SUCH_FILE,
            "the file, or a folder on its path, is not there",
            "check the path and the working directory; MPI_MODE_CREATE makes a new file",
        ),
        AlreadyExists => (
            mpi::MPI_ERR_FILE_EXISTS,
            "MPI_MODE_EXCL asks for a new file",
            "delete the old file, choose another name, or leave MPI_MODE_EXCL out",
        ),
        PermissionDenied => (
            mpi::MPI_ERR_ACCESS,
            "this user may not do so with this file or its folder",
            "change the permissions, or use a folder of your own",
        ),
        ReadOnlyFilesystem => (
            mpi::MPI_ERR_READ_ONLY,
            "the file system is mounted read-only",
            "use another file system, or open with MPI_MODE_RDONLY",
        ),
        StorageFull => (mpi::MPI_ERR_NO_SPACE, "the file system is full", "free some space"),
        QuotaExceeded => (mpi::MPI_ERR_QUOTA, "the user's quota is used up", "free some space"),
        FileTooLarge => {
            (mpi::MPI_ERR_NO_SPACE, "the file system or a limit allows no larger files", "see `ulimit -f`")
        }
        ResourceBusy | ExecutableFileBusy => {
            (mpi::MPI_ERR_FILE_IN_USE, "another process uses the file", "wait until it has ended")
        }
        InvalidFilename | NotADirectory | IsADirectory | InvalidInput => (
            mpi::MPI_ERR_BAD_FILE,
            "the path does not name a regular file",
            "check the path: its folders, its length, and that it is no folder itself",
        ),
        Unsupported => (
            mpi::MPI_ERR_UNSUPPORTED_OPERATION,
            "the file system cannot do this",
            "use a local file system such as ext4, xfs or tmpfs",
        ),
        _ => (
            mpi::MPI_ERR_IO,
            "the device or the network below the file system failed",
            "see the system's log",
        ),
    }
}

/// Does the work of [`explain`] for errors that have no kind of their own.
fn explain_number(number: Errno) -> Option<(Class, &'static str, &'static str)> {
    Some(match number {
        Errno::EMFILE => (
            mpi::MPI_ERR_IO,
            "this process has as many files open as it may",
            "close files, or raise the limit: see `ulimit -n`",
        ),
        Errno::ENFILE => (
            mpi::MPI_ERR_IO,
            "this machine has as many files open as it may",
            "close files of other programs",
        ),
        Errno::EFAULT => (
            mpi::MPI_ERR_BUFFER,
            "the buffer lies in memory that the program does not have, or may not use so",
            "pass the address of memory that holds all elements",
        ),
        Errno::ENOMEM => (
            mpi::MPI_ERR_NO_MEM,
            "the system has no memory for it",
            "use fewer processes on this machine, or less memory in each",
        ),
        Errno::ELOOP => (
            mpi::MPI_ERR_BAD_FILE,
            "the path goes through links that lead back to themselves, or through too many",
            "check the symbolic links on the path",
        ),
        Errno::ENOLCK => (
            mpi::MPI_ERR_IO,
            "the file system has no locks, or too few: atomic mode and romio_ds_write=enable need them",
            "leave these out, or mount the file system with locks",
        ),
        Errno::ESTALE => (
            mpi::MPI_ERR_IO,
            "the file was deleted or replaced on its server, or the server exports it no more",
            "let nobody delete the file while it is open, and open it again",
        ),
        Errno::ENXIO => (
            mpi::MPI_ERR_IO,
            "the device is not there, or nobody reads the other end of the pipe",
            "check the path, and start the other end first",
        ),
        Errno::EPIPE => (
            mpi::MPI_ERR_IO,
            "nobody reads the other end of the pipe any more",
            "let the reader run to the end",
        ),
        _ => return None,
    })
}

/// The error of a collective call on a file that failed in another process.
#[cold]
pub(super) fn elsewhere(rank: usize, class: Class, path: &Path) -> Error {
    Error::new(
        class,
        format!("a collective call on a file failed in process {rank} of its communicator"),
        format!("the file \"{}\"", path.display()),
        "that process has the details: perhaps it runs on another machine that lacks the file system",
        "look at the error of that process",
    )
}

/// The error of processes that passed different values where all must pass the same.
#[cold]
pub(super) fn not_same(what: &str, path: &Path) -> Error {
    Error::new(
        mpi::MPI_ERR_NOT_SAME,
        format!("the processes passed different values: {what}"),
        format!("a collective call on the file \"{}\"", path.display()),
        "the value was computed from the rank, or the processes make different calls",
        "pass the same value in all processes of the file's communicator",
    )
}

/// The error of a call that the access mode forbids.
#[cold]
pub(super) fn forbidden(class: Class, what: &str, path: &Path) -> Error {
    Error::new(
        class,
        what,
        format!("the file \"{}\"", path.display()),
        "the access mode that the file was opened with does not allow it",
        "open the file with another access mode",
    )
}

/// The error of a number that makes no sense in a call on files.
#[cold]
pub(super) fn bad_value(what: &str, value: i64, remedy: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        format!("{what} is out of range"),
        format!("{what} {value} of a file"),
        "the value was never set, or an integer overflowed",
        remedy,
    )
}

/// The error of a file that became shorter while it was read.
#[cold]
pub(super) fn cut_short(at: u64, path: &Path) -> Error {
    Error::new(
        mpi::MPI_ERR_IO,
        "a file became shorter while it was read",
        format!("the file \"{}\", which ends at byte {at}", path.display()),
        "another process has cut it, or its file system shows different sizes to different machines",
        "let nobody change the size during an access; MPI_File_sync after writing on another machine",
    )
}

/// The error of an access whose bytes are no whole number of etypes.
#[cold]
pub(super) fn not_whole(bytes: usize, unit: u64, path: &Path) -> Error {
    Error::new(
        mpi::MPI_ERR_IO,
        "an access moves whole etypes of the view only",
        format!("{bytes} bytes in etypes of {unit}, in the file \"{}\"", path.display()),
        "the count or the datatype does not fit the view that is set",
        "pass elements that are made of etypes, or set another view",
    )
}

/// The error of an access whose elements nothing converts, though they have another length in the
/// file.
#[cold]
pub(super) fn not_converted(file: usize, memory: usize, representation: &str, path: &Path) -> Error {
    Error::new(
        mpi::MPI_ERR_CONVERSION,
        "elements have another length in a file than in memory, and nothing converts them",
        format!(
            "{memory} bytes of memory, {file} in the file \"{}\", in the data representation \"{representation}\"",
            path.display()
        ),
        "the representation has MPI_CONVERSION_FN_NULL, and its extent function tells other lengths",
        "register a conversion function, or tell the extents of the datatypes in memory",
    )
}

/// The error of a view with holes on a pipe or a terminal.
#[cold]
pub(super) fn holes(path: &Path) -> Error {
    Error::new(
        mpi::MPI_ERR_UNSUPPORTED_OPERATION,
        "a stream has no view with holes: its bytes have an order and no places",
        format!("the file \"{}\"", path.display()),
        "the path names a pipe or a terminal, and the filetype shows some bytes only",
        "set a view whose filetype has no holes, or use a regular file",
    )
}

/// The error of a file that should be deleted and has another name by now.
#[cold]
pub(super) fn renamed(path: &Path) -> Error {
    Error::new(
        mpi::MPI_ERR_NO_SUCH_FILE,
        "a file could not be deleted: it has another name than when it was opened",
        format!("the file that was opened as \"{}\"", path.display()),
        "it was renamed while it was open with MPI_MODE_DELETE_ON_CLOSE",
        "delete it by its new name; MPI_File_close once more closes it",
    )
}

/// The error of a split collective that is begun or ended out of turn.
#[cold]
pub(super) fn out_of_turn(what: &str, path: &Path) -> Error {
    Error::new(
        mpi::MPI_ERR_IO,
        what,
        format!("a split collective on the file \"{}\"", path.display()),
        "a file has one split collective at a time, and its end must fit its begin",
        "end each split collective, with its own buffer, before anything else that is collective",
    )
}

/// The error of an operation that was given up: a function on its way has panicked.
#[cold]
pub(super) fn given_up(path: &Path) -> Error {
    Error::new(
        mpi::MPI_ERR_IO,
        "an operation on a file was given up before its end",
        format!("the file \"{}\"", path.display()),
        "a fault of the library, which a message above tells",
        "report it, with that message",
    )
}
