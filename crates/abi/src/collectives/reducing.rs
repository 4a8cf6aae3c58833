//! Collectives that reduce.

use super::{Form, elements, in_place, over_board, run, try_board};
use crate::args::{self, Address, Counts};
use std::sync::Arc;
use verbena_mpi::coll::Reduction;
use verbena_mpi::coll::algorithms::reduce_scatter::Division;
use verbena_mpi::coll::operations::{self, Operands};
use verbena_mpi::coll::schedule::Schedule;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Datatype, Error, Op, Process, Result};

/// The operands of a call: send and receive address, count, datatype, operation.
pub type Vector<'a> = (Address, Address, i64, &'a Arc<Datatype>, &'a Arc<Op>);

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

/// How a reduction in which every rank has an operand and a result goes over a board.
type OverBoard = fn(&Process, &Comm, Operands, Reduction) -> over_board::Done;

/// Runs a reduction in which every rank has an operand and a result.
#[inline]
fn run_symmetric(
    form: Form,
    vector: Vector,
    comm: &Arc<Comm>,
    over_board: OverBoard,
    fill: impl FnOnce(&mut Schedule, &Comm, Operands),
) -> Result<()> {
    let operands = symmetric(vector, vector.2, comm)?;
    let reduction = Reduction { op: vector.4, datatype: vector.3 };
    if let Form::Blocking = form
        && let Some(outcome) = over_board(crate::process(), comm, operands, reduction)
    {
        return outcome;
    }
    run(form, comm, Some((vector.4, vector.3)), |schedule| fill(schedule, comm, operands))
}

/// `MPI_Reduce` and its forms.
pub fn reduce(form: Form, vector: Vector, root: i32, comm: &Arc<Comm>) -> Result<()> {
    let (send, recv, count, datatype, op) = vector;
    let at_root = args::is_root(root, comm);
    let has_operand = args::is_leaf(root, comm);
    // Beside the root of an intercommunicator no argument but the root is significant.
    if at_root || has_operand {
        op.check(datatype)?;
    }
    let stays = has_operand && in_place(send, at_root && !comm.is_inter())?;
    let send = if has_operand && !stays { Some(elements(send, count, datatype)?) } else { None };
    let recv = if at_root { Some(elements(recv, count, datatype)?) } else { None };
    let operands = Operands { send, recv, count: count as usize, commutative: op.is_commutative() };
    try_board!(form, reduce(comm, operands, Reduction { op, datatype }, root));
    run(form, comm, Some((op, datatype)), |schedule| operations::reduce(schedule, comm, operands, root))
}

/// `MPI_Allreduce` and its forms.
#[inline]
pub fn allreduce(form: Form, vector: Vector, comm: &Arc<Comm>) -> Result<()> {
    run_symmetric(form, vector, comm, over_board::allreduce, operations::allreduce)
}

/// `MPI_Scan` and its forms.
pub fn scan(form: Form, vector: Vector, comm: &Arc<Comm>) -> Result<()> {
    refuse_intercommunicator(comm)?;
    run_symmetric(form, vector, comm, over_board::scan, operations::scan)
}

/// `MPI_Exscan` and its forms.
pub fn exscan(form: Form, vector: Vector, comm: &Arc<Comm>) -> Result<()> {
    refuse_intercommunicator(comm)?;
    run_symmetric(form, vector, comm, over_board::exscan, operations::exscan)
}

/// `MPI_Reduce_scatter` and its forms. The vector's count is not used.
pub fn reduce_scatter(form: Form, vector: Vector, counts: Counts, comm: &Arc<Comm>) -> Result<()> {
    let own = counts.get(comm.rank() as usize);
    let division = Division { even: 0, counts: Some(counts.into()) };
    divide(form, vector, own, division, comm)
}

/// `MPI_Reduce_scatter_block` and its forms. The vector's count is that of one block.
pub fn reduce_scatter_block(form: Form, vector: Vector, comm: &Arc<Comm>) -> Result<()> {
    let division = Division { even: vector.2 as usize, counts: None };
    divide(form, vector, vector.2, division, comm)
}

fn divide(form: Form, vector: Vector, own: i64, division: Division, comm: &Arc<Comm>) -> Result<()> {
    let (send, recv, _, datatype, op) = vector;
    let total = division.sum(0, comm.size() as usize);
    let operands = symmetric((send, recv, total as i64, datatype, op), own, comm)?;
    try_board!(form, reduce_scatter(comm, operands, Reduction { op, datatype }, division));
    let fill = |schedule: &mut Schedule| operations::reduce_scatter(schedule, comm, operands, division);
    run(form, comm, Some((op, datatype)), fill)
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
