//! The verbs device as the channel `ud` needs it, and nothing more.
//!
//! The real one is over libibverbs (`ud/verbs.rs`); the simulator has another (`verbena-sim`). One
//! queue pair receives, several send (paper 4, section 4); one completion queue tells of whatever
//! ends.

use crate::device::{Address, Failed, Post, Refused, Trouble};
use std::os::fd::RawFd;
use verbena_fault::Fault;
use verbena_memory::Region;

/// Bytes before each datagram received: room for a global header, used or not (InfiniBand
/// specification, 11.4.1.2).
pub const GLOBAL_BYTES: usize = 40;

/// The limits of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest datagram in bytes (the path's MTU).
    pub datagram_bytes_max: usize,
    /// Bytes that a post may copy inline.
    pub inline_bytes_max: usize,
    /// The most datagrams under way on one sending queue pair.
    pub work_max: u32,
    /// The most receive buffers posted at once.
    pub receives_max: u32,
    /// The number of queue pairs for sending.
    pub senders: usize,
}

/// Memory that the device may access.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The memory.
    pub region: Region,
    /// The key by which work names it.
    pub key: u32,
}

/// The adapter's note of a way to a peer, kept with the peer: an address handle's place, and its
/// generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aim {
    /// The place.
    pub place: u32,
    /// The generation; 0 for none yet.
    pub generation: u32,
}

/// A datagram to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// The datagram's bytes.
    pub from: Memory,
    /// The manner in which it is posted.
    pub how: Post,
}

/// The most datagrams in one batch.
pub const BATCH_MAX: usize = 8;

/// The end of work, or of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A datagram lies in this receive buffer, behind [`GLOBAL_BYTES`]: the second number is its
    /// length in bytes, with these.
    Received(u32, u32),
    /// The oldest signalled work of this sending queue pair is done, and all before it.
    Sent(usize),
    /// Work of this sending queue pair failed.
    SendFailed(usize, Failed),
    /// This receive buffer came back without a datagram.
    ReceiveFailed(u32, Failed),
}

/// A verbs device as `ud` sees it. No method blocks for longer than a system call. Dropping it ends
/// all use of its memory.
pub trait Datagrams: Send {
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

    /// Describes another one's address in words, for messages.
    fn describe(&self, address: &Address) -> String;

    /// Allocates zeroed memory that the device may access as long as this object lives.
    ///
    /// # Errors
    /// Limits on locked memory.
    fn allocate(&mut self, bytes: usize) -> Result<Memory, Fault>;

    /// Posts a receive buffer.
    fn post_receive(&mut self, id: u32, into: Memory) -> Result<(), Refused>;

    /// Returns whether the way to the peer is known; if not, it is being asked for, and nobody
    /// waits for that.
    fn knows_way(&mut self, to: &Address, aim: &mut Aim) -> Result<bool, Refused>;

    /// Asks as [`Datagrams::knows_way`] does, for work that cannot be posted without:
    /// [`Refused::Full`] if it is not known.
    ///
    /// # Errors
    /// It is not known, or there is none.
    #[inline]
    fn finds_way(&mut self, to: &Address, aim: &mut Aim) -> Result<(), Refused> {
        if self.knows_way(to, aim)? { Ok(()) } else { Err(Refused::Full) }
    }

    /// Sends a batch of at most [`BATCH_MAX`] datagrams through a sending queue pair, and tells the
    /// device once of all. Each may be lost, doubled, garbled or late.
    ///
    /// # Errors
    /// The number taken nevertheless, and why the next was not: [`Refused::Full`] also if the way
    /// to the peer is not known yet.
    fn post(
        &mut self,
        queue: usize,
        to: &Address,
        aim: &mut Aim,
        batch: &[Datagram],
    ) -> Result<(), (usize, Refused)>;

    /// Returns what has ended next, if anything has.
    fn poll(&mut self) -> Option<Ended>;

    /// Asks for an event at the next completion; what is there already makes none. Returns `false`
    /// if this adapter makes no events.
    fn arm(&mut self) -> bool {
        false
    }

    /// Returns the descriptors that become readable at an event, or when there is trouble.
    fn descriptors(&self) -> Vec<RawFd> {
        Vec::new()
    }

    /// Returns what happened to the device without being asked, oldest first. It may cost a system
    /// call: not for every poll.
    fn trouble(&mut self) -> Option<Trouble>;
}
