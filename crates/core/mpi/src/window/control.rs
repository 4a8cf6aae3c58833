//! The control words of a member: its lock, its stripes, who waits for its lock, who has posted to
//! it and completed there, and the memory that it attached. If the node has a heap, all its
//! processes have them mapped.
//!
//! | words | meaning |
//! | --- | --- |
//! | 0 | the lock |
//! | 1 | how many origins have completed their access to the exposure that is open |
//! | 2 | to how many origins the memory is exposed |
//! | 3 | the rank, plus 1, that has died with the lock |
//! | 8 to 135 | the stripes, each on a line of its own |
//! | 136 on | the table of attached memory ([`Table`]) |
//! | then, 128 words | those that wait for the lock, by ticket: the ticket, plus 1, and the rank |
//! | then | for each 64 ranks, in bits: those that wait for the lock; those that have posted |

#[cfg(test)]
mod tests;

use super::lock::Ticket as Turn;
use super::own::no_memory;
use super::stripe::STRIPES_BYTES;
use super::table::{self, Table};
use crate::error::Result;
use crate::process::Process;
use std::sync::atomic::{Ordering, fence};
use verbena_channel::heap::{Block, Ticket};
use verbena_memory::atomic::Native;
use verbena_memory::{Owned, Region};

const WORD: usize = 8;
const COMPLETES: usize = WORD;
const EXPOSED: usize = 2 * WORD;
const DEAD_HOLDER: usize = 3 * WORD;
const STRIPES_AT: usize = 8 * WORD;
const TABLE: usize = STRIPES_AT + STRIPES_BYTES;
/// The number of places for those that wait for the lock. If more wait, some are woken in vain.
const TURNS: usize = 128;
const TURNS_AT: usize = TABLE + table::BYTES;
const WAITERS: usize = TURNS_AT + TURNS * WORD;
const POSTS: usize = WAITERS + WORD;
/// Bytes of the words of 64 ranks.
const BITS: usize = 2 * WORD;

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

    /// Notes that this rank has died with the lock.
    pub(super) fn note_dead_holder(&self, rank: i32) {
        self.0.word_store(DEAD_HOLDER, rank as u64 + 1);
    }

    /// The rank that has died with the lock, as the owner's service found out.
    #[inline]
    pub(super) fn dead_holder(&self) -> Option<i32> {
        self.0.word_load(DEAD_HOLDER).checked_sub(1).map(|rank| rank as i32)
    }

    /// The words of the stripes.
    #[inline]
    pub(super) fn stripes(&self) -> Region {
        self.0.part(STRIPES_AT, STRIPES_BYTES)
    }

    /// The table of attached memory.
    pub(super) fn table(&self) -> Table {
        Table(self.0.part(TABLE, table::BYTES))
    }

    /// Notes that a rank waits for the lock with this ticket. It looks at the lock afterwards.
    pub(super) fn await_turn(&self, ticket: Turn, rank: i32) {
        self.0.swap(turn_at(ticket), WORD, turn(ticket, rank));
        self.set_waiting(rank, true);
    }

    /// Takes back [`Words::await_turn`]: the rank has the lock.
    pub(super) fn end_wait(&self, ticket: Turn, rank: i32) {
        self.set_waiting(rank, false);
        // Another one may have taken the place.
        let _ = self.0.compare_exchange(turn_at(ticket), WORD, turn(ticket, rank), 0);
    }

    fn set_waiting(&self, rank: i32, waits: bool) {
        let (group, bit) = bit_of(rank);
        self.0.update(WAITERS + group, WORD, |bits| if waits { bits | bit } else { bits & !bit });
    }

    /// Calls `each` with the rank, of `members`, that waits for the lock with this ticket, whose
    /// turn may have come. If none is known, with all that wait, and returns false: the ticket may
    /// be one of the owner's service.
    pub(super) fn for_each_to_wake(&self, ticket: Turn, members: i32, mut each: impl FnMut(i32)) -> bool {
        // The lock was given back before, and whoever does not see that is noted here.
        fence(Ordering::SeqCst);
        let noted = self.0.word_load(turn_at(ticket));
        let rank = noted as u32 as i32;
        if noted == turn(ticket, rank) && (0..members).contains(&rank) {
            each(rank);
            return true;
        }
        self.for_each_waiting(members, each);
        false
    }

    /// Notes to how many origins the memory is exposed; 0 when that ends.
    pub(super) fn expose(&self, origins: u64) {
        self.0.word_store(EXPOSED, origins);
    }

    /// Returns whether the memory is exposed to an origin that has not completed its access.
    #[inline]
    pub(super) fn is_exposed(&self) -> bool {
        self.0.word_load(EXPOSED) > self.completes()
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
    fn for_each_waiting(&self, members: i32, mut each: impl FnMut(i32)) {
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
}

/// The place of the note of a ticket's holder.
#[inline]
fn turn_at(ticket: Turn) -> usize {
    TURNS_AT + ticket.number() as usize % TURNS * WORD
}

/// The note that a rank holds a ticket.
#[inline]
fn turn(ticket: Turn, rank: i32) -> u64 {
    (u64::from(ticket.number()) + 1) << 32 | u64::from(rank as u32)
}

/// The place of a rank's words among those of all ranks, and its bit there.
#[inline]
fn bit_of(rank: i32) -> (usize, u64) {
    (rank as usize / 64 * BITS, 1 << (rank % 64))
}
