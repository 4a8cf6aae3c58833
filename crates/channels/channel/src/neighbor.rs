//! The memory of other processes of a node, for callers that know where something lies in it:
//! collectives, whose ranks tell each other the addresses of their vectors.
//!
//! Unlike [`RemoteMemory`](crate::RemoteMemory) this needs neither a key nor the engine, and a
//! transfer is over when the call returns.

use crate::Peer;
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_memory::Region;

/// The reason why bytes were not copied.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// True if there is no such memory, or not any more.
    pub is_gone: bool,
    /// The reason in words.
    pub fault: Fault,
}

/// Another process, whose memory can be read and written.
pub trait Neighbor: Send + Sync {
    /// Fills `into` from the bytes at `address` in the other process.
    ///
    /// # Errors
    /// The memory is not there any more, or permission was taken back. Some bytes may have been
    /// copied.
    fn read(&self, address: u64, into: Region) -> Result<(), Refusal>;

    /// Copies `from` to `address` in the other process, where the program must expect it.
    ///
    /// # Errors
    /// The errors of [`Neighbor::read`].
    fn write(&self, from: Region, address: u64) -> Result<(), Refusal>;

    /// Fills `ours`, one after the other, from the runs of bytes `theirs` (address, length) in the
    /// other process. Both lists may be of any length, and cut the bytes at different places.
    ///
    /// # Errors
    /// The errors of [`Neighbor::read`].
    ///
    /// # Panics
    /// If the lists do not have the same number of bytes.
    fn read_list(&self, theirs: &[(u64, usize)], ours: &[Region]) -> Result<(), Refusal>;

    /// Copies `ours`, one after the other, to the runs of bytes `theirs` in the other process, as
    /// [`Neighbor::read_list`].
    ///
    /// # Errors
    /// The errors of [`Neighbor::read`].
    ///
    /// # Panics
    /// If the lists do not have the same number of bytes.
    fn write_list(&self, ours: &[Region], theirs: &[(u64, usize)]) -> Result<(), Refusal>;
}

/// Finds neighbors, for a channel that can reach into other processes.
pub trait Neighbors: Send + Sync {
    /// Process `peer`, if its memory can be both read and written: it is tried now.
    fn neighbor(&self, peer: Peer) -> Option<Arc<dyn Neighbor>>;
}
