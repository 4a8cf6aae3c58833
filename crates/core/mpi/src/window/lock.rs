//! A fair lock for readers and writers in one word of 8 bytes, which processes share.
//!
//! Whoever comes takes a ticket. The word holds three counts: the tickets given out (*next*), the
//! ticket whose holder may enter as a reader (*readers*), and the one whose holder may enter as a
//! writer (*writers*). A reader who enters lets the next reader in; a reader who leaves adds to
//! *writers*, a writer who leaves to both. So a writer enters when everybody before it has left,
//! and nobody overtakes. The difference of the last two counts is the number of readers inside.
//!
//! Nothing here waits: the caller does, between attempts, in its own way. For one who sleeps
//! meanwhile, the functions tell whose turn may have come, so that one is woken and no other: after
//! a leave, and also after a reader entered, since the next one may be a reader as well.
//!
//! The word is behind [`Word`], so that loom can try every interleaving.

#[cfg(test)]
mod tests;

use verbena_memory::Region;

/// The bits of a count. They limit how many may wait or be inside at once, to some two million.
const BITS: u32 = 21;
const COUNT: u64 = (1 << BITS) - 1;
const READERS: u32 = BITS;
const WRITERS: u32 = 2 * BITS;

/// The share of a holder in the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Shares the lock with other readers (`MPI_LOCK_SHARED`).
    Reader,
    /// Holds it alone (`MPI_LOCK_EXCLUSIVE`).
    Writer,
}

/// A place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u32);

/// The share that a process says to have in a lock, so that others know it when it has died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The process holds the lock, or is about to take a ticket, or has just left, or waits in one
    /// of very many threads.
    Holds,
    /// The process waits with this ticket.
    Waits(Ticket),
}

impl Ticket {
    /// The ticket with this number.
    pub(super) fn of(number: u32) -> Ticket {
        Ticket(number)
    }

    /// The ticket's number.
    #[inline]
    pub fn number(self) -> u32 {
        self.0
    }
}

/// The outcome of an attempt to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Attempt {
    /// The ticket's turn has not come.
    Early,
    /// The lock is held now.
    Entered {
        /// The next in the queue, if it may be able to enter too: it must be woken if it sleeps.
        next: Option<Ticket>,
    },
}

/// A word of 8 bytes that several change.
pub trait Word {
    /// Reads it (acquire).
    fn load(&self) -> u64;
    /// Writes `new` if it is `current` (acquire and release); else returns what it is.
    fn compare_exchange(&self, current: u64, new: u64) -> Result<u64, u64>;
}

impl Word for Region {
    #[inline]
    fn load(&self) -> u64 {
        self.word_load(0)
    }

    #[inline]
    fn compare_exchange(&self, current: u64, new: u64) -> Result<u64, u64> {
        Region::compare_exchange(self, 0, size_of::<u64>(), current, new)
    }
}

/// The counts in a word.
#[derive(Clone, Copy)]
struct Counts {
    next: u64,
    readers: u64,
    writers: u64,
}

impl Counts {
    #[inline]
    fn of(word: u64) -> Counts {
        Counts { next: word & COUNT, readers: word >> READERS & COUNT, writers: word >> WRITERS & COUNT }
    }

    #[inline]
    fn word(self) -> u64 {
        (self.next & COUNT) | (self.readers & COUNT) << READERS | (self.writers & COUNT) << WRITERS
    }

    /// The ticket that may enter.
    #[inline]
    fn turn(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Reader => self.readers,
            Kind::Writer => self.writers,
        }
    }

    /// Returns whether the reader with this ticket has entered. The count of writers says nothing
    /// of it: it counts those that have left, in any order.
    #[inline]
    fn have_entered(&self, reader: Ticket) -> bool {
        let since = self.readers.wrapping_sub(u64::from(reader.0)) & COUNT;
        (1..=COUNT / 2).contains(&since)
    }

    /// Returns whether somebody has a ticket and is not inside, given that no writer is.
    #[inline]
    fn is_awaited(&self) -> bool {
        self.next != self.readers
    }
}

/// A lock in a word that is 0 at first.
#[derive(Clone, Copy, Debug)]
pub struct Lock<W>(pub W);

impl<W: Word> Lock<W> {
    /// Takes a place in the queue. Its taker must try to enter until it does.
    pub fn ticket(&self) -> Ticket {
        let before = self.change(|counts| Some(Counts { next: counts.next + 1, ..counts }));
        Ticket(before.map_or(0, |counts| counts.next) as u32)
    }

    /// Enters if it is this ticket's turn.
    pub fn try_enter(&self, ticket: Ticket, kind: Kind) -> Attempt {
        let counts = Counts::of(self.0.load());
        if counts.turn(kind) != u64::from(ticket.0) {
            return Attempt::Early;
        }
        if kind == Kind::Writer {
            return Attempt::Entered { next: None };
        }
        // Only the holder of this ticket changes the count of readers now.
        let before = self.change(|counts| Some(Counts { readers: counts.readers + 1, ..counts }));
        let after = before.map(|counts| (counts.next, (counts.readers + 1) & COUNT));
        let next = after.filter(|(next, readers)| next != readers).map(|(_, readers)| Ticket(readers as u32));
        Attempt::Entered { next }
    }

    /// Returns whether one who waits with this ticket waits for the one with this claim to leave,
    /// both of whom have not left.
    pub fn is_behind(&self, ticket: Ticket, claim: Claim) -> bool {
        let counts = Counts::of(self.0.load());
        let before = |ticket: Ticket| u64::from(ticket.0).wrapping_sub(counts.writers) & COUNT;
        match claim {
            Claim::Holds => true,
            Claim::Waits(other) => counts.have_entered(other) || before(other) < before(ticket),
        }
    }

    /// The claim as the counts show it: a reader that has entered holds the lock, though it says
    /// that it waits.
    pub fn seen(&self, claim: Claim) -> Claim {
        match claim {
            Claim::Waits(ticket) if Counts::of(self.0.load()).have_entered(ticket) => Claim::Holds,
            _ => claim,
        }
    }

    /// Returns whether all tickets of those inside or waiting are accounted for by those that may
    /// have one, whom `count` counts meanwhile. False if the lock has changed by then.
    pub fn is_accounted(&self, count: impl FnOnce() -> usize) -> bool {
        let word = self.0.load();
        let counts = Counts::of(word);
        let tickets = counts.next.wrapping_sub(counts.writers) & COUNT;
        count() as u64 >= tickets && self.0.load() == word
    }

    /// Returns whether somebody is inside, or waits to be.
    pub fn is_taken(&self) -> bool {
        let counts = Counts::of(self.0.load());
        counts.next != counts.writers
    }

    /// Enters if nobody is in the way or waits.
    #[inline]
    pub fn try_lock(&self, kind: Kind) -> bool {
        let entered = self.change(|counts| {
            let readers = counts.readers + u64::from(kind == Kind::Reader);
            (counts.turn(kind) == counts.next).then_some(Counts { next: counts.next + 1, readers, ..counts })
        });
        entered.is_some()
    }

    /// Leaves. Returns the ticket whose holder may be able to enter now, and must be woken if it
    /// sleeps.
    #[inline]
    #[must_use]
    pub fn leave(&self, kind: Kind) -> Option<Ticket> {
        let readers = u64::from(kind == Kind::Writer);
        let left = |counts: Counts| Counts {
            readers: (counts.readers + readers) & COUNT,
            writers: (counts.writers + 1) & COUNT,
            ..counts
        };
        let before = self.change(|counts| Some(left(counts)));
        let now = before.map(left).filter(|now| now.is_awaited() && now.readers == now.writers);
        now.map(|now| Ticket(now.readers as u32))
    }

    /// Changes the counts, and returns the former ones; `None`, without a change, if `change` gives
    /// none.
    #[inline]
    fn change(&self, change: impl Fn(Counts) -> Option<Counts>) -> Option<Counts> {
        let mut word = self.0.load();
        loop {
            let counts = Counts::of(word);
            match self.0.compare_exchange(word, change(counts)?.word()) {
                Ok(_) => return Some(counts),
                Err(other) => word = other,
            }
        }
    }
}
