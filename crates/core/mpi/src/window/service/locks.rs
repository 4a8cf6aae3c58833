//! The window's lock on behalf of origins: who holds it, and who waits.
//!
//! The lock is the word that processes of the node take by themselves, too. An origin gets its
//! ticket when its request is looked at, so tickets are in the order of arrival, and nobody behind
//! the first one who waits can enter before it.

use super::Exposed;
use crate::window::lock::{Attempt, Claim, Kind, Lock, Ticket};
use std::collections::{BTreeMap, VecDeque};

/// Holders and waiters.
#[derive(Default)]
pub(super) struct Locks {
    held: BTreeMap<i32, Kind>,
    waiting: VecDeque<Waiter>,
}

/// An origin that waits.
#[derive(Clone, Copy)]
pub(super) struct Waiter {
    pub(super) origin: i32,
    /// The number of its request.
    pub(super) number: u32,
    kind: Kind,
    ticket: Ticket,
}

impl Locks {
    /// Returns whether the origin holds the lock.
    pub(super) fn is_held(&self, origin: i32) -> bool {
        self.held.contains_key(&origin)
    }

    /// Returns whether anybody waits for the lock.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns whether nobody holds the lock or waits for it.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.waiting.is_empty()
    }

    /// Takes the lock for an origin if it is free. Else the origin waits.
    pub(super) fn take(&mut self, exposed: &dyn Exposed, origin: i32, number: u32, kind: Kind) -> bool {
        let lock = Lock(exposed.lock());
        exposed.note_served(self.tickets() + 1);
        let entered = lock.try_lock(kind);
        match entered {
            true => _ = self.held.insert(origin, kind),
            false => self.waiting.push_back(Waiter { origin, number, kind, ticket: lock.ticket() }),
        }
        entered
    }

    /// Lets the first who waits in, if it is its turn.
    pub(super) fn admit(&mut self, exposed: &dyn Exposed) -> Option<Waiter> {
        let first = *self.waiting.front()?;
        let Attempt::Entered { next } = Lock(exposed.lock()).try_enter(first.ticket, first.kind) else {
            return None;
        };
        self.waiting.pop_front();
        self.held.insert(first.origin, first.kind);
        if let Some(next) = next {
            exposed.wake_waiting(next);
        }
        Some(first)
    }

    /// The tickets of those who hold the lock or wait for it.
    fn tickets(&self) -> usize {
        self.held.len() + self.waiting.len()
    }

    /// Takes those out of the queue who wait behind one who has died with this claim. They get no
    /// lock: it is never given on from there.
    pub(super) fn take_stuck(&mut self, exposed: &dyn Exposed, claim: Claim) -> VecDeque<Waiter> {
        let lock = Lock(exposed.lock());
        let first = self.waiting.iter().position(|waiter| lock.is_behind(waiter.ticket, claim));
        first.map_or_else(VecDeque::new, |first| self.waiting.split_off(first))
    }

    /// Gives the lock of an origin back. Returns whether it held it.
    pub(super) fn give(&mut self, exposed: &dyn Exposed, origin: i32) -> bool {
        let Some(kind) = self.held.remove(&origin) else { return false };
        if let Some(next) = Lock(exposed.lock()).leave(kind) {
            exposed.wake_waiting(next);
        }
        exposed.note_served(self.tickets());
        true
    }
}
