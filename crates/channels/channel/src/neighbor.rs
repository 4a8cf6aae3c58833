//! The memory of other processes of a node, for callers that know where something lies in it:
//! collectives, whose ranks tell each other the addresses of their vectors.
//!
//! Unlike [`RemoteMemory`](crate::RemoteMemory) this needs neither a key nor the engine, and a
//! transfer is over when the call returns.

use crate::Peer;
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_memory::Region;

/// Another process, whose memory can be read and written.
pub trait Neighbor: Send + Sync {
    /// Fills `into` from the bytes at `address` in the other process.
    ///
    /// # Errors
    /// The memory is not there any more, or permission was taken back. Some bytes may have been
    /// copied.
    fn read(&self, address: u64, into: Region) -> Result<(), Fault>;

    /// Copies `from` to `address` in the other process, where the program must expect it.
    ///
    /// # Errors
    /// The errors of [`Neighbor::read`].
    fn write(&self, from: Region, address: u64) -> Result<(), Fault>;
}

/// Finds neighbors, for a channel that can reach into other processes.
pub trait Neighbors: Send + Sync {
    /// Process `peer`, if its memory can be both read and written: it is tried now.
    fn neighbor(&self, peer: Peer) -> Option<Arc<dyn Neighbor>>;
}
