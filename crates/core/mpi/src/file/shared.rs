//! The shared file pointer, and accesses in the order of ranks (MPI-5.0, 14.4.4).

use super::access::{Access, Moved, Place, limited};
use super::agree::agree_words;
use super::representation::{Data, Direction};
use super::word::Word;
use super::{File, fault};
use crate::active::Active;
use crate::beside::outcome_of;
use crate::comm::Exchange;
use crate::comm::words::{pack, unpack};
use crate::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use verbena_waiting::current::CurrentWaiter;

/// The tag of the words that go from rank to rank.
const ORDER_TAG: i32 = 1;

/// The shared file pointer: bytes of the stream.
pub(super) struct SharedPointer {
    word: Box<dyn Word>,
    /// Set if this process may have moved it since it was 0.
    is_moved: AtomicBool,
}

impl SharedPointer {
    /// The pointer in this word.
    pub(super) fn new(word: Box<dyn Word>, is_moved: bool) -> SharedPointer {
        SharedPointer { word, is_moved: AtomicBool::new(is_moved) }
    }

    /// Moves it on; returns where it was.
    pub(super) fn advance(&self, bytes: u64) -> Result<u64> {
        self.is_moved.store(true, Ordering::Relaxed);
        self.word.fetch_add(bytes)
    }

    /// The place where it is.
    pub(super) fn get(&self) -> Result<u64> {
        self.word.load()
    }

    /// Moves it to a place.
    pub(super) fn set(&self, place: u64) -> Result<()> {
        self.is_moved.store(true, Ordering::Relaxed);
        self.word.store(place)
    }

    /// Returns whether this process may have moved it since it was 0.
    pub(super) fn is_moved(&self) -> bool {
        self.is_moved.load(Ordering::Relaxed)
    }

    /// Notes that it is 0.
    pub(super) fn forget_moves(&self) {
        self.is_moved.store(false, Ordering::Relaxed);
    }

    /// Returns whether others reach it by messages to this process only.
    pub(super) fn needs_progress(&self) -> bool {
        self.word.needs_progress()
    }

    /// Ends its use. Collective.
    pub(super) fn free(&self, exchange: &dyn Exchange) -> Result<()> {
        self.word.free(exchange)
    }
}

impl File {
    /// Moves the shared file pointer. Collective (`MPI_File_seek_shared`). `MPI_ERR_NOT_SAME` if
    /// the processes ask for different places.
    pub fn seek_shared(&self, offset: i64, whence: i32, exchange: &dyn Exchange) -> Result<()> {
        let able = self.check_no_split().and_then(|()| self.check_not_sequential());
        let words = [offset as u64, u64::from(whence as u32)];
        let (_, told) = agree_words(&self.comm, &self.path, able, &words, exchange)?;
        if told.iter().any(|theirs| theirs[..] != words) {
            return Err(fault::not_same("offset or whence", &self.path));
        }
        let moved = match self.comm.rank() {
            0 => self.shared.get().and_then(|position| {
                let place = self.sought(&self.view(), position, offset, whence)?;
                self.shared.set(place)
            }),
            _ => Ok(()),
        };
        self.agree(moved, 0, exchange).map(|_| ())
    }

    /// The shared file pointer, in etypes (`MPI_File_get_position_shared`).
    pub fn position_shared(&self) -> Result<i64> {
        self.check_not_sequential()?;
        Ok((self.shared.get()? / self.view().unit()) as i64)
    }

    /// Reads or writes at the shared file pointer, one process after the other in the order of
    /// ranks. Collective (`MPI_File_read_ordered`, `MPI_File_write_ordered`).
    ///
    /// # Errors
    /// As [`File::access`]; what is wrong in the arguments of one process fails the call in all.
    pub fn access_ordered(
        &self,
        direction: Direction,
        data: Result<Data>,
        exchange: &dyn Exchange,
    ) -> Result<usize> {
        let (access, is_stream) = self.prepare_ordered(direction, data, exchange)?;
        let moved = match is_stream {
            true => self.carry_out_by_rank(&access, exchange)?,
            false => self.carry_out(&access)?,
        };
        Ok(moved.memory)
    }

    /// Starts [`File::access_ordered`]; the bytes move beside the program. Those of a stream have
    /// moved when this returns: each process waits for those before it.
    pub fn start_ordered(
        self: &Arc<Self>,
        waker: CurrentWaiter,
        direction: Direction,
        data: Result<Data>,
        exchange: &dyn Exchange,
    ) -> Result<Active> {
        let (access, is_stream) = self.prepare_ordered(direction, data, exchange)?;
        if is_stream {
            let moved = self.carry_out_by_rank(&access, exchange);
            return Ok(Active::Done(outcome_of(moved.map(|moved| moved.memory))));
        }
        Ok(self.start_prepared(waker, access))
    }

    /// Moves the bytes of an ordered access to or from a stream, which has no places: each process
    /// waits for a word of the one before it, and gives one to the next, whatever came of its part.
    fn carry_out_by_rank(&self, access: &Access, exchange: &dyn Exchange) -> Result<Moved> {
        let (rank, size) = (self.comm.rank(), self.comm.size());
        let meet = |other| match (0..size).contains(&other) {
            true => exchange.sendrecv(&self.comm, other, ORDER_TAG, &[]).map(drop),
            false => Ok(()),
        };
        let moved = meet(rank - 1).and_then(|()| self.carry_out_in_order(access));
        let told = meet(rank + 1);
        moved.and_then(|moved| told.map(|()| moved))
    }

    /// Finds the place of this process's part: behind those of the ranks before it. The first
    /// process moves the pointer for all. Returns, too, whether the file is a stream, as all know.
    fn prepare_ordered(
        &self,
        direction: Direction,
        data: Result<Data>,
        exchange: &dyn Exchange,
    ) -> Result<(Access, bool)> {
        let view = self.view();
        let able = self.check_no_split().and_then(|()| self.check(direction, Place::Shared));
        let checked =
            able.and(data).and_then(|data| Ok((self.checked_bytes(&view, direction, &data)?, data)));
        let own = checked.as_ref().map_or(0, |(bytes, _)| *bytes as u64);
        let words = [own, self.disk.is_stream().into()];
        let ((asked, data), told) = agree_words(&self.comm, &self.path, checked, &words, exchange)?;
        let rank = self.comm.rank() as usize;
        let sum = |ranks: &[Vec<u64>]| ranks.iter().map(|words| words[0]).sum::<u64>();
        let (before, all) = (sum(&told[..rank]), sum(&told));
        let is_stream = told.iter().any(|words| words[1] != 0);
        let moved = match rank {
            0 => self.shared.advance(all),
            _ => Ok(0),
        };
        // The others hear of a failure by a second number.
        let offer = moved.as_ref().map_or([0, 1], |&start| [start, 0]);
        let [start, has_failed] = unpack(&exchange.bcast(&self.comm, 0, pack(&offer))?)?;
        moved?;
        if has_failed != 0 {
            return Err(fault::elsewhere(0, crate::generated::constants::MPI_ERR_IO, &self.path));
        }
        let start = start + before;
        let bytes = limited(&view, direction, asked);
        let view = view.of_access(start, bytes);
        Ok((Access { direction, view, start, bytes, asked, data }, is_stream))
    }
}
