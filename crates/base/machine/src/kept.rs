//! Open files whose descriptor number is kept for the life of the process.
//!
//! A program may close every descriptor (to become a daemon, by `closefrom`), and its own files
//! then get these numbers. To write, read or close by such a number would hit the program's file.
//! So the file is known by its device and inode, and compared before each use. Files that share one
//! inode (an eventfd, on older kernels a userfaultfd) cannot be told apart so. The program may also
//! open a file by name that the library has open: such a file is marked by its offset, which the
//! library uses for nothing else. The offset alone is compared then: the system knows it without a
//! question to a file server, and a file of the program has the same one in one case of 2^31.

use crate::random;
use std::io::{Error, Result};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// The identity of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    Inode {
        device: u64,
        inode: u64,
    },
    /// The offset of a file that is marked by it.
    Offset(libc::off_t),
}

/// An open file, as long as its number means that file.
#[derive(Debug)]
pub struct Kept<T: AsFd> {
    file: ManuallyDrop<T>,
    identity: Identity,
}

impl<T: AsFd> Kept<T> {
    /// Keeps a file that was opened just now.
    ///
    /// # Errors
    /// The system cannot tell the file's inode.
    pub fn new(file: T) -> Result<Kept<T>> {
        let identity = identity(file.as_fd())?;
        Ok(Kept { file: ManuallyDrop::new(file), identity })
    }

    /// Like [`Kept::new`] for a file that the program may open, too: a random offset tells its own
    /// open file from the program's. Whoever keeps it reads and writes at explicit offsets only. A
    /// file without an offset (a pipe, some devices) is known by its inode alone.
    ///
    /// # Errors
    /// The system cannot tell the file's inode, or has no random bits.
    pub fn marked(file: T) -> Result<Kept<T>> {
        // Every file system allows offsets up to 2^31, and a file just opened has 0.
        let offset = (random::word()? % (i32::MAX as u64) + 1) as libc::off_t;
        let identity = match seek(file.as_fd(), offset, libc::SEEK_SET) == offset {
            true => Identity::Offset(offset),
            false => identity(file.as_fd())?,
        };
        Ok(Kept { file: ManuallyDrop::new(file), identity })
    }

    /// The file; `None` if the program has closed it, whatever its number means now.
    pub fn get(&self) -> Option<&T> {
        let is_same = match self.identity {
            Identity::Offset(offset) => seek(self.file.as_fd(), 0, libc::SEEK_CUR) == offset,
            known => identity(self.file.as_fd()).is_ok_and(|now| now == known),
        };
        is_same.then_some(&*self.file)
    }

    /// The file's number, whatever that means now: only for calls that do no harm to another file.
    pub fn number(&self) -> RawFd {
        self.file.as_fd().as_raw_fd()
    }
}

impl<T: AsFd> Drop for Kept<T> {
    fn drop(&mut self) {
        if self.get().is_some() {
            // SAFETY: dropped here only, and the value is not used again.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

fn seek(file: BorrowedFd<'_>, offset: libc::off_t, whence: libc::c_int) -> libc::off_t {
    // SAFETY: a call on a number, which may be closed or no file that can be sought in.
    unsafe { libc::lseek(file.as_raw_fd(), offset, whence) }
}

/// The device and inode of an open file.
fn identity(file: BorrowedFd<'_>) -> Result<Identity> {
    // SAFETY: a stat structure may be all zero, and the call fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is ours; a number that is closed is an error.
    match unsafe { libc::fstat(file.as_raw_fd(), &mut stat) } {
        0 => Ok(Identity::Inode { device: stat.st_dev, inode: stat.st_ino }),
        _ => Err(Error::last_os_error()),
    }
}

/// The error of a use whose descriptor of the library is gone.
pub fn lost() -> Error {
    Error::from_raw_os_error(libc::EBADF)
}

/// Returns whether an error is [`lost`].
pub fn is_lost(error: &Error) -> bool {
    error.raw_os_error() == Some(libc::EBADF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use verbena_testing::files::take_over;

    #[test]
    fn a_file_in_the_same_place_is_another_one_and_is_not_closed() {
        let kept = Kept::new(File::open("/proc/self/exe").expect("it is there")).expect("it is open");
        let number = kept.get().expect("still ours").as_raw_fd();
        take_over(number, &File::open("/dev/zero").expect("it is there"));
        assert!(kept.get().is_none());
        drop(kept);
        // SAFETY: a call on a number; the file there is this test's.
        assert_eq!(unsafe { libc::close(number) }, 0, "it was left open");
    }

    #[test]
    fn a_marked_file_is_told_from_another_opening_of_it() {
        let open = || File::open("/proc/self/exe").expect("it is there");
        let (kept, pipe) = (Kept::marked(open()).expect("it is open"), std::io::pipe().expect("it opens").0);
        assert!(kept.get().is_some());
        assert!(Kept::marked(pipe).expect("it is open").get().is_some(), "it has no offset");
        let number = kept.get().expect("still ours").as_raw_fd();
        take_over(number, &open());
        assert!(kept.get().is_none());
        drop(kept);
        // SAFETY: a call on a number; the file there is this test's.
        assert_eq!(unsafe { libc::close(number) }, 0, "it was left open");
    }
}
