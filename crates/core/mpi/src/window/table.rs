//! The table of the memory that a member attached to a dynamic window, as the other processes of
//! its node read it: its pieces by address. It lies among the control words of the member, and,
//! once it does not fit there, in a block of its own in the heap. Its members are told where.
//!
//! | words | meaning |
//! | --- | --- |
//! | 0 | the version: odd while the table changes |
//! | 1 | the number of pieces |
//! | 2, 3 | the block: offset and bytes of its ticket; no bytes while there is none |
//! | 4 on | a short table: three words a piece (address, bytes, offset of its ticket) |
//!
//! Only its member changes it, one thread at a time. Readers look again if the version changed.

use verbena_channel::heap::Ticket;
use verbena_memory::Region;

const WORD: usize = 8;
const VERSION: usize = 0;
const LEN: usize = WORD;
const BLOCK_AT: usize = 2 * WORD;
const BLOCK_BYTES: usize = 3 * WORD;
const HEAD: usize = 4 * WORD;
/// Bytes of a piece's entry.
const ENTRY: usize = 3 * WORD;
/// The most pieces of a table without a block.
pub(super) const SHORT_MAX: usize = 64;
/// Bytes of a table among the control words.
pub(super) const BYTES: usize = HEAD + SHORT_MAX * ENTRY;
/// An entry's offset of memory that is not in the heap.
const NO_TICKET: u64 = u64::MAX;
/// The looks at a table that changes before its reader lets others run: perhaps its member, whose
/// core was taken away.
const SPINS: u32 = 64;

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

/// A table, in these bytes of control words.
#[derive(Clone, Copy)]
pub(super) struct Table(pub(super) Region);

/// The bytes of a block for so many pieces.
pub(super) fn block_bytes(pieces: usize) -> usize {
    pieces * ENTRY
}

/// The number of pieces for which a block of so many bytes has room.
pub(super) fn block_pieces(bytes: usize) -> usize {
    bytes / ENTRY
}

impl Table {
    /// Tells the pieces from number `from` on; those before were told already, in the same place.
    /// `block` is where they lie if there is one, with its ticket.
    pub(super) fn tell(&self, attached: &[Attached], from: usize, block: Option<(Region, Ticket)>) {
        let version = self.0.word_load(VERSION);
        self.0.word_store(VERSION, version.wrapping_add(1));
        let (entries, ticket) = match block {
            Some((region, ticket)) => (region, ticket),
            None => (self.short(), Ticket { offset: 0, bytes: 0 }),
        };
        for (i, piece) in attached.iter().enumerate().skip(from) {
            let offset = piece.ticket.map_or(NO_TICKET, |ticket| ticket.offset);
            let words = [piece.address, piece.bytes, offset];
            words.into_iter().enumerate().for_each(|(k, word)| {
                entries.word_store(i * ENTRY + k * WORD, word);
            });
        }
        let head = [(LEN, attached.len() as u64), (BLOCK_AT, ticket.offset), (BLOCK_BYTES, ticket.bytes)];
        head.into_iter().for_each(|(at, word)| self.0.word_store(at, word));
        self.0.word_store(VERSION, version.wrapping_add(2));
    }

    /// Finds the piece, or several side by side, with the bytes from `low` to `high`. `open` gives
    /// the memory of the table's block.
    pub(super) fn find(&self, low: u64, high: u64, open: impl Fn(Ticket) -> Option<Region>) -> Found {
        let mut looks = 0_u32;
        loop {
            if let Some(found) = self.look(low, high, &open) {
                return found;
            }
            looks = looks.wrapping_add(1);
            match looks.is_multiple_of(SPINS) {
                true => std::thread::yield_now(),
                false => std::hint::spin_loop(),
            }
        }
    }

    /// Does [`Table::find`], unless the table changes meanwhile.
    fn look(&self, low: u64, high: u64, open: impl Fn(Ticket) -> Option<Region>) -> Option<Found> {
        let version = self.0.word_load(VERSION);
        let [len, offset, bytes] = [LEN, BLOCK_AT, BLOCK_BYTES].map(|at| self.0.word_load(at));
        let is_same = || self.0.word_load(VERSION) == version;
        if !version.is_multiple_of(2) || !is_same() {
            return None;
        }
        // A block stays until the window is freed.
        let region = if bytes == 0 { Some(self.short()) } else { open(Ticket { offset, bytes }) };
        let Some(region) = region else { return Some(Found::Untold) };
        let len = usize::try_from(len).map_or(0, |len| len.min(region.len() / ENTRY));
        let found = Entries { region, len }.find(low, high);
        is_same().then_some(found)
    }

    fn short(&self) -> Region {
        self.0.part(HEAD, SHORT_MAX * ENTRY)
    }
}

/// The entries of a table, by address.
struct Entries {
    region: Region,
    len: usize,
}

impl Entries {
    fn entry(&self, i: usize) -> Entry {
        let [address, bytes, offset] = [0, 1, 2].map(|k| self.region.word_load(i * ENTRY + k * WORD));
        Entry { address, bytes, offset }
    }

    fn find(&self, low: u64, high: u64) -> Found {
        // The pieces that begin before `low` or there.
        let (mut first, mut end) = (0, self.len);
        while first < end {
            let middle = first + (end - first) / 2;
            match self.entry(middle).address <= low {
                true => first = middle + 1,
                false => end = middle,
            }
        }
        let Some(at) = first.checked_sub(1) else { return Found::Nothing };
        let mut found = self.entry(at);
        for next in (first..self.len).map(|i| self.entry(i)) {
            if high <= found.end() || next.address != found.end() {
                break;
            }
            found = found.joined(next);
        }
        match high <= found.end() {
            true => Found::Attached { address: found.address, ticket: found.ticket() },
            false => Found::Nothing,
        }
    }
}

/// An entry of the table.
#[derive(Clone, Copy)]
struct Entry {
    address: u64,
    bytes: u64,
    offset: u64,
}

impl Entry {
    fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }

    /// This piece and the one after it as one, which has a ticket if they lie side by side in the
    /// heap, too.
    fn joined(self, next: Entry) -> Entry {
        let is_next = self.offset != NO_TICKET && self.offset.wrapping_add(self.bytes) == next.offset;
        let offset = if is_next { self.offset } else { NO_TICKET };
        Entry { bytes: self.bytes.saturating_add(next.bytes), offset, ..self }
    }

    fn ticket(&self) -> Option<Ticket> {
        (self.offset != NO_TICKET).then_some(Ticket { offset: self.offset, bytes: self.bytes })
    }
}

/// The answer of a table of attached memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The bytes lie in memory that begins at this address of the target.
    Attached { address: u64, ticket: Option<Ticket> },
    /// The bytes are not attached.
    Nothing,
    /// This process cannot read the table.
    Untold,
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_memory::Owned;

    fn table() -> (Owned, Table) {
        let owned = Owned::zeroed(BYTES);
        let table = Table(owned.lend());
        (owned, table)
    }

    fn no_block(_: Ticket) -> Option<Region> {
        panic!("the table has no block")
    }

    #[test]
    fn attached_memory_is_found() {
        let (_owned, table) = table();
        let entry = |i: u64| Attached::told(100 * i, 10, (i == 2).then_some(Ticket { offset: 7, bytes: 10 }));
        let all: Vec<Attached> = (1..=3).map(entry).collect();
        let find = |low, high| table.find(low, high, no_block);
        assert_eq!(find(100, 101), Found::Nothing);
        table.tell(&all, 0, None);
        assert_eq!(find(105, 110), Found::Attached { address: 100, ticket: None });
        let ticket = Some(Ticket { offset: 7, bytes: 10 });
        assert_eq!(find(200, 210), Found::Attached { address: 200, ticket });
        let outside = [(200, 211), (400, 401), (90, 101), (150, 151), (0, 1), (99, 100)];
        assert!(outside.into_iter().all(|(low, high)| find(low, high) == Found::Nothing));
    }

    #[test]
    fn pieces_side_by_side_are_one() {
        let (_owned, table) = table();
        let ticket = |offset| Some(Ticket { offset, bytes: 10 });
        let piece = |address, offset| Attached::told(address, 10, ticket(offset));
        table.tell(&[piece(90, 0), piece(110, 7), piece(120, 17), piece(130, 99), piece(150, 109)], 0, None);
        let find = |low, high| table.find(low, high, no_block);
        let of = |address, ticket| Found::Attached { address, ticket };
        assert_eq!(find(115, 125), of(110, Some(Ticket { offset: 7, bytes: 20 })));
        assert_eq!(find(125, 130), of(120, ticket(17)));
        assert_eq!(find(115, 140), of(110, None));
        assert_eq!(find(132, 140), of(130, ticket(99)));
        assert_eq!(find(135, 141), Found::Nothing);
        assert_eq!(find(95, 111), Found::Nothing);
    }

    #[test]
    fn a_long_table_lies_in_a_block_that_its_readers_open() {
        let (_owned, table) = table();
        let all: Vec<Attached> = (1..=1000).map(|i| Attached::told(100 * i, 10, None)).collect();
        table.tell(&all[..SHORT_MAX], 0, None);
        let block = Owned::zeroed(block_bytes(1000));
        let place = (block.lend(), Ticket { offset: 4096, bytes: block.len() as u64 });
        let open = |ticket: Ticket| (ticket == place.1).then_some(place.0);
        let attached = |i: u64| Found::Attached { address: 100 * i, ticket: None };
        assert_eq!(table.find(6400, 6410, open), attached(64));
        table.tell(&all[..999], 0, Some(place));
        for i in [1, 64, 65, 500, 999] {
            assert_eq!(table.find(100 * i, 100 * i + 10, open), attached(i), "{i}");
            assert_eq!(table.find(100 * i, 100 * i + 11, open), Found::Nothing, "{i}");
        }
        // What comes behind is told alone.
        table.tell(&all, 999, Some(place));
        assert_eq!(table.find(100_005, 100_010, open), attached(1000));
        assert_eq!(table.find(105, 110, |_| None), Found::Untold);
        assert_eq!(block_pieces(block_bytes(77)), 77);
    }

    /// A member attaches and detaches while another process looks for a piece that is always there.
    #[test]
    fn a_table_that_changes_gives_no_wrong_answer() {
        let (_owned, table) = table();
        let piece = |address| Attached::told(address, 10, None);
        let (few, many) = ([piece(500)], [piece(100), piece(200), piece(500), piece(900)]);
        table.tell(&few, 0, None);
        let region = table.0;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for round in 0..20_000 {
                    Table(region).tell(if round % 2 == 0 { &many } else { &few }, 0, None);
                }
            });
            for _ in 0..20_000 {
                assert_eq!(table.find(505, 510, no_block), Found::Attached { address: 500, ticket: None });
                assert_eq!(table.find(300, 301, no_block), Found::Nothing);
            }
        });
    }
}
