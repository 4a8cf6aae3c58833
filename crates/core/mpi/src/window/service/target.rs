//! The target's side: it takes requests from the engine and sorts them by origin.

use super::kept::kept_bytes_max;
use super::known::Known;
use super::line::{Arrived, Helpers, Line};
use super::locks::Locks;
use super::notes::Notes;
use super::outbox::Outbox;
use super::request::BYTES_MAX;
use super::shows::Shows;
use super::{Addresses, Counts, Exposed, REQUEST_TAG, error};
use crate::error::Error;
use crate::process::Access;
use crate::window::counts;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_engine::{ANY_SOURCE, Engine, Failure, Posted};
use verbena_memory::{Buffer, Owned};

/// The most requests that a step takes from the engine.
const TAKEN_MAX: usize = 64;
/// No more requests are taken while those that cannot begin hold this many bytes.
const PARKED_BYTES_MAX: usize = 4 << 20;

/// The most origins that get the lock in a row.
const ADMITTED_MAX: usize = 64;
/// The work of a step, in bytes of data that are looked at. So a process that is a target comes
/// back to its own calls within some hundred microseconds.
const STEP_BYTES_MAX: usize = 512 << 10;

/// The target's side of a window.
pub(super) struct Target {
    addresses: Arc<Addresses>,
    /// The origins with requests that are not finished.
    lines: BTreeMap<i32, Line>,
    /// The origin with which the next step begins: the last one ended before it.
    first: i32,
    locks: Locks,
    notes: Notes,
    known: Known,
    shows: Shows,
}

impl Target {
    /// The target's side of the window with these addresses.
    pub(super) fn new(addresses: Arc<Addresses>) -> Target {
        let known = Known::new(kept_bytes_max(addresses.group.size()));
        Target {
            addresses,
            lines: BTreeMap::new(),
            first: 0,
            locks: Locks::default(),
            notes: Notes::default(),
            known,
            shows: Shows::default(),
        }
    }

    /// Makes a bounded step. Returns whether anything happened.
    pub(super) fn advance(&mut self, access: &mut impl Access, exposed: &dyn Exposed) -> bool {
        let mut left = STEP_BYTES_MAX;
        let mut moved = self.take(access);
        moved |= self.refuse_waiting(access, exposed);
        moved |= self.admit(access, exposed);
        moved |= self.advance_lines(access, exposed, &mut left);
        // A lock may have been given back.
        if self.admit(access, exposed) {
            self.advance_lines(access, exposed, &mut left);
            moved = true;
        }
        self.lines.retain(|_, line| !line.is_idle());
        moved
    }

    /// Takes requests from the engine.
    fn take(&mut self, access: &mut impl Access) -> bool {
        let parked: usize = self.lines.values().map(Line::parked).sum();
        if parked > PARKED_BYTES_MAX {
            self.notes.counts.pauses += 1;
            return false;
        }
        let taken = access.look(|engine| {
            let (mut taken, mut room) = (0, PARKED_BYTES_MAX as u64);
            while taken < TAKEN_MAX
                && room > 0
                && let Some((origin, bytes)) = self.next(engine)
            {
                self.take_one(engine, origin, bytes);
                (taken, room) = (taken + 1, room.saturating_sub(bytes));
            }
            taken
        });
        if taken > 0 {
            access.begun();
        }
        self.notes.counts.requests += taken as u64;
        counts::requests_served(taken as u64);
        taken > 0
    }

    /// The next request that may be taken: its origin, and its bytes. Those of an origin that waits
    /// for the lock, and has much here already, stay with the engine, which throttles it; the lock
    /// comes free by the requests of others.
    fn next(&self, engine: &mut Engine) -> Option<(i32, u64)> {
        let context = self.addresses.requests;
        let mut probe = |origin| engine.probe(context, origin, REQUEST_TAG).map(|it| (it.source, it.bytes));
        let is_full = |origin: &i32| self.lines.get(origin).is_some_and(Line::is_full);
        let first = probe(ANY_SOURCE)?;
        if !is_full(&first.0) {
            return Some(first);
        }
        (0..self.addresses.group.size()).filter(|origin| !is_full(origin)).find_map(probe)
    }

    /// Takes the next request of an origin, which is there. One that is far too long, or of nobody,
    /// is dropped.
    fn take_one(&mut self, engine: &mut Engine, origin: i32, bytes: u64) {
        let context = self.addresses.requests;
        let Some((message, _)) = engine.match_probe(context, origin, REQUEST_TAG) else { return };
        let size = self.addresses.group.size();
        let refusal = match (0..size).contains(&origin) {
            false => Some(error::no_member(origin, size)),
            true => (bytes > BYTES_MAX as u64).then(|| error::garbled(bytes as usize)),
        };
        let room = if refusal.is_some() { 0 } else { bytes as usize };
        let bytes = Owned::zeroed(room);
        let buffer = Buffer::Contiguous(bytes.lend());
        let receive = match engine.receive_matched(message, Mark::NONE, buffer) {
            Posted::Pending(id) => Some(id),
            Posted::Done(_) => None,
        };
        if let Some(refusal) = refusal {
            receive.into_iter().for_each(|id| engine.forget(id));
            return self.notes.fault(refusal);
        }
        let addresses = &self.addresses;
        let line = self.lines.entry(origin);
        let line = line.or_insert_with(|| Line::new(Outbox::new(addresses.clone(), origin)));
        line.push(Arrived { bytes, receive });
    }

    /// Lets origins have the lock for which they wait, as far as it is their turn.
    fn admit(&mut self, access: &mut impl Access, exposed: &dyn Exposed) -> bool {
        let mut admitted = 0;
        while admitted < ADMITTED_MAX
            && let Some(waiter) = self.locks.admit(exposed)
        {
            admitted += 1;
            let line = self.lines.get_mut(&waiter.origin);
            if !line.is_some_and(|line| line.locked(access, waiter.number)) {
                self.locks.give(exposed, waiter.origin);
            }
        }
        admitted > 0
    }

    /// Tells those who wait for the lock that they wait in vain if an origin has died with it, or a
    /// member that may have taken it in mapped memory before them.
    fn refuse_waiting(&mut self, access: &mut impl Access, exposed: &dyn Exposed) -> bool {
        let may_wait = self.locks.is_held_by_any() || self.locks.is_awaited();
        if !may_wait || access.look(|engine| engine.losses()) == 0 {
            return false;
        }
        let Addresses { requests, group, rank, .. } = &*self.addresses;
        let loss = |origin: i32| {
            let peer = group.peer(origin);
            let loss =
                |engine: &mut Engine| engine.loss(*requests, Some(peer)).filter(|_| !engine.is_suspect(peer));
            Some((origin, access.look(loss)?))
        };
        // Who takes the lock in mapped memory, or waits there, is not known here.
        let others = if self.locks.awaits_others(exposed) { 0..group.size() } else { 0..0 };
        let others = others.filter(|member| member != rank && exposed.takes_by_itself(*member));
        let Some((holder, loss)) = self.locks.holders().chain(others).find_map(loss) else { return false };
        exposed.note_dead_holder(holder);
        let is_told = matches!(loss, Failure::Dead(_));
        let error = match self.locks.is_held(holder) {
            true => error::dead_holder(holder, *rank, is_told),
            // It may have had a place in the queue only: that is never given on either.
            false => error::dead_before(holder, *rank, is_told),
        };
        let waiting = self.locks.take_waiting();
        let told = waiting.len();
        for waiter in waiting {
            if let Some(line) = self.lines.get_mut(&waiter.origin) {
                self.notes.counts.failures += 1;
                line.refused(access, waiter.number, &error);
            }
        }
        told > 0
    }

    /// Moves the origins' requests on, one origin after another, while there are bytes of work
    /// `left`.
    fn advance_lines(&mut self, access: &mut impl Access, exposed: &dyn Exposed, left: &mut usize) -> bool {
        let Target { lines, first, locks, notes, known, shows, .. } = self;
        let mut helpers = Helpers { exposed, locks, notes, known, shows, left };
        let mut moved = false;
        let mut advance = |(&origin, line): (&i32, &mut Line)| {
            if *helpers.left == 0 {
                return ControlFlow::Break(origin);
            }
            moved |= line.advance(access, &mut helpers);
            ControlFlow::Continue(())
        };
        let mut stopped = lines.range_mut(*first..).try_for_each(&mut advance);
        if stopped.is_continue() {
            stopped = lines.range_mut(..*first).try_for_each(&mut advance);
        }
        if let ControlFlow::Break(origin) = stopped {
            *first = origin;
        }
        moved
    }

    /// Drops requests that came too late, and returns how many.
    pub(super) fn refuse_rest(&mut self, access: &mut impl Access) -> usize {
        let context = self.addresses.requests;
        access.look(|engine| {
            let mut refused = 0;
            while let Some((message, _)) = engine.match_probe(context, ANY_SOURCE, REQUEST_TAG) {
                if let Posted::Pending(id) = engine.receive_matched(message, Mark::NONE, Buffer::EMPTY) {
                    engine.forget(id);
                }
                refused += 1;
            }
            refused
        })
    }

    /// Hides the memory from all origins that it was shown to.
    pub(super) fn hide(&mut self, access: &mut impl Access) {
        self.shows.hide(access, &self.addresses.group);
    }

    /// Takes the first error that no origin can be told.
    pub(super) fn take_fault(&mut self) -> Option<Error> {
        self.notes.take_fault()
    }

    /// Returns the counts.
    pub(super) fn counts(&self) -> Counts {
        Counts { datatypes: self.known.reads(), ..self.notes.counts }
    }

    /// Returns whether a step may find anything to do though no request has come.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        !self.lines.is_empty() || self.locks.is_awaited()
    }

    /// Returns whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.lines.is_empty() && self.locks.is_idle()
    }
}
