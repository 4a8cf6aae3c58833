//! What the making of communicators needs from below: collective exchanges of short byte strings.
//!
//! The construction of a communicator is written as "what I contribute", one exchange, "what follows from
//! all contributions", so that a blocking call and a nonblocking task share it.

use super::Comm;
use crate::error::Result;

/// Collective exchanges of short byte strings. The collectives implement it over schedules; tests fake it.
///
/// Communicators handed to these methods are intracommunicators, save in [`Exchange::sendrecv`].
pub trait Exchange {
    /// A context that no other communicator has, anywhere in the job: a multiple of 4.
    fn new_context(&self) -> u64;

    /// Everybody's contribution in rank order. Lengths may differ.
    fn allgather(&self, comm: &Comm, mine: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// The root's `data`, on every rank; the others' `data` is ignored.
    fn bcast(&self, comm: &Comm, root: i32, data: Vec<u8>) -> Result<Vec<u8>>;

    /// Gives `mine` to `peer` and returns what it gave, which called with the same tag. `peer` is a rank as
    /// in point-to-point calls, so of the remote group if `comm` is an intercommunicator. The messages never
    /// match the program's own.
    fn sendrecv(&self, comm: &Comm, peer: i32, tag: i32, mine: &[u8]) -> Result<Vec<u8>>;

    /// As [`Exchange::allgather`] among some ranks of `comm`, in the order of `members`, which all of them
    /// give alike. Only they call. `tag` keeps concurrent calls apart.
    fn allgather_group(&self, comm: &Comm, members: &[i32], tag: i32, mine: &[u8]) -> Result<Vec<Vec<u8>>>;
}
