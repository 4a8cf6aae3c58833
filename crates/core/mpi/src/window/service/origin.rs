//! The origin's side: it begins operations, and knows which are not known to be finished.
//!
//! An operation is over here when the origin's memory may be used again and its answer is there.
//! Puts and accumulates have no answer: only a flush tells that the target has finished them.

use super::kept::{Kept, Naming, kept_bytes_max};
use super::operation::{Answer, Operation};
use super::order::Order;
use super::pieces::Pieces;
use super::request::{Action, Elements, NUMBERS, Request, WITHIN_BYTES_MAX, combines};
use super::{Addresses, answer_tag, payload_tag};
use crate::datatype::{Datatype, wire};
use crate::error::Result;
use crate::op::{BUILTINS, Op};
use crate::process::Access;
use crate::window::{Remote, lock};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use verbena_memory::{Buffer, Owned};
use verbena_waiting::lock::Lock;

/// The origin's side of a window.
pub struct Origin {
    addresses: Arc<Addresses>,
    state: Lock<State>,
    /// The memory for answers that say nothing but that something is done.
    done: Owned,
}

#[derive(Default)]
struct State {
    /// The number of the next request.
    next: u32,
    /// Operations begun so far.
    begun: u64,
    /// Operations that were not over when they were begun, by target, in order.
    under_way: BTreeMap<i32, VecDeque<(u64, Operation)>>,
    /// The targets that may have something to finish.
    unfinished: BTreeSet<i32>,
    /// Operations that failed, by target: somebody must hear of it.
    failed: BTreeMap<i32, Vec<Operation>>,
    /// The operations that others must not overtake.
    order: Order,
    /// The datatypes that each target keeps for this origin.
    kept: BTreeMap<i32, Kept>,
}

/// A moment: what was begun before it, and what was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

/// A datatype and its description.
type Described<'a> = (&'a Arc<Datatype>, &'a wire::Description);

/// The memory that an operation takes along.
#[derive(Clone, Copy)]
enum Load<'a> {
    /// A payload for the target.
    Out(&'a Buffer),
    /// A payload for the target, and room for the answer.
    Both(&'a Buffer, &'a Buffer),
    /// Room for the answer.
    In(&'a Buffer),
}

impl Origin {
    /// The origin's side of the window with these addresses.
    pub(super) fn new(addresses: Arc<Addresses>) -> Origin {
        Origin { addresses, state: Lock::new(State::default()), done: Owned::zeroed(1) }
    }

    /// Stores `data` at the target. `MPI_ERR_TYPE` if the datatype cannot be told.
    pub fn put(&self, access: &mut impl Access, remote: &Remote, data: &Buffer) -> Result<Operation> {
        let (described, load) = (describe(remote)?, Load::Out(data));
        let pieces = Pieces::one(load.bytes());
        let action = Action::Put(load.elements(remote, &pieces));
        Ok(self.begin(access, (remote.rank, action, described), load, pieces))
    }

    /// Fetches what is at the target into `into`. Errors as in [`Origin::put`].
    pub fn get(&self, access: &mut impl Access, remote: &Remote, into: &Buffer) -> Result<Operation> {
        let (described, load) = (describe(remote)?, Load::In(into));
        let pieces = Pieces::one(load.bytes());
        let action = Action::Get(load.elements(remote, &pieces));
        Ok(self.begin(access, (remote.rank, action, described), load, pieces))
    }

    /// Combines `source` (`None` for `MPI_NO_OP`) into what is at the target, and fetches what was
    /// there before into `former`, if given. Errors as in [`Origin::put`].
    ///
    /// # Panics
    /// If the operation is the program's own.
    pub fn accumulate(
        &self,
        access: &mut impl Access,
        remote: &Remote,
        op: &Op,
        source: Option<&Buffer>,
        former: Option<&Buffer>,
    ) -> Result<Operation> {
        let op =
            BUILTINS.iter().position(|entry| Some(entry.0) == op.builtin()).expect("a predefined operation");
        let source = source.filter(|_| combines(op) == Some(true));
        let load = match (source, former) {
            (None, None) => return Ok(Operation::complete()),
            (Some(source), None) => Load::Out(source),
            (Some(source), Some(former)) => Load::Both(source, former),
            (None, Some(former)) => Load::In(former),
        };
        let described = describe(remote)?;
        let pieces = Pieces::of(remote.datatype, load.bytes());
        let elements = load.elements(remote, &pieces);
        let action = match former {
            None => Action::Accumulate { op, elements },
            Some(_) => Action::GetAccumulate { op, elements },
        };
        Ok(self.begin(access, (remote.rank, action, described), load, pieces))
    }

    /// Stores the first half of `operands` if the second half is at the target, and fetches what
    /// was there. Errors as in [`Origin::put`].
    pub fn compare_and_swap(
        &self,
        access: &mut impl Access,
        remote: &Remote,
        operands: &Buffer,
        former: &Buffer,
    ) -> Result<Operation> {
        let (described, load) = (describe(remote)?, Load::Both(operands, former));
        let action = Action::CompareAndSwap(load.elements(remote, &Pieces::one(load.bytes())));
        Ok(self.begin(access, (remote.rank, action, described), load, Pieces::one(former.len())))
    }

    /// Asks for the target's lock; the operation is over when it is held. What is begun after it
    /// waits at the target until then.
    pub fn lock(&self, access: &mut impl Access, target: i32, kind: lock::Kind) -> Operation {
        self.order(access, target, Action::Lock(kind))
    }

    /// Gives the target's lock back once everything before is finished; the operation is over when
    /// that is so.
    pub fn unlock(&self, access: &mut impl Access, target: i32) -> Operation {
        self.state.lock().unfinished.remove(&target);
        self.order(access, target, Action::Unlock)
    }

    /// Asks the target to finish everything; the operation is over when that is so. Nothing is sent
    /// if nothing can be unfinished.
    pub fn flush(&self, access: &mut impl Access, target: i32) -> Operation {
        let is_unfinished = self.state.lock().unfinished.remove(&target);
        match is_unfinished {
            true => self.order(access, target, Action::Flush),
            false => Operation::complete(),
        }
    }

    /// Asks the target to show its memory; the answer goes to `into` ([`super::shows`]).
    pub fn show(&self, access: &mut impl Access, target: i32, into: &Buffer) -> Operation {
        self.begin(access, (target, Action::Show, None), Load::In(into), Pieces::one(into.len()))
    }

    /// Returns whether an operation may be under way at the target that nothing may overtake which
    /// goes another way: an accumulate, a swap or a lock.
    pub fn must_be_followed(&self, access: &mut impl Access, target: i32) -> bool {
        let mut state = self.state.lock();
        state.reap(access, target);
        let first = state.under_way.get(&target).and_then(|queue| queue.front()).map(|(begun, _)| *begun);
        state.order.must_be_followed(target, first)
    }

    /// Returns whether something may be unfinished at the target, or waits for its answer.
    pub fn is_busy_with(&self, access: &mut impl Access, target: i32) -> bool {
        let mut state = self.state.lock();
        state.reap(access, target);
        state.unfinished.contains(&target) || state.under_way.contains_key(&target)
    }

    /// The targets that may have something to finish.
    pub fn unfinished(&self) -> Vec<i32> {
        self.state.lock().unfinished.iter().copied().collect()
    }

    /// The targets with operations that are not over, or have failed.
    pub fn unsettled(&self) -> Vec<i32> {
        let state = self.state.lock();
        let all: BTreeSet<i32> = state.under_way.keys().chain(state.failed.keys()).copied().collect();
        all.into_iter().collect()
    }

    /// The moment now.
    pub fn now(&self) -> Moment {
        Moment(self.state.lock().begun)
    }

    /// Returns whether the operations on `target` from before `moment` are over: then their first
    /// error, if nobody heard of it.
    pub fn settle(&self, access: &mut impl Access, target: i32, moment: Moment) -> Option<Result<()>> {
        let mut state = self.state.lock();
        state.reap(access, target);
        let first = state.under_way.get(&target).and_then(|queue| queue.front());
        if first.is_some_and(|(begun, _)| *begun < moment.0) {
            return None;
        }
        let failed = state.failed.remove(&target).unwrap_or_default();
        drop(state);
        // Whoever waits for an operation itself hears of its error there.
        let unheard = failed.iter().find_map(|operation| operation.end(access).flatten());
        Some(unheard.map_or(Ok(()), Err))
    }

    /// Moves everything on that waits for answers. Returns whether an operation ended.
    pub(super) fn advance(&self, access: &mut impl Access) -> bool {
        let Some(mut state) = self.state.try_lock() else { return false };
        let targets: Vec<i32> = state.under_way.keys().copied().collect();
        let mut ended = false;
        for target in targets {
            ended |= state.reap(access, target);
        }
        ended
    }

    /// Returns whether a step may move an operation on.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.state.try_lock().is_none_or(|state| !state.under_way.is_empty())
    }

    /// Returns whether every operation is over.
    pub(super) fn is_idle(&self) -> bool {
        self.state.lock().under_way.is_empty()
    }

    /// Sends a request about elements of this datatype, and what belongs to it, which goes in these
    /// pieces.
    fn begin<'a>(
        &self,
        access: &mut impl Access,
        (target, mut action, described): (i32, Action<'a>, Option<Described<'a>>),
        load: Load<'_>,
        pieces: Pieces,
    ) -> Operation {
        let mut state = self.state.lock();
        if let (Some(elements), Some(described)) = (action.elements_mut(), described) {
            let most = kept_bytes_max(self.addresses.group.size());
            let naming = state.kept.entry(target).or_default().name(described.0, described.1, most);
            let bytes = &described.1.bytes[..];
            (elements.kept, elements.datatype) = match naming {
                Naming::Described => (0, bytes),
                Naming::New(number) => (number, bytes),
                Naming::Known(number) => (number, &[][..]),
            };
        }
        let number = state.next;
        state.next = (number + 1) % NUMBERS;
        let message = message(&Request { number, action }, load.out());
        let follows = load.out().filter(|_| action.elements().is_some_and(|elements| !elements.is_within));
        let addresses = &self.addresses;
        let operation = access.with(|engine| {
            let answer = load.into().map(|buffer| Answer {
                addresses: addresses.clone(),
                target,
                tag: answer_tag(number),
                buffer: buffer.clone(),
                pieces: pieces.clone(),
            });
            let first = addresses.request(target, Buffer::Contiguous(message.lend()));
            let rest =
                follows.into_iter().flat_map(|data| pieces.iter().map(move |(at, len)| data.part(at, len)));
            let rest = rest.map(|part| addresses.data(target, payload_tag(number), part));
            Operation::begin(engine, answer, message, std::iter::once(first).chain(rest))
        });
        let (begun, is_answered) = (state.begun, load.into().is_some());
        state.order.begun(target, begun, &action, is_answered);
        state.keep(access, target, &operation);
        if !is_answered {
            state.unfinished.insert(target);
        }
        operation
    }

    /// Begins an operation that only its answer tells the end of.
    fn order(&self, access: &mut impl Access, target: i32, action: Action<'_>) -> Operation {
        let done = Buffer::Contiguous(self.done.lend());
        self.begin(access, (target, action, None), Load::In(&done), Pieces::one(done.len()))
    }
}

impl State {
    /// Keeps an operation that was begun until it is over.
    fn keep(&mut self, access: &mut impl Access, target: i32, operation: &Operation) {
        let begun = self.begun;
        self.begun += 1;
        let ended = operation.end(access);
        // One that failed is kept, so that somebody hears of it.
        if !matches!(ended, Some(None)) {
            self.under_way.entry(target).or_default().push_back((begun, operation.clone()));
        }
    }

    /// Lets go of the target's operations that are over, up to the first that is not. Returns
    /// whether there were any.
    fn reap(&mut self, access: &mut impl Access, target: i32) -> bool {
        let Some(queue) = self.under_way.get_mut(&target) else { return false };
        let before = queue.len();
        while let Some(error) = queue.front().and_then(|(_, operation)| operation.end(access)) {
            let operation = queue.pop_front().map(|(_, operation)| operation);
            if error.is_some() {
                self.failed.entry(target).or_default().extend(operation);
            }
        }
        let left = queue.len();
        if left == 0 {
            self.under_way.remove(&target);
        }
        left < before
    }
}

impl<'a> Load<'a> {
    /// The bytes of the payload, or of the answer if there is none.
    fn bytes(self) -> usize {
        self.out().or(self.into()).map_or(0, Buffer::len)
    }

    /// The elements that it goes to or comes from, in these pieces, without their datatype.
    fn elements<'d>(self, remote: &Remote, pieces: &Pieces) -> Elements<'d> {
        let bytes = self.bytes();
        Elements {
            displacement: remote.displacement,
            count: remote.count as usize,
            bytes,
            piece: pieces.told(),
            is_within: self.out().is_some() && bytes <= WITHIN_BYTES_MAX,
            kept: 0,
            datatype: &[],
        }
    }

    fn out(self) -> Option<&'a Buffer> {
        match self {
            Load::Out(data) | Load::Both(data, _) => Some(data),
            Load::In(_) => None,
        }
    }

    fn into(self) -> Option<&'a Buffer> {
        match self {
            Load::In(buffer) | Load::Both(_, buffer) => Some(buffer),
            Load::Out(_) => None,
        }
    }
}

/// The datatype of the target's elements with its description. `MPI_ERR_TYPE` if it cannot be told.
fn describe<'a>(remote: &Remote<'a>) -> Result<Option<Described<'a>>> {
    Ok(Some((remote.datatype, wire::description(remote.datatype)?)))
}

/// The bytes of a request, with the payload if that lies within.
fn message(request: &Request<'_>, data: Option<&Buffer>) -> Owned {
    let head = request.encode();
    let within = request.action.elements().filter(|elements| elements.is_within);
    let within = within.map_or(0, |elements| elements.bytes);
    let message = Owned::zeroed(head.len() + within);
    message.lend().write(0, &head);
    if let Some(data) = data.filter(|_| within > 0) {
        data.pack(0, message.lend().part(head.len(), within));
    }
    message
}
