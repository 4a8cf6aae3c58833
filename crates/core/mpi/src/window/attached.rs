//! Memory that the program attached to a dynamic window (MPI-5.0, 12.2.5).

use super::chunks::{Attached, Change, Chunks};
use super::service::Place;
use super::table::{self, SHORT_MAX, Table};
use super::{Flavor, Win, error};
use crate::error::Result;
use crate::process::Process;
use std::collections::BTreeMap;
use std::sync::Arc;
use verbena_channel::heap::{Block, Heap};
use verbena_memory::Region;

/// The chunks of the first block of the table.
const FIRST_CHUNKS: usize = 4;

/// The attached memory of this process.
#[derive(Default)]
pub(super) struct Attachments {
    pieces: Chunks,
    /// The addresses of pieces without bytes, with how often each is attached.
    empty: BTreeMap<u64, usize>,
    /// The blocks that the table has had, each twice as long as the one before. Other processes may
    /// read an old one still.
    blocks: Vec<Block>,
}

impl Attachments {
    /// Adds a piece. With a `heap`, other processes read of it in the table. `MPI_ERR_RMA_ATTACH`
    /// if it overlaps another, or if the heap has no room for the table.
    fn attach(&mut self, new: Attached, told: Option<(Table, &Arc<dyn Heap>)>) -> Result<()> {
        if let Some((table, heap)) = told {
            self.make_room(table, heap)?;
        }
        let change = self.pieces.insert(new).ok_or_else(|| {
            error::attach(
                "memory was attached that overlaps attached memory",
                new.address,
                new.bytes,
                "it, or a part of it, is attached to the window already",
            )
        })?;
        self.tell(&change, told.map(|told| told.0));
        Ok(())
    }

    /// Removes the piece of this address, one without bytes if there is no other.
    fn detach(&mut self, address: u64, told: Option<Table>) -> Result<()> {
        if let Some(change) = self.pieces.remove(address) {
            self.tell(&change, told);
            return Ok(());
        }
        match self.empty.get_mut(&address) {
            None => Err(error::attach(
                "memory cannot be detached: none is attached at this address",
                address,
                0,
                "it was detached already, or the address is not that of the attach call",
            )),
            Some(1) => {
                self.empty.remove(&address);
                Ok(())
            }
            Some(count) => {
                *count -= 1;
                Ok(())
            }
        }
    }

    /// Sees that the table has room for one piece more, wherever it goes.
    fn make_room(&mut self, table: Table, heap: &Arc<dyn Heap>) -> Result<()> {
        let chunks = match self.blocks.last() {
            None if self.pieces.len() < SHORT_MAX => return Ok(()),
            None => FIRST_CHUNKS,
            Some(block) => match table::block_chunks(block.region().len()) {
                room if self.pieces.fits(room) => return Ok(()),
                room => 2 * room,
            },
        };
        let block = heap.allocate(table::block_bytes(chunks)).map_err(error::no_table)?;
        // A block may be longer than what was asked for.
        table.move_to(&self.pieces, (block.region(), block.ticket()));
        self.blocks.push(block);
        Ok(())
    }

    /// Tells other processes what has changed.
    fn tell(&self, change: &Change, table: Option<Table>) {
        let Some(table) = table else { return };
        match self.blocks.last() {
            Some(block) => table.tell(&self.pieces, change, block.region()),
            None => {
                let all = self.pieces.all().first().map_or(&[][..], |chunk| &chunk.pieces);
                table.tell_short(all, change.pieces.map_or(0, |(_, from)| from))
            }
        };
    }

    /// The place of an access whose bytes lie within `span` of an address.
    pub(super) fn place(&self, address: i64, span: (i64, i64)) -> Option<Place> {
        let address = address as u64;
        let (low, high) = (address.checked_add_signed(span.0)?, address.checked_add_signed(span.1)?);
        let piece = self.pieces.find(low, high)?;
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
            *attachments.empty.entry(address).or_default() += 1;
            return Ok(());
        }
        let heap = process.heap();
        let ticket = heap.and_then(|heap| heap.find(address, region.len()));
        let new = Attached { address, bytes: region.len() as u64, ticket, region };
        // Without a heap nobody else reads the table.
        attachments.attach(new, heap.map(|heap| (self.local.control.words().table(), heap)))
    }

    /// Detaches the memory that was attached at this address (`MPI_Win_detach`). Errors as
    /// [`Win::attach`].
    pub fn detach(&self, process: &Process, address: u64) -> Result<()> {
        self.check_dynamic("MPI_Win_detach")?;
        let table = process.heap().map(|_| self.local.control.words().table());
        self.local.attachments.lock().detach(address, table)
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
            attachments.attach(piece(address, bytes), None).unwrap();
        }
        for (address, bytes) in [(120, 1), (99, 2), (349, 1), (250, 51), (0, 1000)] {
            let error = attachments.attach(piece(address, bytes), None).unwrap_err();
            assert_eq!(error.class, MPI_ERR_RMA_ATTACH, "{address}");
        }
        let found = |low, high| attachments.pieces.find(low, high).map(|piece| piece.address);
        assert_eq!([found(100, 150), found(149, 150), found(249, 251)], [Some(100), Some(100), None]);
        assert_eq!([found(99, 100), found(350, 351), found(300, 350)], [None, None, Some(300)]);
    }

    #[test]
    fn pieces_side_by_side_are_one() {
        let (owned, mut attachments) = (verbena_memory::Owned::zeroed(100), Attachments::default());
        let whole = owned.lend();
        for (first, len) in [(40, 20), (0, 40), (70, 30)] {
            attachments.attach(Attached::of(whole.part(first, len)), None).unwrap();
        }
        let place = |at: i64, len| attachments.place(whole.address() as i64 + at, (0, len));
        let both = place(30, 25).unwrap();
        assert_eq!((both.region, both.at), (whole.part(0, 60), 30));
        assert!(place(50, 21).is_none() && place(55, 5).is_some() && place(69, 2).is_none());
    }

    #[test]
    fn pieces_are_detached_by_their_first_address() {
        let mut attachments = Attachments::default();
        attachments.attach(Attached::told(100, 50, None), None).unwrap();
        assert_eq!(attachments.detach(101, None).unwrap_err().class, MPI_ERR_RMA_ATTACH);
        attachments.detach(100, None).unwrap();
        assert!(attachments.pieces.find(100, 101).is_none());
        assert_eq!(attachments.detach(100, None).unwrap_err().class, MPI_ERR_RMA_ATTACH);
    }

    #[test]
    fn pieces_without_bytes_are_detached_as_often_as_attached() {
        let mut attachments = Attachments::default();
        attachments.attach(Attached::told(100, 50, None), None).unwrap();
        attachments.empty.extend([(100, 1), (7, 2)]);
        attachments.detach(100, None).unwrap();
        for address in [100, 7, 7] {
            assert!(attachments.pieces.find(100, 101).is_none());
            attachments.detach(address, None).unwrap();
            assert!(attachments.pieces.find(address, address + 1).is_none());
        }
        assert_eq!(attachments.detach(7, None).unwrap_err().class, MPI_ERR_RMA_ATTACH);
    }
}
