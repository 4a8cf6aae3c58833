//! Reading and writing with explicit offsets and individual file pointers (MPI-5.0, 14.4).
//!
//! Every call moves its data before it returns. Collective accesses need no more than that, because
//! each process reads and writes its own bytes.

use super::view::View;
use super::{File, fault};
use crate::comm::Exchange;
use crate::error::Result;
use crate::generated::constants as mpi;
use std::fs;
use std::io;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use verbena_memory::{Buffer, Owned, Region};

/// Bytes of scattered memory that are packed at a time.
const PIECE: usize = 1 << 20;

/// A view and the individual file pointer in it, in bytes of the stream.
pub(super) struct Pointer {
    pub view: View,
    pub position: u64,
}

impl File {
    /// Reads at this offset in etypes into `into`; returns the bytes read, fewer at the end of the
    /// file.
    pub fn read_at(&self, offset: i64, into: &Buffer) -> Result<usize> {
        self.check_reads()?;
        self.check_not_sequential()?;
        let view = self.view();
        self.read_stream(&view, view.start(offset)?, into)
    }

    /// Writes `from` at this offset in etypes; returns the bytes written.
    pub fn write_at(&self, offset: i64, from: &Buffer) -> Result<usize> {
        self.check_writes()?;
        self.check_not_sequential()?;
        let view = self.view();
        self.write_stream(&view, view.start(offset)?, from)
    }

    /// Like [`File::read_at`] at the individual file pointer, which moves on by the bytes read.
    pub fn read(&self, into: &Buffer) -> Result<usize> {
        self.check_reads()?;
        self.check_not_sequential()?;
        let mut pointer = self.pointer();
        let bytes = self.read_stream(&pointer.view, pointer.position, into)?;
        pointer.position += bytes as u64;
        Ok(bytes)
    }

    /// Like [`File::write_at`] at the individual file pointer, which moves on.
    pub fn write(&self, from: &Buffer) -> Result<usize> {
        self.check_writes()?;
        self.check_not_sequential()?;
        let mut pointer = self.pointer();
        let bytes = self.write_stream(&pointer.view, pointer.position, from)?;
        pointer.position += bytes as u64;
        Ok(bytes)
    }

    /// Moves the individual file pointer (`MPI_File_seek`). `MPI_ERR_ARG` for a place before the
    /// first etype.
    pub fn seek(&self, offset: i64, whence: i32) -> Result<()> {
        self.check_not_sequential()?;
        let mut pointer = self.pointer();
        let unit = pointer.view.etype.size() as i64;
        let base = match whence {
            mpi::MPI_SEEK_SET => 0,
            mpi::MPI_SEEK_CUR => pointer.position as i64,
            mpi::MPI_SEEK_END => pointer.view.end(self.size()?) as i64,
            _ => return Err(fault::bad_value("whence", whence.into(), "pass MPI_SEEK_SET, _CUR or _END")),
        };
        let target = offset.checked_mul(unit).and_then(|bytes| bytes.checked_add(base));
        match target.and_then(|target| u64::try_from(target).ok()) {
            Some(target) => pointer.position = target,
            None => return Err(fault::bad_value("offset", offset, "stay at or behind the first etype")),
        }
        Ok(())
    }

    /// The individual file pointer, in etypes (`MPI_File_get_position`).
    pub fn position(&self) -> Result<i64> {
        self.check_not_sequential()?;
        let pointer = self.pointer();
        Ok((pointer.position / pointer.view.etype.size() as u64) as i64)
    }

    /// The view in use (`MPI_File_get_view`).
    pub fn view(&self) -> View {
        self.pointer().view.clone()
    }

    /// Changes the view and sets the file pointer back to its beginning. Collective
    /// (`MPI_File_set_view`).
    pub fn set_view(&self, view: Result<View>, exchange: &dyn Exchange) -> Result<()> {
        let (view, _) = self.agree(view, 0, exchange)?;
        *self.pointer() = Pointer { view, position: 0 };
        Ok(())
    }

    fn pointer(&self) -> MutexGuard<'_, Pointer> {
        // A panic while it is held leaves a valid view behind.
        self.pointer.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn read_stream(&self, view: &View, start: u64, into: &Buffer) -> Result<usize> {
        self.in_turn(fs::File::lock_shared, |system| self.read_unlocked(system, view, start, into))
    }

    fn write_stream(&self, view: &View, start: u64, from: &Buffer) -> Result<usize> {
        self.in_turn(fs::File::lock, |system| {
            self.is_written.store(true, Ordering::Release);
            self.write_unlocked(system, view, start, from)
        })
    }

    /// Runs an access, in atomic mode under a lock of the whole file (MPI-5.0, 14.6.1). The
    /// system's locks keep processes apart, `turn` the threads of this one.
    fn in_turn(
        &self,
        lock: impl FnOnce(&fs::File) -> io::Result<()>,
        access: impl FnOnce(&fs::File) -> Result<usize>,
    ) -> Result<usize> {
        let system = self.system()?;
        if !self.is_atomic() {
            return access(system);
        }
        let _turn = self.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lock(system).map_err(|error| self.failed("lock for atomic access", &error))?;
        // The lock, and the access, may have taken long.
        let outcome = access(self.system()?);
        self.system()?.unlock().map_err(|error| self.failed("unlock after atomic access", &error))?;
        outcome
    }

    fn read_unlocked(&self, system: &fs::File, view: &View, start: u64, into: &Buffer) -> Result<usize> {
        if let Some(region) = into.region() {
            return self.read_region(system, view, start, region);
        }
        let (piece, mut done) = (Owned::zeroed(PIECE.min(into.len())), 0);
        while done < into.len() {
            let part = piece.lend().part(0, PIECE.min(into.len() - done));
            let bytes = self.read_region(system, view, start + done as u64, part)?;
            into.unpack(done, part.part(0, bytes));
            done += bytes;
            if bytes < part.len() {
                break;
            }
        }
        Ok(done)
    }

    fn write_unlocked(&self, system: &fs::File, view: &View, start: u64, from: &Buffer) -> Result<usize> {
        if let Some(region) = from.region() {
            return self.write_region(system, view, start, region);
        }
        let (piece, mut done) = (Owned::zeroed(PIECE.min(from.len())), 0);
        while done < from.len() {
            let part = piece.lend().part(0, PIECE.min(from.len() - done));
            from.pack(done, part);
            done += self.write_region(system, view, start + done as u64, part)?;
        }
        Ok(done)
    }

    fn read_region(&self, system: &fs::File, view: &View, start: u64, into: Region) -> Result<usize> {
        let (mut done, mut outcome) = (0, Ok(true));
        view.for_each_run(start, into.len(), |at, len| {
            if let Ok(true) = outcome {
                outcome = into.part(done, len).read_file(system, at).map(|bytes| {
                    done += bytes;
                    bytes == len
                });
            }
        })?;
        outcome.map(|_| done).map_err(|error| self.failed("read", &error))
    }

    fn write_region(&self, system: &fs::File, view: &View, start: u64, from: Region) -> Result<usize> {
        let (mut done, mut outcome) = (0, Ok(()));
        view.for_each_run(start, from.len(), |at, len| {
            if outcome.is_ok() {
                outcome = from.part(done, len).write_file(system, at);
                done += len;
            }
        })?;
        outcome.map(|()| done).map_err(|error| self.failed("write", &error))
    }

    fn check_reads(&self) -> Result<()> {
        match self.mode.reads() {
            true => Ok(()),
            false => Err(fault::forbidden(mpi::MPI_ERR_ACCESS, "the file may only be written", &self.path)),
        }
    }
}
