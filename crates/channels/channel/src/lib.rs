//! The channels: how packets, and where possible memory, get from one process to another.
//!
//! Each channel is one module behind the [`Channel`] trait. A channel says what it can do for a
//! peer ([`Reach`]), and the engine chooses by that alone: no code above the trait asks which
//! channel it holds. To add a channel, write types that implement [`Opening`] and [`Channel`], and
//! name them in `verbena_wires::registry`.
//!
//! This crate is one of the edges where `unsafe` lives: it uses the program's memory as
//! [`verbena_memory::Region`] says.

mod access;
pub mod around;
pub mod board;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod exposed;
pub mod loopback;
pub mod mark;
pub mod neighbor;
mod opening;
pub mod packet;
pub mod trace;

pub use access::Access;
pub use opening::{Opening, Place};

use packet::Header;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;
use verbena_fault::Fault;
use verbena_memory::{Buffer, Region};
use verbena_waiting::{NAP, Waiter};

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
    /// True if packets arrive in the order in which they were sent.
    pub ordered: bool,
    /// The cost of reading the remote process's memory ([`Channel::get`]); `None` if it cannot be
    /// read.
    pub get: Option<Cost>,
    /// The cost of writing there ([`Channel::put`]); `None` if that is not possible.
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

/// The time of a transfer of memory, from the call until the bytes are in place and this side knows
/// it (paper 2, figure 15, compares the two directions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The time of the smallest transfer, in nanoseconds.
    pub start_ns: u32,
    /// The time that each byte adds, in picoseconds.
    pub byte_ps: u32,
}

impl Cost {
    /// The estimated time of this many bytes, in nanoseconds.
    pub fn ns(&self, bytes: u64) -> u64 {
        let added_ps = u128::from(bytes) * u128::from(self.byte_ps);
        u64::from(self.start_ns).saturating_add((added_ps / 1000).try_into().unwrap_or(u64::MAX))
    }
}

/// The side that moves a long message that both could move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The receiver reads it.
    Read,
    /// The sender writes it.
    Write,
}

/// A channel's choice for one message, which [`Channel::choice_ended`] hands back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The side that moves it.
    pub direction: Direction,
    /// The sort of message, in the channel's own terms.
    pub class: u8,
}

/// The connection that a channel holds for a peer ([`Channel::connection`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// The channel needs none.
    Needless,
    /// None: a packet would make one.
    None,
    /// One is being made.
    Making,
    /// One over which packets go.
    Up,
}

/// The cost of polling a channel and the delay of its packets: the polling scheduler goes by these
/// (paper 3, 3.1 and 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollCost {
    /// The estimated time of a smallest packet, one way, in nanoseconds.
    pub latency_ns: u32,
    /// The time of a poll that finds nothing, in nanoseconds.
    pub empty_ns: u32,
}

/// A description of exposed memory that travels in a packet and lets a peer `get` or `put` there.
/// Only the channel that made it can read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

/// Names a message whose parts are handed out to both sides ([`Channel::divide`]). It travels in a
/// packet; only the channel that made it can read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division(pub u64);

/// The largest number of parts of a [`Division`].
pub const PARTS_MAX: u32 = 1000;

/// The end of a message from which parts are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The receiver's.
    Front,
    /// The sender's.
    Back,
}

/// Counts of registrations of the program's memory with a channel's device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registrations {
    /// Operations that found their memory registered.
    pub hits: u64,
    /// Operations for which it was registered.
    pub misses: u64,
    /// Registrations given up to make room for others.
    pub evicted: u64,
    /// Registrations given up because the program had given the memory back.
    pub invalidated: u64,
    /// Operations whose memory could not be registered and was copied.
    pub refused: u64,
    /// Registrations that exist now.
    pub entries: u64,
    /// Bytes registered.
    pub bytes: u64,
}

/// The reason why a packet was not taken.
#[derive(Debug)]
pub enum SendError {
    /// No room now; nothing was sent. Try again after progress.
    Full,
    /// The peer cannot be reached any more.
    Broken(Fault),
}

/// The state of a `get` or `put` when the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// All bytes are moved.
    Done,
    /// Under way; [`Sink::transferred`] reports the end with the caller's token.
    Pending,
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

/// Takes what a channel finds when polled. The engine implements it.
pub trait Sink {
    /// Takes a packet from `peer`. `payload` is only valid during the call (it may lie in a ring).
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]);
    /// Takes the end of the `get` or `put` that was started with `token`.
    fn transferred(&mut self, token: u64, outcome: Result<(), Fault>);
    /// Tells that nothing more arrives from `peer` over this channel, or can be sent to it.
    fn broken(&mut self, _peer: Peer, _fault: Fault) {}
}

/// A channel to other processes. All methods are called under the engine's lock and never block.
pub trait Channel: Send {
    /// The name as settings and reports show it: `shm`, `cma`, `loopback`.
    fn name(&self) -> &'static str;

    /// Returns what this channel can do for `peer`; `None` if it cannot reach it. Cheap after the
    /// first call for a peer; the first may try the feature for real.
    fn reach(&mut self, peer: Peer) -> Option<Reach>;

    /// Sends one packet. On `Full` nothing happened.
    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError>;

    /// Keeps packets to `peer`, from now on, until they are known to be taken, so that
    /// [`undelivered`](Channel::undelivered) can hand them back. `false` if this channel cannot do
    /// that.
    fn keep_sent(&mut self, _peer: Peer) -> bool {
        false
    }

    /// Hands back the packets that a lost peer may not have taken since
    /// [`keep_sent`](Channel::keep_sent) was asked for, each once, and forgets them. Some that were
    /// taken do no harm.
    fn undelivered(&mut self, _peer: Peer) -> Vec<(Header, Vec<u8>)> {
        Vec::new()
    }

    /// Tells that the peer has given this channel up. If it still works on this side, it counts as
    /// broken: it delivers what has arrived, ends its transfers, and is used no more.
    fn abandon(&mut self, _peer: Peer, _fault: &Fault) {}

    /// Tells that this channel will be needed for the peer, beside another or in place of a lost
    /// one. It may see to a connection now, and should wait no longer for it than for a peer that
    /// is known to live.
    fn meet(&mut self, _peer: Peer) {}

    /// The connection that this channel holds for the peer.
    fn connection(&self, _peer: Peer) -> Connection {
        Connection::Needless
    }

    /// The number of connections with all peers, up or being made.
    fn connections(&self) -> usize {
        0
    }

    /// Limits the connections that peers get when they ask: each has another way to this process.
    fn limit_connections(&mut self, _most: usize) {}

    /// Gives the connection with the peer back, if there is one. Both sides know that all that went
    /// over it either way has been taken, and that the other side gives it back as well. Packets
    /// make a new one.
    fn leave(&mut self, _peer: Peer) {}

    /// The name shared by the rails of this channel; `None` if it is no rail. Long messages may be
    /// striped over channels of one name. They give keys of memory ([`expose`](Channel::expose))
    /// only while they are connected.
    fn rail_of(&self) -> Option<&'static str> {
        None
    }

    /// Only puts packets to `peer` in place from now on. They move when
    /// [`release`](Channel::release) is called or there is no room for more: so copying and
    /// transferring take turns (paper 2, 4.2). Channels whose packets need no transfer ignore it.
    fn hold(&mut self, _peer: Peer) {}

    /// Ends [`hold`](Channel::hold), and transfers what was put in place.
    fn release(&mut self, _peer: Peer) {}

    /// Delivers what has arrived to `sink` (a bounded number of packets per call) and returns the
    /// number of events.
    fn poll(&mut self, sink: &mut dyn Sink) -> usize;

    /// The cost of polling here. `None`: the channel is polled in every round, and no other is put
    /// off for its sake.
    fn poll_cost(&self) -> Option<PollCost> {
        None
    }

    /// The longest payload now of a packet of a stream ([`packet::Kind::Data`]) to `peer`, if
    /// longer than [`Reach::packet_bytes_max`] allows for any packet.
    fn stream_bytes_max(&mut self, _peer: Peer) -> Option<usize> {
        None
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
    fn take_front(&mut self, _peer: Peer, _header: &Header, _into: Region) -> Option<usize> {
        None
    }

    /// Describes `region` so that `peer` may use it as `access` says; `None` if this channel cannot
    /// move memory with that peer.
    fn expose(&mut self, _peer: Peer, _region: Region, _access: Access) -> Option<Key> {
        None
    }

    /// Ends the exposure of `key`.
    fn conceal(&mut self, _peer: Peer, _key: &Key) {}

    /// Reads `into.len()` bytes at `offset` of the peer's exposed memory. On an error nothing is
    /// promised about `into`, and the engine falls back to packets.
    fn get(
        &mut self,
        peer: Peer,
        _key: &Key,
        _offset: u64,
        _into: Region,
        _token: u64,
    ) -> Result<Transfer, Fault> {
        Err(unsupported(self.name(), "read", peer))
    }

    /// Writes `from` at `offset` of the peer's exposed memory.
    fn put(
        &mut self,
        peer: Peer,
        _key: &Key,
        _offset: u64,
        _from: Region,
        _token: u64,
    ) -> Result<Transfer, Fault> {
        Err(unsupported(self.name(), "write", peer))
    }

    /// Chooses who moves a message of this many bytes to this process, where both can. It goes by
    /// the times of earlier ones, which the costs in [`Reach`] (whose answer is `estimate`) can
    /// only guess. `None` if the channel learns nothing. Every such message must be followed by
    /// [`choice_ended`](Channel::choice_ended) as soon as it has ended, however it went.
    fn choose_direction(&mut self, _bytes: u64, _estimate: Direction) -> Option<Choice> {
        None
    }

    /// Tells that the message of that choice has ended.
    fn choice_ended(&mut self, _choice: Choice) {}

    /// Opens a division of a message from `peer` into `parts` (2 to [`PARTS_MAX`]), so that the
    /// sender shares the copying; the receiver has the first part already.
    /// [`take_part`](Channel::take_part) hands the others out to both sides, each once. `None` if
    /// there is nothing that both sides see at once, or if two copiers are no quicker than one
    /// here.
    fn divide(&mut self, _peer: Peer, _parts: u32) -> Option<Division> {
        None
    }

    /// Takes the next part of a division with `peer` from one end and returns its number, counted
    /// from the front. `None` if all are taken or the division has ended.
    fn take_part(&mut self, _peer: Peer, _division: Division, _from: End) -> Option<u32> {
        None
    }

    /// Ends the division for the receiver: no part is taken any more. Returns how many the sender
    /// took.
    fn end_division(&mut self, _peer: Peer, _division: Division) -> u32 {
        0
    }

    /// Ends a division whose parts are all taken, as the receiver knows: unlike
    /// [`end_division`](Channel::end_division) it needs no look at what the sender wrote.
    fn forget_division(&mut self, peer: Peer, division: Division) {
        self.end_division(peer, division);
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

    /// The waiter that what arrives here wakes; `None` if this channel wakes nobody.
    fn waiter(&self) -> Option<Arc<dyn Waiter>> {
        None
    }

    /// Memory that several processes can share as a [`board`]; `None` if this channel shares none.
    fn boards(&self) -> Option<Arc<dyn board::Boards>> {
        None
    }

    /// Counts of registrations of the program's memory; `None` if this channel registers none.
    fn registrations(&self) -> Option<Registrations> {
        None
    }

    /// Access to the memory of other processes of the node; `None` if this channel has none.
    fn neighbors(&self) -> Option<Arc<dyn neighbor::Neighbors>> {
        None
    }

    /// The number of messages that were dropped because they seemed to come from no process of this
    /// job.
    fn strange_messages(&self) -> u64 {
        0
    }

    /// The reason why the channel reaches nobody, if it could not be opened but the job may need
    /// it.
    fn absence(&self) -> Option<&Fault> {
        None
    }

    /// Findings about this machine and its peers, in words, one a line: what was chosen and why.
    /// For `verbena info`.
    fn findings(&self) -> Vec<String> {
        Vec::new()
    }
}

fn unsupported(channel: &str, verb: &str, peer: Peer) -> Fault {
    Fault {
        what: format!("the channel {channel} cannot {verb} remote memory"),
        on: format!("process {peer}"),
        cause: "the protocol chose a transfer that the channel does not offer: a defect of Verbena".into(),
        remedy: "please report it; VERBENA_CHANNELS chooses other channels meanwhile".into(),
    }
}
