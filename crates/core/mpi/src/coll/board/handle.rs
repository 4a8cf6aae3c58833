//! The board of a communicator, as the communicator holds it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use verbena_channel::board::Board;
use verbena_channel::neighbor::Neighbor;
use verbena_waiting::lock::Lock;

/// This member's side of the board, shared with the schedules that use it. The lock is never
/// contended: a communicator has one blocking collective at a time.
pub type SharedBoard = Arc<Lock<Box<dyn Board>>>;

/// The other members' memory by their ranks; `None` for this member itself, and where there is no
/// access.
pub type Reach = Vec<Option<Arc<dyn Neighbor>>>;

/// A communicator's handle of its board.
#[derive(Default)]
pub(crate) struct BoardHandle {
    /// Set once the decision is made; it holds `None` if there is no board.
    pub(super) board: OnceLock<Option<SharedBoard>>,
    /// The members' memory, opened when it is first asked for.
    pub(super) reach: OnceLock<Reach>,
    /// Set if not all members reach each other; all know it.
    pub(super) apart: AtomicBool,
}

impl BoardHandle {
    /// Returns whether it has one already. All members get the same answer between the same
    /// collectives.
    pub(crate) fn has_board(&self) -> bool {
        self.board.get().is_some_and(Option::is_some)
    }

    /// Tells the other members, if there is a board and it is not open for collective `number`,
    /// that this one failed before it took part in it: they may wait for it there.
    #[cold]
    pub(crate) fn leave(&self, number: u32) {
        let Some(Some(board)) = self.board.get() else { return };
        let mut board = board.lock();
        if board.number() as u32 != number {
            board.open(number);
            board.skip();
        }
    }

    /// Notes that not all members reach each other.
    pub(crate) fn part(&self) {
        self.apart.store(true, Relaxed);
    }
}
