//! What the channel `rc` asks of a verbs device, and nothing more.
//!
//! The real one is over libibverbs (`rc/verbs.rs`); the simulator has another (`verbena-sim`), with virtual time, a
//! model of costs, and faults. So the very code that runs on InfiniBand is driven by seeds.
//!
//! Words are those of InfiniBand (paper 1, section 2): a *queue pair* of the Reliable Connection service joins two
//! processes; *work* is posted to it; what was posted as signalled, what failed, and what was received ends as a
//! *completion* in the one completion queue of the adapter. Beside that the adapter has one queue pair for
//! *datagrams*, through which strangers agree on a connection (`rc/connect.rs`).

use std::os::fd::RawFd;
use verbena_channel::Access;
use verbena_fault::Fault;
use verbena_memory::Region;

/// Where an adapter's datagrams go: LID, queue pair number, Q_Key and GID, encoded by the adapter; only
/// adapters of the same sort read it. It travels in the process's card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub [u8; 32]);

/// One end of a connection to be, as the other end needs it: queue pair number, first packet number, GID, LID, path MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint(pub [u8; 32]);

/// A queue pair of this adapter, by its number on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuePair(pub u32);

/// Memory of this process that the device may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The memory.
    pub region: Region,
    /// What local work names it by.
    pub local_key: u32,
    /// What a peer names it by.
    pub remote_key: u32,
    /// The adapter's own number for it.
    pub handle: u32,
}

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
    /// The bytes of this process that are sent, written, or read into: at most so many; each post says how many.
    pub local: Region,
    /// The key of the registration that they lie in.
    pub local_key: u32,
}

/// How work is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Post {
    /// Ends as a completion. Unsignalled work ends as one only if it fails.
    pub signalled: bool,
    /// The device copies the bytes when posted (up to [`Limits::inline_bytes_max`]), so the memory is free at once.
    pub inline: bool,
}

/// Why work was not posted; nothing was done.
#[derive(Debug)]
pub enum Refused {
    /// The queue is full: complete something first.
    Full,
    /// The queue pair or the device is unusable.
    Broken(Fault),
}

/// Why work failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The queue pair was in error before this work began; look for the first failure.
    Flushed,
    /// The peer did not acknowledge in time, after all retries: it died, or the path is cut.
    RetriesExhausted,
    /// The peer had no receive buffer, after all retries.
    ReceiverNotReady,
    /// The peer's device refused the access (key, bounds, rights, or unmapped memory).
    RemoteAccess,
    /// This device refused the access to this process's own memory.
    LocalAccess,
    /// Any other status, by the device's number.
    Other(u32),
}

/// The end of work, or of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// As given to the work or the receive buffer.
    pub id: u64,
    /// The queue pair; for a receive from a shared queue that which the message came through.
    pub pair: QueuePair,
    /// The bytes received (0 for other work), or why it failed.
    pub outcome: Result<u32, Failed>,
}

/// What happened to the device without being asked.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The device is gone or unusable: nothing completes any more.
    Device(Fault),
    /// The port is down; connections may time out.
    Port(Fault),
    /// One queue pair went into error.
    Pair(QueuePair, Fault),
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
    /// Whether one process may read what another writes to it at the same time: long messages are else all read, unless the user wants
    /// them written.
    pub mixes: bool,
}

/// A verbs device as `rc` sees it: one device, one port, one protection domain, one completion queue.
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

    /// A new queue pair that accepts receive buffers, not connected yet. If `shared`, it receives from the adapter's
    /// shared receive queue.
    fn open_pair(&mut self, shared: bool) -> Result<(QueuePair, Endpoint), Fault>;

    /// Connects it: ready to receive and to send.
    fn connect_pair(&mut self, pair: QueuePair, remote: &Endpoint) -> Result<(), Fault>;

    /// Destroys it; nothing completes on it any more, but for messages that have come through it into buffers of the
    /// shared queue: these end as [`Failed::Flushed`], so that the buffers are not lost.
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

    /// Asks for an event at whatever completes or arrives next; what is there already makes none, so the caller looks
    /// once more. `false` if this device cannot, or holds something back.
    fn arm(&mut self) -> bool {
        false
    }

    /// What becomes readable at an event, or when there is trouble.
    fn descriptors(&self) -> Vec<RawFd> {
        Vec::new()
    }

    /// What happened to the device without being asked, oldest first. May cost a system call: not for every poll.
    fn trouble(&mut self) -> Option<Trouble>;
}
