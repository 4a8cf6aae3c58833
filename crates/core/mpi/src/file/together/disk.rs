//! Reading and writing a stretch of the file for all processes.

use super::coverage::Coverage;
use crate::error::{Error, Result};
use crate::file::counts;
use crate::file::representation::Direction;
use crate::file::{File, fault};
use crate::generated::constants as mpi;
use verbena_memory::Region;
use verbena_storage::{Extent, Piece};

/// The most runs that are read or written by one list.
const LIST_MAX: usize = 4096;

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
        let moved = each_list(memory, start, coverage, 0, |pieces| {
            self.disk.write_list(pieces).map_err(|failed| {
                let at = pieces[failed.number].at + failed.cut.done as u64;
                self.failed_at("write", Some(at), &failed.cut.error)
            })
        })?;
        counts::moved(Direction::Write, moved);
        Ok(moved)
    }

    /// Reads the bytes of a stretch that some process wants. They were there when the access began:
    /// `MPI_ERR_IO` if the file has become shorter.
    pub(super) fn read_stretch(&self, memory: Region, start: u64, coverage: &Coverage) -> Result<usize> {
        let moved = each_list(memory, start, coverage, self.read_gap_max(), |pieces| {
            let read = self.disk.read_list(pieces).map_err(|failed| {
                let at = pieces[failed.number].at + failed.cut.done as u64;
                self.failed_at("read", Some(at), &failed.cut.error)
            })?;
            let short = pieces.iter().zip(read).find(|(piece, bytes)| *bytes < piece.region.len());
            short.map_or(Ok(()), |(piece, bytes)| Err(fault::cut_short(piece.at + bytes as u64, &self.path)))
        })?;
        counts::moved(Direction::Read, moved);
        Ok(moved)
    }

    /// The error of another process in a collective access of this one.
    #[cold]
    pub(super) fn failed_elsewhere(&self, rank: usize, class: i32) -> Error {
        fault::elsewhere(rank, if class == mpi::MPI_SUCCESS { mpi::MPI_ERR_IO } else { class }, &self.path)
    }
}

/// Calls `each` with lists of the runs of a stretch, with gaps of at most `gap_max` bytes among
/// them, until one fails. Returns the bytes of all.
fn each_list(
    memory: Region,
    start: u64,
    coverage: &Coverage,
    gap_max: u64,
    mut each: impl FnMut(&[Piece]) -> Result<()>,
) -> Result<usize> {
    let (mut pieces, mut outcome, mut bytes) = (Vec::new(), Ok(()), 0);
    coverage.for_each_run(gap_max, |at, len| {
        pieces.push(Piece { region: memory.part(at as usize, len as usize), at: start + at });
        bytes += len as usize;
        if pieces.len() == LIST_MAX {
            if outcome.is_ok() {
                outcome = each(&pieces);
            }
            pieces.clear();
        }
    });
    outcome?;
    if !pieces.is_empty() {
        each(&pieces)?;
    }
    Ok(bytes)
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

    /// Pieces of one list, though there are gaps; those that are close are read with their gaps.
    #[test]
    fn the_runs_of_a_stretch_are_written_and_read_by_few_lists() {
        run(1, |world, fake| {
            let disk = Arc::new(unfailing());
            let noted: Arc<dyn Disk> = disk.clone();
            let file = opened_on(fake, world, &noted, mpi::MPI_MODE_RDWR, &[]);
            for (step, count, reads) in [(100, 1000, 1), (5000, 1000, 1), (100, 5000, 1)] {
                let (memory, mut coverage) =
                    (Owned::zeroed(step * count), Coverage::new((step * count) as u64));
                (0..count).for_each(|i| coverage.add((i * step) as u64, 10));
                let before = disk.lists();
                assert_eq!(file.write_stretch(memory.lend(), 0, &coverage).unwrap(), 10 * count);
                assert_eq!(disk.lists() - before, count.div_ceil(4096) as u64);
                let (before, calls) = (disk.lists(), disk.calls());
                file.read_stretch(memory.lend(), 0, &coverage).unwrap();
                assert_eq!(disk.lists() - before, reads, "{step}");
                let runs = if step > 4096 { count } else { 1 };
                assert_eq!(disk.calls() - calls, runs as u64, "gaps of {step} bytes");
            }
        });
    }
}
