//! Collectives on intercommunicators (MPI-5.0, 6.2.3): each group gets what the other contributes.
//!
//! A plan for the local group does what happens within it. A plan for the remote group carries data
//! across, from and to rank 0 of each group, unless all ranks exchange directly.

use super::reduce_scatter::{BlockCounts, scatter_parts};
use super::tree::Tree;
use super::{bcast, reduce};
use crate::coll::blocks::Blocks;
use crate::coll::plan::{Plan, Team};
use crate::coll::schedule::Schedule;
use crate::comm::Comm;
use verbena_memory::Buffer;
use verbena_memory::elements::Elements;

/// The meaning of the root argument on an intercommunicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// `MPI_ROOT`: the caller is the root.
    Here,
    /// `MPI_PROC_NULL`: the root is another rank of the caller's group.
    Beside,
    /// The root is this rank of the remote group.
    Remote(usize),
}

/// A schedule for an intercommunicator in the making.
pub struct InterPlan<'s> {
    schedule: &'s mut Schedule,
    comm: &'s Comm,
}

impl<'s> InterPlan<'s> {
    /// A plan for `comm`, an intercommunicator.
    pub fn new(schedule: &'s mut Schedule, comm: &'s Comm) -> InterPlan<'s> {
        InterPlan { schedule, comm }
    }

    fn local(&mut self) -> Plan<'_, 's> {
        Plan::new(self.schedule, Team::local(self.comm))
    }

    fn remote(&mut self) -> Plan<'_, 's> {
        Plan::new(self.schedule, Team::remote(self.comm))
    }

    fn is_leader(&self) -> bool {
        self.comm.rank() == 0
    }

    /// `MPI_Barrier`: everyone of one group waits for all of the other.
    pub fn barrier(&mut self) {
        let tree = Tree::new(self.comm.rank() as usize, self.comm.size() as usize, 0);
        let mut local = self.local();
        tree.children().for_each(|(child, _)| {
            local.receive(child, Buffer::EMPTY);
        });
        local.fence();
        if let Some(parent) = tree.parent() {
            local.send(parent, Buffer::EMPTY);
        } else {
            self.remote().exchange(0, Buffer::EMPTY, 0, Buffer::EMPTY);
        }
        bcast::binomial(&mut self.local(), Buffer::EMPTY, 0);
    }

    /// `MPI_Bcast`.
    pub fn bcast(&mut self, buffer: Buffer, root: Root) {
        match root {
            Root::Here => {
                self.remote().send_some(0, buffer);
            }
            Root::Beside => (),
            Root::Remote(root) => {
                if self.is_leader() {
                    self.remote().receive_some(root, buffer.clone());
                    self.remote().fence();
                }
                if !buffer.is_empty() {
                    bcast::binomial(&mut self.local(), buffer, 0);
                }
            }
        }
    }

    /// `MPI_Reduce`: `send` counts in the remote group, `recv` at the root.
    pub fn reduce(&mut self, send: Option<Elements>, recv: Option<Elements>, count: usize, root: Root) {
        match root {
            Root::Here => {
                let recv = recv.expect("the root has a receive buffer");
                self.remote().receive_some(0, recv.buffer(0, count));
            }
            Root::Beside => (),
            Root::Remote(root) => {
                let send = send.expect("the remote group has operands");
                if let Some(result) = self.reduce_locally(send, count) {
                    self.remote().send_some(root, result.buffer(0, count));
                }
            }
        }
    }

    /// Reduces within the local group, to its leader.
    fn reduce_locally<'e>(&mut self, send: Elements<'e>, count: usize) -> Option<Elements<'e>> {
        if self.comm.size() == 1 {
            return Some(send);
        }
        let result = self.is_leader().then(|| self.schedule.temporary_elements(send.layout(), count));
        reduce::binomial(&mut self.local(), send, result, count, 0, true);
        self.schedule.fence();
        result
    }

    /// `MPI_Gather` and `MPI_Gatherv`: `mine` counts in the remote group, `recv` at the root.
    pub fn gather(&mut self, mine: Buffer, recv: Option<Blocks>, root: Root) {
        match root {
            Root::Here => {
                let recv = recv.expect("the root has a receive buffer");
                let mut remote = self.remote();
                (0..remote.size()).for_each(|i| remote.receive_some(i, recv.buffer(i)));
            }
            Root::Beside => (),
            Root::Remote(root) => self.remote().send_some(root, mine),
        }
    }

    /// `MPI_Scatter` and `MPI_Scatterv`: `send` counts at the root, `mine` in the remote group.
    pub fn scatter(&mut self, send: Option<Blocks>, mine: Buffer, root: Root) {
        match root {
            Root::Here => {
                let send = send.expect("the root has a send buffer");
                let mut remote = self.remote();
                (0..remote.size()).for_each(|i| remote.send_some(i, send.buffer(i)));
            }
            Root::Beside => (),
            Root::Remote(root) => self.remote().receive_some(root, mine),
        }
    }

    /// `MPI_Allgather` and `MPI_Allgatherv`.
    pub fn allgather(&mut self, mine: Buffer, recv: Blocks) {
        let mut remote = self.remote();
        (0..remote.size()).for_each(|i| remote.receive_block(i, i, recv.buffer(i)));
        (0..remote.size()).for_each(|i| remote.send_block(i, i, mine.clone()));
    }

    /// `MPI_Alltoall`, `MPI_Alltoallv` and `MPI_Alltoallw`.
    pub fn alltoall(&mut self, send: Blocks, recv: Blocks) {
        let mut remote = self.remote();
        (0..remote.size()).for_each(|i| remote.receive_block(i, i, recv.buffer(i)));
        (0..remote.size()).for_each(|i| remote.send_block(i, i, send.buffer(i)));
    }

    /// `MPI_Allreduce`.
    pub fn allreduce(&mut self, send: Elements, recv: Elements, count: usize) {
        if let Some(result) = self.reduce_locally(send, count) {
            self.remote().exchange(0, result.buffer(0, count), 0, recv.buffer(0, count));
        }
        bcast::binomial(&mut self.local(), recv.buffer(0, count), 0);
    }

    /// `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`: the remote group's result, divided
    /// here.
    pub fn reduce_scatter(&mut self, send: Elements, recv: Elements, blocks: BlockCounts) {
        let total = blocks.sum(0, self.comm.size() as usize);
        let result = self.reduce_locally(send, total);
        let remote_result = result.map(|result| {
            let place = self.schedule.temporary_elements(send.layout(), total);
            self.remote().exchange(0, result.buffer(0, total), 0, place.buffer(0, total));
            place
        });
        scatter_parts(&mut self.local(), remote_result, recv, blocks);
    }
}
