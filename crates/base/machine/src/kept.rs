//! Open files whose descriptor number is kept for the life of the process.
//!
//! A program may close every descriptor (to become a daemon, by `closefrom`), and its own files
//! then get these numbers. To write, read or close by such a number would hit the program's file.
//! So the file is known by its device and inode, and compared before each use. Files that share one
//! inode (an eventfd, on older kernels a userfaultfd) cannot be told apart so.

use std::io::{Error, Result};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// The identity of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
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

    /// The file; `None` if the program has closed it, whatever its number means now.
    pub fn get(&self) -> Option<&T> {
        identity(self.file.as_fd()).is_ok_and(|now| now == self.identity).then_some(&*self.file)
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

fn identity(file: BorrowedFd<'_>) -> Result<Identity> {
    // SAFETY: a stat structure may be all zero, and the call fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is ours; a number that is closed is an error.
    match unsafe { libc::fstat(file.as_raw_fd(), &mut stat) } {
        0 => Ok(Identity { device: stat.st_dev, inode: stat.st_ino }),
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
}
