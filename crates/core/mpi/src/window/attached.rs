//! Memory that the program attached to a dynamic window (MPI-5.0, 12.2.5).

use super::apply::TargetMemory;
use super::chunks::{Attached, Change, Chunks};
use super::service::Place;
use super::table::{self, SHORT_MAX, Table};
use super::{Flavor, Win, error, runs};
use crate::datatype::Datatype;
use crate::error::Result;
use crate::process::Process;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use verbena_channel::heap::{Block, Heap};
use verbena_memory::Region;
use verbena_waiting::lock::Lock;

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

    /// The place of elements whose bytes lie within `span` of an address, in a piece or in several;
    /// and whether all of that memory is the library's own.
    pub(super) fn place(
        &self,
        address: i64,
        elements: (usize, &Datatype),
        span: (i64, i64),
    ) -> Option<(Place, bool)> {
        let address = address as u64;
        let (low, high) = (address.checked_add_signed(span.0)?, address.checked_add_signed(span.1)?);
        let (mut some, mut are_own) = (self.pieces.find(low, high), true);
        if some.is_none() {
            let find = |run: &Range<u64>| {
                some = self.pieces.find(run.start, run.end);
                are_own &= some.is_some_and(|piece| piece.ticket.is_some());
                some.map(|piece| piece.address..piece.end())
            };
            if !runs::lie_in_pieces(address, elements, find) {
                return None;
            }
        }
        let piece = some?;
        let place = Place { region: piece.region, at: address.wrapping_sub(piece.address) as i64 };
        Some((place, are_own && piece.ticket.is_some()))
    }
}

/// Memory in several pieces. Its places are addresses.
impl TargetMemory for Lock<Attachments> {
    fn read(&self, at: u64, into: Region) -> Result<()> {
        self.lock().part(at, into.len()).map(|part| into.copy_from(part))
    }

    fn write(&self, at: u64, from: Region) -> Result<()> {
        self.lock().part(at, from.len()).map(|part| part.copy_from(from))
    }

    fn region(&self) -> Option<Region> {
        None
    }
}

impl Attachments {
    /// The memory of some bytes. `MPI_ERR_RMA_RANGE` if it is not attached any more.
    fn part(&self, at: u64, bytes: usize) -> Result<Region> {
        let piece = at.checked_add(bytes as u64).and_then(|end| self.pieces.find(at, end));
        let part = piece.map(|piece| piece.region.part((at - piece.address) as usize, bytes));
        part.ok_or_else(|| error::detached(at, bytes))
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
    use crate::datatype::Form;
    use crate::datatype::construct::Unit;
    use crate::generated::constants::{MPI_BYTE, MPI_ERR_RMA_ATTACH, MPI_ERR_RMA_RANGE};
    use verbena_channel::heap::Ticket;

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
        let byte = Datatype::predefined(MPI_BYTE).unwrap();
        let place = |at: i64, len: usize| {
            let address = whole.address() as i64 + at;
            attachments.place(address, (len, byte), (0, len as i64)).map(|(place, _)| place)
        };
        let both = place(30, 25).unwrap();
        assert_eq!((both.region, both.at), (whole.part(0, 60), 30));
        assert!(place(50, 21).is_none() && place(55, 5).is_some() && place(69, 2).is_none());
    }

    /// Elements with gaps, in pieces with gaps: their bytes count, and no others.
    #[test]
    fn elements_may_lie_in_several_pieces() {
        let (owned, mut attachments) = (verbena_memory::Owned::zeroed(100), Attachments::default());
        let whole = owned.lend();
        let ticket = |offset| Some(Ticket { offset, bytes: 0 });
        for (first, len, ticket) in [(0, 20, ticket(0)), (40, 20, ticket(40)), (80, 20, None)] {
            let piece = Attached { ticket, ..Attached::of(whole.part(first, len)) };
            attachments.attach(piece, None).unwrap();
        }
        let byte = Datatype::predefined(MPI_BYTE).unwrap();
        let place = |count: i64, at: i64| {
            let rows = Datatype::vector(Form::Int, count, 10, 40, Unit::Byte, byte).unwrap();
            let (low, high) = rows.span(1).unwrap();
            let address = whole.address() as i64 + at;
            let found = attachments.place(address, (1, &Arc::new(rows)), (low as i64, high as i64));
            found.map(|(place, is_own)| (place.address() == address as u64, place.holds((0, 50)), is_own))
        };
        assert_eq!(place(2, 10), Some((true, false, true)));
        assert_eq!(place(3, 10), Some((true, false, false)));
        assert_eq!([place(2, 11), place(2, 20), place(4, 0), place(2, -1)], [None; 4]);
        let memory = Lock::new(attachments);
        let data = verbena_memory::Owned::from(&[5; 10][..]);
        memory.write(whole.address() + 45, data.lend()).unwrap();
        assert_eq!(whole.to_vec()[44..56], [0, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0]);
        memory.read(whole.address() + 50, data.lend()).unwrap();
        assert_eq!(data.lend().to_vec(), [5, 5, 5, 5, 5, 0, 0, 0, 0, 0]);
        let error = memory.write(whole.address() + 15, data.lend()).unwrap_err();
        assert_eq!(error.class, MPI_ERR_RMA_RANGE);
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
