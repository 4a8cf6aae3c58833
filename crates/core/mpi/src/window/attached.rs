//! Memory that the program attached to a dynamic window (MPI-5.0, 12.2.5).

use super::service::Place;
use super::table::{self, Attached, SHORT_MAX, Table};
use super::{Flavor, Win, error};
use crate::error::Result;
use crate::process::Process;
use std::sync::Arc;
use verbena_channel::heap::{Block, Heap};
use verbena_memory::Region;

/// The attached memory of this process.
#[derive(Default)]
pub(super) struct Attachments {
    /// The pieces by address; no two overlap.
    pieces: Vec<Attached>,
    /// The addresses of pieces without bytes.
    empty: Vec<u64>,
    /// The blocks that the table has had, each twice as long as the one before. Other processes may
    /// read an old one still.
    blocks: Vec<Block>,
}

impl Attachments {
    /// The number of the new piece among all.
    fn attach(&mut self, new: Attached) -> Result<usize> {
        let at = self.pieces.partition_point(|old| old.address < new.address);
        let before = at.checked_sub(1).is_some_and(|i| self.pieces[i].end() > new.address);
        let after = self.pieces.get(at).is_some_and(|old| new.end() > old.address);
        if before || after {
            return Err(error::attach(
                "memory was attached that overlaps attached memory",
                new.address,
                new.bytes,
                "it, or a part of it, is attached to the window already",
            ));
        }
        self.pieces.insert(at, new);
        Ok(at)
    }

    /// The number that the piece had among all; `None` for one without bytes.
    fn detach(&mut self, address: u64) -> Result<Option<usize>> {
        if let Ok(at) = self.pieces.binary_search_by_key(&address, |old| old.address) {
            self.pieces.remove(at);
            return Ok(Some(at));
        }
        let empty = self.empty.iter().position(|&old| old == address);
        let empty = empty.ok_or_else(|| {
            error::attach(
                "memory cannot be detached: none is attached at this address",
                address,
                0,
                "it was detached already, or the address is not that of the attach call",
            )
        })?;
        self.empty.swap_remove(empty);
        Ok(None)
    }

    /// Tells other processes of the pieces from number `from` on. `MPI_ERR_RMA_ATTACH` if the heap
    /// has no room for the table.
    fn tell(&mut self, table: Table, heap: &Arc<dyn Heap>, from: usize) -> Result<()> {
        let room = match self.blocks.last() {
            Some(block) => table::block_pieces(block.region().len()),
            None => SHORT_MAX,
        };
        let is_full = self.pieces.len() > room;
        if is_full {
            self.blocks.push(heap.allocate(table::block_bytes(2 * room)).map_err(error::no_table)?);
        }
        let block = self.blocks.last().map(|block| (block.region(), block.ticket()));
        table.tell(&self.pieces, if is_full { 0 } else { from }, block);
        Ok(())
    }

    /// The memory with the bytes from `low` to `high`: a piece, or several side by side.
    fn find(&self, low: u64, high: u64) -> Option<Attached> {
        let at = self.pieces.partition_point(|old| old.address <= low);
        let (first, rest) = self.pieces.get(at.checked_sub(1)?..)?.split_first()?;
        let mut found = *first;
        for next in rest {
            if high <= found.end() {
                break;
            }
            let region = found.region.joined(next.region).filter(|_| found.end() == next.address)?;
            found = Attached { bytes: found.bytes + next.bytes, region, ..found };
        }
        (high <= found.end()).then_some(found)
    }

    /// The place of an access whose bytes lie within `span` of an address.
    pub(super) fn place(&self, address: i64, span: (i64, i64)) -> Option<Place> {
        let address = address as u64;
        let (low, high) = (address.checked_add_signed(span.0)?, address.checked_add_signed(span.1)?);
        let piece = self.find(low, high)?;
        Some(Place { region: piece.region, at: address.wrapping_sub(piece.address) as i64 })
    }
}

impl Win {
    /// Attaches memory of the program, which begins at `address` (`MPI_Win_attach`); no bytes are
    /// fine. `MPI_ERR_RMA_FLAVOR` unless the window is dynamic, `MPI_ERR_RMA_ATTACH` if some of the
    /// bytes are attached, or if there is no room to tell others.
    pub fn attach(&self, process: &Process, address: u64, region: Region) -> Result<()> {
        self.check_dynamic("MPI_Win_attach")?;
        let mut attachments = self.local.attachments.lock();
        if region.is_empty() {
            attachments.empty.push(address);
            return Ok(());
        }
        let heap = process.heap();
        let ticket = heap.and_then(|heap| heap.find(address, region.len()));
        let at = attachments.attach(Attached { address, bytes: region.len() as u64, ticket, region })?;
        // Without a heap nobody else reads the table.
        let Some(heap) = heap else { return Ok(()) };
        let told = attachments.tell(self.local.control.words().table(), heap, at);
        if told.is_err() {
            attachments.pieces.remove(at);
        }
        told
    }

    /// Detaches the memory that was attached at this address (`MPI_Win_detach`). Errors as
    /// [`Win::attach`].
    pub fn detach(&self, process: &Process, address: u64) -> Result<()> {
        self.check_dynamic("MPI_Win_detach")?;
        let mut attachments = self.local.attachments.lock();
        let (Some(at), Some(heap)) = (attachments.detach(address)?, process.heap()) else { return Ok(()) };
        attachments.tell(self.local.control.words().table(), heap, at)
    }

    fn check_dynamic(&self, call: &str) -> Result<()> {
        if self.flavor == Flavor::Dynamic { Ok(()) } else { Err(error::flavor(call)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::constants::MPI_ERR_RMA_ATTACH;

    #[test]
    fn pieces_do_not_overlap_and_are_found_whole() {
        let mut attachments = Attachments::default();
        let piece = |address, bytes| Attached::told(address, bytes, None);
        for (address, bytes) in [(300, 50), (100, 50), (200, 50), (150, 50)] {
            attachments.attach(piece(address, bytes)).unwrap();
        }
        for (address, bytes) in [(120, 1), (99, 2), (349, 1), (250, 51), (0, 1000)] {
            let error = attachments.attach(piece(address, bytes)).unwrap_err();
            assert_eq!(error.class, MPI_ERR_RMA_ATTACH, "{address}");
        }
        let found = |low, high| attachments.find(low, high).map(|piece| piece.address);
        assert_eq!([found(100, 150), found(149, 150), found(249, 251)], [Some(100), Some(100), None]);
        assert_eq!([found(99, 100), found(350, 351), found(300, 350)], [None, None, Some(300)]);
    }

    #[test]
    fn pieces_side_by_side_are_one() {
        let (owned, mut attachments) = (verbena_memory::Owned::zeroed(100), Attachments::default());
        let whole = owned.lend();
        for (first, len) in [(40, 20), (0, 40), (70, 30)] {
            attachments.attach(Attached::of(whole.part(first, len))).unwrap();
        }
        let place = |at: i64, len| attachments.place(whole.address() as i64 + at, (0, len));
        let both = place(30, 25).unwrap();
        assert_eq!((both.region, both.at), (whole.part(0, 60), 30));
        assert!(place(50, 21).is_none() && place(55, 5).is_some() && place(69, 2).is_none());
    }

    #[test]
    fn pieces_are_detached_by_their_first_address() {
        let mut attachments = Attachments::default();
        attachments.attach(Attached::told(100, 50, None)).unwrap();
        assert_eq!(attachments.detach(101).unwrap_err().class, MPI_ERR_RMA_ATTACH);
        attachments.detach(100).unwrap();
        assert!(attachments.find(100, 101).is_none());
        assert_eq!(attachments.detach(100).unwrap_err().class, MPI_ERR_RMA_ATTACH);
    }

    #[test]
    fn pieces_without_bytes_are_detached_as_often_as_attached() {
        let mut attachments = Attachments::default();
        attachments.attach(Attached::told(100, 50, None)).unwrap();
        attachments.empty.extend([100, 7, 7]);
        assert_eq!(attachments.detach(100).unwrap(), Some(0));
        for address in [100, 7, 7] {
            assert_eq!(attachments.detach(address).unwrap(), None);
            assert!(attachments.find(address, address + 1).is_none());
        }
        assert_eq!(attachments.detach(7).unwrap_err().class, MPI_ERR_RMA_ATTACH);
    }
}
