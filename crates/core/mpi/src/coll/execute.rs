//! The executor: one state machine that runs schedules for all forms of collectives.
//!
//! [`Collective::advance`] never blocks. It begins messages with the engine in hand; copies and
//! reductions, which may call functions of the program, run without it.
//!
//! After an error (a message that was too long, a function that failed) the schedule goes on, so
//! that other ranks, which wait for this one, end too; the first error is reported at the end. When
//! a peer cannot be reached any more, or called something else ([`super::call`]), the rest is
//! cancelled; in the first case, others are told ([`leaving`]). In all cases nothing is under way
//! when the error is reported, so no memory is touched later.

mod leaving;
mod trouble;

use super::call::{Members, in_words, is_left, mismatch};
use super::is_round_to_look;
use super::schedule::{Schedule, Step, StepId};
use super::tags::numbered;
use crate::comm::{Comm, Traffic};
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::generated::constants::{MPI_ERR_COUNT, MPI_ERR_TRUNCATE};
use crate::op::Op;
use crate::process::{Access, Process, failure_error};
use leaving::left_by;
pub(super) use leaving::tell_on;
use std::cell::RefCell;
use std::sync::Arc;
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_engine::{Completion, Engine, Failure, Mode, Posted, ReceiveRequest, RequestId, SendRequest};
use verbena_hang::Awaited;
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Region};

/// The number of times that a rank which expects posts compares the members' calls: see
/// [`Collective::compare_calls`].
const COMPARED: u8 = 2;
/// The most finished collectives that a thread keeps for reuse.
const KEPT_MAX: usize = 8;

/// The way in which the operands of [`Step::Combine`] are combined.
#[derive(Clone, Copy)]
pub struct Reduction<'a> {
    /// The operation.
    pub op: &'a Op,
    /// The datatype of the elements.
    pub datatype: &'a Arc<Datatype>,
}

impl Reduction<'_> {
    /// Computes `out = left op right`, see [`Step::Combine`]. Functions of the program take two
    /// operands and overwrite the right one; predefined operations can write elsewhere.
    fn combine(self, left: Region, right: Region, out: Region, count: usize) -> Result<()> {
        let Reduction { op, datatype } = self;
        if out.address() == left.address() {
            if op.builtin().is_some() {
                return op.combine(left, right, out, count, datatype);
            }
            if op.is_commutative() {
                return op.apply(right, out, count, datatype);
            }
            op.apply(left, right, count, datatype)?;
            return self.move_elements(right, out, count);
        }
        if out.address() != right.address() {
            if op.builtin().is_some() && datatype.as_basic().is_some() {
                return op.combine(left, right, out, count, datatype);
            }
            self.move_elements(right, out, count)?;
        }
        op.apply(left, out, count, datatype)
    }

    fn move_elements(self, from: Region, to: Region, count: usize) -> Result<()> {
        let elements = |origins| Elements::at_origins(origins, self.datatype.layout()).buffer(0, count);
        copy(&elements(from), &elements(to))
    }
}

/// A send or receive that was begun and has not ended.
struct UnderWay {
    step: StepId,
    request: RequestId,
}

/// The reason why the executor stopped.
enum Pause {
    /// Something under way must end first.
    Waiting,
    /// The next step is a copy or a reduction.
    Local,
    /// The schedule is done.
    Ended,
}

/// A schedule and its progress so far.
#[derive(Default)]
pub struct Collective {
    schedule: Schedule,
    context: u64,
    tag: i32,
    /// The call that this rank is in.
    call: Mark,
    /// The ranks, for messages to the user.
    members: Members,
    /// The processes whose deaths end it; if empty, all that may send in its context.
    concerned: Vec<Peer>,
    /// The contexts and tags under which ranks say too that they have left the call: those of the
    /// schedules that it ran before.
    earlier: Vec<(u64, i32)>,
    /// The number of rounds of waiting.
    rounds: u32,
    /// The number of times that the calls of the board's members were compared.
    compared: u8,
    /// The number of losses when this rank last looked for one.
    losses: u64,
    next: usize,
    under_way: Vec<UnderWay>,
    /// The one under way that is looked at next, besides the last one.
    turn: usize,
    failure: Option<Error>,
    /// The mark by which others were told that this rank has left.
    left: Option<Mark>,
}

thread_local! {
    // Boxed, since they come and go as boxes (tasks) and a box is cheaper to move.
    #[allow(clippy::vec_box)]
    static POOL: RefCell<Vec<Box<Collective>>> = const { RefCell::new(Vec::new()) };
}

impl Collective {
    /// An empty collective for messages with this context and tag.
    pub fn with_tag(context: u64, tag: i32) -> Box<Collective> {
        // A function that runs at the program's exit may call MPI when the pool is gone.
        let kept = POOL.try_with(|pool| pool.borrow_mut().pop()).ok().flatten();
        let mut collective = kept.unwrap_or_default();
        collective.context = context;
        collective.tag = tag;
        collective.call = Mark::NONE;
        collective.concerned.clear();
        collective.earlier.clear();
        collective.rounds = 0;
        collective.compared = 0;
        collective.losses = 0;
        collective
    }

    /// Makes an empty collective for messages of the communicator's collectives, with this tag.
    #[inline]
    pub fn of(comm: &Comm, tag: i32) -> Box<Collective> {
        let mut collective = Collective::with_tag(comm.context(Traffic::Collective), tag);
        collective.set_members(Members::of(comm));
        collective
    }

    /// Sets the ranks, for messages to the user.
    #[inline]
    pub(super) fn set_members(&mut self, members: Members) {
        self.members = members;
    }

    /// Sets what this rank calls: its messages say so, and those that it receives must agree with
    /// it.
    #[inline]
    pub fn set_call(&mut self, call: Mark) {
        self.call = call;
    }

    /// The schedule, to be filled before the first [`Collective::advance`].
    #[inline]
    pub fn schedule(&mut self) -> &mut Schedule {
        &mut self.schedule
    }

    /// Number of steps that were begun.
    pub fn begun(&self) -> usize {
        self.next
    }

    /// Makes a finished collective ready to run once more with the same schedule and tag.
    pub fn rewind(&mut self) {
        assert!(self.under_way.is_empty(), "a collective that is under way cannot be started again");
        self.next = 0;
        self.losses = 0;
        self.failure = None;
        self.left = None;
    }

    /// Gives a collective back for reuse by this thread.
    pub fn recycle(mut self: Box<Self>) {
        if self.is_idle() {
            self.rewind();
            self.schedule.clear();
            // Where the pool is gone, so is this one.
            let _ = POOL.try_with(|pool| {
                let mut pool = pool.borrow_mut();
                if pool.len() < KEPT_MAX {
                    pool.push(self)
                }
            });
        }
    }

    /// Returns whether nothing is under way.
    #[inline]
    fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Goes on until it would have to wait. `Ok(true)` when done; not to be called again then, nor
    /// after an error, except after [`Collective::rewind`].
    ///
    /// # Errors
    /// The first that occurred, once all has ended.
    pub fn advance(&mut self, access: &mut impl Access, reduction: Option<Reduction<'_>>) -> Result<bool> {
        loop {
            let step = self.next;
            let (pause, losses) = access.look(|engine| (self.drive(engine), engine.losses()));
            if self.next != step {
                access.begun();
            }
            match pause {
                Pause::Waiting => {
                    self.look_for_clash(access, losses);
                    return Ok(false);
                }
                Pause::Ended => return self.failure.take().map_or(Ok(true), Err),
                Pause::Local => self.run_local_steps(reduction),
            }
            if self.next == self.schedule.steps().len() && self.is_idle() {
                return self.failure.take().map_or(Ok(true), Err);
            }
        }
    }

    /// Runs to the end, making progress meanwhile.
    #[inline]
    pub fn run(&mut self, process: &Process, reduction: Option<Reduction<'_>>) -> Result<()> {
        self.run_told_as(process, reduction, self.tag)
    }

    /// Like [`Collective::run`]; reports of programs that hang tell of it as of the collective with
    /// this tag.
    #[inline]
    pub(super) fn run_told_as(
        &mut self,
        process: &Process,
        reduction: Option<Reduction<'_>>,
        tag: i32,
    ) -> Result<()> {
        let (context, call) = (self.context, self.call);
        let mut slept = process.slept();
        process.wait_for(
            move |_| Awaited::Collective(in_words(context, tag, call)),
            |mut process| {
                let mut state = self.advance(&mut process, reduction);
                let sleeps = process.slept();
                let has_slept = std::mem::replace(&mut slept, sleeps) != sleeps;
                if state == Ok(false) && has_slept && self.find_trouble(&mut process) {
                    state = self.advance(&mut process, reduction);
                }
                match state {
                    Ok(false) => None,
                    Ok(true) => Some(Ok(())),
                    Err(error) => Some(Err(error)),
                }
            },
        )
    }

    /// The collective, for reports of programs that hang.
    pub(super) fn said(&self) -> verbena_hang::Collective {
        in_words(self.context, self.tag, self.call)
    }

    /// Begins messages until something must be waited for or done without the engine.
    fn drive(&mut self, engine: &mut Engine) -> Pause {
        self.reap(engine);
        while let Some(step) = self.schedule.steps().get(self.next) {
            match step {
                Step::Send { .. } | Step::Receive { .. } => self.begin(engine),
                Step::Copy { .. } | Step::Combine { .. } | Step::Post => return Pause::Local,
                Step::Expect { rank, posts } if !self.schedule.has_posted(*rank, *posts) => {
                    return Pause::Waiting;
                }
                Step::Vacate if !self.schedule.is_vacant() => return Pause::Waiting,
                Step::Fence if !self.is_idle() => return Pause::Waiting,
                Step::Await(awaited) if self.under_way.iter().any(|u| u.step == *awaited) => {
                    return Pause::Waiting;
                }
                Step::Fence | Step::Await(_) | Step::Expect { .. } | Step::Vacate => {
                    let is_on_board = matches!(step, Step::Expect { .. } | Step::Vacate);
                    let compares = self.compared < COMPARED && is_on_board;
                    self.next += 1;
                    let more = self.schedule.steps().get(self.next);
                    if compares && !matches!(more, Some(Step::Expect { .. })) {
                        self.compare_calls(engine);
                    }
                }
            }
        }
        if self.is_idle() { Pause::Ended } else { Pause::Waiting }
    }

    /// Begins the next step, a send or a receive.
    #[inline]
    fn begin(&mut self, engine: &mut Engine) {
        let (context, tag) = (self.context, self.tag);
        let call = Mark(self.call.0 | self.schedule.sort(self.next));
        let posted = match &self.schedule.steps()[self.next] {
            Step::Send { peer, source, buffer } => {
                let (peer, source, buffer) = (*peer, *source, buffer.clone());
                let send =
                    SendRequest { peer, context, source, tag, buffer, mark: call, mode: Mode::Standard };
                engine.send(send)
            }
            Step::Receive { peer, source, buffer } => {
                let (peer, source, buffer) = (Some(*peer), *source, buffer.clone());
                engine.receive(ReceiveRequest { peer, context, source, tag, buffer, mark: call })
            }
            _ => unreachable!("only sends and receives are begun"),
        };
        let step = self.next as StepId;
        self.next += 1;
        match posted {
            Posted::Pending(request) => self.under_way.push(UnderWay { step, request }),
            Posted::Done(completion) => self.note(engine, step, completion),
        }
    }

    /// Takes completions: from the newest backwards up to one that is pending, and one of the
    /// others, another at each call. So a failure is seen behind a message that never ends, at the
    /// same cost for any number.
    #[inline]
    fn reap(&mut self, engine: &mut Engine) {
        while let Some(last) = self.under_way.last() {
            let Some(completion) = engine.take(last.request) else { break };
            let step = last.step;
            self.under_way.pop();
            self.note(engine, step, completion);
        }
        if self.under_way.len() > 1 {
            self.turn = (self.turn + 1) % self.under_way.len();
            self.reap_one(engine, self.turn);
        }
    }

    fn reap_one(&mut self, engine: &mut Engine, index: usize) {
        if let Some(completion) = engine.take(self.under_way[index].request) {
            let step = self.under_way.swap_remove(index).step;
            self.note(engine, step, completion);
        }
    }

    #[inline]
    fn note(&mut self, engine: &mut Engine, step: StepId, completion: Completion) {
        if completion.failure.is_some() {
            return self.note_failure(engine, completion);
        }
        // A collective receives just what is sent (MPI-5.0, 6.1).
        if let Step::Receive { buffer, .. } = &self.schedule.steps()[step as usize]
            && completion.bytes < buffer.len() as u64
            && !completion.cancelled
        {
            let room = buffer.len();
            let error = self.too_short(&completion, room);
            self.failure.get_or_insert(error);
        }
    }

    #[cold]
    fn note_failure(&mut self, engine: &mut Engine, completion: Completion) {
        let Some(failure) = completion.failure else { return };
        let sender = self.members.sender(completion.source);
        let error = match failure {
            Failure::Truncated { sent, room } => {
                too_long(sent, room as usize, &format!("from {sender}; {}", numbered(self.tag)))
            }
            Failure::Unlike { theirs, .. } if is_left(theirs) => {
                let error = left_by(&sender, theirs);
                self.leave(engine, &error);
                error
            }
            Failure::Unlike { mine, theirs } => {
                let error = mismatch(&self.members, &sender, [mine, theirs], &numbered(self.tag));
                return self.give_up_unmatched(engine, error);
            }
            Failure::Dead(_) | Failure::Revoked => {
                self.abandon(engine);
                failure_error(failure)
            }
            Failure::Channel(..) => {
                let error = failure_error(failure);
                self.leave(engine, &error);
                error
            }
            Failure::InDoubt(_) => {
                self.give_up(engine);
                failure_error(failure)
            }
        };
        self.failure.get_or_insert(error);
    }

    #[cold]
    fn too_short(&self, completion: &Completion, room: usize) -> Error {
        let sender = self.members.sender(completion.source);
        too_short(completion.bytes, room, &format!("from {sender}; {}", numbered(self.tag)))
    }

    /// Runs copies and reductions up to the next step of another kind.
    fn run_local_steps(&mut self, reduction: Option<Reduction<'_>>) {
        while let Some(step) = self.schedule.steps().get(self.next) {
            let outcome = match step {
                Step::Copy { from, to } => copy(from, to),
                Step::Combine { left, right, out, count } => {
                    let reduction = reduction.expect("a reduction's schedule runs with its operation");
                    reduction.combine(*left, *right, *out, *count)
                }
                Step::Post => {
                    self.schedule.make_post();
                    Ok(())
                }
                Step::Expect { rank, posts }
                    if self.compared == COMPARED && self.schedule.has_posted(*rank, *posts) =>
                {
                    Ok(())
                }
                _ => break,
            };
            if let Err(error) = outcome {
                self.failure.get_or_insert(error);
            }
            self.next += 1;
        }
    }
}

impl Drop for Collective {
    fn drop(&mut self) {
        if !self.is_idle() {
            self.schedule.leak_scratch();
        }
    }
}

/// Copies packed bytes; an error, as for a message, if they do not fit.
pub(crate) fn copy(from: &Buffer, to: &Buffer) -> Result<()> {
    let len = from.len().min(to.len());
    match (from.region(), to.region()) {
        (Some(from), Some(to)) => to.part(0, len).copy_from(from.part(0, len)),
        (Some(from), None) => to.unpack(0, from.part(0, len)),
        (None, Some(to)) => from.pack(0, to.part(0, len)),
        (None, None) => copy_scattered(from, to, len),
    }
    match from.len() > len {
        true => Err(too_long(from.len() as u64, len, "within this rank")),
        false => Ok(()),
    }
}

/// Copies between two scattered buffers piece by piece.
fn copy_scattered(from: &Buffer, to: &Buffer, len: usize) {
    let mut piece = [0; 8192];
    let mut offset = 0;
    while offset < len {
        let bytes = (len - offset).min(piece.len());
        from.copy_out(offset, &mut piece[..bytes]);
        to.copy_in(offset, &piece[..bytes]);
        offset += bytes;
    }
}

#[cold]
pub(crate) fn too_short(sent: u64, room: usize, which: &str) -> Error {
    Error::new(
        MPI_ERR_COUNT,
        "a contribution to a collective was shorter than its receive buffer",
        format!("{sent} bytes were sent, {room} are expected, {which}"),
        "the receive count or datatype is larger than the send count or datatype",
        "give counts and datatypes of the same total size on both sides",
    )
}

#[cold]
fn too_long(sent: u64, room: usize, which: &str) -> Error {
    Error::new(
        MPI_ERR_TRUNCATE,
        "a contribution to a collective was longer than its receive buffer and was cut",
        format!("{sent} bytes were sent, the receive has room for {room}, {which}"),
        "the receive count or datatype is smaller than the send count or datatype",
        "give counts and datatypes of the same total size on both sides",
    )
}
