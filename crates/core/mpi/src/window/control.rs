//! The control words of a member: its lock, its stripes, who waits for its lock, who has posted to
//! it and completed there, and the memory that it attached. If the node has a heap, all its
//! processes have them mapped.
//!
//! | words | meaning |
//! | --- | --- |
//! | 0 | the lock |
//! | 1 | how many origins have completed their access to the exposure that is open |
//! | 8 to 135 | the stripes, each on a line of its own |
//! | 136, 137 | version and length of the table of attached memory |
//! | 138 on | the table, three words an entry: address, bytes, the offset of its ticket |
//! | then | for each 64 ranks, in bits: those that wait for the lock; those that have posted |

use super::own::no_memory;
use super::stripe::STRIPES_BYTES;
use crate::error::Result;
use crate::process::Process;
use std::sync::atomic::{Ordering, fence};
use verbena_channel::heap::{Block, Ticket};
use verbena_memory::atomic::Native;
use verbena_memory::{Owned, Region};

const WORD: usize = 8;
const COMPLETES: usize = WORD;
const STRIPES_AT: usize = 8 * WORD;
const TABLE_VERSION: usize = STRIPES_AT + STRIPES_BYTES;
const TABLE_LEN: usize = TABLE_VERSION + WORD;
const TABLE: usize = TABLE_LEN + WORD;
/// The most pieces of attached memory that the table tells. Origins learn of others by messages.
const TABLE_MAX: usize = 64;
const ENTRY: usize = 3 * WORD;
const WAITERS: usize = TABLE + TABLE_MAX * ENTRY;
const POSTS: usize = WAITERS + WORD;
/// Bytes of the words of 64 ranks.
const BITS: usize = 2 * WORD;
/// The length of a table that does not tell everything.
const UNTOLD: u64 = u64::MAX;
/// An entry's offset of memory that is not in the heap.
const NO_TICKET: u64 = u64::MAX;

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

/// The control words of a member, wherever it is.
#[derive(Clone, Copy)]
pub(super) struct Words(Region);

/// This process's own control words.
pub(super) struct Control {
    words: Words,
    ticket: Option<Ticket>,
    _keep: Keep,
}

enum Keep {
    Heap(#[allow(dead_code, reason = "it keeps the memory")] Block),
    Private(#[allow(dead_code, reason = "it keeps the memory")] Owned),
}

/// Bytes of the control words in a window of `members`.
pub(super) fn bytes(members: i32) -> usize {
    WAITERS + (members as usize).div_ceil(64) * BITS
}

impl Control {
    /// New control words in a window of `members`. `MPI_ERR_NO_MEM` if there is no room.
    pub(super) fn new(process: &Process, members: i32) -> Result<Control> {
        let bytes = bytes(members);
        let Some(heap) = process.heap() else {
            let owned = Owned::zeroed(bytes);
            return Ok(Control { words: Words(owned.lend()), ticket: None, _keep: Keep::Private(owned) });
        };
        let block = heap.allocate(bytes).map_err(no_memory)?;
        let words = Words(block.region());
        Ok(Control { words, ticket: Some(block.ticket()), _keep: Keep::Heap(block) })
    }

    /// The words.
    #[inline]
    pub(super) fn words(&self) -> Words {
        self.words
    }

    /// Their ticket, if they lie in the heap.
    pub(super) fn ticket(&self) -> Option<Ticket> {
        self.ticket
    }
}

impl Words {
    /// The words of another member of the node.
    pub(super) fn at(region: Region) -> Words {
        Words(region)
    }

    /// The word of the lock.
    #[inline]
    pub(super) fn lock(&self) -> Region {
        self.0.part(0, WORD)
    }

    /// The words of the stripes.
    #[inline]
    pub(super) fn stripes(&self) -> Region {
        self.0.part(STRIPES_AT, STRIPES_BYTES)
    }

    /// Notes whether a rank waits for the lock.
    pub(super) fn set_waiting(&self, rank: i32, waits: bool) {
        let (group, bit) = bit_of(rank);
        self.0.update(WAITERS + group, WORD, |bits| if waits { bits | bit } else { bits & !bit });
    }

    /// Notes that a rank exposes its memory to this one.
    pub(super) fn post(&self, rank: i32) {
        let (group, bit) = bit_of(rank);
        self.0.fetch(Native::Or, POSTS + group, WORD, bit);
    }

    /// Takes the note of a rank that exposes its memory, if it is there. Only this process calls
    /// this.
    #[inline]
    pub(super) fn take_post(&self, rank: i32) -> bool {
        let (group, bit) = bit_of(rank);
        let is_there = self.0.word_load(POSTS + group) & bit != 0;
        if is_there {
            self.0.fetch(Native::And, POSTS + group, WORD, !bit);
        }
        is_there
    }

    /// Notes that an origin has completed its access.
    pub(super) fn complete(&self) {
        self.0.fetch_add(COMPLETES, WORD, 1);
    }

    /// The number of origins that have completed their access.
    #[inline]
    pub(super) fn completes(&self) -> u64 {
        self.0.word_load(COMPLETES)
    }

    /// Forgets the completes of as many origins.
    pub(super) fn forget_completes(&self, origins: u64) {
        self.0.fetch_add(COMPLETES, WORD, origins.wrapping_neg());
    }

    /// Calls `each` with every rank that waits for the lock, in a window of `members`.
    pub(super) fn for_each_waiting(&self, members: i32, mut each: impl FnMut(i32)) {
        // The lock was given back before, and whoever does not see that has set its bit before.
        fence(Ordering::SeqCst);
        for group in 0..(members as usize).div_ceil(64) {
            // Another process may have stored anything there.
            let ranks = (members as usize - group * 64).min(64);
            let mut bits = self.0.word_load(WAITERS + group * BITS) & (u64::MAX >> (64 - ranks));
            while bits != 0 {
                each((group * 64) as i32 + bits.trailing_zeros() as i32);
                bits &= bits - 1;
            }
        }
    }

    /// Tells the attached memory. Only its process calls this, one thread at a time.
    pub(super) fn tell(&self, attached: &[Attached]) {
        let version = self.0.word_load(TABLE_VERSION);
        self.0.word_store(TABLE_VERSION, version + 1);
        for (i, entry) in attached.iter().take(TABLE_MAX).enumerate() {
            let offset = entry.ticket.map_or(NO_TICKET, |ticket| ticket.offset);
            let words = [entry.address, entry.bytes, offset];
            words.into_iter().enumerate().for_each(|(k, word)| {
                self.0.word_store(TABLE + i * ENTRY + k * WORD, word);
            });
        }
        let len = if attached.len() <= TABLE_MAX { attached.len() as u64 } else { UNTOLD };
        self.0.word_store(TABLE_LEN, len);
        self.0.word_store(TABLE_VERSION, version + 2);
    }

    /// Finds the attached memory with the bytes from `low` to `high`: its address and ticket.
    pub(super) fn find_attached(&self, low: u64, high: u64) -> Found {
        loop {
            let version = self.0.word_load(TABLE_VERSION);
            let found = self.look(low, high);
            if version.is_multiple_of(2) && self.0.word_load(TABLE_VERSION) == version {
                return found;
            }
            std::hint::spin_loop();
        }
    }

    fn look(&self, low: u64, high: u64) -> Found {
        let len = self.0.word_load(TABLE_LEN);
        if len == UNTOLD {
            return Found::Untold;
        }
        let mut found: Option<Entry> = None;
        for at in (0..(len as usize).min(TABLE_MAX)).map(|i| TABLE + i * ENTRY) {
            let [address, bytes, offset] = [0, 1, 2].map(|k| self.0.word_load(at + k * WORD));
            let entry = Entry { address, bytes, offset };
            found = match found {
                // Pieces side by side are one.
                Some(before) if before.end() == address => Some(before.joined(entry)),
                _ if (address..=entry.end()).contains(&low) => Some(entry),
                _ => None,
            };
            if let Some(entry) = found.filter(|entry| low >= entry.address && high <= entry.end()) {
                return Found::Attached { address: entry.address, ticket: entry.ticket() };
            }
        }
        Found::Nothing
    }
}

/// The place of a rank's words among those of all ranks, and its bit there.
#[inline]
fn bit_of(rank: i32) -> (usize, u64) {
    (rank as usize / 64 * BITS, 1 << (rank % 64))
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
    /// The table does not tell everything.
    Untold,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(members: i32) -> (Owned, Words) {
        let owned = Owned::zeroed(bytes(members));
        let words = Words(owned.lend());
        (owned, words)
    }

    #[test]
    fn waiting_ranks_are_found_in_order() {
        let (_owned, words) = words(130);
        for rank in [129, 0, 64] {
            words.set_waiting(rank, true);
        }
        words.set_waiting(64, false);
        let mut found = Vec::new();
        words.for_each_waiting(130, |rank| found.push(rank));
        assert_eq!(found, [0, 129]);
    }

    #[test]
    fn posts_and_completes_are_taken_once() {
        let (_owned, words) = words(130);
        words.set_waiting(65, true);
        [65, 129].into_iter().for_each(|rank| words.post(rank));
        assert!(!words.take_post(64) && words.take_post(65) && !words.take_post(65));
        assert!(words.take_post(129));
        let mut waiting = Vec::new();
        words.for_each_waiting(130, |rank| waiting.push(rank));
        assert_eq!(waiting, [65], "both sorts of notes lie apart");
        (0..3).for_each(|_| words.complete());
        words.forget_completes(2);
        assert_eq!(words.completes(), 1);
    }

    #[test]
    fn a_rank_that_the_window_lacks_does_not_wait() {
        let (_owned, words) = words(3);
        words.0.word_store(WAITERS, u64::MAX);
        let mut found = Vec::new();
        words.for_each_waiting(3, |rank| found.push(rank));
        assert_eq!(found, [0, 1, 2]);
    }

    #[test]
    fn attached_memory_is_told_until_the_table_is_full() {
        let (_owned, words) = words(1);
        let entry = |i: u64| Attached::told(100 * i, 10, (i == 2).then_some(Ticket { offset: 7, bytes: 10 }));
        let all: Vec<Attached> = (1..=TABLE_MAX as u64 + 1).map(entry).collect();
        assert_eq!(words.find_attached(100, 101), Found::Nothing);
        words.tell(&all[..3]);
        assert_eq!(words.find_attached(105, 110), Found::Attached { address: 100, ticket: None });
        let ticket = Some(Ticket { offset: 7, bytes: 10 });
        assert_eq!(words.find_attached(200, 210), Found::Attached { address: 200, ticket });
        assert_eq!(words.find_attached(200, 211), Found::Nothing);
        assert_eq!(words.find_attached(400, 401), Found::Nothing);
        words.tell(&all);
        assert_eq!(words.find_attached(105, 110), Found::Untold);
    }

    #[test]
    fn pieces_side_by_side_are_one() {
        let (_owned, words) = words(1);
        let ticket = |offset| Some(Ticket { offset, bytes: 10 });
        let piece = |address, offset| Attached::told(address, 10, ticket(offset));
        words.tell(&[piece(90, 0), piece(110, 7), piece(120, 17), piece(130, 99), piece(150, 109)]);
        let of = |address, ticket| Found::Attached { address, ticket };
        assert_eq!(words.find_attached(115, 125), of(110, Some(Ticket { offset: 7, bytes: 20 })));
        assert_eq!(words.find_attached(125, 130), of(120, ticket(17)));
        assert_eq!(words.find_attached(115, 140), of(110, None));
        assert_eq!(words.find_attached(132, 140), of(130, ticket(99)));
        assert_eq!(words.find_attached(135, 141), Found::Nothing);
        assert_eq!(words.find_attached(95, 111), Found::Nothing);
    }
}
