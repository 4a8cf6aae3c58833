//! Regions read from files and written to them: the kernel copies, and nobody holds a reference.

use super::Region;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;

impl Region {
    /// Reads bytes at `position` of the file until the region is full or the file ends. Returns how
    /// many.
    ///
    /// # Errors
    /// Those of `pread`, but interruptions.
    pub fn read_file(&self, file: &File, position: u64) -> Result<usize> {
        self.repeat(position, |rest, at| {
            // SAFETY: the region is valid by its creator's promise; the kernel checks the address
            // as well.
            unsafe { libc::pread(file.as_raw_fd(), rest.pointer().cast(), rest.len(), at) }
        })
    }

    /// Writes all bytes to `position` of the file.
    ///
    /// # Errors
    /// Those of `pwrite`, but interruptions; `WriteZero` if the file takes no more.
    pub fn write_file(&self, file: &File, position: u64) -> Result<()> {
        let written = self.repeat(position, |rest, at| {
            // SAFETY: as in `read_file`.
            unsafe { libc::pwrite(file.as_raw_fd(), rest.pointer().cast(), rest.len(), at) }
        })?;
        if written == self.len() { Ok(()) } else { Err(ErrorKind::WriteZero.into()) }
    }

    /// Calls `step` for the rest until it moves nothing. Returns the bytes moved.
    fn repeat(&self, position: u64, step: impl Fn(Region, libc::off_t) -> isize) -> Result<usize> {
        let mut done = 0;
        while done < self.len() {
            let at = position.checked_add(done as u64).and_then(|at| libc::off_t::try_from(at).ok());
            let at = at.ok_or_else(|| Error::from_raw_os_error(libc::EINVAL))?;
            match step(self.part(done, self.len() - done), at) {
                0 => break,
                bytes if bytes > 0 => done += bytes as usize,
                _ => match Error::last_os_error() {
                    error if error.kind() == ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
        Ok(done)
    }
}
