//! What the channel `ud` asks of a verbs device, and nothing more.
//!
//! The real one is over libibverbs (`ud/verbs.rs`); the simulator has another (`verbena-sim`). One
//! queue pair receives, several send (paper 4, section 4); whatever ends is told by one completion
//! queue.

use crate::device::{Address, Failed, Post, Refused, Trouble};
use std::os::fd::RawFd;
use verbena_fault::Fault;
use verbena_memory::Region;

/// Bytes before each datagram received: room for a global header, used or not (InfiniBand
/// specification, 11.4.1.2).
pub const GLOBAL_BYTES: usize = 40;

/// What an adapter can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest datagram in bytes (the path's MTU).
    pub datagram_bytes_max: usize,
    /// Bytes that a post may copy inline.
    pub inline_bytes_max: usize,
    /// Datagrams under way on one sending queue pair at most.
    pub work_max: u32,
    /// Receive buffers posted at once at most.
    pub receives_max: u32,
    /// Queue pairs for sending.
    pub senders: usize,
}

/// Memory that the device may access.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The memory.
    pub region: Region,
    /// What work names it by.
    pub key: u32,
}

/// What the adapter remembers of a way to a peer, kept with the peer: an address handle's place,
/// and its generation.
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
    /// Its bytes.
    pub from: Memory,
    /// How it is posted.
    pub how: Post,
}

/// Datagrams in one run at most.
pub const RUN_MAX: usize = 8;

/// The end of work, or of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A datagram lies in this receive buffer, behind [`GLOBAL_BYTES`]: so many bytes with these.
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
    /// What it can do.
    fn limits(&self) -> Limits;

    /// Nanoseconds since some moment.
    fn now_ns(&self) -> u64;

    /// Where its datagrams go.
    fn address(&self) -> Address;

    /// Device, port and GID in words, for messages.
    fn place(&self) -> String;

    /// Another one's address in words, for messages.
    fn describe(&self, address: &Address) -> String;

    /// New zeroed memory that the device may access as long as this object lives.
    ///
    /// # Errors
    /// Limits on locked memory.
    fn allocate(&mut self, bytes: usize) -> Result<Memory, Fault>;

    /// Posts a receive buffer.
    fn post_receive(&mut self, id: u32, into: Memory) -> Result<(), Refused>;

    /// Whether the way to the peer is known; if not, it is being asked for, and nobody waits for
    /// that.
    fn knows_way(&mut self, to: &Address, aim: &mut Aim) -> Result<bool, Refused>;

    /// As [`Datagrams::knows_way`], for work that cannot be posted without: [`Refused::Full`] if it
    /// is not known.
    ///
    /// # Errors
    /// It is not known, or there is none.
    #[inline]
    fn finds_way(&mut self, to: &Address, aim: &mut Aim) -> Result<(), Refused> {
        if self.knows_way(to, aim)? { Ok(()) } else { Err(Refused::Full) }
    }

    /// Sends a run of at most [`RUN_MAX`] datagrams through a sending queue pair, of which the
    /// device is told once; each may be lost, doubled, garbled or late.
    ///
    /// # Errors
    /// How many were taken all the same, and why the next was not: [`Refused::Full`] also if the
    /// way to the peer is not known yet.
    fn post(
        &mut self,
        queue: usize,
        to: &Address,
        aim: &mut Aim,
        run: &[Datagram],
    ) -> Result<(), (usize, Refused)>;

    /// What has ended next, if anything has.
    fn poll(&mut self) -> Option<Ended>;

    /// From now on the next completion makes an event; what is there already makes none. `false` if
    /// this adapter makes no events.
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
