//! Collectives over 2, 4 and 8 nodes (paper 1, 6.3.3, figures 17 to 19): the real schedules of
//! `verbena_mpi` over the real engine and channel, by the cost model of their device. One rank is
//! on each node. Adding up values takes no time here; it takes as long with either design.
//!
//! A barrier is timed in a row of them. Before each of the others there is a barrier, and its time
//! is from when rank 0 begins it to when the last rank has ended it.

use super::design::Design;
use super::table::{Table, size};
use crate::Rank;
use crate::verbs::{Costs, Subnet};
use std::sync::Arc;
use verbena_channel::Channel;
use verbena_channel::loopback::LoopbackChannel;
use verbena_engine::Engine;
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Owned};
use verbena_mpi::coll::operations::{self, Operands};
use verbena_mpi::coll::{Collective, Reduction};
use verbena_mpi::datatype::Datatype;
use verbena_mpi::generated::constants::{MPI_SUM, MPI_UINT32_T};
use verbena_mpi::op::Op;
use verbena_mpi::{Comm, Group};

/// Numbers of nodes for the barrier, and for the others.
const NODES: [Rank; 3] = [2, 4, 8];
const NODES_MAX: Rank = 8;
/// Bytes of each rank in the others.
const SIZES: [usize; 5] = [4, 64, 1 << 10, 4 << 10, 16 << 10];
/// Rounds before the clock starts, and measured ones.
const WARM: usize = 20;
const ROUNDS: usize = 20;
/// Context of the communicator.
const CONTEXT: u64 = 8;
/// Time that passes when nothing is to come, and how often in a row before the run counts as
/// hanging.
const DULL_NS: u64 = 300_000;
const DULL_MAX: u32 = 1000;
/// Bytes of an element.
const WORD_BYTES: usize = 4;

/// A collective, with the bytes of each rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast` from rank 0.
    Bcast(usize),
    /// `MPI_Allreduce`, a sum of words.
    Allreduce(usize),
}

impl Operation {
    fn bytes(self) -> usize {
        match self {
            Operation::Barrier => 0,
            Operation::Bcast(bytes) | Operation::Allreduce(bytes) => bytes,
        }
    }
}

/// Makes the tables: barrier by nodes, broadcast and allreduce of 8 nodes by size.
///
/// # Errors
/// What hung or failed.
pub fn collectives() -> Result<Vec<Table>, String> {
    let columns = |first| [first, "send/receive", "RDMA eager", "change, %"];
    let mut barrier = Table::new("Barrier, us (paper 1, figure 17: less by RDMA)", columns("nodes"));
    for nodes in NODES {
        barrier.add(nodes.to_string(), both(Operation::Barrier, nodes)?);
    }
    let mut bcast =
        Table::new("Broadcast of 8 nodes, us (paper 1, figure 19: less by RDMA)", columns("size"));
    let mut allreduce =
        Table::new("Allreduce of 8 nodes, us (paper 1, figure 18: less by RDMA)", columns("size"));
    for bytes in SIZES {
        bcast.add(size(bytes), both(Operation::Bcast(bytes), NODES_MAX)?);
        allreduce.add(size(bytes), both(Operation::Allreduce(bytes), NODES_MAX)?);
    }
    Ok(vec![barrier, bcast, allreduce])
}

fn both(operation: Operation, nodes: Rank) -> Result<Vec<f64>, String> {
    let [send, eager] = [Design::SendReceive, Design::RdmaEager]
        .map(|design| collective_us(operation, nodes, design, Costs::PAPER_1));
    let (send, eager) = (send?, eager?);
    Ok(vec![send, eager, (eager / send - 1.0) * 100.0])
}

/// Measures a collective in microseconds, the mean of all rounds.
///
/// # Errors
/// What hung or failed, or the result on a rank is wrong.
pub fn collective_us(operation: Operation, nodes: Rank, design: Design, costs: Costs) -> Result<f64, String> {
    let mut job = Job::new(operation, nodes, design, costs);
    let mut dull = 0;
    while job.members.iter().any(|member| member.left > 0) {
        dull = if job.step()? { 0 } else { dull + 1 };
        if dull > DULL_MAX {
            let pending = job.members.iter().flat_map(|member| member.engine.describe());
            return Err(format!("nothing moves: {}", pending.collect::<Vec<_>>().join("; ")));
        }
    }
    job.check()?;
    Ok(job.round_ns() / 1e3)
}

/// A rank of the job.
struct Member {
    // Dropped before the memory that it holds buffers of.
    engine: Engine,
    comm: Comm,
    running: Option<Box<Collective>>,
    /// Collectives that have not ended: a barrier and the one that is measured in each round.
    left: usize,
    /// The times at which they ended here.
    marks_ns: Vec<u64>,
    /// True if something may have come for it.
    awake: bool,
    send: Owned,
    receive: Owned,
}

struct Job {
    operation: Operation,
    members: Vec<Member>,
    subnet: Subnet,
}

impl Job {
    fn new(operation: Operation, nodes: Rank, design: Design, costs: Costs) -> Job {
        let (wires, subnet) = design.wires(costs, nodes);
        let member = |(rank, wire)| {
            let channels = vec![Box::new(LoopbackChannel::new(rank)) as Box<dyn Channel>, wire];
            let group = Group::new((0..nodes).collect(), rank);
            Member {
                engine: Engine::new(rank, nodes, channels, design.engine_settings()),
                comm: Comm::new(CONTEXT, Arc::new(group), None),
                running: None,
                left: 2 * (WARM + ROUNDS),
                marks_ns: Vec::new(),
                awake: true,
                send: words(operation.bytes(), rank + 1),
                receive: words(operation.bytes(), if rank == 0 { ROOT_WORD } else { 0 }),
            }
        };
        let members = (0..nodes).zip(wires).map(member).collect();
        Job { operation, members, subnet }
    }

    /// Lets a rank run, or the devices, whichever is first; `false` if there was none.
    fn step(&mut self) -> Result<bool, String> {
        let devices_ns = self.subnet.next_ns().unwrap_or(u64::MAX);
        let awake = (0..self.members.len()).filter(|rank| self.members[*rank].awake);
        let first = awake.map(|rank| (self.subnet.time_ns(rank as Rank), rank)).min();
        match first {
            Some((at_ns, rank)) if at_ns <= devices_ns => {
                self.subnet.run_until(at_ns);
                let moved = self.members[rank].play(self.operation, rank as Rank, &self.subnet)?;
                self.members[rank].awake = moved || self.subnet.has_unseen(rank as Rank);
            }
            _ if devices_ns < u64::MAX => self.subnet.run_until(devices_ns),
            _ => {
                self.subnet.run_until(self.subnet.now_ns() + DULL_NS);
                self.members.iter_mut().for_each(|member| member.awake = true);
                return Ok(false);
            }
        }
        for (rank, _) in self.subnet.take_woken() {
            self.members[rank as usize].awake = true;
        }
        Ok(true)
    }

    /// Returns the mean time of the measured rounds.
    fn round_ns(&self) -> f64 {
        let first = &self.members[0].marks_ns;
        if self.operation == Operation::Barrier {
            let (begin_ns, end_ns) = (first[2 * WARM - 1], first[2 * (WARM + ROUNDS) - 1]);
            return (end_ns - begin_ns) as f64 / (2 * ROUNDS) as f64;
        }
        let last_ns = |at: usize| self.members.iter().map(|member| member.marks_ns[at]).max().unwrap_or(0);
        let rounds = (WARM..WARM + ROUNDS).map(|round| last_ns(2 * round + 1) - first[2 * round]);
        rounds.sum::<u64>() as f64 / ROUNDS as f64
    }

    /// Compares every rank's result.
    fn check(&self) -> Result<(), String> {
        let ranks = self.members.len() as u32;
        let expected = match self.operation {
            Operation::Barrier => return Ok(()),
            Operation::Bcast(_) => ROOT_WORD,
            Operation::Allreduce(_) => ranks * (ranks + 1) / 2,
        };
        for (rank, member) in self.members.iter().enumerate() {
            let bytes = member.receive.lend().to_vec();
            if !bytes.chunks_exact(WORD_BYTES).all(|word| word == expected.to_ne_bytes()) {
                return Err(format!("{:?}: rank {rank} of {ranks} has a wrong result", self.operation));
            }
        }
        Ok(())
    }
}

/// The word that the root broadcasts.
const ROOT_WORD: u32 = 0x5eed_0042;

/// Memory of so many bytes, each word of this value.
fn words(bytes: usize, value: u32) -> Owned {
    let owned = Owned::zeroed(bytes);
    (0..bytes).step_by(WORD_BYTES).for_each(|at| owned.lend().write(at, &value.to_ne_bytes()));
    owned
}

impl Member {
    /// Goes on until it must wait; returns whether it did anything.
    fn play(&mut self, operation: Operation, me: Rank, subnet: &Subnet) -> Result<bool, String> {
        let mut moved = self.engine.progress();
        let (op, datatype) = (Op::predefined(MPI_SUM), Datatype::predefined(MPI_UINT32_T));
        let (op, datatype) = op.zip(datatype).expect("predefined");
        while self.left > 0 {
            let mut running = self.running.take().unwrap_or_else(|| self.start(operation, datatype));
            let begun = running.begun();
            let mut access = &mut self.engine;
            let ended = running
                .advance(&mut access, Some(Reduction { op, datatype }))
                .map_err(|error| format!("{operation:?}: rank {me}: {error}"))?;
            moved |= running.begun() != begun || ended;
            if !ended {
                self.running = Some(running);
                break;
            }
            running.recycle();
            self.marks_ns.push(subnet.time_ns(me));
            self.left -= 1;
        }
        Ok(moved)
    }

    fn start(&self, operation: Operation, datatype: &Arc<Datatype>) -> Box<Collective> {
        let mut collective = Collective::of(&self.comm, self.comm.next_collective_tag());
        let (schedule, bytes) = (collective.schedule(), operation.bytes());
        let is_before = self.left.is_multiple_of(2);
        let now = if is_before { Operation::Barrier } else { operation };
        match now {
            Operation::Barrier => operations::barrier(schedule, &self.comm),
            Operation::Bcast(_) => {
                operations::bcast(schedule, &self.comm, Buffer::Contiguous(self.receive.lend()), 0);
            }
            Operation::Allreduce(_) => {
                let elements = |owned: &Owned| Some(Elements::at_origins(owned.lend(), datatype.layout()));
                let (send, recv) = (elements(&self.send), elements(&self.receive));
                let operands = Operands { send, recv, count: bytes / WORD_BYTES, commutative: true };
                operations::allreduce(schedule, &self.comm, operands);
            }
        }
        collective
    }
}
