//! The pieces of memory that this process attached to a dynamic window, by address. They lie in
//! chunks of limited length: one that comes or goes moves few others, wherever it lies. Each chunk
//! has a slot for the place where other processes read it ([`super::table`]).

use std::ops::Range;
use verbena_channel::heap::Ticket;
use verbena_memory::Region;

/// The most pieces of a chunk.
pub(super) const CHUNK_MAX: usize = 256;
/// A chunk with as few pieces joins the one beside it, if both have no more than twice as many.
const FEW: usize = CHUNK_MAX / 4;

/// A piece of attached memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attached {
    pub address: u64,
    pub bytes: u64,
    /// The ticket, if it lies in the node's heap.
    pub ticket: Option<Ticket>,
    pub region: Region,
}

impl Attached {
    /// An entry for tests of what is told of it.
    #[cfg(test)]
    pub(super) fn told(address: u64, bytes: u64, ticket: Option<Ticket>) -> Attached {
        Attached { address, bytes, ticket, region: Region::EMPTY }
    }

    /// An entry for tests of where it lies.
    #[cfg(test)]
    pub(super) fn of(region: Region) -> Attached {
        Attached { address: region.address(), bytes: region.len() as u64, ticket: None, region }
    }

    pub(super) fn end(&self) -> u64 {
        self.address + self.bytes
    }
}

/// Pieces side by side in the order of addresses; never none.
#[derive(Debug)]
pub(super) struct Chunk {
    pub slot: usize,
    pub pieces: Vec<Attached>,
}

impl Chunk {
    /// The address of the first piece.
    pub(super) fn first(&self) -> u64 {
        self.pieces[0].address
    }
}

/// All pieces; no two overlap.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    chunks: Vec<Chunk>,
    /// Slots that were given out so far, and those of them that are free again.
    slots: usize,
    free: Vec<usize>,
    len: usize,
}

/// The places that a piece has changed which came or went.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The chunk whose pieces are others from this number on.
    pub pieces: Option<(usize, usize)>,
    /// A chunk that is new.
    pub new: Option<usize>,
    /// The chunks that are others, or have another beginning or length.
    pub chunks: Range<usize>,
}

impl Chunks {
    /// The chunks by address.
    pub(super) fn all(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The number of pieces.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The number of slots that chunks have or had.
    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Returns whether another piece, wherever it goes, has a slot among the first `room`: no more
    /// than these were ever in use.
    pub(super) fn fits(&self, room: usize) -> bool {
        !self.free.is_empty() || self.slots < room
    }

    /// Adds a piece, which takes a slot at most. `None` if it overlaps another.
    pub(super) fn insert(&mut self, new: Attached) -> Option<Change> {
        let at = self.chunks.partition_point(|chunk| chunk.first() < new.address).saturating_sub(1);
        let Some(chunk) = self.chunks.get(at) else {
            self.open(0, vec![new]);
            self.len = 1;
            return Some(Change { pieces: None, new: Some(0), chunks: 0..1 });
        };
        let i = chunk.pieces.partition_point(|old| old.address < new.address);
        let after = chunk.pieces.get(i).map(|old| old.address);
        let after = after.or_else(|| self.chunks.get(at + 1).map(Chunk::first));
        // Only the first chunk begins behind a new piece.
        let before = i.checked_sub(1).map(|i| chunk.pieces[i].end());
        if before.is_some_and(|end| end > new.address) || after.is_some_and(|start| new.end() > start) {
            return None;
        }
        self.len += 1;
        if chunk.pieces.len() < CHUNK_MAX {
            self.chunks[at].pieces.insert(i, new);
            return Some(Change { pieces: Some((at, i)), new: None, chunks: at..at + 1 });
        }
        Some(self.insert_beside((at, i), new))
    }

    /// Adds a piece where the chunk is full.
    fn insert_beside(&mut self, (at, i): (usize, usize), new: Attached) -> Change {
        if i == CHUNK_MAX && self.chunks.get(at + 1).is_some_and(|next| next.pieces.len() < CHUNK_MAX) {
            self.chunks[at + 1].pieces.insert(0, new);
            return Change { pieces: Some((at + 1, 0)), new: None, chunks: at + 1..at + 2 };
        }
        // Programs attach memory upwards or downwards: full chunks stay behind.
        if i == 0 || i == CHUNK_MAX {
            let place = at + usize::from(i > 0);
            self.open(place, vec![new]);
            return Change { pieces: None, new: Some(place), chunks: place..self.chunks.len() };
        }
        let mut upper = self.chunks[at].pieces.split_off(CHUNK_MAX / 2);
        let first = match i.checked_sub(CHUNK_MAX / 2) {
            Some(i) => {
                upper.insert(i, new);
                CHUNK_MAX / 2
            }
            None => {
                self.chunks[at].pieces.insert(i, new);
                i
            }
        };
        self.open(at + 1, upper);
        Change { pieces: Some((at, first)), new: Some(at + 1), chunks: at..self.chunks.len() }
    }

    fn open(&mut self, place: usize, pieces: Vec<Attached>) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.chunks.insert(place, Chunk { slot, pieces });
    }

    /// Removes the piece that begins at this address; `None` if there is none.
    pub(super) fn remove(&mut self, address: u64) -> Option<Change> {
        let at = self.chunks.partition_point(|chunk| chunk.first() <= address).checked_sub(1)?;
        let pieces = &mut self.chunks[at].pieces;
        let i = pieces.binary_search_by_key(&address, |old| old.address).ok()?;
        pieces.remove(i);
        let left = pieces.len();
        self.len -= 1;
        if left == 0 {
            self.close(at);
            return Some(Change { pieces: None, new: None, chunks: at..self.chunks.len() });
        }
        let fits = |beside: Option<&Chunk>| beside.is_some_and(|chunk| chunk.pieces.len() + left <= 2 * FEW);
        if left <= FEW && fits(self.chunks.get(at + 1)) {
            return Some(self.join(at, i));
        }
        if left <= FEW && at > 0 && fits(self.chunks.get(at - 1)) {
            return Some(self.join(at - 1, self.chunks[at - 1].pieces.len()));
        }
        Some(Change { pieces: Some((at, i)), new: None, chunks: at..at + 1 })
    }

    /// Joins a chunk, of which the pieces from number `first` on are others, and the next one.
    fn join(&mut self, at: usize, first: usize) -> Change {
        let next = self.close(at + 1);
        self.chunks[at].pieces.extend(next);
        Change { pieces: Some((at, first)), new: None, chunks: at..self.chunks.len() }
    }

    fn close(&mut self, at: usize) -> Vec<Attached> {
        let chunk = self.chunks.remove(at);
        self.free.push(chunk.slot);
        chunk.pieces
    }

    /// The memory with the bytes from `low` to `high`: a piece, or several side by side. Several
    /// have a ticket, that of the first, if each has one.
    pub(super) fn find(&self, low: u64, high: u64) -> Option<Attached> {
        let at = self.chunks.partition_point(|chunk| chunk.first() <= low).checked_sub(1)?;
        let (chunk, others) = self.chunks[at..].split_first()?;
        let i = chunk.pieces.partition_point(|old| old.address <= low).checked_sub(1)?;
        let (first, rest) = chunk.pieces[i..].split_first()?;
        let mut found = *first;
        for next in rest.iter().chain(others.iter().flat_map(|chunk| &chunk.pieces)) {
            if high <= found.end() {
                break;
            }
            let region = found.region.joined(next.region).filter(|_| found.end() == next.address)?;
            let ticket = found.ticket.filter(|_| next.ticket.is_some());
            found = Attached { bytes: found.bytes + next.bytes, region, ticket, ..found };
        }
        (high <= found.end()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn piece(address: u64, bytes: u64) -> Attached {
        Attached::told(address, bytes, None)
    }

    fn check(chunks: &Chunks, known: &BTreeMap<u64, u64>) {
        let all = chunks.all().iter().flat_map(|chunk| &chunk.pieces);
        let all: Vec<(u64, u64)> = all.map(|piece| (piece.address, piece.bytes)).collect();
        assert_eq!(all, known.iter().map(|(a, b)| (*a, *b)).collect::<Vec<_>>());
        assert_eq!(chunks.len(), known.len());
        let mut slots: Vec<usize> = chunks.all().iter().map(|chunk| chunk.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), chunks.all().len(), "no two chunks have one slot");
        assert!(chunks.all().iter().all(|chunk| (1..=CHUNK_MAX).contains(&chunk.pieces.len())));
    }

    /// A sequence of numbers without pattern.
    fn numbers() -> impl Iterator<Item = u64> {
        std::iter::successors(Some(7_u64), |n| Some(n.wrapping_mul(6364136223846793005).wrapping_add(1)))
            .map(|n| n >> 33)
    }

    #[test]
    fn pieces_come_and_go_in_any_order() {
        let (mut chunks, mut known) = (Chunks::default(), BTreeMap::new());
        for (round, number) in numbers().take(60_000).enumerate() {
            let (address, bytes) = (number % 5000 * 10, 1 + number / 5000 % 25);
            if round / 10_000 % 2 == 0 {
                let end = address + bytes;
                let is_free = known.range(..end).next_back().is_none_or(|(a, b)| a + b <= address);
                assert_eq!(chunks.insert(piece(address, bytes)).is_some(), is_free, "{address}");
                if is_free {
                    known.insert(address, bytes);
                }
            } else {
                assert_eq!(chunks.remove(address).is_some(), known.remove(&address).is_some(), "{address}");
            }
            if round % 997 == 0 {
                check(&chunks, &known);
            }
        }
        let all: Vec<u64> = known.keys().copied().collect();
        all.iter().for_each(|address| assert!(chunks.remove(*address).is_some()));
        check(&chunks, &BTreeMap::new());
    }

    /// Pieces that come downwards behind others that came upwards share chunks.
    #[test]
    fn pieces_that_come_downwards_behind_a_full_chunk_share_one() {
        let (mut chunks, mut known) = (Chunks::default(), BTreeMap::new());
        let upwards = (0..CHUNK_MAX as u64).map(|i| i * 10);
        for address in upwards.chain((100_000..200_000).rev().step_by(10)) {
            chunks.insert(piece(address, 10)).unwrap();
            known.insert(address, 10);
        }
        check(&chunks, &known);
        assert!(chunks.slots() <= 2 * known.len() / CHUNK_MAX + 2, "{}", chunks.slots());
    }

    /// A slot that was given back is as good as one that was never in use.
    #[test]
    fn slots_given_back_are_room() {
        let mut chunks = Chunks::default();
        for i in 0..2 * CHUNK_MAX as u64 {
            chunks.insert(piece(i * 10, 10)).unwrap();
        }
        assert_eq!(chunks.slots(), 2);
        assert!(chunks.fits(3) && !chunks.fits(2));
        (CHUNK_MAX as u64..2 * CHUNK_MAX as u64).for_each(|i| assert!(chunks.remove(i * 10).is_some()));
        assert!(chunks.fits(2));
        chunks.insert(piece(1 << 20, 10)).unwrap();
        assert_eq!(chunks.slots(), 2);
    }

    /// Chunks that pieces have left join others, so that slots do not run away.
    #[test]
    fn few_pieces_have_few_chunks() {
        let mut chunks = Chunks::default();
        for i in 0..100_000 {
            chunks.insert(piece(i * 10, 10)).unwrap();
        }
        assert!(chunks.slots() <= 100_000 / CHUNK_MAX + 1);
        for i in (0..100_000).filter(|i| i % 200 != 0) {
            chunks.remove(i * 10).unwrap();
        }
        assert_eq!(chunks.len(), 500);
        assert!(chunks.all().len() <= 500 / (FEW / 2) + 1, "{}", chunks.all().len());
    }
}
