//! Jobs of up to 65,536 ranks on nodes of some tens: what a rank costs in memory, and how long
//! start-up's first messages, a barrier and an allreduce take by a cost model.
//!
//! Each rank is a real engine with a real communicator, and runs the real schedules. The channels
//! are models (`fabric.rs`): shared memory within a node, and one network adapter for all ranks of
//! a node, through which their packets go one after the other. What a launcher does, and what the
//! real channels keep of each peer, is not here: `ARCHITECTURE.md` names the latter.
//!
//! Memory is counted for each rank while it runs ([`account`]), if the program has the counting
//! allocator. The list of the job's processes, which all groups of the whole job share, is there
//! once in a process, so it is once in this one; it is named apart ([`Start::list_bytes`]). Memory
//! that one rank gives back to the library's reserve may be taken by the next, so the most that a
//! rank holds says more than the mean.

pub mod account;
mod channel;
mod fabric;
mod member;

use crate::Rank;
use fabric::Fabric;
pub use fabric::{Costs, Road};
use member::Member;
use std::sync::{Arc, Mutex, MutexGuard};
use verbena_channel::Peer;
use verbena_mpi::Group;

/// Nanoseconds by which one rank begins a step later than all others: whoever is through a barrier
/// before that was not in one.
const LATE_NS: u64 = 50_000;

/// A task for all ranks at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Each sends a number to the next rank and the one before, and to those at the same place of
    /// the next node and of the one before, and receives such.
    Neighbors,
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Allreduce`: a sum of words, of this length together.
    Sum(usize),
}

/// A rank's memory after its start-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The bytes that a rank holds, on average.
    pub mean_bytes: usize,
    /// The most that one holds.
    pub most_bytes: usize,
    /// The bytes of the list of the job's processes, which is there once in each process.
    pub list_bytes: usize,
}

/// The price of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// Virtual time from when the last rank begins until the last one ends.
    pub time_ns: u64,
    /// Packets within nodes and between them.
    pub packets: [u64; 2],
    /// The bytes that a rank holds afterwards, on average.
    pub mean_bytes: usize,
    /// The most that one holds afterwards.
    pub most_bytes: usize,
    /// The most that one held at any time so far.
    pub high_bytes: usize,
}

/// A job.
pub struct Job {
    // Dropped before the fabric, which holds no memory of theirs.
    members: Vec<Member>,
    fabric: Arc<Mutex<Fabric>>,
    node_size: Rank,
    /// Keeps the list of processes, so that it is no rank's.
    _list: Group,
}

impl Job {
    /// Starts `ranks` on nodes of `node_size`.
    pub fn start(ranks: Rank, node_size: Rank, costs: Costs) -> Job {
        member::make_shared(costs);
        let list = Group::of_job(0, ranks);
        let fabric = Arc::new(Mutex::new(Fabric::new(ranks, node_size, costs)));
        let members = (0..ranks).map(|rank| Member::start(rank, ranks, node_size, &fabric)).collect();
        Job { members, fabric, node_size, _list: list }
    }

    /// Returns what a rank holds.
    pub fn held(&self) -> Start {
        let [mean_bytes, most_bytes] = self.bytes();
        Start { mean_bytes, most_bytes, list_bytes: self.members.len() * size_of::<Peer>() }
    }

    /// Returns the peers that a rank has met, itself aside.
    pub fn met(&mut self, rank: Rank) -> usize {
        self.members[rank as usize].met()
    }

    /// Lets all ranks take the step, and compares what came of it.
    ///
    /// # Errors
    /// What hung, failed or came out wrong.
    pub fn take(&mut self, step: Step) -> Result<Took, String> {
        let (begin_ns, before) = self.fabric().begin_step();
        let late = self.members.len() / 3;
        self.fabric().set_clock_ns(late as Rank, begin_ns + LATE_NS);
        let all = self.members.len();
        let mut left = all;
        // The late one begins in its turn.
        for rank in (0..all).filter(|rank| *rank != late) {
            left -= usize::from(self.run(rank as Rank, Some(step))?);
        }
        self.fabric().wake(late as Rank, begin_ns + LATE_NS);
        let mut first = Some(step);
        while left > 0 {
            let Some(rank) = self.fabric().next() else {
                let pending = self.members.iter().filter(|member| !member.has_ended()).take(3);
                let pending: Vec<String> = pending.flat_map(Member::describe).collect();
                return Err(format!("{step:?}: nothing moves on {left} ranks: {}", pending.join("; ")));
            };
            let begins = if rank as usize == late { first.take() } else { None };
            left -= usize::from(self.run(rank, begins)?);
        }
        self.finish(step, begin_ns + LATE_NS, before)
    }

    /// Lets a rank run until nothing moves there; returns whether its step has ended now.
    fn run(&mut self, rank: Rank, begins: Option<Step>) -> Result<bool, String> {
        let Job { members, fabric, node_size, .. } = self;
        let has_ended = members[rank as usize].run(begins, *node_size)?;
        lock(fabric).rest(rank);
        Ok(has_ended)
    }

    fn finish(&mut self, step: Step, begin_ns: u64, before: [u64; 2]) -> Result<Took, String> {
        let ends = (0..).zip(&self.members).map(|(rank, _)| self.fabric().clock_ns(rank));
        let (first_ns, end_ns) =
            ends.fold((u64::MAX, 0), |(first, last), end| (first.min(end), last.max(end)));
        if step == Step::Barrier && first_ns < begin_ns {
            return Err("a rank was through the barrier before the last one had begun it".into());
        }
        let packets = self.fabric().packets();
        let [mean_bytes, most_bytes] = self.bytes();
        Ok(Took {
            time_ns: end_ns - begin_ns,
            packets: [packets[0] - before[0], packets[1] - before[1]],
            mean_bytes,
            most_bytes,
            high_bytes: self.members.iter().map(Member::high_bytes).max().unwrap_or(0),
        })
    }

    /// The bytes that a rank holds on average, and the most that one holds.
    fn bytes(&self) -> [usize; 2] {
        let held = || self.members.iter().map(Member::held_bytes);
        [held().sum::<usize>() / self.members.len().max(1), held().max().unwrap_or(0)]
    }

    fn fabric(&self) -> MutexGuard<'_, Fabric> {
        lock(&self.fabric)
    }
}

fn lock(fabric: &Mutex<Fabric>) -> MutexGuard<'_, Fabric> {
    fabric.lock().expect("no thread panicked with the fabric")
}
