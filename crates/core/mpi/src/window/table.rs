//! The table of the memory that a member attached to a dynamic window, as the other processes of
//! its node read it: its pieces by address. It lies among the control words of the member, and,
//! once it does not fit there, in a block of its own in the heap, in chunks ([`super::chunks`]).
//! Its members are told where.
//!
//! | words | meaning |
//! | --- | --- |
//! | 0 | the version: odd while the table changes |
//! | 1 | the number of pieces of a short table; of chunks, if there is a block |
//! | 2, 3 | the block: offset and bytes of its ticket; no bytes while there is none |
//! | 4 on | a short table: three words a piece (address, bytes, offset of its ticket) |
//!
//! | words of a block for n chunks | meaning |
//! | --- | --- |
//! | 2n | the chunks by address, two words each: the first address; the slot, and the pieces |
//! | then | n slots, each for the pieces of a chunk, as in a short table |
//!
//! Only its member changes it, one thread at a time. Readers look again if the version changed. A
//! member that dies meanwhile leaves an odd version behind: readers ask whether it still lives.

use super::chunks::{Attached, CHUNK_MAX, Change, Chunk, Chunks};
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
/// The looks between two questions whether the member still lives.
const LOOKS_TO_LIFE: u32 = 64 * SPINS;

/// A table, in these bytes of control words.
#[derive(Clone, Copy)]
pub(super) struct Table(pub(super) Region);

/// Bytes of a chunk in the list of a block, and of its slot.
const LISTED: usize = 2 * WORD;
const SLOT: usize = CHUNK_MAX * ENTRY;

/// The bytes of a block for so many chunks.
pub(super) fn block_bytes(chunks: usize) -> usize {
    chunks * (LISTED + SLOT)
}

/// The number of chunks for which a block of so many bytes has room.
pub(super) fn block_chunks(bytes: usize) -> usize {
    bytes / (LISTED + SLOT)
}

/// The slot of this number in a block.
fn slot(block: Region, number: usize) -> Region {
    block.part(block_chunks(block.len()) * LISTED + number * SLOT, SLOT)
}

/// Stores pieces from number `from` on. Returns how many words that took.
fn store(entries: Region, pieces: &[Attached], from: usize) -> usize {
    for (i, piece) in pieces.iter().enumerate().skip(from) {
        let offset = piece.ticket.map_or(NO_TICKET, |ticket| ticket.offset);
        let words = [piece.address, piece.bytes, offset];
        words.into_iter().enumerate().for_each(|(k, word)| entries.word_store(i * ENTRY + k * WORD, word));
    }
    pieces.len().saturating_sub(from) * ENTRY / WORD
}

/// Stores chunks in the list of a block, the first at place `from`. Returns how many words that
/// took.
fn list(block: Region, chunks: &[Chunk], from: usize) -> usize {
    for (i, chunk) in chunks.iter().enumerate() {
        let word = (chunk.slot as u64) << 32 | chunk.pieces.len() as u64;
        block.word_store((from + i) * LISTED, chunk.first());
        block.word_store((from + i) * LISTED + WORD, word);
    }
    chunks.len() * LISTED / WORD
}

impl Table {
    /// Tells the pieces of a short table from number `from` on; those before were told already.
    /// Returns how many words that took.
    pub(super) fn tell_short(&self, pieces: &[Attached], from: usize) -> usize {
        self.change(|| {
            self.0.word_store(LEN, pieces.len() as u64);
            store(self.short(), pieces, from) + 1
        })
    }

    /// Tells what has changed in a table with this block. Returns how many words that took.
    pub(super) fn tell(&self, chunks: &Chunks, change: &Change, block: Region) -> usize {
        let all = chunks.all();
        let pieces = |at: usize, from| store(slot(block, all[at].slot), &all[at].pieces, from);
        self.change(|| {
            let changed = change.pieces.map_or(0, |(at, from)| pieces(at, from));
            let new = change.new.map_or(0, |at| pieces(at, 0));
            let listed = list(block, &all[change.chunks.clone()], change.chunks.start);
            self.0.word_store(LEN, all.len() as u64);
            changed + new + listed + 1
        })
    }

    /// Tells all pieces in a new block, with its ticket. Returns how many words that took.
    pub(super) fn move_to(&self, chunks: &Chunks, (block, ticket): (Region, Ticket)) -> usize {
        // Nobody reads the new block yet.
        let all = chunks.all().iter();
        let stored: usize = all.map(|chunk| store(slot(block, chunk.slot), &chunk.pieces, 0)).sum();
        let listed = list(block, chunks.all(), 0);
        self.change(|| {
            let head =
                [(LEN, chunks.all().len() as u64), (BLOCK_AT, ticket.offset), (BLOCK_BYTES, ticket.bytes)];
            head.into_iter().for_each(|(at, word)| self.0.word_store(at, word));
            stored + listed + 3
        })
    }

    /// Lets readers look again that read while `change` is at work.
    fn change<R>(&self, change: impl FnOnce() -> R) -> R {
        let version = self.0.word_load(VERSION);
        self.0.word_store(VERSION, version.wrapping_add(1));
        let result = change();
        self.0.word_store(VERSION, version.wrapping_add(2));
        result
    }

    /// Finds the piece, or several side by side, with the bytes from `low` to `high`. `open` gives
    /// the memory of the table's block; `is_lost` says whether the member will not go on with a
    /// change that it has begun.
    pub(super) fn find(
        &self,
        low: u64,
        high: u64,
        open: impl Fn(Ticket) -> Option<Region>,
        mut is_lost: impl FnMut() -> bool,
    ) -> Found {
        let mut looks = 0_u32;
        loop {
            if let Some(found) = self.look(low, high, &open) {
                return found;
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS_TO_LIFE) && is_lost() {
                return Found::Torn;
            }
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
        let len = usize::try_from(len).unwrap_or(0);
        let found = match bytes {
            0 => Runs::One(Run::of(self.short(), len)).find(low, high),
            _ => match open(Ticket { offset, bytes }) {
                Some(block) => Runs::Listed(block, len.min(block_chunks(block.len()))).find(low, high),
                None => return Some(Found::Untold),
            },
        };
        is_same().then_some(found)
    }

    fn short(&self) -> Region {
        self.0.part(HEAD, SHORT_MAX * ENTRY)
    }
}

/// The entries of a table, in runs by address. What a reader sees while the table changes may be
/// anything: it stays within the table all the same.
enum Runs {
    One(Run),
    /// The first chunks of a block, as many.
    Listed(Region, usize),
}

/// Entries side by side.
#[derive(Clone, Copy)]
struct Run {
    entries: Region,
    len: usize,
}

impl Run {
    fn of(entries: Region, len: usize) -> Run {
        Run { entries, len: len.min(entries.len() / ENTRY) }
    }

    fn entry(&self, i: usize) -> Entry {
        let [address, bytes, offset] = [0, 1, 2].map(|k| self.entries.word_load(i * ENTRY + k * WORD));
        Entry { address, bytes, offset }
    }
}

impl Runs {
    fn count(&self) -> usize {
        match self {
            Runs::One(_) => 1,
            Runs::Listed(_, count) => *count,
        }
    }

    fn run(&self, at: usize) -> Run {
        let block = match self {
            Runs::One(run) => return *run,
            Runs::Listed(block, _) => block,
        };
        let word = block.word_load(at * LISTED + WORD);
        let number = (word >> 32) as usize;
        match number < block_chunks(block.len()) {
            true => Run::of(slot(*block, number), word as u32 as usize),
            false => Run::of(Region::EMPTY, 0),
        }
    }

    /// The number of runs that begin at an address or before it. A short table is one that does.
    fn before(&self, low: u64) -> usize {
        match self {
            Runs::One(_) => 1,
            Runs::Listed(block, count) => partition(*count, |at| block.word_load(at * LISTED) <= low),
        }
    }

    fn find(&self, low: u64, high: u64) -> Found {
        let Some(mut at) = self.before(low).checked_sub(1) else { return Found::Nothing };
        let mut run = self.run(at);
        let mut i = partition(run.len, |i| run.entry(i).address <= low);
        if i == 0 {
            return Found::Nothing;
        }
        let mut found = run.entry(i - 1);
        while high > found.end() {
            if i == run.len {
                at += 1;
                if at >= self.count() {
                    break;
                }
                (run, i) = (self.run(at), 0);
                continue;
            }
            let next = run.entry(i);
            if next.address != found.end() {
                break;
            }
            found = found.joined(next);
            i += 1;
        }
        match high <= found.end() {
            true => Found::Attached { address: found.address, bytes: found.bytes, ticket: found.ticket() },
            false => Found::Nothing,
        }
    }
}

/// The number of those, of `len` in order, that come first and are so.
fn partition(len: usize, is_so: impl Fn(usize) -> bool) -> usize {
    let (mut first, mut end) = (0, len);
    while first < end {
        let middle = first + (end - first) / 2;
        match is_so(middle) {
            true => first = middle + 1,
            false => end = middle,
        }
    }
    first
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
    /// The bytes lie in attached memory: its address at the target, and its length in bytes.
    Attached { address: u64, bytes: u64, ticket: Option<Ticket> },
    /// The bytes are not attached.
    Nothing,
    /// This process cannot read the table.
    Untold,
    /// The member was lost while it changed the table.
    Torn,
}

#[cfg(test)]
mod tests;
