//! What the channel `rc` asks of a verbs device, and nothing more.
//!
//! The real one is over libibverbs (`rc/verbs.rs`); the simulator has another (`verbena-sim`), with
//! virtual time, a model of costs, and faults. So the very code that runs on InfiniBand is driven
//! by seeds.
//!
//! Words are those of InfiniBand (paper 1, section 2): a *queue pair* of the Reliable Connection
//! service joins two processes; *work* is posted to it; what was posted as signalled, what failed,
//! and what was received ends as a *completion* in the one completion queue of the adapter. Beside
//! that the adapter has one queue pair for *datagrams*, through which strangers agree on a
//! connection (`rc/connect.rs`).

use crate::cache::Registrar;
use crate::device::{Address, Completion, Endpoint, Post, QueuePair, Refused, Registration, Trouble};
use std::os::fd::RawFd;
use verbena_channel::Access;
use verbena_fault::Fault;
use verbena_memory::Region;

/// Memory of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Its address in the peer.
    pub address: u64,
    /// The key of the registration that it lies in.
    pub key: u32,
}

/// What a piece of work does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Channel semantics: fills the peer's next receive buffer.
    Send,
    /// RDMA write: the peer's software sees nothing of it but the bytes.
    Write(Remote),
    /// RDMA read. Always signalled.
    Read(Remote),
}

/// Work to be posted.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Comes back in the completion.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// The bytes of this process that are sent, written, or read into: at most so many; each post
    /// says how many.
    pub local: Region,
    /// The key of the registration that they lie in.
    pub local_key: u32,
}

/// What an adapter can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that a post may copy inline.
    pub inline_bytes_max: usize,
    /// Work under way on one queue pair at most, RDMA reads apart.
    pub work_max: u32,
    /// RDMA reads under way on one queue pair at most.
    pub reads_max: u32,
    /// Receive buffers posted at once at most (in the shared queue, or for one queue pair).
    pub receives_max: u32,
    /// The longest datagram in bytes.
    pub datagram_bytes_max: usize,
    /// Bytes that this process may still register (`RLIMIT_MEMLOCK`); `u64::MAX` without a limit.
    pub register_bytes_max: u64,
    /// Whether there is a shared receive queue.
    pub shared_receives: bool,
    /// Whether one process may read what another writes to it at the same time: long messages are
    /// else all read, unless the user wants them written.
    pub mixes: bool,
}

/// A verbs device as `rc` sees it: one device, one port, one protection domain, one completion
/// queue.
///
/// No method blocks for longer than a system call.
pub trait Adapter: Send {
    /// Work that was described once and can be posted again and again (paper 1, section 4.3).
    type Descriptor: Send;

    /// What it can do.
    fn limits(&self) -> Limits;

    /// Nanoseconds since some moment.
    fn now_ns(&self) -> u64;

    /// Where its datagrams go.
    fn address(&self) -> Address;

    /// Device, port and GID in words, for messages.
    fn place(&self) -> String;

    /// The other end of a connection in words (GID, port, queue pair), for messages.
    fn describe_endpoint(&self, endpoint: &Endpoint) -> String;

    /// Lets the device access the region, and peers who know the key do with it what `access` says.
    ///
    /// # Errors
    /// Locked-memory limits, unmapped memory.
    fn register(&mut self, region: Region, access: Access) -> Result<Registration, Fault>;

    /// Ends a registration. The memory may be unmapped already.
    fn deregister(&mut self, registration: Registration);

    /// A new queue pair that accepts receive buffers, not connected yet. If `shared`, it receives
    /// from the adapter's shared receive queue.
    fn open_pair(&mut self, shared: bool) -> Result<(QueuePair, Endpoint), Fault>;

    /// Connects it: ready to receive and to send.
    fn connect_pair(&mut self, pair: QueuePair, remote: &Endpoint) -> Result<(), Fault>;

    /// Destroys it; nothing completes on it any more, but for messages that have come through it
    /// into buffers of the shared queue: these end as
    /// [`Failed::Flushed`](crate::device::Failed::Flushed), so that the buffers are not lost.
    fn close_pair(&mut self, pair: QueuePair);

    /// Describes work once. The descriptor may be posted on any queue pair.
    fn describe(&self, work: &Work) -> Self::Descriptor;

    /// Posts work over the first `bytes` of its memory.
    fn post(
        &mut self,
        pair: QueuePair,
        work: &mut Self::Descriptor,
        bytes: usize,
        how: Post,
    ) -> Result<(), Refused>;

    /// Posts a receive buffer, to one queue pair or (`None`) to the shared queue.
    fn post_receive(
        &mut self,
        pair: Option<QueuePair>,
        id: u64,
        into: Region,
        local_key: u32,
    ) -> Result<(), Refused>;

    /// The next completion, if there is one.
    fn poll(&mut self) -> Option<Completion>;

    /// Sends a datagram; it may be lost, doubled or late. Too long a one is lost.
    fn send_datagram(&mut self, to: &Address, bytes: &[u8]) -> Result<(), Refused>;

    /// The next datagram that has arrived, if any.
    fn receive_datagram(&mut self) -> Option<Vec<u8>>;

    /// Asks for an event at whatever completes or arrives next; what is there already makes none,
    /// so the caller looks once more. `false` if this device cannot, or holds something back.
    fn arm(&mut self) -> bool {
        false
    }

    /// What becomes readable at an event, or when there is trouble.
    fn descriptors(&self) -> Vec<RawFd> {
        Vec::new()
    }

    /// What happened to the device without being asked, oldest first. May cost a system call: not
    /// for every poll.
    fn trouble(&mut self) -> Option<Trouble>;
}

impl<A: Adapter> Registrar for A {
    fn register(&mut self, region: Region, access: Access) -> Result<Registration, Fault> {
        Adapter::register(self, region, access)
    }

    fn deregister(&mut self, registration: Registration) {
        Adapter::deregister(self, registration);
    }
}
