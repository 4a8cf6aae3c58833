//! The plan that an algorithm writes: a schedule, and the team of processes that its ranks mean.

use super::board::SharedBoard;
use super::schedule::{Schedule, StepId};
use crate::comm::Comm;
use crate::group::Group;
use std::sync::Arc;
use verbena_channel::Peer;
use verbena_memory::elements::Elements;
use verbena_memory::layout::Layout;
use verbena_memory::{Buffer, Region};

/// Added to the source of messages within the local group of an intercommunicator, so that they
/// never match messages between the groups, which use the same context and tag.
pub(super) const LOCAL_MARK: i32 = 1 << 30;

/// The processes that ranks mean.
#[derive(Clone, Copy)]
pub struct Team<'a> {
    /// The processes that `send` and `receive` address.
    group: &'a Group,
    /// The caller's rank, in the group that the others know it by.
    rank: usize,
    sources: Sources,
}

/// The source that messages name.
#[derive(Clone, Copy)]
enum Sources {
    /// The sender's rank, and a mark added to it.
    Ranks(i32),
    /// The sender's number in the job, so that groups which share processes, context and tag keep
    /// their messages apart.
    Processes,
}

impl<'a> Team<'a> {
    /// The communicator's local group, the caller among it.
    #[inline]
    pub fn local(comm: &'a Comm) -> Team<'a> {
        let mark = if comm.is_inter() { LOCAL_MARK } else { 0 };
        Team { group: comm.group(), rank: comm.rank() as usize, sources: Sources::Ranks(mark) }
    }

    /// The processes that take part.
    pub(super) fn members(&self) -> &'a [Peer] {
        self.group.members()
    }

    /// The remote group of an intercommunicator, the caller in the other one.
    #[inline]
    pub fn remote(comm: &'a Comm) -> Team<'a> {
        Team { group: comm.targets(), rank: comm.rank() as usize, sources: Sources::Ranks(0) }
    }

    /// A group, apart from the communicators' own, in which the caller has this rank.
    pub fn of(group: &'a Group, rank: usize) -> Team<'a> {
        Team { group, rank, sources: Sources::Processes }
    }

    /// The source that messages from this rank name.
    #[inline]
    pub(super) fn source(&self, rank: usize) -> i32 {
        match self.sources {
            Sources::Ranks(mark) => rank as i32 + mark,
            Sources::Processes => LOCAL_MARK + self.group.peer(rank as i32) as i32,
        }
    }

    /// The caller's rank, as the others know it.
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of processes.
    #[inline]
    pub fn size(&self) -> usize {
        self.group.size() as usize
    }
}

/// A schedule that is being filled.
pub struct Plan<'s, 't> {
    schedule: &'s mut Schedule,
    team: Team<'t>,
}

impl<'s, 't> Plan<'s, 't> {
    /// A plan for this team.
    #[inline]
    pub fn new(schedule: &'s mut Schedule, team: Team<'t>) -> Plan<'s, 't> {
        Plan { schedule, team }
    }

    /// Returns a plan of the same schedule for another team.
    pub fn among<'u>(&mut self, team: Team<'u>) -> Plan<'_, 'u> {
        Plan { schedule: self.schedule, team }
    }

    /// The caller's rank.
    #[inline]
    pub fn rank(&self) -> usize {
        self.team.rank
    }

    /// Number of processes.
    #[inline]
    pub fn size(&self) -> usize {
        self.team.size()
    }

    /// Sends to `rank`.
    #[inline]
    pub fn send(&mut self, rank: usize, buffer: Buffer) -> StepId {
        let peer = self.team.group.peer(rank as i32);
        self.schedule.send(peer, self.team.source(self.team.rank), buffer)
    }

    /// Receives from `rank`.
    #[inline]
    pub fn receive(&mut self, rank: usize, buffer: Buffer) -> StepId {
        let peer = self.team.group.peer(rank as i32);
        self.schedule.receive(peer, self.team.source(rank), buffer)
    }

    /// Sends, unless there is nothing to send. The receiver must know that too.
    #[inline]
    pub fn send_some(&mut self, rank: usize, buffer: Buffer) {
        if !buffer.is_empty() {
            self.send(rank, buffer);
        }
    }

    /// Receives, unless there is nothing to receive. The sender must know that too.
    #[inline]
    pub fn receive_some(&mut self, rank: usize, buffer: Buffer) {
        if !buffer.is_empty() {
            self.receive(rank, buffer);
        }
    }

    /// Sends block `i`, unless there is nothing to send, and says what its elements are.
    pub fn send_block(&mut self, rank: usize, i: usize, buffer: Buffer) {
        if !buffer.is_empty() {
            let step = self.send(rank, buffer);
            self.schedule.tell_block(step, i);
        }
    }

    /// Receives block `i`, unless there is nothing to receive, and says what its elements are.
    pub fn receive_block(&mut self, rank: usize, i: usize, buffer: Buffer) {
        if !buffer.is_empty() {
            let step = self.receive(rank, buffer);
            self.schedule.tell_block(step, i);
        }
    }

    /// Sends to one rank while receiving from another, and waits for both.
    #[inline]
    pub fn exchange(&mut self, to: usize, send: Buffer, from: usize, receive: Buffer) {
        self.receive(from, receive);
        self.send(to, send);
        self.fence();
    }

    /// Copies, see [`Schedule::copy`].
    #[inline]
    pub fn copy(&mut self, from: Buffer, to: Buffer) {
        self.schedule.copy(from, to);
    }

    /// Combines, see [`Schedule::combine`].
    #[inline]
    pub fn combine(&mut self, left: Elements<'_>, right: Elements<'_>, out: Elements<'_>, count: usize) {
        self.schedule.combine(left, right, out, count);
    }

    /// Waits for one step, see [`Schedule::wait_for`].
    #[inline]
    pub fn wait_for(&mut self, step: StepId) {
        self.schedule.wait_for(step);
    }

    /// Waits for all steps, see [`Schedule::fence`].
    #[inline]
    pub fn fence(&mut self) {
        self.schedule.fence();
    }

    /// Returns whether the ranks have a board.
    #[inline]
    pub fn has_board(&self) -> bool {
        self.schedule.board().is_some()
    }

    /// Makes a post, see [`Schedule::post`].
    #[inline]
    pub fn post(&mut self) {
        self.schedule.post();
    }

    /// Waits for posts, see [`Schedule::expect`].
    #[inline]
    pub fn expect(&mut self, rank: usize, posts: u64) {
        self.schedule.expect(rank, posts);
    }

    /// Waits until nobody reads what stands in the board's slots, see [`Schedule::vacate`].
    pub fn vacate(&mut self) {
        self.schedule.vacate();
    }

    /// Waits until all other ranks have made the post of this number.
    pub fn expect_others(&mut self, posts: u64) {
        for rank in (0..self.size()).filter(|&rank| rank != self.team.rank) {
            self.schedule.expect(rank, posts);
        }
    }

    /// The board that was lent.
    pub fn board(&self) -> &SharedBoard {
        self.schedule.board().expect("asked for only where there is one")
    }

    /// Temporary memory, see [`Schedule::temporary`].
    #[inline]
    pub fn temporary(&mut self, bytes: usize) -> Region {
        self.schedule.temporary(bytes)
    }

    /// Temporary elements, see [`Schedule::temporary_elements`].
    #[inline]
    pub fn temporary_elements<'e>(&mut self, layout: &'e Arc<Layout>, count: usize) -> Elements<'e> {
        self.schedule.temporary_elements(layout, count)
    }
}
