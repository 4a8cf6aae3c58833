//! The access mode of a file (`amode`; MPI-5.0, 14.2.1).

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use verbena_storage::Lock;

const ACCESS: i32 = mpi::MPI_MODE_RDONLY | mpi::MPI_MODE_RDWR | mpi::MPI_MODE_WRONLY;
const EXTRAS: i32 = mpi::MPI_MODE_CREATE
    | mpi::MPI_MODE_EXCL
    | mpi::MPI_MODE_DELETE_ON_CLOSE
    | mpi::MPI_MODE_UNIQUE_OPEN
    | mpi::MPI_MODE_SEQUENTIAL
    | mpi::MPI_MODE_APPEND;

/// A valid access mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(i32);

impl Mode {
    /// Checks the flags that the program passed; `MPI_ERR_AMODE` if they make no sense together.
    pub fn new(amode: i32) -> Result<Mode> {
        let has = |flags: i32| amode & flags != 0;
        if (amode & ACCESS).count_ones() != 1 || has(!(ACCESS | EXTRAS)) {
            return Err(wrong(amode, "pass one of MPI_MODE_RDONLY, _RDWR and _WRONLY, and other file modes"));
        }
        if has(mpi::MPI_MODE_RDONLY) && has(mpi::MPI_MODE_CREATE | mpi::MPI_MODE_EXCL) {
            return Err(wrong(amode, "create files with MPI_MODE_WRONLY or MPI_MODE_RDWR"));
        }
        if has(mpi::MPI_MODE_RDWR) && has(mpi::MPI_MODE_SEQUENTIAL) {
            return Err(wrong(amode, "open sequential files either to read or to write"));
        }
        Ok(Mode(amode))
    }

    /// The flags as the program passed them.
    pub fn flags(self) -> i32 {
        self.0
    }

    /// Returns whether this flag, or one of these, is set.
    pub fn has(self, flags: i32) -> bool {
        self.0 & flags != 0
    }

    /// Returns whether the file may be read.
    pub fn reads(self) -> bool {
        !self.has(mpi::MPI_MODE_WRONLY)
    }

    /// Returns whether the file may be written.
    pub fn writes(self) -> bool {
        !self.has(mpi::MPI_MODE_RDONLY)
    }

    /// The kind of lock that the open file may take.
    pub(super) fn lock(self) -> Lock {
        if self.writes() { Lock::Exclusive } else { Lock::Shared }
    }

    /// The system's options. The first process creates the file, with these permissions unless they
    /// are 0; the others find it there, and create nothing unless they `may_create`.
    pub fn options(self, is_first: bool, may_create: bool, permissions: u64) -> OpenOptions {
        let mut options = OpenOptions::new();
        let creates = self.has(mpi::MPI_MODE_CREATE);
        options.read(self.reads()).write(self.writes()).create(creates && (is_first || may_create));
        if permissions > 0 {
            options.mode(permissions as u32);
        }
        options.create_new(creates && is_first && self.has(mpi::MPI_MODE_EXCL));
        options
    }
}

#[cold]
fn wrong(amode: i32, remedy: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_AMODE,
        "the access mode of a file makes no sense",
        format!("amode {amode:#x}"),
        "flags exclude each other, none says whether to read or to write, or one is for windows",
        remedy,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi::*;

    #[test]
    fn impossible_modes_are_refused() {
        let wrong = [
            0,
            MPI_MODE_CREATE,
            MPI_MODE_RDONLY | MPI_MODE_WRONLY,
            MPI_MODE_RDONLY | MPI_MODE_CREATE,
            MPI_MODE_RDONLY | MPI_MODE_EXCL,
            MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
            MPI_MODE_RDWR | MPI_MODE_NOCHECK,
            -1,
        ];
        for amode in wrong {
            assert_eq!(Mode::new(amode).unwrap_err().class, MPI_ERR_AMODE, "{amode:#x}");
        }
    }

    #[test]
    fn a_mode_says_what_may_be_done() {
        let mode = |flags| Mode::new(flags).unwrap();
        assert_eq!((mode(MPI_MODE_RDONLY).reads(), mode(MPI_MODE_RDONLY).writes()), (true, false));
        let appends = mode(MPI_MODE_WRONLY | MPI_MODE_APPEND | MPI_MODE_CREATE);
        assert_eq!((appends.reads(), appends.writes(), appends.has(MPI_MODE_APPEND)), (false, true, true));
    }
}
