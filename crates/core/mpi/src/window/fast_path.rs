//! The fast path of the most frequent calls (MPI-5.0, 12.3 and 12.5.4): on memory that is mapped
//! here, in an epoch that waits for nothing, by a thread that is alone in MPI.
//!
//! Each function returns false, and has changed nothing, if the call is another one, or if anything
//! is wrong with it: then the general path does it or says what is wrong.

use super::Win;
use super::apply::{self, Domain, Guard};
use super::counts::{self, Kind, Way};
use super::stripe::Stripes;
use super::target::Target;
use crate::datatype::Datatype;
use crate::op::{Builtin, Op};
use crate::process::Process;
use verbena_memory::Region;
use verbena_memory::atomic::full_fence;
use verbena_waiting::lock::SingleThread;

/// Bytes of a target: its rank, and the displacement of the first byte in the target's units.
#[derive(Clone, Copy)]
pub struct Spot {
    /// The rank.
    pub rank: i32,
    /// The displacement.
    pub displacement: i64,
}

impl Win {
    /// Calls `act` with a target's memory and the offset of these bytes there. True if that is, for
    /// an operation of this kind.
    #[inline(always)]
    fn at_once(
        &self,
        alone: SingleThread,
        kind: Kind,
        spot: Spot,
        bytes: usize,
        act: impl FnOnce(Region, usize) -> bool,
    ) -> bool {
        let Some((_, region, at)) = self.bytes_at(spot, bytes) else { return false };
        let mut epochs = self.epochs.lock_alone(alone);
        if !epochs.is_open_to(spot.rank) || !act(region, at) {
            return false;
        }
        epochs.used();
        counts::operation(kind, Way::Mapped);
        true
    }

    /// A target whose memory is mapped here, that memory, and the offset of these bytes there.
    #[inline(always)]
    fn bytes_at(&self, spot: Spot, bytes: usize) -> Option<(&Target, Region, usize)> {
        // A rank that the window does not have finds nothing.
        let target: &Target = self.targets.get(spot.rank as usize)?.get()?;
        let region = target.mapped()?;
        let at = target.part.offset(spot.displacement, (0, bytes as i64))?;
        Some((target, region, at as usize))
    }

    /// Copies from the origin to the target (`MPI_Put`).
    #[inline]
    pub fn put_at_once(&self, alone: SingleThread, origin: Region, spot: Spot) -> bool {
        self.at_once(alone, Kind::Put, spot, origin.len(), |region, at| {
            region.put(at, origin);
            true
        })
    }

    /// Copies from the target to the origin (`MPI_Get`).
    #[inline]
    pub fn get_at_once(&self, alone: SingleThread, origin: Region, spot: Spot) -> bool {
        self.at_once(alone, Kind::Get, spot, origin.len(), |region, at| {
            origin.put(0, region.part(at, origin.len()));
            true
        })
    }

    /// Changes an integer of the target, and copies what was there before to `former`
    /// (`MPI_Fetch_and_op`).
    #[inline]
    pub fn fetch_at_once(
        &self,
        alone: SingleThread,
        (op, datatype): (&Op, &Datatype),
        (origin, former): (Region, Region),
        spot: Spot,
    ) -> bool {
        self.at_once(alone, Kind::Fetch, spot, former.len(), |region, at| {
            self.is_by_processor(spot) && apply::fetch_word(op, (region, at), datatype, (origin, former))
        })
    }

    /// Stores `operands[0]` at the target if `operands[1]` is there, and copies what was there to
    /// `operands[2]` (`MPI_Compare_and_swap`).
    #[inline]
    pub fn swap_at_once(
        &self,
        alone: SingleThread,
        datatype: &Datatype,
        operands: [Region; 3],
        spot: Spot,
    ) -> bool {
        self.at_once(alone, Kind::Swap, spot, operands[0].len(), |region, at| {
            self.is_by_processor(spot) && apply::compare_and_swap_word((region, at), datatype, operands)
        })
    }

    /// Combines `count` elements of the origin into the target's (`MPI_Accumulate`).
    #[inline]
    pub fn accumulate_at_once(
        &self,
        (process, alone): (&Process, SingleThread),
        op: &Op,
        (origin, count, datatype): (Region, usize, &Datatype),
        spot: Spot,
    ) -> bool {
        let Some(basic) = datatype.as_basic() else { return false };
        if op.builtin() == Some(Builtin::NoOp) {
            return false;
        }
        let Some((target, region, at)) = self.bytes_at(spot, origin.len()) else { return false };
        let Some(words) = target.words else { return false };
        if !self.epochs.lock_alone(alone).is_open_to(spot.rank) {
            return false;
        }
        // The wait for a stripe may be a long one: it must find the epochs free.
        let stripes = Stripes::new(words.stripes(), process.me(), process);
        let guard = Guard { domain: target.part.domain(self.flavor), stripes };
        if !apply::accumulate_row(op, (region, at), (count, basic), (Some(origin), None), &guard) {
            return false;
        }
        self.epochs.lock_alone(alone).used();
        counts::operation(Kind::Accumulate, Way::Mapped);
        true
    }

    /// Finishes what was called on `rank`, or on all ranks, at both sides (`MPI_Win_flush`,
    /// `MPI_Win_flush_all`).
    #[inline]
    pub fn flush_at_once(&self, alone: SingleThread, rank: Option<i32>) -> bool {
        let is_flushed = self.flush_local_at_once(alone, rank);
        if is_flushed {
            full_fence();
        }
        is_flushed
    }

    /// Finishes what was called on `rank`, or on all ranks, at this side (`MPI_Win_flush_local`,
    /// `MPI_Win_flush_local_all`).
    #[inline]
    pub fn flush_local_at_once(&self, alone: SingleThread, rank: Option<i32>) -> bool {
        // Without a service no operation is under way.
        if self.serving.is_some() || rank.is_some_and(|rank| rank as u32 >= self.size() as u32) {
            return false;
        }
        let mut epochs = self.epochs.lock_alone(alone);
        epochs.is_passive(rank) && !epochs.owes_progress() && !epochs.finish()
    }

    #[inline]
    fn is_by_processor(&self, spot: Spot) -> bool {
        let target = self.targets[spot.rank as usize].get();
        target.is_some_and(|target| target.part.domain(self.flavor) == Domain::Processor)
    }
}
