//! Blocking reductions over the board.

use super::{Done, Drive, LOOKS, board, drive, open, run};
use crate::coll::algorithms::reduce_scatter::BlockCounts;
use crate::coll::board::direct::{DirectReduction, Verdict, suits_any_results};
use crate::coll::board::exchanges::Fold;
use crate::coll::board::in_place::{Area, InPlace};
use crate::coll::board::results::Results;
use crate::coll::board::rounds::{InRounds, Outcome, RoundSlots};
use crate::coll::choose::{OnBoard, TABLE};
use crate::coll::execute::Reduction;
use crate::coll::operands::Operands;
use crate::comm::Comm;
use crate::error::Result;
use crate::process::Process;
use std::ops::Range;
use verbena_channel::board::{Board, Way};
use verbena_channel::mark::Mark;

impl Drive for DirectReduction<'_> {
    type Outcome = Verdict;
    fn drive(&mut self, board: &mut dyn Board) -> Result<Option<Verdict>> {
        self.advance(board)
    }
    fn seek(&mut self, board: &mut dyn Board) {
        DirectReduction::seek(self, board);
    }
    fn awaits(&self, _: &dyn Board, rank: usize) -> bool {
        DirectReduction::awaits(self, rank)
    }
    fn has_paused(&self) -> bool {
        DirectReduction::has_paused(self)
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
    fn awaits(&self, board: &dyn Board, rank: usize) -> bool {
        InPlace::awaits(self, board, rank)
    }
    fn has_paused(&self) -> bool {
        InPlace::has_paused(self)
    }
}

impl Drive for InRounds<'_> {
    type Outcome = ();
    fn drive(&mut self, board: &mut dyn Board) -> Result<Option<()>> {
        self.advance(board).map(|done| done.then_some(()))
    }
    fn seek(&mut self, board: &mut dyn Board) {
        InRounds::seek(self, board);
    }
    fn awaits(&self, board: &dyn Board, rank: usize) -> bool {
        InRounds::awaits(self, board, rank)
    }
    fn has_paused(&self) -> bool {
        InRounds::has_paused(self)
    }
}

/// A reduction that a rank calls.
#[derive(Clone, Copy)]
struct Reducing<'a> {
    process: &'a Process,
    comm: &'a Comm,
    call: Mark,
    operands: Operands<'a>,
    reduction: Reduction<'a>,
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
    let reducing = Reducing { process, comm, call, operands, reduction };
    let done = reducing
        .in_place(Results::All)
        .or_else(|| reducing.fold(0..comm.size() as usize, (0, operands.count)));
    if done.is_some() {
        return done;
    }
    reducing.in_rounds(Outcome::Of(Results::All)).or_else(|| reducing.directly(Results::All))
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
    let reducing = Reducing { process, comm, call, operands, reduction };
    reducing
        .fold(0..comm.size() as usize, (0, operands.count))
        .or_else(|| reducing.in_rounds(Outcome::Of(Results::Root(root as usize))))
        .or_else(|| reducing.directly(Results::Root(root as usize)))
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
    let results = Results::Blocks(blocks);
    let reducing = Reducing { process, comm, call, operands, reduction };
    reducing
        .in_place(results)
        .or_else(|| reducing.fold(0..comm.size() as usize, part))
        .or_else(|| reducing.in_rounds(Outcome::Of(results)))
        .or_else(|| reducing.directly(results))
}

/// `MPI_Scan`.
pub fn scan(process: &Process, comm: &Comm, call: Mark, operands: Operands, reduction: Reduction) -> Done {
    let reducing = Reducing { process, comm, call, operands, reduction };
    reducing
        .fold(0..comm.rank() as usize + 1, (0, operands.count))
        .or_else(|| reducing.in_rounds(Outcome::Scan))
}

/// `MPI_Exscan`.
pub fn exscan(process: &Process, comm: &Comm, call: Mark, operands: Operands, reduction: Reduction) -> Done {
    let reducing = Reducing { process, comm, call, operands, reduction };
    reducing
        .fold(0..comm.rank() as usize, (0, operands.count))
        .or_else(|| reducing.in_rounds(Outcome::Exscan))
}

impl Reducing<'_> {
    /// Returns whether all members can reduce records, which lie at any address: predefined
    /// operations and datatypes only.
    #[inline]
    fn is_plain(&self) -> bool {
        self.reduction.op.builtin().is_some() && self.reduction.datatype.as_basic().is_some()
    }

    fn ranks(&self) -> usize {
        self.comm.size() as usize
    }

    /// Runs a reduction in which this member combines a part of the operands of some members.
    #[inline]
    fn fold(&self, from: Range<usize>, part: (usize, usize)) -> Done {
        if !self.is_plain() {
            return None;
        }
        let Reducing { process, comm, call, operands, reduction } = *self;
        let (send, recv, count, bytes) = (operands.input(), operands.recv, operands.count, operands.bytes());
        let exchange = Fold { send, recv, count, from, part, reduction, first: None };
        match board(process, comm, bytes) {
            Ok(None) => None,
            Ok(Some(board)) => Some(run(process, comm, (call, bytes), board, exchange)),
            Err(error) => Some(Err(error)),
        }
    }

    /// Reduces a vector in place, if it is long enough for that.
    #[inline]
    fn in_place(&self, results: Results) -> Done {
        match TABLE.reduce_on_board(self.ranks(), self.operands.bytes()) {
            OnBoard::InPlace(piece) if self.is_plain() => self.reduce_in_place(results, piece).transpose(),
            _ => None,
        }
    }

    /// Reduces a vector in place; `Ok(None)` if the call must go another way.
    fn reduce_in_place(&self, results: Results, piece: usize) -> Result<Option<()>> {
        let Reducing { process, comm, call, operands, reduction } = *self;
        let Some(board) = comm.board_handle().board(process, comm)? else { return Ok(None) };
        let mut board = board.lock();
        let Some(area) = Area::new(&**board, piece, operands.input().bytes(1)) else { return Ok(None) };
        open(&mut **board, comm, (call, operands.bytes(), Way::Records));
        let looks = if process.may_spin() { LOOKS } else { 0 };
        let collective = InPlace::new(&**board, operands, reduction, results, area, looks);
        drive(process, comm, call, &mut **board, collective).map(Some)
    }

    /// Reduces a vector in rounds, if it is long enough for that.
    fn in_rounds(&self, outcome: Outcome) -> Done {
        let (ranks, bytes) = (self.ranks(), self.operands.bytes());
        let way = match outcome {
            Outcome::Of(Results::Blocks(_)) => TABLE.reduce_scatter_in_rounds(ranks, bytes),
            _ => TABLE.reduce_in_rounds(ranks, bytes),
        };
        match way {
            OnBoard::Rounds(piece) if self.is_plain() => self.reduce_in_rounds(outcome, piece).transpose(),
            _ => None,
        }
    }

    /// Reduces a vector in rounds; `Ok(None)` if the call must go another way.
    fn reduce_in_rounds(&self, outcome: Outcome, piece: usize) -> Result<Option<()>> {
        let Reducing { process, comm, call, operands, reduction } = *self;
        let Some(board) = comm.board_handle().board(process, comm)? else { return Ok(None) };
        let mut board = board.lock();
        let (bytes, size) = (operands.bytes(), operands.input().bytes(1));
        let Some(slots) = RoundSlots::new(&**board, bytes, piece, size) else { return Ok(None) };
        open(&mut **board, comm, (call, bytes, Way::Records));
        let collective = InRounds::new(&mut **board, operands, reduction, outcome, slots);
        drive(process, comm, call, &mut **board, collective).map(Some)
    }

    /// Reduces a vector in the members' memory, if it is long enough for that.
    fn directly(&self, results: Results) -> Done {
        let (ranks, bytes) = (self.ranks(), self.operands.bytes());
        let way = match results {
            Results::Blocks(_) => TABLE.reduce_scatter_on_board(ranks, bytes),
            _ => TABLE.allreduce_on_board(ranks, bytes),
        };
        match way {
            OnBoard::Direct(piece) if self.is_plain() => self.reduce_directly(results, piece).transpose(),
            _ => None,
        }
    }

    /// Reduces a vector in the members' memory; `Ok(None)` if the call must go another way.
    fn reduce_directly(&self, results: Results, piece: usize) -> Result<Option<()>> {
        let Reducing { process, comm, call, operands, reduction } = *self;
        let Some(board) = comm.board_handle().board(process, comm)? else { return Ok(None) };
        let Some(reach) = comm.board_handle().reach(process, comm) else { return Ok(None) };
        let mut board = board.lock();
        let size = operands.input().bytes(1);
        if !matches!(results, Results::All) && !suits_any_results(&**board, operands.bytes(), piece, size) {
            return Ok(None);
        }
        open(&mut **board, comm, (call, operands.bytes(), Way::Records));
        let collective = DirectReduction::new(&mut **board, operands, reduction, results, reach, piece);
        match drive(process, comm, call, &mut **board, collective)? {
            Verdict::Done => Ok(Some(())),
            Verdict::Refused => {
                comm.board_handle().part();
                Ok(None)
            }
        }
    }
}
