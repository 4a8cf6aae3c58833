//! The requests of an origin at their target, in order.

use super::accumulating::{Accumulating, Combining};
use super::known::Known;
use super::locks::Locks;
use super::notes::Notes;
use super::outbox::Outbox;
use super::pieces::Pieces;
use super::request::{Action, Elements, Request, combines};
use super::shows::Shows;
use super::{Exposed, Place, error, payload_tag};
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::process::{Access, failure_error};
use crate::window::counts;
use std::collections::VecDeque;
use std::sync::Arc;
use verbena_engine::RequestId;
use verbena_machine::touch::Touch;
use verbena_memory::{Buffer, Owned, Region};

/// The most payloads of puts that are received from an origin at a time.
const PUTS_MAX: usize = 64;

/// The most bytes of requests that an origin may have here behind its request for the lock.
pub(super) const LOCKING_BYTES_MAX: usize = 1 << 20;

/// The work of a request beside its data, in bytes of data that take as long.
const REQUEST_BYTES: usize = 512;

/// A request that has come.
pub(super) struct Arrived {
    pub(super) bytes: Owned,
    /// The receive that brings the bytes; `None` if they are there.
    pub(super) receive: Option<RequestId>,
}

/// The requests of an origin that are not finished.
pub(super) struct Line {
    arrived: VecDeque<Arrived>,
    /// Bytes of those requests.
    parked: usize,
    /// The receives of puts, in order, with their length.
    puts: VecDeque<(RequestId, usize)>,
    outbox: Outbox,
    head: Head,
}

/// The request that holds up those behind it.
enum Head {
    /// There is none.
    Free,
    /// The origin waits for the lock.
    Locking,
    /// An accumulate is at work.
    Accumulating(Box<Accumulating>),
    /// A flush or an unlock waits for the puts before it, the latter for answers too.
    Closing { number: u32, unlocks: bool },
}

/// The things that a line needs to go on.
pub(super) struct Helpers<'a> {
    pub(super) exposed: &'a dyn Exposed,
    pub(super) locks: &'a mut Locks,
    pub(super) notes: &'a mut Notes,
    pub(super) known: &'a mut Known,
    pub(super) shows: &'a mut Shows,
    /// Bytes of work that are left in this step.
    pub(super) left: &'a mut usize,
}

impl Line {
    /// The line of an origin.
    pub(super) fn new(outbox: Outbox) -> Line {
        Line { arrived: VecDeque::new(), parked: 0, puts: VecDeque::new(), outbox, head: Head::Free }
    }

    /// Appends a request.
    pub(super) fn push(&mut self, arrived: Arrived) {
        self.parked += arrived.bytes.len();
        self.arrived.push_back(arrived);
    }

    /// Bytes of requests that wait for something that comes by itself: not for a lock.
    pub(super) fn parked(&self) -> usize {
        if matches!(self.head, Head::Locking) { 0 } else { self.parked }
    }

    /// Returns whether the origin waits for the lock, and no more of its requests are taken.
    pub(super) fn is_full(&self) -> bool {
        matches!(self.head, Head::Locking) && self.parked > LOCKING_BYTES_MAX
    }

    /// Returns whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        let is_free = matches!(self.head, Head::Free);
        is_free && self.arrived.is_empty() && self.puts.is_empty() && self.outbox.is_empty()
    }

    /// Goes on until something must be waited for, or no work is left in this step. Returns whether
    /// anything happened.
    pub(super) fn advance(&mut self, access: &mut impl Access, helpers: &mut Helpers) -> bool {
        let mut moved = self.outbox.reap(access) | self.reap_puts(access, helpers.notes);
        loop {
            if !self.advance_head(access, helpers) {
                return moved || *helpers.left == 0;
            }
            if *helpers.left == 0 {
                return true;
            }
            let Some(message) = self.next(access, helpers.notes) else { return moved };
            *helpers.left = helpers.left.saturating_sub(REQUEST_BYTES + message.len());
            self.look_at(&message, access, helpers);
            moved = true;
        }
    }

    /// Says that the origin has the lock for which it waited. Returns whether it can be told.
    pub(super) fn locked(&mut self, access: &mut impl Access, number: u32) -> bool {
        self.head = Head::Free;
        self.outbox.done(access, number)
    }

    /// Says that the origin does not get the lock for which it waited.
    pub(super) fn refused(&mut self, access: &mut impl Access, number: u32, error: &Error) {
        self.head = Head::Free;
        self.outbox.explain(access, number, error);
    }

    fn reap_puts(&mut self, access: &mut impl Access, notes: &mut Notes) -> bool {
        let before = self.puts.len();
        while let Some(&(id, bytes)) = self.puts.front() {
            let Some(completion) = access.look(|engine| engine.take(id)) else { break };
            self.puts.pop_front();
            // No bytes are wanted of a put that failed already.
            let problem = match completion.failure {
                Some(failure) => Some(failure_error(failure)),
                None => {
                    (completion.bytes != bytes as u64).then(|| error::wrong_length(completion.bytes, bytes))
                }
            };
            if let Some(problem) = problem.filter(|_| bytes > 0) {
                notes.trouble(self.outbox.origin, problem);
            }
        }
        self.puts.len() < before
    }

    /// Moves on what holds the others up. Returns whether nothing does any more.
    fn advance_head(&mut self, access: &mut impl Access, helpers: &mut Helpers) -> bool {
        match &mut self.head {
            Head::Free => return true,
            Head::Locking => return false,
            Head::Accumulating(work) => {
                let means = (&mut helpers.notes.counts, &mut *helpers.left);
                let Some(untold) = work.advance(access, &mut self.outbox, helpers.exposed, means) else {
                    return false;
                };
                untold.into_iter().for_each(|error| helpers.notes.trouble(self.outbox.origin, error));
            }
            Head::Closing { .. } if !self.puts.is_empty() => return false,
            // What is fetched under the lock must not change before it has left.
            Head::Closing { unlocks: true, .. } if !self.outbox.is_empty() => return false,
            &mut Head::Closing { number, unlocks } => self.close(number, unlocks, access, helpers),
        }
        self.head = Head::Free;
        true
    }

    /// Takes the next request, if it is there and may begin.
    fn next(&mut self, access: &mut impl Access, notes: &mut Notes) -> Option<Owned> {
        if self.puts.len() >= PUTS_MAX || self.outbox.is_full() {
            return None;
        }
        if let Some(id) = self.arrived.front()?.receive {
            let completion = access.look(|engine| engine.take(id))?;
            self.arrived.front_mut()?.receive = None;
            if let Some(failure) = completion.failure {
                notes.fault(failure_error(failure));
            }
        }
        let Arrived { bytes, .. } = self.arrived.pop_front()?;
        self.parked -= bytes.len();
        Some(bytes)
    }

    fn look_at(&mut self, message: &Owned, access: &mut impl Access, helpers: &mut Helpers) {
        let bytes = message.lend().to_vec();
        match Request::decode(&bytes) {
            Ok(request) => self.begin(&request, message, access, helpers),
            Err(error) => helpers.notes.fault(error),
        }
    }

    fn begin(&mut self, request: &Request, message: &Owned, access: &mut impl Access, helpers: &mut Helpers) {
        let number = request.number;
        match &request.action {
            Action::Put(elements) => self.put(number, elements, message, access, helpers),
            Action::Get(elements) => self.get(number, elements, access, helpers),
            Action::Accumulate { op, elements } => {
                self.accumulate((number, *op), elements, message, false, access, helpers);
            }
            Action::GetAccumulate { op, elements } => {
                self.accumulate((number, *op), elements, message, true, access, helpers);
            }
            Action::CompareAndSwap(elements) => self.swap(number, elements, message, access, helpers),
            Action::Lock(kind) => self.lock(number, *kind, access, helpers),
            Action::Unlock => self.head = Head::Closing { number, unlocks: true },
            Action::Flush => self.head = Head::Closing { number, unlocks: false },
            Action::Show => {
                let answer = helpers.shows.answer(access, helpers.exposed, self.outbox.address());
                self.outbox.answer(access, number, answer);
            }
        }
        if matches!(self.head, Head::Closing { .. }) && !self.puts.is_empty() {
            helpers.notes.counts.held_flushes += 1;
        }
    }

    fn put(
        &mut self,
        number: u32,
        elements: &Elements,
        message: &Owned,
        access: &mut impl Access,
        helpers: &mut Helpers,
    ) {
        let datatype = self.datatype(elements, helpers);
        let found = find((elements, elements.bytes), datatype, Touch::Write, helpers);
        let buffer = found.map(|(place, datatype)| place.buffer(elements.count, &datatype));
        if elements.is_within {
            match buffer {
                Ok(buffer) => buffer.unpack(0, payload(elements, message)),
                Err(error) => helpers.notes.trouble(self.outbox.origin, error),
            }
            return;
        }
        let buffer = buffer.unwrap_or_else(|error| {
            helpers.notes.trouble(self.outbox.origin, error);
            Buffer::EMPTY
        });
        helpers.notes.counts.straight += 1;
        let bytes = buffer.len();
        let receive = self.outbox.receive(payload_tag(number), buffer);
        self.puts.push_back((access.look(|engine| engine.post(receive)), bytes));
    }

    fn get(&mut self, number: u32, elements: &Elements, access: &mut impl Access, helpers: &mut Helpers) {
        let datatype = self.datatype(elements, helpers);
        match find((elements, elements.bytes), datatype, Touch::Read, helpers) {
            Ok((place, datatype)) => {
                helpers.notes.counts.straight += 1;
                self.outbox.answer_from(access, number, place.buffer(elements.count, &datatype));
            }
            Err(error) => self.explain(number, &error, access, helpers),
        }
    }

    fn accumulate(
        &mut self,
        (number, op): (u32, usize),
        elements: &Elements,
        message: &Owned,
        answers: bool,
        access: &mut impl Access,
        helpers: &mut Helpers,
    ) {
        let datatype = self.datatype(elements, helpers);
        let pieces = cut(elements, &datatype);
        let touch = if combines(op) == Some(true) { Touch::Write } else { Touch::Read };
        let found = find((elements, elements.bytes), datatype, touch, helpers);
        let found = found.and_then(|(place, datatype)| match pieces.told() == elements.piece {
            true => Combining::new(op, place, elements.count, datatype),
            false => Err(error::wrong_length(elements.piece as u64, pieces.told())),
        });
        let work = found.and_then(|work| match elements.is_within {
            true => self.combine(&work, number, elements, message, answers, access, helpers).map(|()| None),
            false => Ok(Some(work)),
        });
        let work = work.unwrap_or_else(|error| {
            match answers {
                true => self.explain(number, &error, access, helpers),
                false => helpers.notes.trouble(self.outbox.origin, error),
            }
            None
        });
        if !elements.is_within {
            let pieces = if pieces.told() == elements.piece {
                pieces
            } else {
                Pieces::as_told(elements.bytes, elements.piece)
            };
            let work = Accumulating::new(work, (number, op), pieces, answers);
            self.head = Head::Accumulating(Box::new(work));
        }
    }

    /// Combines a payload that lies within its request.
    #[allow(clippy::too_many_arguments, reason = "all of them belong to the one request")]
    fn combine(
        &mut self,
        work: &Combining,
        number: u32,
        elements: &Elements,
        message: &Owned,
        answers: bool,
        access: &mut impl Access,
        helpers: &mut Helpers,
    ) -> Result<()> {
        let former = answers.then(|| Owned::zeroed(elements.bytes));
        let (source, all) = (Some(payload(elements, message)), (0, elements.bytes));
        work.apply(helpers.exposed, all, source, former.as_ref().map(Owned::lend))?;
        former.into_iter().for_each(|former| self.outbox.answer(access, number, former));
        Ok(())
    }

    fn swap(
        &mut self,
        number: u32,
        elements: &Elements,
        message: &Owned,
        access: &mut impl Access,
        helpers: &mut Helpers,
    ) {
        let (bytes, datatype) = (elements.bytes / 2, self.datatype(elements, helpers));
        let found = find((elements, bytes), datatype, Touch::Write, helpers);
        let swapped = found.and_then(|(place, datatype)| {
            let operands = payload(elements, message).to_vec();
            let (new, compared) = operands.split_at(bytes);
            let mut former = vec![0; bytes];
            if datatype.as_basic().is_none() || elements.count != 1 || operands.len() != 2 * bytes {
                return Err(error::unlike(elements.bytes, bytes, elements.count));
            }
            helpers.exposed.compare_and_swap(place, &datatype, [new, compared], &mut former)?;
            Ok(Owned::from(&former[..]))
        });
        match swapped {
            Ok(former) => self.outbox.answer(access, number, former),
            Err(error) => self.explain(number, &error, access, helpers),
        }
    }

    fn lock(
        &mut self,
        number: u32,
        kind: crate::window::lock::Kind,
        access: &mut impl Access,
        helpers: &mut Helpers,
    ) {
        let origin = self.outbox.origin;
        if helpers.locks.is_held(origin) {
            return self.explain(number, &error::lock_state(true), access, helpers);
        }
        if let Err(error) = helpers.exposed.check_lock() {
            return self.explain(number, &error, access, helpers);
        }
        if !helpers.locks.take(helpers.exposed, origin, number, kind) {
            helpers.notes.counts.queued_locks += 1;
            counts::lock_queued();
            self.head = Head::Locking;
        } else if !self.outbox.done(access, number) {
            helpers.locks.give(helpers.exposed, origin);
        }
    }

    /// Answers a flush or an unlock: everything before it is done.
    fn close(&mut self, number: u32, unlocks: bool, access: &mut impl Access, helpers: &mut Helpers) {
        let origin = self.outbox.origin;
        let was_held = !unlocks || helpers.locks.give(helpers.exposed, origin);
        let trouble = helpers.notes.take_trouble(origin);
        match trouble.or_else(|| (!was_held).then(|| error::lock_state(false))) {
            Some(error) => self.outbox.explain(access, number, &error),
            None => _ = self.outbox.done(access, number),
        }
    }

    /// The datatype that a request names: looked at once, in the order of requests.
    fn datatype(&self, elements: &Elements, helpers: &mut Helpers) -> Result<Arc<Datatype>> {
        helpers.known.datatype(self.outbox.origin, elements)
    }

    fn explain(&mut self, number: u32, error: &Error, access: &mut impl Access, helpers: &mut Helpers) {
        helpers.notes.counts.failures += 1;
        self.outbox.explain(access, number, error);
    }
}

/// The payload within a request.
fn payload(elements: &Elements, message: &Owned) -> Region {
    message.lend().part(elements.payload_at(), elements.bytes)
}

/// The pieces of a request's payload or answer. What is dropped must be cut as its origin did.
fn cut(elements: &Elements, datatype: &Result<Arc<Datatype>>) -> Pieces {
    match datatype {
        Ok(datatype) if !elements.is_within => Pieces::of(datatype, elements.bytes),
        _ => Pieces::as_told(elements.bytes, elements.piece),
    }
}

/// Finds the elements of a request, of this datatype, which must have as many bytes, to be touched
/// in this way.
fn find(
    (elements, bytes): (&Elements, usize),
    datatype: Result<Arc<Datatype>>,
    touch: Touch,
    helpers: &Helpers,
) -> Result<(Place, Arc<Datatype>)> {
    let datatype = datatype?;
    if datatype.size().checked_mul(elements.count) != Some(bytes) {
        return Err(error::unlike(bytes, datatype.size(), elements.count));
    }
    let place = helpers.exposed.place(elements.displacement, (elements.count, &datatype), touch)?;
    Ok((place, datatype))
}
