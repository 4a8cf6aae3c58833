//! Blocking reductions over the board.

use super::{Done, Drive, LOOKS, board, drive, open, or_lost, run};
use crate::coll::algorithms::reduce_scatter::BlockCounts;
use crate::coll::board::direct::{DirectReduction, Verdict, suits_any_results};
use crate::coll::board::exchanges::Fold;
use crate::coll::board::in_place::{Area, InPlace};
use crate::coll::board::results::Results;
use crate::coll::choose::{OnBoard, TABLE};
use crate::coll::execute::Reduction;
use crate::coll::operands::Operands;
use crate::comm::Comm;
use crate::error::Result;
use crate::process::Process;
use std::ops::Range;
use verbena_channel::board::Board;
use verbena_channel::mark::Mark;

impl Drive for DirectReduction<'_> {
    type Outcome = Verdict;
    fn drive(&mut self, board: &mut dyn Board) -> Result<Option<Verdict>> {
        self.advance(board)
    }
    fn seek(&mut self, board: &mut dyn Board) {
        DirectReduction::seek(self, board);
    }
}

impl Drive for InPlace<'_> {
    type Outcome = ();
    /// One: the reduction looks several times itself, whenever it waits.
    const LOOKS: u32 = 1;
    fn drive(&mut self, board: &mut dyn Board) -> Result<Option<()>> {
        self.advance(board).map(|done| done.then_some(()))
    }
    fn seek(&mut self, board: &mut dyn Board) {
        InPlace::seek(self, board);
    }
}

/// Returns whether all members can reduce records, which lie at any address: predefined operations
/// and datatypes only.
#[inline]
fn is_plain(reduction: Reduction) -> bool {
    reduction.op.builtin().is_some() && reduction.datatype.as_basic().is_some()
}

/// Runs a reduction in which this member combines a part of the operands of some members.
#[inline]
fn fold(
    process: &Process,
    comm: &Comm,
    call: Mark,
    operands: Operands,
    reduction: Reduction,
    from: Range<usize>,
    part: (usize, usize),
) -> Done {
    if !is_plain(reduction) {
        return None;
    }
    let (send, recv, count) = (operands.input(), operands.recv, operands.count);
    let exchange = Fold { send, recv, count, from, part, reduction, first: None };
    match board(process, comm, operands.bytes()) {
        Ok(None) => None,
        Ok(Some(board)) => Some(run(process, comm, call, board, exchange)),
        Err(error) => Some(Err(error)),
    }
}

/// Reduces a vector in place, if it is long enough for that.
#[inline]
fn in_place(
    process: &Process,
    comm: &Comm,
    call: Mark,
    operands: Operands,
    reduction: Reduction,
    results: Results,
) -> Done {
    match TABLE.reduce_on_board(comm.size() as usize, operands.bytes()) {
        OnBoard::InPlace(piece) if is_plain(reduction) => {
            reduce_in_place(process, comm, call, operands, reduction, results, piece).transpose()
        }
        _ => None,
    }
}

/// Reduces a vector in place; `Ok(None)` if the call must go another way.
fn reduce_in_place(
    process: &Process,
    comm: &Comm,
    call: Mark,
    operands: Operands,
    reduction: Reduction,
    results: Results,
    piece: usize,
) -> Result<Option<()>> {
    let Some(board) = comm.board_handle().board(process, comm)? else { return Ok(None) };
    let mut board = board.lock();
    let Some(area) = Area::new(&**board, piece, operands.input().bytes(1)) else { return Ok(None) };
    open(&mut **board, comm, call);
    let looks = if process.may_spin() { LOOKS } else { 0 };
    let collective = InPlace::new(&**board, operands, reduction, results, area, looks);
    drive(process, comm, call, &mut **board, collective).map(Some)
}

/// `MPI_Allreduce`.
#[inline]
pub fn allreduce(
    process: &Process,
    comm: &Comm,
    call: Mark,
    operands: Operands,
    reduction: Reduction,
) -> Done {
    let ranks = comm.size() as usize;
    let done = in_place(process, comm, call, operands, reduction, Results::All)
        .or_else(|| fold(process, comm, call, operands, reduction, 0..ranks, (0, operands.count)));
    if done.is_some() {
        return done;
    }
    directly(process, comm, call, operands, reduction, Results::All)
}

/// Reduces a vector in the members' memory, if it is long enough for that.
fn directly(
    process: &Process,
    comm: &Comm,
    call: Mark,
    operands: Operands,
    reduction: Reduction,
    results: Results,
) -> Done {
    let (ranks, bytes) = (comm.size() as usize, operands.bytes());
    let way = match results {
        Results::Blocks(_) => TABLE.reduce_scatter_on_board(ranks, bytes),
        _ => TABLE.allreduce_on_board(ranks, bytes),
    };
    match way {
        OnBoard::Direct(piece) if is_plain(reduction) => {
            reduce_directly(process, comm, call, operands, reduction, results, piece).transpose()
        }
        _ => None,
    }
}

/// Reduces a vector in the members' memory; `Ok(None)` if the call must go another way.
fn reduce_directly(
    process: &Process,
    comm: &Comm,
    call: Mark,
    operands: Operands,
    reduction: Reduction,
    results: Results,
    piece: usize,
) -> Result<Option<()>> {
    let Some(board) = comm.board_handle().board(process, comm)? else { return Ok(None) };
    let Some(reach) = comm.board_handle().reach(process, comm) else { return Ok(None) };
    let mut board = board.lock();
    let size = operands.input().bytes(1);
    if !matches!(results, Results::All) && !suits_any_results(&**board, operands.bytes(), piece, size) {
        return Ok(None);
    }
    open(&mut **board, comm, call);
    let collective = DirectReduction::new(&mut **board, operands, reduction, results, reach, piece);
    let verdict = drive(process, comm, call, &mut **board, collective);
    match verdict.map_err(|error| or_lost(process, comm, error))? {
        Verdict::Done => Ok(Some(())),
        Verdict::Refused => {
            comm.board_handle().part();
            Ok(None)
        }
    }
}

/// `MPI_Reduce`.
pub fn reduce(
    process: &Process,
    comm: &Comm,
    call: Mark,
    operands: Operands,
    reduction: Reduction,
    root: i32,
) -> Done {
    if comm.is_inter() {
        return None;
    }
    let recv = operands.recv.filter(|_| comm.rank() == root);
    let operands = Operands { send: Some(operands.input()), recv, ..operands };
    let (results, all) = (Results::Root(root as usize), 0..comm.size() as usize);
    fold(process, comm, call, operands, reduction, all, (0, operands.count))
        .or_else(|| directly(process, comm, call, operands, reduction, results))
}

/// `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`.
pub fn reduce_scatter(
    process: &Process,
    comm: &Comm,
    call: Mark,
    operands: Operands,
    reduction: Reduction,
    blocks: BlockCounts,
) -> Done {
    let me = comm.rank() as usize;
    let part = (blocks.sum(0, me), blocks.count(me));
    let (results, all) = (Results::Blocks(blocks), 0..comm.size() as usize);
    in_place(process, comm, call, operands, reduction, results)
        .or_else(|| fold(process, comm, call, operands, reduction, all, part))
        .or_else(|| directly(process, comm, call, operands, reduction, results))
}

/// `MPI_Scan`.
pub fn scan(process: &Process, comm: &Comm, call: Mark, operands: Operands, reduction: Reduction) -> Done {
    fold(process, comm, call, operands, reduction, 0..comm.rank() as usize + 1, (0, operands.count))
}

/// `MPI_Exscan`.
pub fn exscan(process: &Process, comm: &Comm, call: Mark, operands: Operands, reduction: Reduction) -> Done {
    fold(process, comm, call, operands, reduction, 0..comm.rank() as usize, (0, operands.count))
}
