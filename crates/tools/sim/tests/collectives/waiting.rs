//! Collectives on a board as a rank drives them that now and then looks, while it waits, for what
//! others do instead of their part.

use verbena_channel::board::Board;
use verbena_mpi::Result;
use verbena_mpi::coll::board::SharedBoard;
use verbena_mpi::coll::board::differing::{differing_ways, left_behind, sign};
use verbena_mpi::coll::board::in_place::InPlace;
use verbena_mpi::coll::board::long_bcast::LongBcast;
use verbena_mpi::coll::board::long_exchange::LongExchange;
use verbena_mpi::coll::board::rounds::InRounds;
use verbena_mpi::coll::board::short::{Exchange, Short};

/// The rounds of waiting after which a rank looks.
const LOOKS_EVERY: u32 = 16;

/// The next action of a rank; true when it is done.
pub(crate) type Next = Box<dyn FnMut() -> Result<bool>>;

/// A collective on a board.
pub(crate) trait Waiting {
    fn advance(&mut self, board: &mut dyn Board) -> Result<bool>;
    fn seek(&mut self, board: &mut dyn Board);
    fn awaits(&self, board: &dyn Board, rank: usize) -> bool;
    fn has_paused(&self) -> bool {
        false
    }
}

impl<E: Exchange> Waiting for Short<E> {
    fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        Short::advance(self, board)
    }
    fn seek(&mut self, board: &mut dyn Board) {
        Short::seek(self, board);
    }
    fn awaits(&self, _: &dyn Board, rank: usize) -> bool {
        Short::awaits(self, rank)
    }
}

impl<E: Exchange> Waiting for LongExchange<E> {
    fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        LongExchange::advance(self, board)
    }
    fn seek(&mut self, board: &mut dyn Board) {
        LongExchange::seek(self, board);
    }
    fn awaits(&self, _: &dyn Board, rank: usize) -> bool {
        LongExchange::awaits(self, rank)
    }
}

impl Waiting for LongBcast<'_> {
    fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        LongBcast::advance(self, board)
    }
    fn seek(&mut self, _: &mut dyn Board) {}
    fn awaits(&self, board: &dyn Board, rank: usize) -> bool {
        LongBcast::awaits(self, board, rank)
    }
    fn has_paused(&self) -> bool {
        LongBcast::has_paused(self)
    }
}

impl Waiting for InRounds<'_> {
    fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        InRounds::advance(self, board)
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

impl Waiting for InPlace<'_> {
    fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        InPlace::advance(self, board)
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

/// Goes on until it would have to wait.
fn advance(board: &mut dyn Board, waiting: &mut dyn Waiting) -> Result<bool> {
    loop {
        let done = waiting.advance(board);
        if done != Ok(false) || !waiting.has_paused() {
            return done;
        }
    }
}

/// Goes on with a collective as a rank does that waits: it looks elsewhere for what it waits for,
/// and every now and then at what the others do.
pub(crate) fn go_on(board: &mut dyn Board, waiting: &mut dyn Waiting, rounds: &mut u32) -> Result<bool> {
    let done = advance(board, waiting);
    if done != Ok(false) {
        return done;
    }
    waiting.seek(board);
    *rounds += 1;
    if !rounds.is_multiple_of(LOOKS_EVERY) {
        return Ok(false);
    }
    let (sign, left) = (sign(board), left_behind(board, |rank| waiting.awaits(board, rank)));
    if sign.is_none() && left.is_none() {
        return Ok(false);
    }
    waiting.seek(board);
    let done = advance(board, waiting);
    if done != Ok(false) {
        return done;
    }
    let left = left.filter(|&rank| waiting.awaits(board, rank));
    let error = sign.or_else(|| left.map(|rank| differing_ways(board, rank)));
    error.map_or(Ok(false), |error| {
        board.give_up();
        Err(error)
    })
}

/// The next action of a rank in a collective on this board.
pub(crate) fn drive(board: &SharedBoard, mut waiting: impl Waiting + 'static) -> Next {
    let (board, mut rounds) = (board.clone(), 0);
    Box::new(move || go_on(&mut **board.lock(), &mut waiting, &mut rounds))
}
