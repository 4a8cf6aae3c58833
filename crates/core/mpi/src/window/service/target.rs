//! The target's side: it takes requests from the engine and sorts them by origin.

use super::kept::kept_bytes_max;
use super::known::Known;
use super::line::{Arrived, Helpers, Line};
use super::locks::Locks;
use super::lost::{Lost, Member};
use super::notes::Notes;
use super::outbox::Outbox;
use super::request::BYTES_MAX;
use super::shows::Shows;
use super::{Addresses, Counts, Exposed, REQUEST_TAG, error};
use crate::error::Error;
use crate::process::Access;
use crate::window::counts;
use crate::window::lock::Claim;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_engine::{ANY_SOURCE, Engine, Posted};
use verbena_memory::{Buffer, Owned};

/// The most requests that a step takes from the engine.
const TAKEN_MAX: usize = 64;
/// The most origins that a step looks for while the engine's first request is of one that must
/// wait.
const LOOKS_MAX: i32 = 64;
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
    search: Search,
    locks: Locks,
    lost: Lost,
    notes: Notes,
    known: Known,
    shows: Shows,
}

/// The search for requests of others than origins that must wait: from one member to the next, a
/// few in a step, until all were asked since the last request came.
#[derive(Default)]
struct Search {
    /// The member that is asked next.
    at: i32,
    /// The members that are left to be asked.
    left: i32,
    /// The messages that had come when it began, and the origin that must wait.
    seen: Option<(u64, i32)>,
    /// The members that this step may still ask.
    looks: i32,
}

impl Search {
    /// Begins anew if there is news.
    fn begin(&mut self, waits: i32, came: u64, size: i32) {
        if self.seen.replace((came, waits)) != Some((came, waits)) {
            self.left = size;
        }
    }

    /// The next member to be asked; `None` if there is none, or the step is over.
    fn next(&mut self, size: i32) -> Option<i32> {
        if self.left == 0 || self.looks == 0 {
            return None;
        }
        (self.left, self.looks) = (self.left - 1, self.looks - 1);
        let at = self.at;
        self.at = (at + 1) % size;
        Some(at)
    }

    /// Asks this member again, which was the last one.
    fn stay_at(&mut self, member: i32) {
        (self.at, self.left) = (member, self.left + 1);
    }

    /// Begins anew: an origin that had to wait need not any more.
    fn begin_anew(&mut self) {
        self.seen = None;
    }

    /// Returns whether members are left to be asked in the next step.
    fn is_cut_short(&self) -> bool {
        self.left > 0
    }
}

impl Target {
    /// The target's side of the window with these addresses.
    pub(super) fn new(addresses: Arc<Addresses>) -> Target {
        let known = Known::new(kept_bytes_max(addresses.group.size()));
        Target {
            addresses,
            lines: BTreeMap::new(),
            first: 0,
            search: Search::default(),
            locks: Locks::default(),
            lost: Lost::default(),
            notes: Notes::default(),
            known,
            shows: Shows::default(),
        }
    }

    /// Makes a bounded step. Returns whether anything happened.
    pub(super) fn advance(&mut self, access: &mut impl Access, exposed: &dyn Exposed) -> bool {
        let mut left = STEP_BYTES_MAX;
        let mut moved = self.take(access);
        moved |= self.admit(access, exposed);
        moved |= self.refuse_waiting(access, exposed);
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
            self.search.looks = LOOKS_MAX;
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
        taken > 0 || self.search.is_cut_short()
    }

    /// The next request that may be taken: its origin, and its bytes. Those of an origin that waits
    /// for the lock, and has much here already, stay with the engine, which throttles it; the lock
    /// comes free by the requests of others.
    fn next(&mut self, engine: &mut Engine) -> Option<(i32, u64)> {
        let (context, size) = (self.addresses.requests, self.addresses.group.size());
        let came = engine.held_messages();
        let mut probe = |origin| engine.probe(context, origin, REQUEST_TAG).map(|it| (it.source, it.bytes));
        let is_full = |origin: i32| self.lines.get(&origin).is_some_and(Line::is_full);
        let first = probe(ANY_SOURCE);
        let Some((waits, _)) = first.filter(|first| is_full(first.0)) else {
            self.search.left = 0;
            return first;
        };
        self.search.begin(waits, came, size);
        while let Some(origin) = self.search.next(size) {
            let found = if is_full(origin) { None } else { probe(origin) };
            if found.is_some() {
                // It may have more.
                self.search.stay_at(origin);
                return found;
            }
        }
        None
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
            self.search.begin_anew();
            let line = self.lines.get_mut(&waiter.origin);
            if !line.is_some_and(|line| line.locked(access, waiter.number)) {
                self.locks.give(exposed, waiter.origin);
            }
        }
        admitted > 0
    }

    /// Tells those who wait for the lock that they wait in vain if somebody before them has died:
    /// an origin with the lock, or a member with the lock or a place in the queue in mapped memory.
    /// One who waited by messages is passed by.
    fn refuse_waiting(&mut self, access: &mut impl Access, exposed: &dyn Exposed) -> bool {
        if self.locks.is_idle() {
            return false;
        }
        let (target, mut told) = (self.addresses.rank, 0);
        for &Member { rank, is_told, is_dead } in self.lost.members(access, &self.addresses) {
            let by_itself = || exposed.claim_of(rank).filter(|_| is_dead);
            let holds = self.locks.is_held(rank).then_some(Claim::Holds);
            let Some(claim) = holds.or_else(by_itself) else { continue };
            exposed.note_dead(rank, claim);
            let error = error::dead_ahead(rank, claim, target, is_told);
            for waiter in self.locks.take_stuck(exposed, claim) {
                self.search.begin_anew();
                if let Some(line) = self.lines.get_mut(&waiter.origin) {
                    self.notes.counts.failures += 1;
                    line.refused(access, waiter.number, &error);
                }
                told += 1;
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
