//! An open file of the system.

use crate::broken;
use crate::disk::{
    Cut, Disk, Extent, Identity, ListCut, Lock, Piece, read_all, read_each, write_all, write_each,
};
use crate::kind::{self, FileSystem};
use crate::mapped::{self, Part};
use crate::ring::{self, Way};
use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, RawFd};
use verbena_machine::kept::Kept;
use verbena_machine::limits::{self, Resource};
use verbena_memory::Region;

/// An open file. The program may close its descriptor, as a daemon closes all: each call asks
/// whether the number still means this file, and is `EBADF` if not.
#[derive(Debug)]
pub struct OpenFile {
    file: Kept<File>,
    /// True for a pipe or a terminal, which has no places.
    is_stream: bool,
    /// True if the process had a limit on the size of this file when it was opened.
    has_limit: bool,
    file_system: FileSystem,
    uses_ring: bool,
    /// True if small writes may be stores to its pages.
    may_map: bool,
}

/// The shortest list that is worth a ring.
const RING_PIECES_MIN: usize = 8;

impl OpenFile {
    /// Keeps a file that was opened just now. Lists of pieces go through io_uring if
    /// `may_use_ring`, the kernel allows it and the file system does not do each operation in a
    /// thread of its own.
    ///
    /// # Errors
    /// Those of [`Kept::marked`].
    pub fn new(file: File, may_use_ring: bool) -> Result<OpenFile> {
        // SAFETY: a call on a descriptor that is open.
        let place = unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_CUR) };
        let is_stream = place < 0 && Error::last_os_error().raw_os_error() == Some(libc::ESPIPE);
        let file_system = file_system_of(&file);
        let is_memory = matches!(file_system.name, "tmpfs" | "ramfs");
        let uses_ring = may_use_ring && !is_stream && !is_memory;
        let is_file = file.metadata()?.is_file();
        let may_map = is_file && file_system.has_coherent_pages() && is_read_and_written(&file);
        let has_limit = is_file && size_limit().is_some();
        let file = Kept::marked(file)?;
        Ok(OpenFile { file, is_stream, has_limit, file_system, uses_ring, may_map })
    }

    /// `EFBIG` for a byte at or behind the limit of the process on the size of files. The system
    /// would say so too, but with a signal (`SIGXFSZ`) that ends the program.
    fn check_limit(&self, at: u64) -> Result<()> {
        match self.has_limit && size_limit().is_some_and(|limit| at >= limit) {
            true => Err(Error::from_raw_os_error(libc::EFBIG)),
            false => Ok(()),
        }
    }

    /// Moves a list by the ring of this thread. Returns the bytes of each piece; `None` if there is
    /// no ring.
    fn by_ring(&self, way: Way, pieces: &[Piece]) -> Option<std::result::Result<Vec<usize>, ListCut>> {
        let is_limited = || way == Way::Write && self.has_limit;
        if !self.uses_ring || pieces.len() < RING_PIECES_MIN || is_limited() {
            return None;
        }
        let results = ring::transfer(self.get().ok()?.as_raw_fd(), way, pieces)?;
        let all = pieces.iter().zip(results).enumerate();
        let outcome = all.map(|(number, (piece, result))| {
            self.completed(way, piece, result).map_err(|cut| ListCut { number, cut })
        });
        Some(outcome.collect())
    }

    /// Completes a piece that the ring has moved in part, or not at all.
    fn completed(&self, way: Way, piece: &Piece, result: i32) -> std::result::Result<usize, Cut> {
        let done = match result {
            ring::NOT_BEGUN => 0,
            error if error == -libc::EINTR => 0,
            error if error < 0 => return Err(Cut { done: 0, error: Error::from_raw_os_error(-error) }),
            bytes => bytes as usize,
        };
        if done == piece.region.len() || (way == Way::Read && result == 0) {
            return Ok(done);
        }
        let rest = piece.region.part(done, piece.region.len() - done);
        let at = piece.at + done as u64;
        let moved = match way {
            Way::Read => read_all(self, rest, at),
            Way::Write => write_all(self, rest, at).map(|()| rest.len()),
        };
        moved.map(|bytes| done + bytes).map_err(|cut| Cut { done: done + cut.done, error: cut.error })
    }

    fn write_by_calls(&self, pieces: &[Piece]) -> std::result::Result<(), ListCut> {
        match self.by_ring(Way::Write, pieces) {
            Some(written) => written.map(|_| ()),
            None => write_each(self, pieces),
        }
    }

    fn get(&self) -> Result<&File> {
        self.file.get().ok_or_else(|| Error::from_raw_os_error(libc::EBADF))
    }

    fn fcntl_lock(&self, part: Extent, kind: libc::c_int) -> Result<()> {
        let file = self.get()?;
        let lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: i64::try_from(part.start).unwrap_or(i64::MAX),
            l_len: i64::try_from(part.end.saturating_sub(part.start)).unwrap_or(0),
            l_pid: 0,
        };
        loop {
            // SAFETY: a call on an open file, with a structure that is there.
            if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock) } == 0 {
                return Ok(());
            }
            match Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EINTR) => {}
                error => return Err(error),
            }
        }
    }
}

/// The limit of this process on the size of files, in bytes.
fn size_limit() -> Option<u64> {
    limits::soft(Resource::FileSize)
}

/// The number of bytes that a call moved.
fn moved(bytes: isize) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| Error::last_os_error())
}

fn place(at: u64) -> Result<libc::off_t> {
    libc::off_t::try_from(at).map_err(|_| Error::from_raw_os_error(libc::EINVAL))
}

/// Returns whether the file was opened for both: only then may its pages be stored to.
fn is_read_and_written(file: &File) -> bool {
    status_flags(file.as_raw_fd()).is_ok_and(|flags| flags & libc::O_ACCMODE == libc::O_RDWR)
}

fn status_flags(file: RawFd) -> Result<libc::c_int> {
    // SAFETY: a call on a number; the kernel knows whether it is open.
    match unsafe { libc::fcntl(file, libc::F_GETFL) } {
        flags if flags >= 0 => Ok(flags),
        _ => Err(Error::last_os_error()),
    }
}

fn file_system_of(file: &File) -> FileSystem {
    let mut about = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: a descriptor that is open, and memory for the answer.
    match unsafe { libc::fstatfs(file.as_raw_fd(), about.as_mut_ptr()) } {
        // SAFETY: the call has filled it.
        0 => kind::numbered(unsafe { about.assume_init() }.f_type),
        _ => FileSystem::UNKNOWN,
    }
}

impl Disk for OpenFile {
    fn read(&self, into: Region, at: u64) -> Result<usize> {
        let file = self.get()?.as_raw_fd();
        let (memory, at) = (into.pointer().cast(), place(at)?);
        // SAFETY: the region is valid by its creator's promise; the kernel checks the address as
        // well.
        moved(unsafe {
            match self.is_stream {
                false => libc::pread(file, memory, into.len(), at),
                true => libc::read(file, memory, into.len()),
            }
        })
    }

    fn write(&self, from: Region, at: u64) -> Result<usize> {
        self.check_limit(at)?;
        let file = self.get()?.as_raw_fd();
        let (memory, at) = (from.pointer().cast_const().cast(), place(at)?);
        match self.is_stream {
            // SAFETY: as in `read`.
            false => moved(unsafe { libc::pwrite(file, memory, from.len(), at) }),
            // SAFETY: as in `read`.
            true => broken::without_signal(|| moved(unsafe { libc::write(file, memory, from.len()) })),
        }
    }

    fn read_list(&self, pieces: &[Piece]) -> std::result::Result<Vec<usize>, ListCut> {
        self.by_ring(Way::Read, pieces).unwrap_or_else(|| read_each(self, pieces))
    }

    fn write_list(&self, pieces: &[Piece]) -> std::result::Result<(), ListCut> {
        let mut done = 0;
        while done < pieces.len() {
            let rest = &pieces[done..];
            let part = if self.may_map { mapped::first_part(rest) } else { Part::by_calls(rest.len()) };
            let now = &rest[..part.pieces];
            let file = self.get().ok().filter(|_| part.is_dense).map(AsRawFd::as_raw_fd);
            let last = done + part.pieces.saturating_sub(1);
            let is_stored = file.map_or(Ok(false), |file| mapped::write(self, file, now));
            if !is_stored.map_err(|cut| ListCut { number: last, cut })? {
                let behind = |failed: ListCut| ListCut { number: done + failed.number, ..failed };
                self.write_by_calls(now).map_err(behind)?;
            }
            done += part.pieces;
        }
        Ok(())
    }

    fn size(&self) -> Result<u64> {
        Ok(self.get()?.metadata()?.len())
    }

    fn identity(&self) -> Result<Option<Identity>> {
        Ok(Some(self.get()?.metadata()?.into()))
    }

    fn set_size(&self, bytes: u64) -> Result<()> {
        // A file may be cut to any size.
        if self.has_limit && bytes > self.size()? {
            self.check_limit(bytes - 1)?;
        }
        self.get()?.set_len(bytes)
    }

    fn reserve(&self, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.check_limit(bytes - 1)?;
        let (file, bytes) = (self.get()?.as_raw_fd(), place(bytes)?);
        loop {
            // SAFETY: a call on an open file. It returns the error's number.
            match unsafe { libc::posix_fallocate(file, 0, bytes) } {
                0 => return Ok(()),
                libc::EINTR => {}
                error => return Err(Error::from_raw_os_error(error)),
            }
        }
    }

    fn sync(&self) -> Result<()> {
        self.get()?.sync_data()
    }

    fn refresh(&self) -> Result<()> {
        let file = self.get()?.as_raw_fd();
        let mut about = std::mem::MaybeUninit::<libc::statx>::uninit();
        let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_FORCE_SYNC;
        // SAFETY: an open file, a name with its end, and memory for the answer.
        let found =
            unsafe { libc::statx(file, c"".as_ptr(), flags, libc::STATX_BASIC_STATS, about.as_mut_ptr()) };
        if found != 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: a call on an open file.
        match unsafe { libc::posix_fadvise(file, 0, 0, libc::POSIX_FADV_DONTNEED) } {
            // A pipe keeps nothing.
            0 | libc::ESPIPE => Ok(()),
            error => Err(Error::from_raw_os_error(error)),
        }
    }

    fn share_pages(&self) -> Result<()> {
        if !self.file_system.writes_whole_pages || self.is_stream {
            return Ok(());
        }
        let file = self.get()?.as_raw_fd();
        let flags = status_flags(file)?;
        // SAFETY: a call on an open file.
        match unsafe { libc::fcntl(file, libc::F_SETFL, flags | libc::O_DIRECT) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }

    fn is_stream(&self) -> bool {
        self.is_stream
    }

    fn lock(&self, part: Extent, lock: Lock) -> Result<()> {
        let kind = match lock {
            Lock::Shared => libc::F_RDLCK,
            Lock::Exclusive => libc::F_WRLCK,
        };
        self.fcntl_lock(part, kind)
    }

    fn unlock(&self, part: Extent) -> Result<()> {
        self.fcntl_lock(part, libc::F_UNLCK)
    }

    fn file_system(&self) -> FileSystem {
        self.file_system
    }
}
