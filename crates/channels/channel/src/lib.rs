//! The channels: how packets, and where possible memory, get from one process to another.
//!
//! Each channel is one module behind the [`Channel`] trait. A channel says what it can do for a
//! peer ([`Reach`]), and the engine chooses by that alone: no code above the trait asks which
//! channel it holds. To add a channel, write types that implement [`Opening`] and [`Channel`], and
//! name them in `verbena_wires::registry`.
//!
//! This crate is one of the edges where `unsafe` lives: it uses the program's memory as
//! [`verbena_memory::Region`] says.

pub mod board;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod connections;
mod failover;
pub mod heap;
pub mod key;
pub mod learner;
pub mod look;
pub mod loopback;
pub mod mark;
pub mod neighbor;
mod opening;
pub mod packet;
mod remote_memory;
mod report;
mod sharing;
mod streams;
pub mod trace;
pub mod wrapper;

pub use connections::{Connection, Connections};
pub use failover::Failover;
pub use opening::{Opening, Place};
pub use remote_memory::{
    ATOMIC_BYTES, Access, Atomic, AtomicScope, Atomics, Choice, Cost, Direction, Key, RemoteMemory, Started,
    Transfer,
};
pub use report::{CellCounts, Counts, Datagrams, PollingSetCounts, Receives, Registrations, Report};
pub use sharing::{Division, End, PARTS_MAX, Shared, Sharing};
pub use streams::Streams;

use packet::Header;
use std::os::fd::RawFd;
use std::time::Duration;
use verbena_fault::Fault;
use verbena_memory::{Buffer, Region};
use verbena_waiting::NAP;

/// The index of a process in the job (its rank in `MPI_COMM_WORLD`).
pub type Peer = u32;

/// The largest payload of a control packet in bytes; every channel takes packets at least this
/// long.
pub const CONTROL_BYTES_MAX: usize = 128;

/// A channel's abilities for one peer. The engine chooses protocols by this and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The largest packet payload in bytes; 0 if this channel moves no packets (memory only).
    pub packet_bytes_max: usize,
    /// The largest message in bytes worth sending eagerly through this channel.
    pub eager_bytes_max: usize,
    /// The largest message in bytes that may go whole, in one packet longer than
    /// [`packet_bytes_max`](Reach::packet_bytes_max), if the channel has room for it just now. If
    /// it has none ([`SendError::Full`]) the message must go another way: nothing tells when there
    /// is room again. 0 if there are no such packets.
    pub whole_bytes_max: usize,
    /// True if packets arrive in the order in which they were sent.
    pub ordered: bool,
    /// The cost of reading the remote process's memory ([`RemoteMemory::get`]); `None` if it cannot
    /// be read, or need not.
    pub get: Option<Cost>,
    /// The cost of writing there ([`RemoteMemory::put`]); `None` if that is not possible, or not
    /// needed.
    pub put: Option<Cost>,
    /// True if memory is moved in the background, and the channel itself lets other traffic take
    /// its turn: the engine hands it whole messages. Else it moves memory within the call, a piece
    /// at a time.
    pub in_background: bool,
    /// The size from which `get` and `put` beat copying through packets, in bytes.
    pub memory_bytes_min: usize,
    /// The estimated time of a smallest packet, one way, in nanoseconds: the engine prefers the
    /// lowest.
    pub latency_ns: u32,
}

/// The cost of polling a channel and the delay of its packets: the polling scheduler goes by these
/// (paper 3, 3.1 and 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollCost {
    /// The estimated time of a smallest packet, one way, in nanoseconds.
    pub latency_ns: u32,
    /// The time of a poll that finds nothing, in nanoseconds ([`look::empty_look_ns`]).
    pub empty_ns: u32,
}

/// The reason why a packet was not taken.
#[derive(Debug)]
pub enum SendError {
    /// No room now; nothing was sent. Try again after progress.
    Full,
    /// The peer cannot be reached any more.
    Broken(Fault),
}

/// The bytes of a packet behind its header.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// Bytes that the engine built (control packets).
    Bytes(&'a [u8]),
    /// A whole message that lies side by side in the program's memory.
    Region(Region),
    /// `len` packed bytes of a message buffer from packed offset `offset` on.
    Buffer {
        /// The message's buffer.
        buffer: &'a Buffer,
        /// First packed byte.
        offset: usize,
        /// Number of packed bytes.
        len: usize,
    },
}

impl Payload<'_> {
    /// The number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Region(region) => region.len(),
            Payload::Buffer { len, .. } => *len,
        }
    }

    /// Returns whether there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the payload into `out`, whose length must be [`Payload::len`].
    #[inline]
    pub fn copy_to(&self, out: &mut [u8]) {
        match self {
            Payload::Bytes(bytes) => out.copy_from_slice(bytes),
            Payload::Region(region) => region.read(0, out),
            Payload::Buffer { buffer, offset, .. } => buffer.copy_out(*offset, out),
        }
    }
}

/// The place of a packet's payload, as a [`Sink`] knows it by the header alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// Here, and nowhere else: the channel writes the payload into this memory, and then calls
    /// [`Sink::landed`].
    Here(Region),
    /// In several places: the packet is taken as a whole ([`Sink::packet`]).
    Scattered,
    /// Nowhere: nobody waits for such a packet.
    Nowhere,
}

/// Takes what a channel finds when polled. The engine implements it.
pub trait Sink {
    /// Takes a packet from `peer`. `payload` is only valid during the call (it may lie in a ring).
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]);
    /// Takes the end of the `get` or `put` that was started with `token`.
    fn transferred(&mut self, token: u64, outcome: Result<(), Fault>);
    /// Returns the number of the receive that will be given the message with this header, if it is
    /// the message's turn and a receive waits for it. Asked while messages are traced, right before
    /// [`Sink::packet`].
    fn receive_for(&mut self, _peer: Peer, _header: &Header) -> Option<u64> {
        None
    }
    /// Says where the payload of a packet goes that is longer than [`Reach::packet_bytes_max`]:
    /// its header has come, `bytes` bytes of payload follow. Asked for the next packet of a peer
    /// only.
    fn landing(&mut self, _peer: Peer, _header: &Header, _bytes: u64) -> Landing {
        Landing::Nowhere
    }
    /// Takes the end of what [`Landing::Here`] began: all `bytes` are in their place if `whole`,
    /// else the connection broke, and the memory is touched no more.
    fn landed(&mut self, _peer: Peer, _header: &Header, _bytes: u64, _whole: bool) {}
    /// Tells that nothing more arrives from `peer` over this channel, or can be sent to it.
    fn broken(&mut self, _peer: Peer, _fault: Fault) {}
}

/// A channel to other processes. All methods are called under the engine's lock and never block.
///
/// What only some channels can do are capabilities, each a trait of its own. A channel has a
/// capability for as long as it is open, or never.
pub trait Channel: Send {
    /// The name as settings and reports show it: `shm`, `cma`, `loopback`.
    fn name(&self) -> &'static str;

    /// Returns what this channel can do for `peer`; `None` if it cannot reach it. Cheap after the
    /// first call for a peer; the first may try the feature for real.
    fn reach(&mut self, peer: Peer) -> Option<Reach>;

    /// The processes that it may reach, if it knows them without asking for each of the job.
    fn near(&self) -> Option<&[Peer]> {
        None
    }

    /// Sends one packet. On `Full` nothing happened.
    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError>;

    /// Delivers what has arrived to `sink` (a bounded number of packets per call) and returns the
    /// number of events.
    fn poll(&mut self, sink: &mut dyn Sink) -> usize;

    /// The cost of polling here. `None`: the channel is polled in every round, and no other is put
    /// off for its sake.
    fn poll_cost(&self) -> Option<PollCost> {
        None
    }

    /// Returns whether a look costs so little, a load, that it is made in every round, and a poll
    /// is needed only if it shows something.
    fn shows(&self) -> bool {
        false
    }

    /// Returns whether every packet taken so far has reached the other side's memory, so that this
    /// process may leave. The first call says that it is about to.
    fn is_quiet(&mut self) -> bool {
        true
    }

    /// Leaves for good: once this has returned `true`, nothing is sent or polled any more. Until
    /// then it is called again and again, with polls between. The answers to the last packets of
    /// others may be lost, so a channel over a lossy service tells them here.
    fn farewell(&mut self) -> bool {
        true
    }

    /// Takes the next packet from `peer`, if it is there, its header is this one but for the
    /// length, and its payload fits `into`: copies the payload there and returns its length. `None`
    /// says that nothing happened, and leaves the packet to [`Channel::poll`]; a channel may always
    /// return it.
    fn take_direct(&mut self, _peer: Peer, _header: &Header, _into: Region) -> Option<usize> {
        None
    }

    /// Passes on from which processes the program will hear most, in order.
    fn hint(&mut self, _peers: &[Peer]) {}

    /// Prepares for sleep: what comes from now on must wake the process, by the waiter's bell or by
    /// [`descriptors`](Channel::descriptors). The caller polls once more afterwards, for what came
    /// before. Returns how long it may sleep: a channel that wakes nobody allows a nap; one that
    /// must act by itself at some time allows no longer than until then.
    fn arm(&mut self) -> Duration {
        NAP
    }

    /// Tells that the process is awake again.
    fn disarm(&mut self) {}

    /// Descriptors that become readable when something comes for a process that
    /// [`arm`](Channel::arm)ed this channel. They stay open as long as the channel.
    fn descriptors(&self) -> Vec<RawFd> {
        Vec::new()
    }

    /// The connections with peers; `None` if the channel needs none.
    fn connections(&mut self) -> Option<&mut dyn Connections> {
        None
    }

    /// The packets of lost peers; `None` if the channel keeps none, or cannot lose a peer alone.
    fn failover(&mut self) -> Option<&mut dyn Failover> {
        None
    }

    /// The memory of peers; `None` if the channel moves packets only.
    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        None
    }

    /// The sharing of copies with peers; `None` if both sides see no place at once.
    fn sharing(&mut self) -> Option<&mut dyn Sharing> {
        None
    }

    /// The streams of long messages; `None` if their packets go like all others.
    fn streams(&mut self) -> Option<&mut dyn Streams> {
        None
    }

    /// Returns this channel once more, for another engine of this process. `None`: one engine uses
    /// it.
    fn beside(&self) -> Option<Box<dyn Channel>> {
        None
    }

    /// The objects of the node that this channel has.
    fn shared(&self) -> Shared {
        Shared::default()
    }

    /// Reports in words what was chosen and why.
    fn report(&self) -> Report {
        Report::default()
    }

    /// Counts what was done beside moving packets.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}
