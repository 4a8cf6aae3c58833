//! Reading and writing a stretch of the file for all processes.

use super::coverage::Coverage;
use crate::error::{Error, Result};
use crate::file::counts;
use crate::file::representation::Direction;
use crate::file::{File, fault};
use crate::generated::constants as mpi;
use verbena_memory::Region;
use verbena_storage::{Extent, read_all, write_all};

/// The widest gap, in bytes, that is read rather than left out.
const GAP_MAX: u64 = 64 << 10;

impl File {
    /// Writes the bytes of a stretch that some process gave, and no others: the gaps may belong to
    /// an access that is no part of this one. Returns how many.
    pub(super) fn write_stretch(&self, memory: Region, start: u64, coverage: &Coverage) -> Result<usize> {
        if !self.sieves_writes() {
            return self.write_covered(memory, start, coverage);
        }
        let stretch = Extent { start, end: start + memory.len() as u64 };
        let written = self.with_lock(stretch, |_| self.write_covered(memory, start, coverage));
        written.map_err(|error| self.failed_at("lock for a write beside sieved ones", Some(start), &error))?
    }

    fn write_covered(&self, memory: Region, start: u64, coverage: &Coverage) -> Result<usize> {
        // A write that fails may have moved some bytes.
        self.note_written(Direction::Write);
        let (mut outcome, mut written) = (Ok(()), 0);
        coverage.for_each_run(0, |at, len| {
            if outcome.is_ok() {
                outcome = write_all(&*self.disk, memory.part(at as usize, len as usize), start + at)
                    .map_err(|cut| self.failed_at("write", Some(start + at + cut.done as u64), &cut.error));
                written += len as usize;
            }
        });
        outcome?;
        counts::moved(Direction::Write, written);
        Ok(written)
    }

    /// Reads the bytes of a stretch that some process wants. They were there when the access began:
    /// `MPI_ERR_IO` if the file has become shorter.
    pub(super) fn read_stretch(&self, memory: Region, start: u64, coverage: &Coverage) -> Result<usize> {
        let (mut outcome, mut done) = (Ok(()), 0);
        coverage.for_each_run(GAP_MAX, |at, len| {
            if outcome.is_ok() {
                let read = read_all(&*self.disk, memory.part(at as usize, len as usize), start + at);
                outcome = match read {
                    Ok(bytes) if bytes as u64 == len => Ok(()),
                    Ok(bytes) => Err(fault::cut_short(start + at + bytes as u64, &self.path)),
                    Err(cut) => Err(self.failed_at("read", Some(start + at + cut.done as u64), &cut.error)),
                };
                done += len as usize;
            }
        });
        outcome?;
        counts::moved(Direction::Read, done);
        Ok(done)
    }

    /// The error of another process in a collective access of this one.
    #[cold]
    pub(super) fn failed_elsewhere(&self, rank: usize, class: i32) -> Error {
        fault::elsewhere(rank, if class == mpi::MPI_SUCCESS { mpi::MPI_ERR_IO } else { class }, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::tests::fake::run;
    use crate::file::tests::faults::{opened_on, unfailing};
    use std::sync::Arc;
    use verbena_memory::Owned;
    use verbena_storage::faulty::Call;
    use verbena_storage::{Disk, Lock};

    /// A process that writes gaps back with what it read there would undo an aggregator's write
    /// without that lock.
    #[test]
    fn an_aggregator_locks_its_stretch_if_others_may_write_gaps_back() {
        for (choice, amode, locks) in [
            ("enable", mpi::MPI_MODE_RDWR, true),
            ("enable", mpi::MPI_MODE_WRONLY, false),
            ("automatic", mpi::MPI_MODE_RDWR, false),
        ] {
            run(1, |world, fake| {
                let disk = Arc::new(unfailing());
                let noted: Arc<dyn Disk> = disk.clone();
                let file = opened_on(fake, world, &noted, amode, &[("romio_ds_write", choice)]);
                let (memory, mut coverage) = (Owned::from(&[7; 30][..]), Coverage::new(30));
                coverage.add(0, 10);
                coverage.add(20, 10);
                assert_eq!(file.write_stretch(memory.lend(), 100, &coverage).unwrap(), 20);
                let stretch = Extent { start: 100, end: 130 };
                let expected = [Call::Lock(stretch, Lock::Exclusive), Call::Unlock(stretch)];
                assert_eq!(disk.take_noted(), if locks { &expected[..] } else { &[] }, "{choice}");
                assert_eq!(disk.size().unwrap(), 130);
                assert_eq!(disk.calls(), 2, "the gap is not written");
            });
        }
    }
}
