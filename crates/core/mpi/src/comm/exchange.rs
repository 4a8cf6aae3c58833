//! The collective exchanges of short byte strings that making communicators needs.
//!
//! The making of a communicator is written as "my contribution", one exchange, "what follows from
//! all contributions", so that a blocking call and a nonblocking task share it.

use super::Comm;
use crate::error::Result;
use crate::process::Process;

/// Collective exchanges of short byte strings. The collectives implement it over schedules; tests
/// fake it.
///
/// Communicators handed to these methods are intracommunicators, except in [`Exchange::sendrecv`].
pub trait Exchange {
    /// Returns a context that no other communicator has, anywhere in the job: a multiple of 4.
    fn new_context(&self) -> u64;

    /// The process behind the exchanges, which may know processes of other jobs; `None` if there is
    /// only one job.
    fn process(&self) -> Option<&Process> {
        None
    }

    /// Gathers everybody's contribution in rank order. Lengths may differ.
    fn allgather(&self, comm: &Comm, mine: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Gives the root's `data` to every rank; the others' `data` is ignored.
    fn bcast(&self, comm: &Comm, root: i32, data: Vec<u8>) -> Result<Vec<u8>>;

    /// Gives `mine` to `peer`, which calls with the same tag, and returns what it gave. `peer` is a
    /// rank as in point-to-point calls, so of the remote group if `comm` is an intercommunicator.
    /// The messages never match the program's own.
    fn sendrecv(&self, comm: &Comm, peer: i32, tag: i32, mine: &[u8]) -> Result<Vec<u8>>;

    /// Like [`Exchange::allgather`] among some ranks of `comm`, in the order of `members`, which
    /// all of them give alike. Only they call. `tag` keeps concurrent calls apart.
    fn allgather_group(&self, comm: &Comm, members: &[i32], tag: i32, mine: &[u8]) -> Result<Vec<Vec<u8>>>;
}
