//! The verbs device as the channel `rc` needs it, and nothing more.
//!
//! The real one is over libibverbs (`rc/verbs.rs`); the simulator has another (`verbena-sim`), with
//! virtual time, a model of costs, and faults. So seeds drive the very code that runs on
//! InfiniBand.
//!
//! The words are those of InfiniBand (paper 1, section 2). A *queue pair* of the Reliable
//! Connection service joins two processes, and *work* is posted to it. Work that was signalled or
//! failed, and messages received, end as a *completion* in the one completion queue of the adapter.
//! The adapter has one more queue pair for *datagrams*, through which strangers agree on a
//! connection (`rc/connect.rs`).

use crate::cache::Registrar;
use crate::device::{Address, Completion, Endpoint, Post, QueuePair, Refused, Registration, Trouble};
use std::os::fd::RawFd;
use verbena_channel::{Access, Atomic, AtomicScope};
use verbena_fault::Fault;
use verbena_memory::Region;

/// Memory of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The address in the peer.
    pub address: u64,
    /// The key of the registration that it lies in.
    pub key: u32,
}

/// The kind of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Channel semantics: fills the peer's next receive buffer.
    Send,
    /// RDMA write: the peer's software sees only the bytes.
    Write(Remote),
    /// RDMA read. Always signalled.
    Read(Remote),
    /// An atomic operation on eight bytes of the peer; those of before come back. Always signalled,
    /// never inline; it takes the place of a read.
    Atomic(Remote, Atomic),
}

impl Operation {
    /// Returns whether the peer's device answers with bytes. Such work has places of its own
    /// ([`Limits::reads_max`]), and ends with a completion always.
    #[inline]
    pub fn is_answered(&self) -> bool {
        matches!(self, Operation::Read(_) | Operation::Atomic(..))
    }
}

/// Work to be posted.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The number that comes back in the completion.
    pub id: u64,
    /// The operation to do.
    pub operation: Operation,
    /// The bytes of this process that are sent, written, or read into. This is the most; each post
    /// says how many.
    pub local: Region,
    /// The key of the registration that they lie in.
    pub local_key: u32,
}

/// The limits of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that a post may copy inline.
    pub inline_bytes_max: usize,
    /// The most work under way on one queue pair, apart from RDMA reads and atomic operations.
    pub work_max: u32,
    /// The most RDMA reads and atomic operations under way on one queue pair.
    pub reads_max: u32,
    /// The most receive buffers posted at once (in the shared queue, or for one queue pair).
    pub receives_max: u32,
    /// The longest datagram in bytes.
    pub datagram_bytes_max: usize,
    /// Bytes that this process may still register (`RLIMIT_MEMLOCK`); `u64::MAX` without a limit.
    pub register_bytes_max: u64,
    /// True if there is a shared receive queue.
    pub shared_receives: bool,
    /// True if one process may read what another writes to it at the same time. Otherwise all long
    /// messages are read, unless the user wants them written.
    pub mixes: bool,
    /// The operations that leave its atomic ones undivided; `None` if it has no atomic operations.
    pub atomics: Option<AtomicScope>,
}

/// A verbs device as `rc` sees it: one device, one port, one protection domain, one completion
/// queue.
///
/// No method blocks for longer than a system call.
pub trait Adapter: Send {
    /// Work that was described once and can be posted again and again (paper 1, section 4.3).
    type Descriptor: Send;

    /// Returns the adapter's limits.
    fn limits(&self) -> Limits;

    /// Returns nanoseconds since some moment.
    fn now_ns(&self) -> u64;

    /// Returns how many nanoseconds a look at the empty completion queue takes, as measured when
    /// the device was opened; `None` if that is not known.
    fn look_ns(&self) -> Option<u32>;

    /// Returns the address to which its datagrams go.
    fn address(&self) -> Address;

    /// Describes device, port and GID in words, for messages.
    fn place(&self) -> String;

    /// Describes the other end of a connection in words (GID, port, queue pair), for messages.
    fn describe_endpoint(&self, endpoint: &Endpoint) -> String;

    /// Lets the device access the region, and lets peers who know the key access it as `access`
    /// says.
    ///
    /// # Errors
    /// Locked-memory limits, unmapped memory.
    fn register(&mut self, region: Region, access: Access) -> Result<Registration, Fault>;

    /// Ends a registration. The memory may be unmapped already.
    fn deregister(&mut self, registration: Registration);

    /// Opens a new queue pair that accepts receive buffers, not connected yet. If `shared`, it
    /// receives from the adapter's shared receive queue.
    fn open_pair(&mut self, shared: bool) -> Result<(QueuePair, Endpoint), Fault>;

    /// Connects the queue pair: ready to receive and to send.
    fn connect_pair(&mut self, pair: QueuePair, remote: &Endpoint) -> Result<(), Fault>;

    /// Destroys the queue pair; nothing completes on it any more, except messages that have come
    /// through it into buffers of the shared queue. These end as
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

    /// Asks for one [`Trouble::FewReceives`] when the shared queue holds fewer than `buffers`
    /// buffers. Returns `false` if this device does not tell.
    fn tell_below(&mut self, buffers: u32) -> bool;

    /// Returns the next completion, if there is one.
    fn poll(&mut self) -> Option<Completion>;

    /// Sends a datagram; it may be lost, doubled or late. One that is too long is lost.
    fn send_datagram(&mut self, to: &Address, bytes: &[u8]) -> Result<(), Refused>;

    /// Returns the next datagram that has arrived, if any.
    fn receive_datagram(&mut self) -> Option<Vec<u8>>;

    /// Asks for an event at the next completion or arrival. What is there already makes none, so
    /// the caller looks once more. Returns `false` if this device cannot, or holds something back.
    fn arm(&mut self) -> bool {
        false
    }

    /// Returns the descriptors that become readable at an event, or when there is trouble.
    fn descriptors(&self) -> Vec<RawFd> {
        Vec::new()
    }

    /// Notes that this process has copied so many bytes into, or out of, memory that the device
    /// uses: a simulated one charges for the time.
    fn copied(&mut self, _bytes: usize) {}

    /// Returns what happened to the device without being asked, oldest first. It may cost a system
    /// call: not for every poll.
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
