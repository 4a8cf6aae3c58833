//! The trait of what holds the bytes of a file, and transfers that outlast short calls.

use crate::kind::FileSystem;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use verbena_memory::Region;

/// A part of a file: its first byte and the one behind its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub start: u64,
    /// The byte behind the last.
    pub end: u64,
}

/// A lock of a part of a file among processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Several may hold it at once, to read.
    Shared,
    /// One holds it alone, to write.
    Exclusive,
}

/// The file behind a disk, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The number of the device.
    pub device: u64,
    /// The number of the file on it.
    pub inode: u64,
    /// The number of its names.
    pub links: u64,
}

impl Identity {
    /// Returns whether this is the same file, with other names perhaps.
    pub fn is_same(&self, other: &Identity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl From<std::fs::Metadata> for Identity {
    fn from(about: std::fs::Metadata) -> Identity {
        Identity { device: about.dev(), inode: about.ino(), links: about.nlink() }
    }
}

/// Memory, and the place of its bytes in the file.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The memory.
    pub region: Region,
    /// The first byte in the file.
    pub at: u64,
}

/// Something that holds the bytes of a file. Each method but those with lists is one call of the
/// system, with the errors that the system gives; [`read_all`] and [`write_all`] go on after short
/// ones.
pub trait Disk: Send + Sync {
    /// Reads bytes at a place. Returns how many, 0 at the end of the file.
    ///
    /// # Errors
    /// Those of `pread`; `EBADF` if the program has closed the descriptor.
    fn read(&self, into: Region, at: u64) -> Result<usize>;

    /// Writes bytes at a place. Returns how many.
    ///
    /// # Errors
    /// Those of `pwrite`; `EBADF` if the program has closed the descriptor.
    fn write(&self, from: Region, at: u64) -> Result<usize>;

    /// Reads many pieces, each until it is full or the file ends. Returns the bytes of each.
    ///
    /// # Errors
    /// The error of the first piece that failed, with its number.
    fn read_list(&self, pieces: &[Piece]) -> std::result::Result<Vec<usize>, ListCut> {
        read_each(self, pieces)
    }

    /// Writes all bytes of many pieces.
    ///
    /// # Errors
    /// The error of the first piece that failed, with its number. Others may have been written.
    fn write_list(&self, pieces: &[Piece]) -> std::result::Result<(), ListCut> {
        write_each(self, pieces)
    }

    /// The size in bytes.
    ///
    /// # Errors
    /// Those of `fstat`.
    fn size(&self) -> Result<u64>;

    /// The file that this is; `None` of one that the system does not know.
    ///
    /// # Errors
    /// Those of `fstat`.
    fn identity(&self) -> Result<Option<Identity>> {
        Ok(None)
    }

    /// Cuts or extends the file.
    ///
    /// # Errors
    /// Those of `ftruncate`.
    fn set_size(&self, bytes: u64) -> Result<()>;

    /// Makes sure that the first `bytes` bytes have room on the device.
    ///
    /// # Errors
    /// Those of `posix_fallocate`.
    fn reserve(&self, bytes: u64) -> Result<()>;

    /// Moves what was written to the device.
    ///
    /// # Errors
    /// Those of `fdatasync`.
    fn sync(&self) -> Result<()>;

    /// Forgets what this machine keeps of the file's size and of bytes that are on the device,
    /// where other machines may have changed them unnoticed: what is read next comes from the
    /// device.
    ///
    /// # Errors
    /// Those of `statx`.
    fn refresh(&self) -> Result<()>;

    /// Lets several machines write into a page, each its own bytes: where the file system's client
    /// would write whole pages, accesses no longer go through this machine's cache.
    ///
    /// # Errors
    /// Those of `fcntl`, if the file system takes no accesses past its cache.
    fn share_pages(&self) -> Result<()> {
        Ok(())
    }

    /// Returns whether it is a pipe or a terminal: its bytes have an order and no places.
    fn is_stream(&self) -> bool {
        false
    }

    /// Waits for a lock of a part, which holds among processes, not among the threads of one.
    ///
    /// # Errors
    /// Those of `fcntl`: some file systems have no locks.
    fn lock(&self, part: Extent, lock: Lock) -> Result<()>;

    /// Gives a lock back.
    ///
    /// # Errors
    /// Those of `fcntl`.
    fn unlock(&self, part: Extent) -> Result<()>;

    /// The file system that it lies on.
    fn file_system(&self) -> FileSystem;
}

/// A transfer that failed on its way.
#[derive(Debug)]
pub struct Cut {
    /// The bytes that were moved before.
    pub done: usize,
    /// The error of the system.
    pub error: Error,
}

/// The failure of one piece of a list.
#[derive(Debug)]
pub struct ListCut {
    /// The number of the piece.
    pub number: usize,
    /// The way in which it failed.
    pub cut: Cut,
}

/// The most calls in a row that a signal may interrupt without a byte moved: a device that is
/// interrupted for ever is an error in the end.
const INTERRUPTIONS_MAX: u32 = 1 << 20;

/// Returns whether an error of [`Disk::lock`] says that the file system has no locks at all.
pub fn has_no_locks(error: &Error) -> bool {
    let number = error.raw_os_error();
    number.is_some_and(|number| [libc::EINVAL, libc::ENOSYS, libc::EOPNOTSUPP].contains(&number))
}

/// Reads until the region is full or the file ends. Returns the bytes read.
///
/// # Errors
/// The first error of the disk but interruptions, with what was read before.
pub fn read_all(disk: &(impl Disk + ?Sized), into: Region, at: u64) -> std::result::Result<usize, Cut> {
    repeat(into, at, |rest, at| disk.read(rest, at))
}

/// Writes all bytes of the region.
///
/// # Errors
/// The first error of the disk but interruptions, with what was written before; `WriteZero` if the
/// file takes no more.
pub fn write_all(disk: &(impl Disk + ?Sized), from: Region, at: u64) -> std::result::Result<(), Cut> {
    match repeat(from, at, |rest, at| disk.write(rest, at))? {
        done if done == from.len() => Ok(()),
        done => Err(Cut { done, error: ErrorKind::WriteZero.into() }),
    }
}

/// Reads one piece after the other, as [`Disk::read_list`].
pub(crate) fn read_each(
    disk: &(impl Disk + ?Sized),
    pieces: &[Piece],
) -> std::result::Result<Vec<usize>, ListCut> {
    let read = |(number, piece): (usize, &Piece)| {
        read_all(disk, piece.region, piece.at).map_err(|cut| ListCut { number, cut })
    };
    pieces.iter().enumerate().map(read).collect()
}

/// Writes one piece after the other, as [`Disk::write_list`].
pub(crate) fn write_each(disk: &(impl Disk + ?Sized), pieces: &[Piece]) -> std::result::Result<(), ListCut> {
    pieces.iter().enumerate().try_for_each(|(number, piece)| {
        write_all(disk, piece.region, piece.at).map_err(|cut| ListCut { number, cut })
    })
}

/// Calls `step` for the rest until it moves nothing. Returns the bytes moved.
fn repeat(
    region: Region,
    at: u64,
    step: impl Fn(Region, u64) -> Result<usize>,
) -> std::result::Result<usize, Cut> {
    let (mut done, mut interruptions) = (0, 0);
    while done < region.len() {
        let cut = |error| Cut { done, error };
        let next = at.checked_add(done as u64).filter(|&next| i64::try_from(next).is_ok());
        let next = next.ok_or_else(|| cut(Error::from_raw_os_error(libc::EINVAL)))?;
        match step(region.part(done, region.len() - done), next) {
            Ok(0) => break,
            Ok(bytes) => {
                done += bytes;
                interruptions = 0;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted && interruptions < INTERRUPTIONS_MAX => {
                interruptions += 1;
            }
            Err(error) => return Err(cut(error)),
        }
    }
    Ok(done)
}
