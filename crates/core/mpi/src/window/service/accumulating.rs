//! An accumulate at its target: its data come in pieces, and what was there before leaves in
//! pieces.

use super::outbox::Outbox;
use super::pieces::Pieces;
use super::request::combines;
use super::{Counts, Exposed, PIECE_BYTES, Place, error, payload_tag};
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::op::{BUILTINS, Op};
use crate::process::{Access, failure_error};
use std::sync::Arc;
use verbena_engine::RequestId;
use verbena_memory::{Buffer, Owned, Region};

/// Elements at the target, found and checked, and what is done to them.
pub(super) struct Combining {
    op: &'static Op,
    place: Place,
    count: usize,
    datatype: Arc<Datatype>,
}

impl Combining {
    /// Elements that may be accumulated. `op` is a place in [`BUILTINS`].
    pub(super) fn new(op: usize, place: Place, count: usize, datatype: Arc<Datatype>) -> Result<Combining> {
        let op = Op::predefined(BUILTINS[op].1).expect("the table of operations has it");
        op.check_accumulate(&datatype)?;
        Ok(Combining { op, place, count, datatype })
    }

    /// Combines the packed bytes `from..from + len`.
    pub(super) fn apply(
        &self,
        exposed: &dyn Exposed,
        (from, len): (usize, usize),
        source: Option<Region>,
        former: Option<Region>,
    ) -> Result<()> {
        let size = self.datatype.size();
        if size > PIECE_BYTES {
            let elements = (self.count, &self.datatype);
            return exposed.accumulate(self.place, self.op, elements, from..from + len, source, former);
        }
        let place = self.place.displaced((from / size) as isize * self.datatype.extent());
        exposed.accumulate(place, self.op, (len / size, &self.datatype), 0..len, source, former)
    }
}

/// An accumulate whose data come in messages of their own, or that has none.
pub(super) struct Accumulating {
    /// The work on each piece; `None` if it cannot be: then the data are received and dropped.
    work: Option<Combining>,
    number: u32,
    pieces: Pieces,
    has_payload: bool,
    answers: bool,
    /// Bytes done.
    done: usize,
    /// The receive of the next piece.
    receiving: Option<RequestId>,
    data: Owned,
    /// The error that the origin was not told.
    untold: Option<Error>,
}

impl Accumulating {
    /// The accumulate with this number of elements that were found, or not. It answers with what
    /// was there if `answers`.
    pub(super) fn new(
        work: Option<Combining>,
        (number, op): (u32, usize),
        pieces: Pieces,
        answers: bool,
    ) -> Self {
        let has_payload = combines(op) == Some(true);
        let room = if work.is_some() && has_payload { pieces.longest() } else { 0 };
        Accumulating {
            work,
            number,
            pieces,
            has_payload,
            answers,
            done: 0,
            receiving: None,
            data: Owned::zeroed(room),
            untold: None,
        }
    }

    /// Goes on until something must be waited for, or no bytes of work are `left`. Once it has
    /// ended: the error that the origin was not told.
    pub(super) fn advance(
        &mut self,
        access: &mut impl Access,
        outbox: &mut Outbox,
        exposed: &dyn Exposed,
        (counts, left): (&mut Counts, &mut usize),
    ) -> Option<Option<Error>> {
        while !self.is_over() {
            if *left == 0 || outbox.is_full() || (self.has_payload && !self.receive(access, outbox)) {
                return None;
            }
            counts.pieces += 1;
            let len = self.len();
            *left = left.saturating_sub(len);
            if let Some(work) = &self.work {
                let former = self.answers.then(|| Owned::zeroed(len));
                let source = self.has_payload.then(|| self.data.lend().part(0, len));
                match work.apply(exposed, (self.done, len), source, former.as_ref().map(Owned::lend)) {
                    Ok(()) => {
                        former.into_iter().for_each(|former| outbox.answer(access, self.number, former))
                    }
                    Err(error) => self.fail(error, access, outbox),
                }
            }
            self.done += len;
        }
        Some(self.untold.take())
    }

    fn is_over(&self) -> bool {
        self.done == self.pieces.bytes() || (self.work.is_none() && !self.has_payload)
    }

    /// Bytes of the next piece.
    fn len(&self) -> usize {
        self.pieces.len(self.done)
    }

    /// Returns whether the next piece is there.
    fn receive(&mut self, access: &mut impl Access, outbox: &mut Outbox) -> bool {
        let len = self.len();
        let room = if self.work.is_some() { self.data.lend().part(0, len) } else { Region::EMPTY };
        let receive = || outbox.receive(payload_tag(self.number), Buffer::Contiguous(room));
        let id = *self.receiving.get_or_insert_with(|| access.look(|engine| engine.post(receive())));
        let Some(completion) = access.look(|engine| engine.take(id)) else { return false };
        self.receiving = None;
        let error = match completion.failure {
            Some(failure) => Some(failure_error(failure)),
            None => (completion.bytes != len as u64).then(|| error::wrong_length(completion.bytes, len)),
        };
        // Pieces that are dropped are cut.
        if let Some(error) = error.filter(|_| self.work.is_some()) {
            self.fail(error, access, outbox);
        }
        true
    }

    /// Gives up: what still comes is dropped.
    fn fail(&mut self, error: Error, access: &mut impl Access, outbox: &mut Outbox) {
        self.work = None;
        match self.answers {
            true => outbox.explain(access, self.number, &error),
            false => self.untold = Some(error),
        }
    }
}
