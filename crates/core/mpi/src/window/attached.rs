//! Memory that the program attached to a dynamic window (MPI-5.0, 12.2.5).

use super::control::{Attached, Words};
use super::service::Place;
use super::{Flavor, Win, error};
use crate::error::Result;
use crate::process::Process;
use verbena_memory::Region;

/// The attached memory of this process, by address; no two pieces overlap.
#[derive(Default)]
pub(super) struct Attachments(Vec<Attached>);

impl Attachments {
    fn attach(&mut self, new: Attached) -> Result<()> {
        let at = self.0.partition_point(|old| old.address < new.address);
        let before = at.checked_sub(1).is_some_and(|i| self.0[i].end() > new.address);
        let after = self.0.get(at).is_some_and(|old| new.end() > old.address);
        if before || after {
            return Err(error::attach(
                "memory was attached that overlaps attached memory",
                new.address,
                new.bytes,
                "it, or a part of it, is attached to the window already",
            ));
        }
        self.0.insert(at, new);
        Ok(())
    }

    fn detach(&mut self, address: u64) -> Result<()> {
        let at = self.0.binary_search_by_key(&address, |old| old.address);
        let at = at.map_err(|_| {
            error::attach(
                "memory cannot be detached: none is attached at this address",
                address,
                0,
                "it was detached already, or the address is not that of the attach call",
            )
        })?;
        self.0.remove(at);
        Ok(())
    }

    /// The memory with the bytes from `low` to `high`: a piece, or several side by side.
    fn find(&self, low: u64, high: u64) -> Option<Attached> {
        let at = self.0.partition_point(|old| old.address <= low);
        let (first, rest) = self.0.get(at.checked_sub(1)?..)?.split_first()?;
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

    fn tell(&self, words: Words) {
        words.tell(&self.0);
    }
}

impl Win {
    /// Attaches memory of the program, which begins at `address` (`MPI_Win_attach`).
    /// `MPI_ERR_RMA_FLAVOR` unless the window is dynamic, `MPI_ERR_RMA_ATTACH` if some of the bytes
    /// are attached.
    pub fn attach(&self, process: &Process, region: Region) -> Result<()> {
        self.check_dynamic("MPI_Win_attach")?;
        if region.is_empty() {
            return Ok(());
        }
        let (address, bytes) = (region.address(), region.len() as u64);
        let ticket = process.heap().and_then(|heap| heap.find(address, region.len()));
        let mut attachments = self.local.attachments.lock();
        attachments.attach(Attached { address, bytes, ticket, region })?;
        attachments.tell(self.local.control.words());
        Ok(())
    }

    /// Detaches the memory that was attached at this address (`MPI_Win_detach`). Errors as
    /// [`Win::attach`].
    pub fn detach(&self, address: u64) -> Result<()> {
        self.check_dynamic("MPI_Win_detach")?;
        let mut attachments = self.local.attachments.lock();
        attachments.detach(address)?;
        attachments.tell(self.local.control.words());
        Ok(())
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
}
