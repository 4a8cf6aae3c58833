//! The moment when a communicator gets its board, and how all members agree on it.

use super::handle::{BoardHandle, Reach, SharedBoard};
use crate::coll::exchange::tell_once;
use crate::comm::Comm;
use crate::error::Result;
use crate::process::Process;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use verbena_waiting::lock::Lock;

/// The number of blocking collectives of a communicator before it gets a board. So a communicator
/// made for a few calls costs no shared memory.
const COLLECTIVES_BEFORE: u32 = 3;

impl BoardHandle {
    /// The board, if this communicator has one. Every member asks in every blocking collective that
    /// could use it, so all decide in the same one.
    #[inline]
    pub(crate) fn board(&self, process: &Process, comm: &Comm) -> Result<Option<&SharedBoard>> {
        match self.board.get() {
            Some(board) => Ok(board.as_ref()),
            None => self.decide(process, comm),
        }
    }

    /// The other members' memory, where this member has access; `None` once it is known that not
    /// all have. All members get `None` from the same collective on.
    pub(crate) fn reach(&self, process: &Process, comm: &Comm) -> Option<&Reach> {
        if self.apart.load(Relaxed) {
            return None;
        }
        Some(self.reach.get_or_init(|| {
            let members = comm.group().members().iter();
            members
                .map(|&peer| process.neighbors().filter(|_| peer != process.me())?.neighbor(peer))
                .collect()
        }))
    }

    /// Rank 0 makes the board and tells the others by messages.
    #[cold]
    fn decide(&self, process: &Process, comm: &Comm) -> Result<Option<&SharedBoard>> {
        let members = comm.group().members();
        let boards = process.boards().filter(|boards| !comm.is_inter() && boards.unites(members));
        let Some(boards) = boards else { return Ok(self.board.get_or_init(|| None).as_ref()) };
        if comm.collectives_begun() <= COLLECTIVES_BEFORE {
            return Ok(None);
        }
        let ticket = if comm.rank() == 0 { boards.make(members.len()) } else { None };
        let ticket = tell_once(process, comm, ticket)?;
        let board = ticket.and_then(|ticket| boards.open(ticket, members, comm.rank() as usize));
        Ok(self.board.get_or_init(|| board.map(|board| Arc::new(Lock::new(board)))).as_ref())
    }
}
