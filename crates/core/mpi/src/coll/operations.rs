//! The collectives: each function turns the arguments of a call into a schedule. It serves the
//! blocking, nonblocking and persistent form, on intracommunicators and intercommunicators.
//!
//! `None` for a buffer means `MPI_IN_PLACE`, or that the argument is not significant on this rank.
//! Counts are not negative and roots are valid: the caller has checked.

use super::algorithms;
use super::algorithms::inter::{InterPlan, Root};
use super::algorithms::reduce_scatter::BlockCounts;
use super::blocks::Blocks;
use super::choose::{Allgather, Allreduce, Alltoall, Bcast, Reduce, ReduceScatter, Rooted, TABLE};
pub use super::operands::Operands;
use super::plan::{Plan, Team};
use super::schedule::Schedule;
use crate::comm::Comm;
use crate::generated::constants::{MPI_PROC_NULL, MPI_ROOT};
use crate::topology::Neighbors;
use verbena_memory::Buffer;

#[inline]
fn intra<'s, 'c>(schedule: &'s mut Schedule, comm: &'c Comm) -> Plan<'s, 'c> {
    Plan::new(schedule, Team::local(comm))
}

/// The meaning of `root` on an intercommunicator.
fn inter_root(root: i32) -> Root {
    match root {
        MPI_ROOT => Root::Here,
        MPI_PROC_NULL => Root::Beside,
        rank => Root::Remote(rank as usize),
    }
}

/// `MPI_Barrier` (MPI-5.0, 6.3).
pub fn barrier(schedule: &mut Schedule, comm: &Comm) {
    if comm.is_inter() {
        return InterPlan::new(schedule, comm).barrier();
    }
    algorithms::barrier::dissemination(&mut intra(schedule, comm));
}

/// `MPI_Bcast` (MPI-5.0, 6.4).
pub fn bcast(schedule: &mut Schedule, comm: &Comm, buffer: Buffer, root: i32) {
    if comm.is_inter() {
        return InterPlan::new(schedule, comm).bcast(buffer, inter_root(root));
    }
    schedule.tell_bytes(buffer.len());
    let plan = &mut intra(schedule, comm);
    if plan.size() == 1 || buffer.is_empty() {
        return;
    }
    let root = root as usize;
    match TABLE.bcast(plan.size(), buffer.len()) {
        Bcast::Binomial => algorithms::bcast::binomial(plan, buffer, root),
        Bcast::Chain(piece_min) => algorithms::bcast::chain(plan, buffer, root, piece_min),
        Bcast::ScatterAllgather => algorithms::bcast::scatter_allgather(plan, buffer, root),
    }
}

/// `MPI_Gather` (MPI-5.0, 6.5). `recv` is `Some` at the root only.
pub fn gather(schedule: &mut Schedule, comm: &Comm, mine: Option<Buffer>, recv: Option<Blocks>, root: i32) {
    if comm.is_inter() {
        return InterPlan::new(schedule, comm).gather(mine.unwrap_or(Buffer::EMPTY), recv, inter_root(root));
    }
    let root = root as usize;
    let block = recv.map_or_else(|| mine.as_ref().map_or(0, Buffer::len), |recv| recv.bytes(root));
    schedule.tell_bytes(block);
    let plan = &mut intra(schedule, comm);
    match TABLE.rooted(plan.size(), block) {
        _ if block == 0 => (),
        Rooted::Linear => algorithms::gather::linear(plan, mine, recv, root),
        Rooted::Binomial => algorithms::gather::binomial(plan, mine, recv, block, root),
    }
}

/// `MPI_Gatherv` (MPI-5.0, 6.5). `recv` is `Some` at the root only.
pub fn gatherv(schedule: &mut Schedule, comm: &Comm, mine: Option<Buffer>, recv: Option<Blocks>, root: i32) {
    if comm.is_inter() {
        return InterPlan::new(schedule, comm).gather(mine.unwrap_or(Buffer::EMPTY), recv, inter_root(root));
    }
    algorithms::gather::linear(&mut intra(schedule, comm), mine, recv, root as usize);
}

/// `MPI_Scatter` (MPI-5.0, 6.6). `send` is `Some` at the root only.
pub fn scatter(schedule: &mut Schedule, comm: &Comm, send: Option<Blocks>, mine: Option<Buffer>, root: i32) {
    if comm.is_inter() {
        return InterPlan::new(schedule, comm).scatter(send, mine.unwrap_or(Buffer::EMPTY), inter_root(root));
    }
    let root = root as usize;
    let block = send.map_or_else(|| mine.as_ref().map_or(0, Buffer::len), |send| send.bytes(root));
    schedule.tell_bytes(block.saturating_mul(comm.size() as usize));
    let plan = &mut intra(schedule, comm);
    match TABLE.rooted(plan.size(), block) {
        _ if block == 0 => (),
        Rooted::Linear => algorithms::scatter::linear(plan, send, mine, root),
        Rooted::Binomial => algorithms::scatter::binomial(plan, send, mine, block, root),
    }
}

/// `MPI_Scatterv` (MPI-5.0, 6.6). `send` is `Some` at the root only.
pub fn scatterv(schedule: &mut Schedule, comm: &Comm, send: Option<Blocks>, mine: Option<Buffer>, root: i32) {
    if comm.is_inter() {
        return InterPlan::new(schedule, comm).scatter(send, mine.unwrap_or(Buffer::EMPTY), inter_root(root));
    }
    algorithms::scatter::linear(&mut intra(schedule, comm), send, mine, root as usize);
}

/// `MPI_Allgather` and `MPI_Allgatherv` (MPI-5.0, 6.7).
pub fn allgather(schedule: &mut Schedule, comm: &Comm, mine: Option<Buffer>, recv: Blocks) {
    if comm.is_inter() {
        return InterPlan::new(schedule, comm).allgather(mine.unwrap_or(Buffer::EMPTY), recv);
    }
    schedule.tell_bytes(recv.longest(comm.size() as usize));
    let plan = &mut intra(schedule, comm);
    let even = matches!(recv, Blocks::Even { .. });
    let total =
        if even { recv.bytes(0) * plan.size() } else { (0..plan.size()).map(|i| recv.bytes(i)).sum() };
    match TABLE.allgather(plan.size(), total, even) {
        _ if total == 0 => (),
        Allgather::Ring => algorithms::allgather::ring(plan, mine, recv),
        Allgather::RecursiveDoubling => algorithms::allgather::recursive_doubling(plan, mine, recv),
        Allgather::Bruck => algorithms::allgather::bruck(plan, mine, recv),
    }
}

/// `MPI_Alltoall` (MPI-5.0, 6.8). `send` and `recv` are even blocks.
pub fn alltoall(schedule: &mut Schedule, comm: &Comm, send: Option<Blocks>, recv: Blocks) {
    if comm.is_inter() {
        return inter_alltoall(schedule, comm, send, recv);
    }
    let block = recv.bytes(0);
    schedule.tell_bytes(block.saturating_mul(comm.size() as usize - 1));
    let plan = &mut intra(schedule, comm);
    match TABLE.alltoall(plan.size(), block) {
        _ if block == 0 => (),
        Alltoall::Bruck => algorithms::alltoall::bruck(plan, send, recv, block),
        Alltoall::Direct(window) => algorithms::alltoall::direct(plan, send, recv, window),
    }
}

/// `MPI_Alltoallv` and `MPI_Alltoallw` (MPI-5.0, 6.8).
pub fn alltoallv(schedule: &mut Schedule, comm: &Comm, send: Option<Blocks>, recv: Blocks) {
    if comm.is_inter() {
        return inter_alltoall(schedule, comm, send, recv);
    }
    algorithms::alltoall::direct(&mut intra(schedule, comm), send, recv, TABLE.alltoallv_window());
}

fn inter_alltoall(schedule: &mut Schedule, comm: &Comm, send: Option<Blocks>, recv: Blocks) {
    let send = send.expect("there is no MPI_IN_PLACE on intercommunicators");
    InterPlan::new(schedule, comm).alltoall(send, recv);
}

/// `MPI_Reduce` (MPI-5.0, 6.9.1).
pub fn reduce(schedule: &mut Schedule, comm: &Comm, operands: Operands, root: i32) {
    let Operands { send, recv, count, commutative } = operands;
    if comm.is_inter() {
        return InterPlan::new(schedule, comm).reduce(send, recv, count, inter_root(root));
    }
    schedule.tell_bytes(operands.bytes());
    let plan = &mut intra(schedule, comm);
    if count == 0 || plan.size() == 1 {
        return operands.copy_alone(plan);
    }
    let root = root as usize;
    match TABLE.reduce(plan.size(), count, operands.bytes(), commutative) {
        Reduce::Binomial => {
            algorithms::reduce::binomial(plan, operands.input(), recv, count, root, !commutative)
        }
        Reduce::HalvingGather => {
            algorithms::reduce::halving_gather(plan, operands.input(), recv, count, root)
        }
    }
}

/// `MPI_Allreduce` (MPI-5.0, 6.9.6).
pub fn allreduce(schedule: &mut Schedule, comm: &Comm, operands: Operands) {
    let (count, commutative) = (operands.count, operands.commutative);
    if comm.is_inter() && count > 0 {
        return InterPlan::new(schedule, comm).allreduce(operands.input(), operands.output(), count);
    }
    schedule.tell_bytes(operands.bytes());
    let plan = &mut intra(schedule, comm);
    if count == 0 || plan.size() == 1 {
        return operands.copy_alone(plan);
    }
    let (send, recv) = (operands.input(), operands.output());
    let (size, bytes) = (plan.size(), operands.bytes());
    let on_board = plan.has_board() && algorithms::by_posts::takes(send);
    match TABLE.allreduce(size, (count, bytes), commutative, on_board) {
        Allreduce::BoardExchange(piece) => algorithms::by_posts::exchange(plan, send, recv, count, piece),
        Allreduce::BoardParts(piece) => algorithms::by_posts::reduce_and_gather(plan, operands, piece),
        Allreduce::RecursiveDoubling => algorithms::allreduce::recursive_doubling(plan, send, recv, count),
        Allreduce::HalvingDoubling => algorithms::allreduce::halving_doubling(plan, send, recv, count),
        Allreduce::Ring => algorithms::allreduce::ring(plan, send, recv, count),
    }
}

/// `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block` (MPI-5.0, 6.10). The operands' count is the
/// sum of the blocks'.
pub fn reduce_scatter(schedule: &mut Schedule, comm: &Comm, operands: Operands, blocks: BlockCounts) {
    if comm.is_inter() && operands.count > 0 {
        return InterPlan::new(schedule, comm).reduce_scatter(operands.input(), operands.output(), blocks);
    }
    schedule.tell_bytes(operands.bytes());
    let plan = &mut intra(schedule, comm);
    if operands.count == 0 || plan.size() == 1 {
        return operands.copy_alone(plan);
    }
    let (send, recv) = (operands.input(), operands.output());
    match TABLE.reduce_scatter(plan.size(), operands.bytes(), operands.commutative) {
        ReduceScatter::Pairwise => algorithms::reduce_scatter::pairwise(plan, send, recv, blocks),
        ReduceScatter::Halving => algorithms::reduce_scatter::halving(plan, send, recv, blocks),
        ReduceScatter::ReduceThenScatter => {
            algorithms::reduce_scatter::reduce_then_scatter(plan, send, recv, blocks)
        }
    }
}

/// `MPI_Scan` (MPI-5.0, 6.11.1).
pub fn scan(schedule: &mut Schedule, comm: &Comm, operands: Operands) {
    schedule.tell_bytes(operands.bytes());
    if operands.count > 0 {
        algorithms::scan::inclusive(
            &mut intra(schedule, comm),
            operands.input(),
            operands.output(),
            operands.count,
        );
    }
}

/// `MPI_Exscan` (MPI-5.0, 6.11.2).
pub fn exscan(schedule: &mut Schedule, comm: &Comm, operands: Operands) {
    schedule.tell_bytes(operands.bytes());
    if operands.count > 0 {
        algorithms::scan::exclusive(
            &mut intra(schedule, comm),
            operands.input(),
            operands.output(),
            operands.count,
        );
    }
}

/// `MPI_Neighbor_allgather` and `MPI_Neighbor_allgatherv` (MPI-5.0, 8.6.1). The neighbours are the
/// communicator's.
pub fn neighbor_allgather(
    schedule: &mut Schedule,
    comm: &Comm,
    neighbors: &Neighbors,
    mine: &Buffer,
    recv: Blocks,
) {
    algorithms::neighbor::exchange(
        &mut intra(schedule, comm),
        neighbors,
        comm.is_grid(),
        |_| mine.clone(),
        recv,
    );
}

/// `MPI_Neighbor_alltoall` and its variants (MPI-5.0, 8.6.2 and 8.6.3). The neighbours are the
/// communicator's.
pub fn neighbor_alltoall(
    schedule: &mut Schedule,
    comm: &Comm,
    neighbors: &Neighbors,
    send: Blocks,
    recv: Blocks,
) {
    let outgoing = |i| send.buffer(i);
    algorithms::neighbor::exchange(&mut intra(schedule, comm), neighbors, comm.is_grid(), outgoing, recv);
}
