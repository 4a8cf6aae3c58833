//! Disks for tests: one in memory, and one that fails below the calls of another as a seed says.

use crate::disk::{Disk, Extent, ListCut, Lock, Piece, read_each, write_each};
use crate::kind::FileSystem;
use std::io::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use verbena_memory::Region;

/// A file in memory.
#[derive(Debug, Default)]
pub struct MemoryDisk {
    bytes: Mutex<Vec<u8>>,
}

impl MemoryDisk {
    fn lock_bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of all bytes.
    pub fn contents(&self) -> Vec<u8> {
        self.lock_bytes().clone()
    }
}

impl Disk for MemoryDisk {
    fn read(&self, into: Region, at: u64) -> Result<usize> {
        let bytes = self.lock_bytes();
        let from = bytes.get(at as usize..).unwrap_or(&[]);
        let len = from.len().min(into.len());
        into.write(0, &from[..len]);
        Ok(len)
    }

    fn write(&self, from: Region, at: u64) -> Result<usize> {
        let (mut bytes, at) = (self.lock_bytes(), at as usize);
        if bytes.len() < at + from.len() {
            bytes.resize(at + from.len(), 0);
        }
        from.read(0, &mut bytes[at..at + from.len()]);
        Ok(from.len())
    }

    fn size(&self) -> Result<u64> {
        Ok(self.lock_bytes().len() as u64)
    }

    fn set_size(&self, bytes: u64) -> Result<()> {
        self.lock_bytes().resize(bytes as usize, 0);
        Ok(())
    }

    fn reserve(&self, bytes: u64) -> Result<()> {
        let mut own = self.lock_bytes();
        if own.len() < bytes as usize {
            own.resize(bytes as usize, 0);
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn refresh(&self) -> Result<()> {
        Ok(())
    }

    fn lock(&self, _part: Extent, _lock: Lock) -> Result<()> {
        Ok(())
    }

    fn unlock(&self, _part: Extent) -> Result<()> {
        Ok(())
    }

    fn file_system(&self) -> FileSystem {
        FileSystem::local("memory")
    }
}

/// The faults that a [`FaultyDisk`] makes. A number of 10 means one call in ten, and 0 never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// A read or write that moves fewer bytes than it was asked for.
    pub short: u64,
    /// A call that a signal interrupts (`EINTR`).
    pub interrupted: u64,
    /// A read or write of a device that is broken (`EIO`).
    pub broken: u64,
    /// The number of the byte that no longer fits the device (`ENOSPC`); 0 for a device without
    /// end.
    pub full_at: u64,
    /// True for a file system without locks.
    pub has_no_locks: bool,
}

/// The calls of a disk that move no bytes, in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Disk::sync`].
    Sync,
    /// [`Disk::refresh`].
    Refresh,
    /// [`Disk::share_pages`].
    SharePages,
    /// [`Disk::lock`] of this part.
    Lock(Extent, Lock),
    /// [`Disk::unlock`] of this part.
    Unlock(Extent),
}

/// A disk that fails below the calls of another, and notes some of them.
pub struct FaultyDisk {
    inner: Arc<dyn Disk>,
    faults: Faults,
    file_system: FileSystem,
    random: AtomicU64,
    made: AtomicU64,
    calls: AtomicU64,
    lists: AtomicU64,
    noted: Mutex<Vec<Call>>,
}

impl FaultyDisk {
    /// Fails below the calls of `inner` as `faults` and the seed say.
    pub fn new(inner: Arc<dyn Disk>, faults: Faults, seed: u64) -> FaultyDisk {
        let [random, made, calls, lists] = [seed | 1, 0, 0, 0].map(AtomicU64::new);
        let file_system = inner.file_system();
        FaultyDisk { inner, faults, file_system, random, made, calls, lists, noted: Mutex::default() }
    }

    /// This disk, on another file system.
    pub fn on(self, file_system: FileSystem) -> FaultyDisk {
        FaultyDisk { file_system, ..self }
    }

    /// The calls so far that moved no bytes; later ones are noted anew.
    pub fn take_noted(&self) -> Vec<Call> {
        std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, call: Call) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    /// The number of faults so far.
    pub fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// The number of reads and writes so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The number of lists of pieces that were read or written so far.
    pub fn lists(&self) -> u64 {
        self.lists.load(Ordering::Relaxed)
    }

    /// The next of a row of random numbers (the splitmix64 of S. Vigna).
    fn random(&self) -> u64 {
        let seed = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let seed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let seed = (seed ^ seed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        seed ^ seed >> 31
    }

    fn strikes(&self, once_in: u64) -> bool {
        let strikes = once_in > 0 && self.random().is_multiple_of(once_in);
        self.made.fetch_add(strikes.into(), Ordering::Relaxed);
        strikes
    }

    /// The region of a call as far as it gets; the error of one that gets nowhere.
    fn spared(&self, region: Region) -> Result<Region> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.strikes(self.faults.interrupted) {
            return Err(Error::from_raw_os_error(libc::EINTR));
        }
        if self.strikes(self.faults.broken) {
            return Err(Error::from_raw_os_error(libc::EIO));
        }
        match region.len() > 1 && self.strikes(self.faults.short) {
            true => Ok(region.part(0, 1 + (self.random() % (region.len() as u64 - 1)) as usize)),
            false => Ok(region),
        }
    }
}

impl Disk for FaultyDisk {
    fn read(&self, into: Region, at: u64) -> Result<usize> {
        self.inner.read(self.spared(into)?, at)
    }

    fn write(&self, from: Region, at: u64) -> Result<usize> {
        let from = self.spared(from)?;
        match self.faults.full_at {
            0 => self.inner.write(from, at),
            end if at >= end => {
                self.made.fetch_add(1, Ordering::Relaxed);
                Err(Error::from_raw_os_error(libc::ENOSPC))
            }
            end => self.inner.write(from.part(0, from.len().min((end - at) as usize)), at),
        }
    }

    fn read_list(&self, pieces: &[Piece]) -> std::result::Result<Vec<usize>, ListCut> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        read_each(self, pieces)
    }

    fn write_list(&self, pieces: &[Piece]) -> std::result::Result<(), ListCut> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        write_each(self, pieces)
    }

    fn size(&self) -> Result<u64> {
        self.inner.size()
    }

    fn set_size(&self, bytes: u64) -> Result<()> {
        self.inner.set_size(bytes)
    }

    fn reserve(&self, bytes: u64) -> Result<()> {
        self.inner.reserve(bytes)
    }

    fn sync(&self) -> Result<()> {
        self.note(Call::Sync);
        self.inner.sync()
    }

    fn refresh(&self) -> Result<()> {
        self.note(Call::Refresh);
        self.inner.refresh()
    }

    fn share_pages(&self) -> Result<()> {
        self.note(Call::SharePages);
        self.inner.share_pages()
    }

    fn is_stream(&self) -> bool {
        self.inner.is_stream()
    }

    fn lock(&self, part: Extent, lock: Lock) -> Result<()> {
        self.note(Call::Lock(part, lock));
        match self.faults.has_no_locks {
            true => Err(Error::from_raw_os_error(libc::EOPNOTSUPP)),
            false => self.inner.lock(part, lock),
        }
    }

    fn unlock(&self, part: Extent) -> Result<()> {
        self.note(Call::Unlock(part));
        self.inner.unlock(part)
    }

    fn file_system(&self) -> FileSystem {
        self.file_system
    }
}
