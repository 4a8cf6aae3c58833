//! The RDMA Channel interface of MPICH2 (paper 2, 3.2): five functions for everything.
//!
//! ```text
//! sender:    put ──▶ ┌─────────────┐ ──▶ get    :receiver
//!                    │  FIFO pipe  │
//!                    └─────────────┘
//! ```

use verbena_channel::{Payload, Peer};
use verbena_fault::Fault;
use verbena_memory::Region;

/// All that an RDMA Channel needs to begin with.
#[derive(Debug)]
pub struct Beginning<A, Card, Settings> {
    /// The number of this process.
    pub me: Peer,
    /// The device.
    pub adapter: A,
    /// The address of each process; `None` where one has no device.
    pub cards: Vec<Option<Card>>,
    /// The settings of this end.
    pub settings: Settings,
}

/// The interface: byte pipes between processes, one each way. None of the functions waits.
pub trait RdmaChannel: Sized {
    /// All that is known at the beginning.
    type Beginning;

    /// Initialises the channel; no connection is made yet.
    fn initialize(beginning: Self::Beginning) -> Self;

    /// Manages the processes: makes connections, takes in what the device says, looks after silent
    /// peers. To be called again and again. Returns the number of events.
    fn manage(&mut self) -> usize;

    /// Puts the bytes of these buffers, one after the other, into the pipe to the peer, as far as
    /// possible, and returns how many. The caller calls again with the rest, and with nothing else;
    /// a buffer of which not all was put stays in use until then.
    ///
    /// # Errors
    /// The connection broke.
    fn put(&mut self, peer: Peer, from: &[Payload<'_>]) -> Result<usize, Fault>;

    /// Gets bytes from the pipe of the peer into this memory, as far as it has any, and returns how
    /// many. The caller calls again with the rest of the memory; all of it stays in use until it is
    /// full.
    ///
    /// # Errors
    /// The connection broke, or what came makes no sense.
    fn get(&mut self, peer: Peer, into: Region) -> Result<usize, Fault>;

    /// Finalises: returns whether all that was put has reached the other side, so that the process
    /// may leave. To be called until it has.
    fn finalize(&mut self) -> bool;
}
