//! Long reductions of more than two members through slots, in rounds.
//!
//! In each round a member puts a piece of its operand into its own slots. When all have, the piece
//! is reduced in parts: a member that does a part combines all operands of it, in rank order, and
//! leaves the result in slots, from where each member copies what it wants. So every byte of an
//! operand is copied once and read once, and nobody asks the system for another's memory.
//!
//! Nobody waits for a member that has no core at the moment: the others do its parts
//! ([`Board::take_part`]). So a core changes its member once a round. The order of the operands
//! never changes, so the result is the same bit for bit, whichever member does a part.
//!
//! A member begins to put the operands of a round when it has seen that all parts of the round
//! before are done, and tells of them, by a post, when it has copied the results of that round. So
//! nobody reads the operands that it writes over, and the results of a round take the place of
//! those that all have copied.
//!
//! In a scan each member has a result of its own for every part. They take the place of the
//! operands, so each member finds its results in its own slots.

mod slots;

use super::lengths::Lengths;
use super::results::Results;
use super::short::Short;
use crate::coll::execute::Reduction;
use crate::coll::operands::Operands;
use crate::error::{Error, Result};
pub use slots::RoundSlots;
use verbena_channel::board::Board;
use verbena_memory::Region;

/// The results that members get.
#[derive(Clone, Copy)]
pub enum Outcome<'a> {
    /// Parts of one vector.
    Of(Results<'a>),
    /// Each the reduction of the operands up to its own.
    Scan,
    /// Each the reduction of the operands before its own; the first member gets none.
    Exscan,
}

impl<'a> Outcome<'a> {
    /// The results by whose shares members compare their lengths.
    fn shared(self) -> Results<'a> {
        match self {
            Outcome::Of(results) => results,
            Outcome::Scan | Outcome::Exscan => Results::All,
        }
    }

    /// The elements of a vector of `count` that a member gets: the first one, and how many.
    fn wanted(self, count: usize, me: usize) -> (usize, usize) {
        match self {
            Outcome::Exscan if me == 0 => (0, 0),
            _ => self.shared().wanted(count, me),
        }
    }
}

/// The next thing to be done.
enum Stage {
    /// A member has not read what is in the slots.
    Putting,
    /// Not all members are known to be there.
    Meeting,
    /// Not all members have told that their operands of this round are in slots.
    Waiting,
    /// There may be parts of this round that nobody has taken.
    Working,
    /// Others do the last parts of this round.
    Ending,
}

/// A reduction with a predefined operation on a predefined datatype.
pub struct InRounds<'a> {
    send: Region,
    /// The place of this member's results, and where they begin in the vector.
    recv: Option<Region>,
    from: usize,
    reduction: Reduction<'a>,
    outcome: Outcome<'a>,
    me: usize,
    slots: RoundSlots,
    stage: Stage,
    round: usize,
    /// The number of the last post before this reduction.
    posted: u64,
    /// The rounds that were finished since it last went on.
    rounds: u32,
    meeting: Short<Lengths>,
    failure: Option<Error>,
}

/// After this many rounds it pauses.
const PAUSE_EVERY: u32 = 16;

impl<'a> InRounds<'a> {
    /// A reduction that has not begun, of the elements for which `slots` were divided. `board` must
    /// be open for it.
    pub fn new(
        board: &mut dyn Board,
        operands: Operands<'a>,
        reduction: Reduction<'a>,
        outcome: Outcome<'a>,
        slots: RoundSlots,
    ) -> InRounds<'a> {
        let (me, size, count) = (board.me(), slots.size, operands.count);
        let (first, own) = outcome.wanted(count, me);
        let send = operands.input().origins(count).part(0, count * size);
        let recv = operands.recv.filter(|_| own > 0).map(|recv| recv.origins(own).part(0, own * size));
        board.offer_parts();
        let pieces = [slots.piece, slots.round];
        let meeting = Short::new(Lengths::new(outcome.shared(), board.ranks(), (count, size), pieces));
        InRounds {
            send,
            recv,
            from: first * size,
            reduction,
            outcome,
            me,
            slots,
            stage: Stage::Putting,
            round: 0,
            posted: board.posted(),
            rounds: 0,
            meeting,
            failure: None,
        }
    }

    /// Returns whether it stopped, before it had to wait, to let other communication progress.
    pub fn has_paused(&self) -> bool {
        self.rounds >= PAUSE_EVERY
    }

    /// Returns whether it waits for `rank`.
    pub fn awaits(&self, board: &dyn Board, rank: usize) -> bool {
        match self.stage {
            // Nobody goes on without this member.
            Stage::Putting => true,
            Stage::Meeting => self.meeting.awaits(rank),
            Stage::Waiting => !board.has_posted(rank, self.posted + self.round as u64),
            // Any member may be doing the last parts.
            Stage::Working | Stage::Ending => true,
        }
    }

    /// Goes on until it would have to wait or pauses ([`InRounds::has_paused`]); `Ok(true)` when
    /// done, and not to be called again then.
    ///
    /// # Errors
    /// The members are in different collectives or gave different lengths.
    pub fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        self.rounds = 0;
        loop {
            match self.stage {
                Stage::Putting => {
                    if !board.slots_are_read() {
                        return Ok(false);
                    }
                    self.put(board);
                    self.stage = Stage::Meeting;
                }
                Stage::Meeting => {
                    // The others must not take what it posts later for posts of this reduction.
                    if !self.meeting.advance(board).inspect_err(|_| board.give_up())? {
                        return Ok(false);
                    }
                    self.begin_round(board);
                }
                Stage::Waiting => {
                    let posts = self.posted + self.round as u64;
                    if !(0..board.ranks()).all(|rank| rank == self.me || board.has_posted(rank, posts)) {
                        return Ok(false);
                    }
                    self.begin_round(board);
                }
                Stage::Working => self.work(board),
                Stage::Ending => {
                    if !board.all_parts_finished() {
                        return Ok(false);
                    }
                    self.take(board);
                    self.round += 1;
                    if self.round == self.slots.rounds() {
                        board.say_results_read();
                        return self.failure.take().map_or(Ok(true), Err);
                    }
                    self.put(board);
                    board.step_together();
                    self.stage = Stage::Waiting;
                    self.rounds += 1;
                    if self.has_paused() {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Looks elsewhere in an idle round, see [`Short::seek`].
    pub fn seek(&mut self, board: &mut dyn Board) {
        if let Stage::Meeting = self.stage {
            self.meeting.seek(board);
        }
    }

    /// Begins to work on a round, now that all operands of it are in slots.
    fn begin_round(&mut self, board: &mut dyn Board) {
        board.owe_parts(self.slots.parts(self.round).len());
        self.stage = Stage::Working;
    }

    /// Puts this member's operand of this round into its slots.
    fn put(&self, board: &dyn Board) {
        for n in self.slots.parts(self.round) {
            let bytes = self.slots.bytes(n);
            let room = self.slots.operand(board, self.me, n);
            room.copy_from(self.send.part(bytes.start, bytes.len()));
        }
    }

    /// Does this member's parts of this round, then the remaining parts of the others.
    fn work(&mut self, board: &mut dyn Board) {
        let ranks = board.ranks();
        for owner in (self.me..ranks).chain(0..self.me) {
            let (own, before) = (self.slots.own(self.round, owner), self.slots.before(self.round, owner));
            while let Some(taken) = board.take_part(owner, before + own.len()) {
                let done = self.reduce(board, owner, own.start + taken - before);
                self.failure = self.failure.take().or(done.err());
                board.finish_part(true);
            }
        }
        self.stage = Stage::Ending;
    }

    /// Does part `n`, which `owner` has.
    fn reduce(&self, board: &dyn Board, owner: usize, n: usize) -> Result<()> {
        let out = self.slots.result(board, owner, n);
        let Reduction { op, datatype } = self.reduction;
        let first = self.slots.operand(board, 0, n);
        let mut left = first;
        for rank in 1..board.ranks() {
            let right = self.slots.operand(board, rank, n);
            let into = match self.outcome {
                Outcome::Of(_) => out,
                Outcome::Scan => right,
                // Nobody wants what is in the first member's slots.
                Outcome::Exscan => [out, first][usize::from(left == out)],
            };
            op.combine(left, right, into, out.len() / self.slots.size, datatype)?;
            if let Outcome::Exscan = self.outcome {
                right.copy_from(left);
            }
            left = into;
        }
        Ok(())
    }

    /// Copies this member's results of this round out of the slots.
    fn take(&self, board: &dyn Board) {
        let Some(recv) = self.recv else { return };
        if let Outcome::Scan | Outcome::Exscan = self.outcome {
            for n in self.slots.parts(self.round) {
                let bytes = self.slots.bytes(n);
                let result = self.slots.operand(board, self.me, n);
                recv.part(bytes.start, bytes.len()).copy_from(result);
            }
            return;
        }
        let wanted = self.from..self.from + recv.len();
        for owner in 0..board.ranks() {
            for n in self.slots.own(self.round, owner) {
                let bytes = self.slots.bytes(n);
                let (first, end) = (wanted.start.max(bytes.start), wanted.end.min(bytes.end));
                if first < end {
                    let result = self.slots.result(board, owner, n);
                    let result = result.part(first - bytes.start, end - first);
                    recv.part(first - self.from, end - first).copy_from(result);
                }
            }
        }
    }
}
