//! Memory of the peer that is read in place of bytes of the pipe (paper 2, 5).

use super::layout::Offer;
use super::line::Line;
use crate::cache::{Cache, Lease, Purpose};
use crate::rc::adapter::{Adapter, Remote};
use verbena_channel::Access;
use verbena_fault::Fault;
use verbena_memory::Region;

/// The most pieces under way at a time, if the device takes as many.
const PIECES_MAX: u32 = 4;

/// The offered memory, and how far it was got.
#[derive(Debug)]
pub(super) struct Pull {
    offer: Offer,
    /// Bytes that the caller of `get` has.
    got: usize,
    reading: Option<Reading>,
}

/// A part of it that is being read.
#[derive(Debug)]
struct Reading {
    into: Region,
    lease: Lease,
    /// Bytes posted.
    posted: usize,
    /// Pieces under way.
    under_way: u32,
}

impl Pull {
    pub(super) fn new(offer: Offer) -> Pull {
        Pull { offer, got: 0, reading: None }
    }

    /// Returns whether all of it was got.
    pub(super) fn is_over(&self) -> bool {
        self.got as u64 == self.offer.bytes
    }

    /// Reads on, into this memory, which is the same until bytes were got. Returns how many were
    /// got now: none while the device reads.
    pub(super) fn get<A: Adapter>(&mut self, line: &mut Line<'_, A>, into: Region) -> Result<usize, Fault> {
        if self.reading.is_none() {
            let left = (self.offer.bytes - self.got as u64).min(into.len() as u64);
            let into = into.part(0, left as usize);
            let lease = line.cache.lease(line.adapter, into, Purpose::Work(Access::WRITE))?;
            self.reading = Some(Reading { into, lease, posted: 0, under_way: 0 });
        }
        self.post(line)?;
        let is_over = |reading: &mut Reading| reading.under_way == 0 && reading.posted == reading.into.len();
        let Some(reading) = self.reading.take_if(is_over) else { return Ok(0) };
        line.cache.end(line.adapter, reading.lease);
        self.got += reading.into.len();
        Ok(reading.into.len())
    }

    fn post<A: Adapter>(&mut self, line: &mut Line<'_, A>) -> Result<(), Fault> {
        let Some(reading) = &mut self.reading else { return Ok(()) };
        let most = line.limits.reads_max.clamp(1, PIECES_MAX);
        while reading.posted < reading.into.len() && reading.under_way < most {
            let bytes = line.settings.piece_bytes.min(reading.into.len() - reading.posted);
            let address = self.offer.address + (self.got + reading.posted) as u64;
            let from = Remote { address, key: self.offer.key };
            let local = reading.into.part(reading.posted, bytes);
            if !line.read(local, reading.lease.local_key, from)? {
                break;
            }
            reading.posted += bytes;
            reading.under_way += 1;
        }
        Ok(())
    }

    /// Takes in that a piece has ended.
    pub(super) fn piece_done(&mut self) {
        if let Some(reading) = &mut self.reading {
            reading.under_way -= 1;
        }
    }

    /// Lets go of the memory that is read into: the queue pair is closed.
    pub(super) fn let_go<A: Adapter>(self, cache: &mut Cache, adapter: &mut A) {
        if let Some(reading) = self.reading {
            cache.end(adapter, reading.lease);
        }
    }
}
