//! The control words of a member: its lock, its stripes, who waits for its lock, who has posted to
//! it and completed there, and the memory that it attached. If the node has a heap, all its
//! processes have them mapped.
//!
//! | words | meaning |
//! | --- | --- |
//! | 0 | the lock |
//! | 1 | to how many origins the memory is exposed |
//! | 2 | the rank, plus 1, that has died with the lock or in the queue, and its ticket, plus 1 |
//! | 3 | the tickets of the lock that the owner's service has, for origins that send messages |
//! | 8 to 135 | the stripes, each on a line of its own |
//! | 136 on | the table of attached memory ([`Table`]) |
//! | then, 128 words | those that wait for the lock, by ticket: the ticket, plus 1, and the rank |
//! | then, 8 words | the locks for which this process waits: ticket, plus 1, and owner |
//! | then | for each 64 ranks, in bits: see below |
//!
//! The bits are those that wait for the lock, that have posted, and that have completed their
//! access to the exposure; and those whose locks this process *claims*: it sets the bit before it
//! takes a ticket and clears it when it has left. So the words of a process that has died, which
//! others still see, tell whether anybody waits for it in vain, and who.

#[cfg(test)]
mod tests;

use super::lock::{Claim, Lock, Ticket as Turn};
use super::own::no_memory;
use super::stripe::STRIPES_BYTES;
use super::table::{self, Table};
use crate::error::Result;
use crate::process::Process;
use std::sync::atomic::{Ordering, fence};
use verbena_channel::heap::{Block, Ticket};
use verbena_memory::atomic::Native;
use verbena_memory::{Owned, Region};
use verbena_waiting::lock::SingleThread;

const WORD: usize = 8;
const EXPOSED: usize = WORD;
const DEAD: usize = 2 * WORD;
const SERVED: usize = 3 * WORD;
const STRIPES_AT: usize = 8 * WORD;
const TABLE: usize = STRIPES_AT + STRIPES_BYTES;
/// The number of places for those that wait for the lock. If more wait, some are woken in vain.
const TURNS: usize = 128;
const TURNS_AT: usize = TABLE + table::BYTES;
/// The number of places for the locks for which this process waits: as many threads may wait.
const CLAIMED_TURNS: usize = 8;
const CLAIMED_TURNS_AT: usize = TURNS_AT + TURNS * WORD;
const WAITERS: usize = CLAIMED_TURNS_AT + CLAIMED_TURNS * WORD;
const POSTS: usize = WAITERS + WORD;
const COMPLETED: usize = POSTS + WORD;
const CLAIMS: usize = COMPLETED + WORD;
/// Bytes of the words of 64 ranks.
const BITS: usize = 4 * WORD;

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

    /// Notes that a rank has died with this claim on the lock, which is never given on from there.
    /// Returns whether that is news: nobody is known to have died before its place.
    pub(super) fn note_dead(&self, rank: i32, claim: Claim) -> bool {
        let lock = Lock(self.lock());
        let claim = lock.seen(claim);
        let ticket = match claim {
            Claim::Holds => 0,
            Claim::Waits(ticket) => u64::from(ticket.number()) + 1,
        };
        let noted = ticket << 32 | u64::from(rank as u32 + 1);
        let mut is_news = false;
        self.0.update(DEAD, WORD, |before| {
            is_news = match dead_of(before) {
                None => true,
                Some((_, Claim::Holds)) => false,
                Some((_, Claim::Waits(other))) => lock.is_behind(other, claim),
            };
            if is_news { noted } else { before }
        });
        is_news
    }

    /// The rank that has died before one who waits with this ticket, as somebody has noted, and the
    /// claim with which it did.
    #[inline]
    pub(super) fn dead_before(&self, ticket: Turn) -> Option<(i32, Claim)> {
        let dead = dead_of(self.0.word_load(DEAD));
        dead.filter(|(_, claim)| Lock(self.lock()).is_behind(ticket, *claim))
    }

    /// Notes how many tickets of the lock the owner's service has.
    pub(super) fn note_served(&self, tickets: usize) {
        self.0.word_store(SERVED, tickets as u64);
    }

    /// The tickets of the lock that the owner's service has, one more while it takes one.
    pub(super) fn served(&self) -> usize {
        self.0.word_load(SERVED) as usize
    }

    /// Claims the lock of `owner`. These are the words of the process that is about to take it.
    #[inline]
    pub(super) fn claim(&self, owner: i32) {
        let (group, bit) = bit_of(owner);
        match SingleThread::now() {
            // Only this process changes the word.
            Some(_) => self.0.word_store(CLAIMS + group, self.0.word_load(CLAIMS + group) | bit),
            None => _ = self.0.fetch(Native::Or, CLAIMS + group, WORD, bit),
        }
    }

    /// Takes back [`Words::claim`]: the lock was given back.
    #[inline]
    pub(super) fn unclaim(&self, owner: i32) {
        let (group, bit) = bit_of(owner);
        match SingleThread::now() {
            Some(_) => self.0.word_store(CLAIMS + group, self.0.word_load(CLAIMS + group) & !bit),
            None => _ = self.0.fetch(Native::And, CLAIMS + group, WORD, !bit),
        }
    }

    /// Notes with which ticket the process of these words waits for the lock of `owner`. Returns
    /// the note's place; `None` if very many threads wait: then it counts as a holder.
    pub(super) fn claim_turn(&self, owner: i32, ticket: Turn) -> Option<usize> {
        let mut places = claimed_turns();
        places.find(|&place| self.0.compare_exchange(place, WORD, 0, turn(ticket, owner)).is_ok())
    }

    /// Takes back [`Words::claim_turn`]: the process has the lock, or waits no more.
    pub(super) fn end_claimed_turn(&self, place: Option<usize>) {
        if let Some(place) = place {
            self.0.word_store(place, 0);
        }
    }

    /// The claim that the process of these words has, or had when it died, on the lock of `owner`.
    pub(super) fn claim_on(&self, owner: i32) -> Option<Claim> {
        let (group, bit) = bit_of(owner);
        if self.0.word_load(CLAIMS + group) & bit == 0 {
            return None;
        }
        let ticket_of = |note: u64| {
            let ticket = Turn::of(((note >> 32) as u32).checked_sub(1)?);
            (turn(ticket, owner) == note).then_some(ticket)
        };
        let ticket = claimed_turns().find_map(|place| ticket_of(self.0.word_load(place)));
        Some(ticket.map_or(Claim::Holds, Claim::Waits))
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
        // Whoever gives the lock back sees the note, or the look afterwards sees that.
        fence(Ordering::SeqCst);
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

    /// Returns whether the memory is exposed to an origin, of `members`, that has not completed its
    /// access.
    #[inline]
    pub(super) fn is_exposed(&self, members: i32) -> bool {
        let origins = self.0.word_load(EXPOSED);
        origins > 0 && origins > self.completes(members)
    }

    #[cold]
    fn completes(&self, members: i32) -> u64 {
        let group = |group: usize| self.0.word_load(COMPLETED + group * BITS).count_ones();
        (0..(members as usize).div_ceil(64)).map(|at| u64::from(group(at))).sum()
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

    /// Notes that a rank has completed its access, or is given up.
    pub(super) fn complete(&self, rank: i32) {
        let (group, bit) = bit_of(rank);
        self.0.fetch(Native::Or, COMPLETED + group, WORD, bit);
    }

    /// Returns whether a rank has completed its access.
    #[inline]
    pub(super) fn has_completed(&self, rank: i32) -> bool {
        let (group, bit) = bit_of(rank);
        self.0.word_load(COMPLETED + group) & bit != 0
    }

    /// Forgets that a rank has completed its access.
    pub(super) fn forget_complete(&self, rank: i32) {
        let (group, bit) = bit_of(rank);
        self.0.fetch(Native::And, COMPLETED + group, WORD, !bit);
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
}

/// The places of the notes of the locks for which a process waits.
fn claimed_turns() -> impl Iterator<Item = usize> {
    (0..CLAIMED_TURNS).map(|at| CLAIMED_TURNS_AT + at * WORD)
}

/// The rank that a note says to have died, and its claim.
fn dead_of(note: u64) -> Option<(i32, Claim)> {
    let rank = (note as u32).checked_sub(1)?;
    let ticket = ((note >> 32) as u32).checked_sub(1).map(Turn::of);
    Some((rank as i32, ticket.map_or(Claim::Holds, Claim::Waits)))
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
