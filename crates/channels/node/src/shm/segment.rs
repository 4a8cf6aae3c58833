//! A node's segment: anonymous memory that lives as long as a process holds it, and no longer.
//!
//! The memory comes from `memfd_create`, so it has no name that a killed job could leave behind,
//! and the size of `/dev/shm` does not matter. It is sparse; pages are reserved before they are
//! touched, so a lack of memory is an error here and never a signal later.
//!
//! Once all ranks have the memory, its descriptor is closed: the program might close it too, and
//! open a file under its number. Pages are reserved and given back by `madvise` on the mapping.
//! Only kernels that cannot do that (before Linux 5.14) need the descriptor, which is then compared
//! before each use ([`Kept`]).

use std::ffi::CStr;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use verbena_machine::kept::{self, Kept};
use verbena_machine::limits::{self, Resource};

/// Bytes of a page, the granule of reservation.
pub(crate) const PAGE_BYTES: usize = 4096;

/// A number that no advice has.
const NO_ADVICE: libc::c_int = 0x7fff;

const READ_WRITE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Shared memory mapped into this process, or a part of it.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    len: usize,
    mapping: Arc<Mapping>,
}

/// A whole mapping.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    len: usize,
    /// The memory's descriptor, if pages cannot be reserved without it.
    memory: OnceLock<Kept<OwnedFd>>,
}

// SAFETY: the segment is plain shared memory; a holder of a pointer into it answers for its use.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}
// SAFETY: as above.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Segment {
    /// Creates zeroed memory of `len` bytes, none of it reserved. Its size is fixed for good: no
    /// process that holds the descriptor can shrink it under the others. The descriptor is for
    /// them, and is closed then.
    pub(crate) fn create(len: usize) -> Result<(Segment, OwnedFd)> {
        let memory = create_memory(c"verbena", len)?;
        Ok((Segment::map(&memory, len, READ_WRITE)?, memory))
    }

    /// Creates memory as [`Segment::create`], of which nothing can be touched before it is opened
    /// ([`Segment::open`]), and which core dumps leave out.
    pub(crate) fn create_closed(name: &CStr, len: usize) -> Result<(Segment, OwnedFd)> {
        let memory = create_memory(name, len)?;
        Ok((Segment::map_closed(&memory, len)?, memory))
    }

    /// Maps memory that another process created.
    pub(crate) fn adopt(memory: OwnedFd) -> Result<Segment> {
        Segment::map(&memory, bytes_of(&memory)?, READ_WRITE)
    }

    /// Maps memory that another process created, closed as by [`Segment::create_closed`].
    pub(crate) fn adopt_closed(memory: OwnedFd) -> Result<Segment> {
        Segment::map_closed(&memory, bytes_of(&memory)?)
    }

    fn map_closed(memory: &OwnedFd, len: usize) -> Result<Segment> {
        let segment = Segment::map(memory, len, libc::PROT_NONE)?;
        segment.advise(0, len, libc::MADV_DONTDUMP)?;
        Ok(segment)
    }

    fn map(memory: &OwnedFd, len: usize, protection: libc::c_int) -> Result<Segment> {
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                protection,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                memory.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(at.cast::<u8>()) {
            Some(base) if at != libc::MAP_FAILED => {
                let mapping = Arc::new(Mapping { base, len, memory: OnceLock::new() });
                let segment = Segment { base, len, mapping };
                if !segment.can_reserve_by_mapping() {
                    _ = segment.mapping.memory.set(Kept::new(memory.try_clone()?)?);
                }
                Ok(segment)
            }
            _ => Err(Error::last_os_error()),
        }
    }

    /// A part of this one, whole pages; `None` if it does not lie within.
    pub(crate) fn part(&self, offset: usize, len: usize) -> Option<Segment> {
        let base = self.at(offset, len).filter(|_| offset.is_multiple_of(PAGE_BYTES))?;
        Some(Segment { base, len, mapping: self.mapping.clone() })
    }

    /// The offset in the memory of an offset in this part of it.
    fn in_memory(&self, offset: usize) -> usize {
        self.base.addr().get() - self.mapping.base.addr().get() + offset
    }

    /// Returns whether `madvise` reserves pages. Larger pages than ours would be shared by parts
    /// that are reserved and given back apart.
    fn can_reserve_by_mapping(&self) -> bool {
        // SAFETY: the call only answers.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        // Of no bytes: an error only if the kernel does not know the advice. Emulators know it all,
        // and do nothing: pages that were given back would keep their contents.
        let knows = |advice| self.advise(0, 0, advice).is_ok();
        page_bytes == PAGE_BYTES as i64 && knows(libc::MADV_POPULATE_WRITE) && !knows(NO_ADVICE)
    }

    /// Bytes of the segment.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Reserves the pages of a range, whole pages: afterwards touching them cannot fail.
    ///
    /// # Errors
    /// No memory is left (`ENOSPC`, whatever the kernel calls it), or [`kept::lost`].
    pub(crate) fn reserve(&self, offset: usize, len: usize) -> Result<()> {
        let reserve = || match self.mapping.memory.get() {
            None => self.advise(offset, len, libc::MADV_POPULATE_WRITE),
            Some(memory) => allocate(memory, 0, self.in_memory(offset), len),
        };
        loop {
            match reserve() {
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                // The kernel's error where touching a page would raise a signal. The pages that it
                // got are given back.
                Err(error) if error.raw_os_error() == Some(libc::EFAULT) => {
                    let _ = self.release(offset, len);
                    return Err(Error::from_raw_os_error(libc::ENOSPC));
                }
                outcome => return outcome,
            }
        }
    }

    /// Gives the pages of a range back, whole pages: they are zero when next touched or reserved.
    /// Nobody may use the range any more.
    ///
    /// # Errors
    /// The kernel cannot, or [`kept::lost`].
    pub(crate) fn release(&self, offset: usize, len: usize) -> Result<()> {
        match self.mapping.memory.get() {
            None => self.advise(offset, len, libc::MADV_REMOVE),
            Some(memory) => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                allocate(memory, mode, self.in_memory(offset), len)
            }
        }
    }

    /// Makes the pages of a range usable in this process, whole pages of a closed segment. `dumped`
    /// says whether a core dump of this process has them.
    ///
    /// # Errors
    /// The kernel keeps no more ranges apart (`vm.max_map_count`).
    pub(crate) fn open(&self, offset: usize, len: usize, dumped: bool) -> Result<()> {
        self.protect(offset, len, READ_WRITE)?;
        if dumped { self.advise(offset, len, libc::MADV_DODUMP) } else { Ok(()) }
    }

    /// Takes back [`Segment::open`]: touching the pages in this process raises a signal.
    ///
    /// # Errors
    /// The kernel keeps no more ranges apart.
    pub(crate) fn close(&self, offset: usize, len: usize) -> Result<()> {
        self.protect(offset, len, libc::PROT_NONE)?;
        self.advise(offset, len, libc::MADV_DONTDUMP)
    }

    fn protect(&self, offset: usize, len: usize, protection: libc::c_int) -> Result<()> {
        let at = self.at(offset, len).ok_or(std::io::ErrorKind::InvalidInput)?;
        // SAFETY: a range of our own mapping, which the callers say nobody uses if it is closed.
        match unsafe { libc::mprotect(at.as_ptr().cast(), len, protection) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }

    /// The number of the descriptor, if it is kept.
    #[cfg(test)]
    pub(crate) fn kept_descriptor(&self) -> Option<libc::c_int> {
        self.mapping.memory.get().and_then(Kept::get).map(AsRawFd::as_raw_fd)
    }

    /// Tells the kernel what to do with the pages of a range of the mapping.
    fn advise(&self, offset: usize, len: usize, advice: libc::c_int) -> Result<()> {
        let at = self.at(offset, len).ok_or(std::io::ErrorKind::InvalidInput)?;
        // SAFETY: a range of our own mapping; the callers' advice takes no page away that anybody
        // uses.
        match unsafe { libc::madvise(at.as_ptr().cast(), len, advice) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }

    /// The address of `len` bytes at `offset`; `None` if they do not lie within the segment.
    pub(crate) fn at(&self, offset: usize, len: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(len)?;
        // SAFETY: within the mapping by the check.
        (end <= self.len).then(|| unsafe { self.base.add(offset) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping; every holder of a pointer into it holds a segment of it too.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Creates zeroed memory of `len` bytes that has this name in `/proc/PID/maps` only, and whose size
/// is fixed.
fn create_memory(name: &CStr, len: usize) -> Result<OwnedFd> {
    within_file_limit(len)?;
    // SAFETY: the name is a C string; the call makes a descriptor and touches no memory of ours.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    let memory = unsafe { OwnedFd::from_raw_fd(fd) };
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: calls on our own descriptor.
    let sized = unsafe {
        libc::ftruncate(fd, len as libc::off_t) == 0 && libc::fcntl(fd, libc::F_ADD_SEALS, seals) == 0
    };
    if sized { Ok(memory) } else { Err(Error::last_os_error()) }
}

/// The size of memory that another process created.
fn bytes_of(memory: &OwnedFd) -> Result<usize> {
    // SAFETY: a stat structure may be all zero, and the call fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and `stat` is ours.
    match unsafe { libc::fstat(memory.as_raw_fd(), &mut stat) } {
        0 => Ok(stat.st_size as usize),
        _ => Err(Error::last_os_error()),
    }
}

/// `fallocate` on the memory, if its descriptor still is one.
fn allocate(memory: &Kept<OwnedFd>, mode: libc::c_int, offset: usize, len: usize) -> Result<()> {
    let memory = memory.get().ok_or_else(kept::lost)?;
    // SAFETY: a call on our own descriptor.
    match unsafe { libc::fallocate(memory.as_raw_fd(), mode, offset as libc::off_t, len as libc::off_t) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// Checks the file limit (`ulimit -f`): it covers anonymous memory too, and stepping over it raises
/// a signal.
fn within_file_limit(len: usize) -> Result<()> {
    match file_limit() {
        Some(limit) if len as u64 > limit => Err(Error::from_raw_os_error(libc::EFBIG)),
        _ => Ok(()),
    }
}

/// The file size limit of this process in bytes, if there is one.
pub(crate) fn file_limit() -> Option<u64> {
    limits::soft(Resource::FileSize)
}
