//! Collectives that reduce (MPI-5.0, 6.9 to 6.11), in all forms.

// The parameters are those of the C functions.
#![allow(clippy::too_many_arguments)]

use crate::args::{self, Address, Counts};
use crate::collectives::{Run, Type, blocking, elements, first_byte, in_place, try_board};
use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_mpi::coll::algorithms::reduce_scatter::BlockCounts;
use verbena_mpi::coll::operations::{self, Operands};
use verbena_mpi::coll::schedule::Schedule;
use verbena_mpi::coll::{Call, Kind, Reduction};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Datatype, Error, Op, Process, Result};

/// The operands of a call: send and receive address, count, datatype, operation.
type Vector<'a> = (Address, Address, i64, &'a Arc<Datatype>, &'a Arc<Op>);

/// Operands of a call in which every rank has an operand and a result of `results` elements.
fn symmetric<'a>(
    (send, recv, count, datatype, op): Vector<'a>,
    results: i64,
    comm: &Comm,
) -> Result<Operands<'a>> {
    op.check(datatype)?;
    let stays = in_place(send, !comm.is_inter())?;
    let recv = elements(recv, if stays { count } else { results }, datatype)?;
    let send = if stays { None } else { Some(elements(send, count, datatype)?) };
    Ok(Operands { send, recv: Some(recv), count: count as usize, commutative: op.is_commutative() })
}

/// Refuses operands and results that begin at the same byte.
#[inline]
fn check_vectors(run: Run, (send, recv, count, datatype, _): Vector, comm: &Comm) -> Result<()> {
    let [send, recv] = [send, recv].map(|buffer| first_byte(buffer, 0, count, datatype));
    run.check_distinct(comm, send, recv)
}

/// The mark of a reduction without a root.
#[inline]
fn reducing_call(kind: Kind, op: &Op, (datatype, count): (&Datatype, i64), comm: &Comm) -> Mark {
    Call::new(kind, comm).op(Some(op)).elements(Some(datatype), count).mark()
}

/// A function that runs, over a board, a reduction in which every rank has an operand and a result.
type OverBoard = fn(&Process, &Comm, Mark, Operands, Reduction) -> blocking::Done;

/// Runs a reduction in which every rank has an operand and a result.
#[inline]
fn run_symmetric(
    run: Run,
    vector: Vector,
    comm: &Arc<Comm>,
    (kind, blocking): (Kind, OverBoard),
    fill: impl FnOnce(&mut Schedule, &Comm, Operands),
) -> Result<()> {
    let operands = symmetric(vector, vector.2, comm)?;
    check_vectors(run, vector, comm)?;
    let reduction = Reduction { op: vector.4, datatype: vector.3 };
    let call = reducing_call(kind, vector.4, (vector.3, vector.2), comm);
    try_board!(run, blocking, comm, call, operands, reduction);
    run.run(comm, call, Some((vector.4, vector.3)), |schedule| fill(schedule, comm, operands))
}

/// `MPI_Reduce` (6.9.1).
pub fn reduce(
    run: Run,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Type,
    op: Option<&Arc<Op>>,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    let reducing = op.zip(datatype);
    reducing.map_or(Ok(()), |(op, datatype)| op.check(datatype))?;
    let (at_root, has_operand) = (args::is_root(root, comm), args::is_leaf(root, comm));
    let stays = has_operand && in_place(sendbuf, at_root && !comm.is_inter())?;
    let vector = |wanted: bool, address| match datatype {
        Some(datatype) if wanted => elements(address, count, datatype).map(Some),
        _ => Ok(None),
    };
    let (send, recv) = (vector(has_operand && !stays, sendbuf)?, vector(at_root, recvbuf)?);
    let commutative = op.is_some_and(|op| op.is_commutative());
    let operands = Operands { send, recv, count: count as usize, commutative };
    if let Some(datatype) = datatype.filter(|_| at_root && has_operand) {
        let [send, recv] = [sendbuf, recvbuf].map(|buffer| first_byte(buffer, 0, count, datatype));
        run.check_distinct(comm, send, recv)?;
    }
    let call = Call::new(Kind::Reduce, comm).root(root).op(op.map(Arc::as_ref));
    let call = call.elements(datatype.map(Arc::as_ref), count).mark();
    if let Some((op, datatype)) = reducing {
        try_board!(run, blocking::reduce, comm, call, operands, Reduction { op, datatype }, root);
    }
    run.run(comm, call, reducing, |schedule| operations::reduce(schedule, comm, operands, root))
}

/// `MPI_Allreduce` (6.9.6).
#[inline]
pub fn allreduce(
    run: Run,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<()> {
    run_symmetric(
        run,
        (sendbuf, recvbuf, count, datatype, op),
        comm,
        (Kind::Allreduce, blocking::allreduce),
        operations::allreduce,
    )
}

/// `MPI_Scan` (6.11.1).
pub fn scan(
    run: Run,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<()> {
    refuse_intercommunicator(comm)?;
    let way: (_, OverBoard) = (Kind::Scan, blocking::scan);
    run_symmetric(run, (sendbuf, recvbuf, count, datatype, op), comm, way, operations::scan)
}

/// `MPI_Exscan` (6.11.2).
pub fn exscan(
    run: Run,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<()> {
    refuse_intercommunicator(comm)?;
    let way: (_, OverBoard) = (Kind::Exscan, blocking::exscan);
    run_symmetric(run, (sendbuf, recvbuf, count, datatype, op), comm, way, operations::exscan)
}

/// `MPI_Reduce_scatter` (6.10.2).
pub fn reduce_scatter(
    run: Run,
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: Counts,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<()> {
    let own = recvcounts.get(comm.rank() as usize);
    let blocks = BlockCounts { even: 0, counts: Some(recvcounts.into()) };
    divide(run, Kind::ReduceScatter, (sendbuf, recvbuf, own, datatype, op), blocks, comm)
}

/// `MPI_Reduce_scatter_block` (6.10.1).
pub fn reduce_scatter_block(
    run: Run,
    sendbuf: Address,
    recvbuf: Address,
    recvcount: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<()> {
    let blocks = BlockCounts { even: recvcount as usize, counts: None };
    divide(run, Kind::ReduceScatterBlock, (sendbuf, recvbuf, recvcount, datatype, op), blocks, comm)
}

/// Runs a reduction that gives every rank a part; the vector's count is that of this rank's part.
fn divide(run: Run, kind: Kind, vector: Vector, blocks: BlockCounts, comm: &Arc<Comm>) -> Result<()> {
    let (send, recv, own, datatype, op) = vector;
    let total = blocks.sum(0, comm.size() as usize);
    let operands = symmetric((send, recv, total as i64, datatype, op), own, comm)?;
    check_vectors(run, vector, comm)?;
    let call = reducing_call(kind, op, (datatype, total as i64), comm);
    try_board!(run, blocking::reduce_scatter, comm, call, operands, Reduction { op, datatype }, blocks);
    let fill = |schedule: &mut Schedule| operations::reduce_scatter(schedule, comm, operands, blocks);
    run.run(comm, call, Some((op, datatype)), fill)
}

fn refuse_intercommunicator(comm: &Comm) -> Result<()> {
    if !comm.is_inter() {
        return Ok(());
    }
    Err(Error::new(
        mpi::MPI_ERR_COMM,
        "a scan is not defined on an intercommunicator",
        "the communicator of a scan",
        "the ranks of two groups have no common order",
        "merge the intercommunicator with MPI_Intercomm_merge first",
    ))
}
