//! The errors of files: the system's, in MPI's error classes (MPI-5.0, 14.7 and 14.8).

use crate::error::{Class, Error};
use crate::generated::constants as mpi;
use std::io;
use std::path::Path;

/// The error of something that the system refused; `verb` names it ("open", "write").
#[cold]
pub(super) fn system(verb: &str, path: &Path, error: &io::Error) -> Error {
    let (class, cause, remedy) = explain(error.kind());
    Error::new(
        class,
        format!("a file could not be used: {verb}: {error}"),
        format!("the file \"{}\"", path.display()),
        cause,
        remedy,
    )
}

/// The error of an open file that the system refused to use.
#[cold]
pub(super) fn in_use(verb: &str, path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidInput => Error::new(
            mpi::MPI_ERR_UNSUPPORTED_OPERATION,
            format!("a file could not be used: {verb}: {error}"),
            format!("the file \"{}\"", path.display()),
            "it is no regular file, or its file system allows no such size or offset",
            "use a regular file, on a file system for large files",
        ),
        _ => system(verb, path, error),
    }
}

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

fn explain(kind: io::ErrorKind) -> (Class, &'static str, &'static str) {
    use io::ErrorKind::*;
    match kind {
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
