//! Reductions in place: operands and results travel there and back in the same cache lines.
//!
//! Each member owns a share of the vector. It puts its operands for the others' shares into its own
//! slots; the owner of a share combines them there, and what comes of it stays in the very lines
//! that the operand came in, where the other member takes it. So the owner of a line writes what it
//! has just received from the one that wrote it before. That is the cheap pattern: to write a line
//! that another core has only read costs several times as much.
//!
//! One member computes each element, from the operands in rank order, so all get the same bits, and
//! the same whoever owns the share.

mod area;
mod turns;

use super::lengths::Lengths;
use super::results::Results;
use super::short::Short;
use crate::coll::execute::Reduction;
use crate::coll::operands::Operands;
use crate::error::{Error, Result};
pub use area::Area;
use turns::{Turn, Turns};
use verbena_channel::board::Board;
use verbena_memory::Region;
use verbena_memory::copy::copy_wide;

/// A reduction with a predefined operation on a predefined datatype.
pub struct InPlace<'a> {
    send: Region,
    /// The place of this member's results: of the vector, or of its block.
    recv: Option<Region>,
    reduction: Reduction<'a>,
    results: Results<'a>,
    count: usize,
    me: usize,
    ranks: usize,
    area: Area,
    turns: Turns,
    /// The number of looks for what a turn needs before it waits, and those that are left.
    looks: u32,
    looks_left: u32,
    /// The turns that were finished since it last went on.
    done: u32,
    meeting: Short<Lengths>,
    failure: Option<Error>,
}

/// After this many turns it pauses.
const PAUSE_EVERY: u32 = 1024;

impl<'a> InPlace<'a> {
    /// A reduction that has not begun, of at least one element. `board` must be open for it.
    pub fn new(
        board: &dyn Board,
        operands: Operands<'a>,
        reduction: Reduction<'a>,
        results: Results<'a>,
        area: Area,
        looks: u32,
    ) -> InPlace<'a> {
        let (me, ranks, count) = (board.me(), board.ranks(), operands.count);
        let own = results.wanted(count, me).1;
        let send = operands.input().origins(count).part(0, count * area.size);
        let recv = operands.recv.filter(|_| own > 0).map(|recv| recv.origins(own).part(0, own * area.size));
        let pieces = [area.elements, area.chunks];
        let lengths = Lengths::new(results, ranks, (count, area.size), pieces);
        let turns = Turns::new(lengths.longest().div_ceil(area.elements), area.chunks, board.posted());
        let meeting = Short::new(lengths);
        InPlace {
            send,
            recv,
            reduction,
            results,
            count,
            me,
            ranks,
            area,
            turns,
            looks,
            looks_left: looks,
            done: 0,
            meeting,
            failure: None,
        }
    }

    /// Returns whether it stopped, before it had to wait, to let other communication progress.
    pub fn has_paused(&self) -> bool {
        self.done >= PAUSE_EVERY
    }

    /// Returns whether it waits for `rank`.
    pub fn awaits(&self, board: &dyn Board, rank: usize) -> bool {
        match self.turns.turn() {
            Turn::Meet => self.meeting.awaits(rank),
            _ => !board.has_posted(rank, self.turns.awaits()),
        }
    }

    /// Goes on until it would have to wait or pauses ([`InPlace::has_paused`]); `Ok(true)` when
    /// done, and not to be called again then.
    ///
    /// # Errors
    /// The members are in different collectives or gave different lengths.
    pub fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        self.done = 0;
        loop {
            let turn = self.turns.turn();
            if !self.may_go_on(board, turn) {
                return Ok(false);
            }
            match turn {
                Turn::Put(chunk) => self.put(board, chunk),
                Turn::Meet => {
                    if !self.meet(board)? {
                        return Ok(false);
                    }
                }
                Turn::Reduce(chunk) => {
                    let outcome = self.reduce(board, chunk);
                    self.failure = self.failure.take().or(outcome.err());
                }
                Turn::Take(chunk) => self.take(board, chunk),
                Turn::Leave => board.say_results_read(),
                Turn::Gone => return self.failure.take().map_or(Ok(true), Err),
            }
            if self.turns.is_told() {
                board.step();
            }
            self.turns.finish();
            self.looks_left = self.looks;
            self.done += 1;
            if self.has_paused() {
                return Ok(false);
            }
        }
    }

    /// Looks elsewhere in an idle round, see [`Short::seek`].
    pub fn seek(&mut self, board: &mut dyn Board) {
        if self.turns.turn() == Turn::Meet {
            self.meeting.seek(board);
        }
    }

    /// Returns whether the others have done what this turn needs. At its first call in a turn it
    /// looks for a while; later ones come between rounds of progress.
    fn may_go_on(&mut self, board: &dyn Board, turn: Turn) -> bool {
        let posts = self.turns.awaits();
        if turn == Turn::Put(0) {
            // What earlier collectives left in the slots.
            return board.slots_are_read();
        }
        if posts == 0 {
            return true;
        }
        let mut next = 0;
        for _ in 0..=std::mem::take(&mut self.looks_left) {
            while next < self.ranks && (next == self.me || board.has_posted(next, posts)) {
                next += 1;
            }
            if next == self.ranks {
                return true;
            }
        }
        false
    }

    /// Meets the others; false if some are not there. It looks for them as for posts.
    fn meet(&mut self, board: &mut dyn Board) -> Result<bool> {
        for _ in 0..=std::mem::take(&mut self.looks_left) {
            // The other must not take what it posts later for posts of this reduction.
            if self.meeting.advance(board).inspect_err(|_| board.give_up())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The elements of chunk `chunk` in the share of `owner`: the first one, and how many.
    fn range(&self, owner: usize, chunk: usize) -> (usize, usize) {
        let (first, len) = self.results.share(self.count, self.ranks, owner);
        let from = (chunk * self.area.elements).min(len);
        (first + from, self.area.elements.min(len - from))
    }

    fn elements(&self, of: Region, (first, len): (usize, usize)) -> Region {
        of.part(first * self.area.size, len * self.area.size)
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.ranks).filter(move |&rank| rank != me)
    }

    fn put(&self, board: &dyn Board, chunk: usize) {
        for owner in self.others() {
            let range = self.range(owner, chunk);
            let room = self.area.piece(board, self.me, owner, chunk, range.1);
            copy_wide(self.elements(self.send, range), room);
        }
    }

    /// Combines all operands of this member's share in the lines in which the first other member's
    /// came, and copies the result to where it is wanted.
    fn reduce(&self, board: &dyn Board, chunk: usize) -> Result<()> {
        let range = self.range(self.me, chunk);
        if range.1 == 0 {
            return Ok(());
        }
        let place = |holder: usize| self.area.piece(board, holder, self.me, chunk, range.1);
        let at = usize::from(self.me == 0);
        let sum = place(at);
        for rank in (0..self.ranks).filter(|&rank| rank != at) {
            let operand = if rank == self.me { self.elements(self.send, range) } else { place(rank) };
            let (left, right) = if rank < at { (operand, sum) } else { (sum, operand) };
            let Reduction { op, datatype } = self.reduction;
            op.combine(left, right, sum, range.1, datatype)?;
        }
        for rank in self.others().filter(|&rank| rank != at && self.results.has_others(rank)) {
            copy_wide(sum, place(rank));
        }
        if let Some(recv) = self.recv {
            copy_wide(sum, self.elements(recv, self.result_range(range, chunk)));
        }
        Ok(())
    }

    /// The place of this member's own results, which are these elements of the vector.
    fn result_range(&self, range: (usize, usize), chunk: usize) -> (usize, usize) {
        match self.results {
            Results::Blocks(_) => (chunk * self.area.elements, range.1),
            _ => range,
        }
    }

    fn take(&self, board: &dyn Board, chunk: usize) {
        let Some(recv) = self.recv.filter(|_| self.results.has_others(self.me)) else { return };
        for owner in self.others() {
            let range = self.range(owner, chunk);
            copy_wide(self.area.piece(board, self.me, owner, chunk, range.1), self.elements(recv, range));
        }
    }
}
