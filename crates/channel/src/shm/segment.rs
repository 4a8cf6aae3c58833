//! A node's segment: anonymous memory that lives as long as a process holds it, and no longer.
//!
//! The memory comes from `memfd_create`, so it has no name that a killed job could leave behind, and the
//! size of `/dev/shm` does not matter. It is sparse; pages are reserved by `fallocate` before they are
//! touched, so a lack of memory is an error here and never a signal later.

use std::io::{Error, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// Bytes of a page, the granule of reservation.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Shared memory mapped into this process.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    len: usize,
    memory: OwnedFd,
}

// SAFETY: the segment is plain shared memory; whoever takes a pointer into it answers for its use.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// New zeroed memory of `len` bytes, none of it reserved, whose size is fixed for good: no process that
    /// holds the descriptor can shrink it under the others.
    pub(crate) fn create(len: usize) -> Result<Segment> {
        within_file_limit(len)?;
        // SAFETY: the name is a C string; the call makes a descriptor and touches no memory of ours.
        let fd =
            unsafe { libc::memfd_create(c"verbena".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours.
        let memory = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: calls on our own descriptor.
        let sized = unsafe {
            libc::ftruncate(fd, len as libc::off_t) == 0
                && libc::fcntl(
                    fd,
                    libc::F_ADD_SEALS,
                    libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL,
                ) == 0
        };
        if !sized {
            return Err(Error::last_os_error());
        }
        Segment::map(memory, len)
    }

    /// Maps memory that another process created.
    pub(crate) fn adopt(memory: OwnedFd) -> Result<Segment> {
        // SAFETY: a stat structure may be all zero, and the call fills it.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open and `stat` is ours.
        if unsafe { libc::fstat(memory.as_raw_fd(), &mut stat) } != 0 {
            return Err(Error::last_os_error());
        }
        Segment::map(memory, stat.st_size as usize)
    }

    fn map(memory: OwnedFd, len: usize) -> Result<Segment> {
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                memory.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(at.cast::<u8>()) {
            Some(base) if at != libc::MAP_FAILED => Ok(Segment { base, len, memory }),
            _ => Err(Error::last_os_error()),
        }
    }

    /// Bytes of the segment.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Reserves the pages of a range: afterwards touching them cannot fail.
    pub(crate) fn reserve(&self, offset: usize, len: usize) -> Result<()> {
        loop {
            // SAFETY: a call on our own descriptor.
            if unsafe {
                libc::fallocate(self.memory.as_raw_fd(), 0, offset as libc::off_t, len as libc::off_t)
            } == 0
            {
                return Ok(());
            }
            let error = Error::last_os_error();
            if error.raw_os_error() != Some(libc::EINTR) {
                return Err(error);
            }
        }
    }

    /// Gives the pages of a range back: they are zero when next touched, or rather reserved.
    pub(crate) fn release(&self, offset: usize, len: usize) -> Result<()> {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: a call on our own descriptor; nobody uses the range any more.
        let done = unsafe {
            libc::fallocate(self.memory.as_raw_fd(), mode, offset as libc::off_t, len as libc::off_t)
        };
        if done == 0 { Ok(()) } else { Err(Error::last_os_error()) }
    }

    /// The address of `len` bytes at `offset`; `None` if they do not lie within the segment.
    pub(crate) fn at(&self, offset: usize, len: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(len)?;
        // SAFETY: within the mapping by the check.
        (end <= self.len).then(|| unsafe { self.base.add(offset) })
    }
}

impl AsFd for Segment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: our own mapping; whoever holds a pointer into it holds the segment too.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// A file limit (`ulimit -f`) covers anonymous memory too, and stepping over it raises a signal; so look first.
fn within_file_limit(len: usize) -> Result<()> {
    match file_limit() {
        Some(limit) if len as u64 > limit => Err(Error::from_raw_os_error(libc::EFBIG)),
        _ => Ok(()),
    }
}

/// The file size limit of this process in bytes, if there is one.
pub(crate) fn file_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call fills our structure.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
