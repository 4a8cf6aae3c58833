//! Long reductions in which the members reach into each other's memory.
//!
//! Each member shows in a record where its vectors lie. When all have, the vector is reduced in
//! parts: a member that does a part reads it from all members, combines it in rank order, and
//! writes the result to all of them. So the members meet once, however long the vector is. Among
//! more than two members the results go through slots ([`super::operands`]), where they are read
//! without a system call. Two members go this way, and those whose slots are too short for rounds
//! ([`super::rounds`]), as where many share a board. Nobody waits for a member that has no core at
//! the moment: the others do its parts ([`Board::take_part`]). The order of the operands never
//! changes, so the result is the same bit for bit, whichever member does a part.
//!
//! A member that cannot reach all others says so in its record, and then all go another way from
//! now on.
//!
//! A member that leaves before the end, as another was lost or has left, waits until nobody does
//! parts any more ([`Board::abandon`], [`Board::give_up`]): its memory is its own again when the
//! call returns.

use super::addresses::{VectorAddress, VectorAddresses};
use super::differing::of_other_pieces;
pub use super::handle::Reach;
use super::operands::OperandSlots;
use super::results::Results;
use super::short::Short;
use crate::coll::algorithms::part;
use crate::coll::execute::Reduction;
use crate::coll::operands::Operands;
use crate::error::{Error, Result};
use crate::generated::constants::{MPI_ERR_COUNT, MPI_ERR_OTHER, MPI_ERR_TRUNCATE};
use std::ops::Range;
use verbena_channel::board::Board;
use verbena_memory::Region;

/// The outcome of a direct collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The reduction is done.
    Done,
    /// Some member cannot reach the others: all get this answer, and no operand was changed.
    Refused,
}

/// The stage of a direct collective.
enum Stage {
    /// Not all members have shown their addresses.
    Meeting,
    /// There may be parts that nobody has taken.
    Working,
    /// Others do the last parts.
    Ending,
}

/// A reduction with a predefined operation on a predefined datatype.
pub struct DirectReduction<'a> {
    send: Region,
    /// The place of this member's results, and where they begin in the vector.
    recv: Option<Region>,
    from: usize,
    reduction: Reduction<'a>,
    reach: &'a Reach,
    me: usize,
    /// Bytes of an element.
    size: usize,
    slots: OperandSlots,
    stage: Stage,
    meeting: Short<VectorAddresses>,
    vectors: Vec<VectorAddress>,
    /// The parts that were done since it last went on.
    done: u32,
    failure: Option<Error>,
}

/// After this many parts it pauses.
const PAUSE_EVERY: u32 = 64;

/// The bytes of a part, if the parts are about `piece` bytes long.
fn part_bytes(board: &dyn Board, piece: usize, size: usize) -> usize {
    (piece.min(board.slot_bytes()) / size).max(1) * size
}

/// Returns whether members may get different results of vectors of `bytes` bytes, of elements of
/// `size` bytes: only if results go through slots. In the program's memory, a block might take the
/// place of operands that others still read.
pub fn suits_any_results(board: &dyn Board, bytes: usize, piece: usize, size: usize) -> bool {
    OperandSlots::new(board, bytes, part_bytes(board, piece, size)).shows
}

impl<'a> DirectReduction<'a> {
    /// A reduction that has not begun, of at least one element, in parts of about `piece` bytes.
    /// `board` must be open for it, and suit the results ([`suits_any_results`]).
    pub fn new(
        board: &mut dyn Board,
        operands: Operands<'a>,
        reduction: Reduction<'a>,
        results: Results,
        reach: &'a Reach,
        piece: usize,
    ) -> DirectReduction<'a> {
        let (me, size, bytes) = (board.me(), operands.input().bytes(1), operands.bytes());
        let (first, own) = results.wanted(operands.count, me);
        let send = operands.input().origins(operands.count).part(0, bytes);
        let recv = operands.recv.filter(|_| own > 0).map(|recv| recv.origins(own).part(0, own * size));
        let to = recv.map_or(0, |recv| recv.address());
        board.offer_parts();
        let reaches = (0..).zip(reach).all(|(rank, neighbor)| rank == me || neighbor.is_some());
        let flags = if reaches { VectorAddress::REACHES } else { 0 };
        let flags = if to == send.address() { flags | VectorAddress::IN_PLACE } else { flags };
        let slots = OperandSlots::new(board, bytes, part_bytes(board, piece, size));
        let flags = flags | (slots.piece as u64) << VectorAddress::PIECE_AT;
        let mine = VectorAddress { from: send.address(), to, bytes: bytes as u64, flags };
        let meeting = Short::new(VectorAddresses { mine, all: Vec::with_capacity(board.ranks()) });
        let (stage, vectors, failure) = (Stage::Meeting, Vec::new(), None);
        let from = first * size;
        DirectReduction {
            send,
            recv,
            from,
            reduction,
            reach,
            me,
            size,
            slots,
            stage,
            meeting,
            vectors,
            done: 0,
            failure,
        }
    }

    /// Returns whether it stopped, before it had to wait, to let other communication progress.
    pub fn has_paused(&self) -> bool {
        self.done >= PAUSE_EVERY
    }

    /// Returns whether it waits for `rank`.
    pub fn awaits(&self, rank: usize) -> bool {
        match self.stage {
            Stage::Meeting => self.meeting.awaits(rank),
            // Any member may be doing the last parts.
            Stage::Working | Stage::Ending => true,
        }
    }

    /// Goes on until it would have to wait or pauses ([`DirectReduction::has_paused`]); `Ok(None)`
    /// if it must be called again.
    ///
    /// # Errors
    /// The members are in different collectives, gave different lengths, or lost access to each
    /// other's memory after operands were overwritten.
    pub fn advance(&mut self, board: &mut dyn Board) -> Result<Option<Verdict>> {
        self.done = 0;
        if let Stage::Meeting = self.stage {
            if !self.meeting.advance(board)? {
                return Ok(None);
            }
            self.vectors = std::mem::take(&mut self.meeting.exchange_mut().all);
            if !self.agree(board)? {
                return Ok(Some(Verdict::Refused));
            }
        }
        if let Stage::Working = self.stage
            && !self.work(board)
        {
            return Ok(None);
        }
        match board.all_parts_finished() {
            true => self.verdict(board).map(Some),
            false => Ok(None),
        }
    }

    /// Looks elsewhere in an idle round, see [`Short::seek`].
    pub fn seek(&mut self, board: &mut dyn Board) {
        if let Stage::Meeting = self.stage {
            self.meeting.seek(board);
        }
    }

    /// Decides whether it can be done, now that all know where everything is.
    fn agree(&mut self, board: &mut dyn Board) -> Result<bool> {
        let own = self.send.len() as u64;
        if let Some(rank) = self.vectors.iter().position(|member| member.bytes != own) {
            return Err(of_other_length(rank, self.vectors[rank].bytes, own));
        }
        let own = self.slots.piece as u64;
        if let Some(rank) = self.vectors.iter().position(|member| member.piece() != own) {
            return Err(of_other_pieces(rank, self.vectors[rank].piece(), own));
        }
        if !self.vectors.iter().all(|member| member.has(VectorAddress::REACHES)) {
            return Ok(false);
        }
        board.owe_parts(self.slots.parts());
        self.stage = Stage::Working;
        Ok(true)
    }

    /// Copies this member's results out of the slots.
    fn take_results(&self, board: &dyn Board) {
        let Some(recv) = self.recv else { return };
        let wanted = self.from..self.from + recv.len();
        for n in 0..self.slots.parts() {
            let bytes = self.range(n);
            let (first, end) = (wanted.start.max(bytes.start), wanted.end.min(bytes.end));
            if first < end {
                let result = self.slots.result(board, n, bytes.len());
                recv.part(first - self.from, end - first)
                    .copy_from(result.part(first - bytes.start, end - first));
            }
        }
    }

    /// Does this member's parts, then the remaining parts of the others; false if it pauses before.
    fn work(&mut self, board: &mut dyn Board) -> bool {
        let (ranks, parts) = (board.ranks(), self.slots.parts());
        board.begin_parts();
        for owner in (self.me..ranks).chain(0..self.me) {
            let (first, len) = part(parts, ranks, owner);
            while let Some(i) = board.take_part(owner, len) {
                let outcome = match self.failure {
                    None => self.reduce(board, first + i),
                    Some(_) => Ok(()),
                };
                self.failure = self.failure.take().or(outcome.err());
                board.finish_part(self.failure.is_none());
                self.done += 1;
                if self.has_paused() {
                    board.end_parts();
                    return false;
                }
            }
        }
        board.end_parts();
        self.stage = Stage::Ending;
        true
    }

    /// The range of bytes of a part of the vector.
    fn range(&self, part: usize) -> Range<usize> {
        part * self.slots.piece..((part + 1) * self.slots.piece).min(self.send.len())
    }

    /// Does part `n`. This member's slots serve as temporary memory: all others are in this
    /// collective, so they are done with the old contents.
    fn reduce(&self, board: &mut dyn Board, n: usize) -> Result<()> {
        let bytes = self.range(n);
        let [incoming, one, other] = self.slots.temporary(board, bytes.len());
        let out = match self.slots.shows {
            true => self.slots.result(board, n, bytes.len()),
            false => self.whole().part(bytes.start, bytes.len()),
        };
        let mut left = self.operand(0, n, one)?;
        for rank in 1..board.ranks() {
            let right = self.operand(rank, n, incoming)?;
            let is_last = rank + 1 == board.ranks();
            let into = match is_last && left != out {
                true => out,
                false if left == one => other,
                false => one,
            };
            let Reduction { op, datatype } = self.reduction;
            op.combine(left, right, into, bytes.len() / self.size, datatype)?;
            left = into;
        }
        if left != out {
            out.copy_from(left);
        }
        if self.slots.shows { Ok(()) } else { self.hand_out(out, bytes.start) }
    }

    /// The place of all results, which every member has if they do not go through slots.
    fn whole(&self) -> Region {
        self.recv.expect("all members get all results")
    }

    /// Returns part `n` of a member's operand: in place, or read into `room`.
    fn operand(&self, rank: usize, n: usize, room: Region) -> Result<Region> {
        let bytes = self.range(n);
        match &self.reach[rank] {
            None => Ok(self.send.part(bytes.start, bytes.len())),
            Some(neighbor) => {
                neighbor
                    .read(self.vectors[rank].from + bytes.start as u64, room)
                    .map_err(|refusal| Error::channel(refusal.fault))?;
                Ok(room)
            }
        }
    }

    /// Writes a part of the result to all others.
    fn hand_out(&self, result: Region, at: usize) -> Result<()> {
        for (neighbor, member) in self.reach.iter().zip(&self.vectors) {
            if let Some(neighbor) = neighbor {
                neighbor
                    .write(result, member.to + at as u64)
                    .map_err(|refusal| Error::channel(refusal.fault))?;
            }
        }
        Ok(())
    }

    /// The verdict on which all members agree, once every part was tried.
    fn verdict(&mut self, board: &mut dyn Board) -> Result<Verdict> {
        if !board.any_part_failed() {
            if self.slots.shows {
                self.take_results(board);
                board.say_results_read();
            }
            return Ok(Verdict::Done);
        }
        if self.slots.shows || !self.vectors.iter().any(|one| one.has(VectorAddress::IN_PLACE)) {
            return Ok(Verdict::Refused);
        }
        Err(self.failure.take().unwrap_or_else(failed_elsewhere))
    }
}

#[cold]
pub(super) fn of_other_length(rank: usize, theirs: u64, own: u64) -> Error {
    Error::new(
        if theirs > own { MPI_ERR_TRUNCATE } else { MPI_ERR_COUNT },
        "the ranks of a communicator gave different lengths to a reduction",
        format!("{theirs} bytes at rank {rank} of the communicator, {own} here"),
        "counts or datatypes of the ranks do not match",
        "give the same count and datatype on all ranks",
    )
}

#[cold]
fn failed_elsewhere() -> Error {
    Error::new(
        MPI_ERR_OTHER,
        "another rank could not reach the memory of a rank of this reduction",
        "an MPI_Allreduce in place, whose operands are partly overwritten",
        "a buffer was freed or protected meanwhile, lies in memory of a device, or permission was taken back",
        "look at the message of the other rank; VERBENA_CMA=0 reduces through shared memory instead",
    )
}
