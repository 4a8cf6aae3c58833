//! Remote memory: a channel that reads and writes the memory of a peer, without the peer's help.
//!
//! The owner exposes memory with rights and gets a [`Key`], which travels to the peer in a packet;
//! the peer reads and writes with it. The end of a [`get`](RemoteMemory::get) or a
//! [`put`](RemoteMemory::put) means that the bytes are in place: when the target learns of the end,
//! by a packet or in memory, it finds what was written. So a process flushes by waiting for the
//! ends of its own transfers, and no method is needed for that.

use crate::Peer;
use verbena_fault::Fault;
use verbena_memory::Region;

/// A description of exposed memory that travels in a packet and lets a peer `get` or `put` there.
/// Only the channel that made it can read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

/// The rights of a peer over exposed memory. A channel whose device guards memory grants these and
/// no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    /// True if the peer may read it ([`RemoteMemory::get`]).
    pub read: bool,
    /// True if the peer may write it ([`RemoteMemory::put`]).
    pub write: bool,
    /// True if the peer may carry out atomic operations there ([`Atomics`]).
    pub atomic: bool,
}

impl Access {
    /// Memory of this process alone.
    pub const NONE: Access = Access { read: false, write: false, atomic: false };
    /// The memory of a message that is sent.
    pub const READ: Access = Access { read: true, ..Access::NONE };
    /// The memory of a message that is received.
    pub const WRITE: Access = Access { write: true, ..Access::NONE };
    /// Memory that peers use as they like.
    pub const READ_WRITE: Access = Access { read: true, write: true, atomic: false };
    /// Memory that peers read, write and change atomically, as that of a window.
    pub const EVERYTHING: Access = Access { read: true, write: true, atomic: true };

    /// Every combination of rights.
    pub const ALL: [Access; 8] = {
        let mut all = [Access::NONE; 8];
        let mut at = 0;
        while at < all.len() {
            all[at] = Access { read: at & 1 != 0, write: at & 2 != 0, atomic: at & 4 != 0 };
            at += 1;
        }
        all
    };

    /// The index in [`Access::ALL`].
    pub fn index(self) -> usize {
        usize::from(self.read) | usize::from(self.write) << 1 | usize::from(self.atomic) << 2
    }
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

/// The state of a `get` or `put` when the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// All bytes are moved.
    Done,
    /// Under way; [`Sink::transferred`](crate::Sink::transferred) reports the end with the caller's
    /// token.
    Pending,
}

/// The answer to the start of a transfer.
pub type Started = Result<Transfer, Fault>;

/// The side that moves a long message that both could move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The receiver reads it.
    Read,
    /// The sender writes it.
    Write,
}

/// A channel's choice for one message, which [`RemoteMemory::choice_ended`] hands back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The side that moves it.
    pub direction: Direction,
    /// The length of the message.
    pub bytes: u64,
}

/// The number of bytes that an atomic operation works on.
pub const ATOMIC_BYTES: usize = 8;

/// An operation on eight bytes, which are one number in the order of bytes of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// Adds this number, without regard to overflow.
    FetchAdd(u64),
    /// Puts `desired` there if `expected` is there.
    CompareSwap {
        /// The number that must be there.
        expected: u64,
        /// The number to put there.
        desired: u64,
    },
}

/// The operations that never come between the two halves (read and write) of an atomic one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicScope {
    /// Atomic operations through the same device of the target, and nothing else.
    Device,
    /// Also those of the target's processors, and of its other devices.
    Host,
}

/// Atomic operations on the memory of a peer, carried out by its device.
pub trait Atomics {
    /// Returns which other operations leave these undivided.
    fn scope(&self) -> AtomicScope;

    /// Carries out `operation` at `offset` of the memory that the peer exposed with
    /// [`Access::atomic`]. Writes the number of before into `former`, which has [`ATOMIC_BYTES`].
    /// The end is told as that of a [`get`](RemoteMemory::get).
    ///
    /// # Errors
    /// Those of [`get`](RemoteMemory::get); also if the place is not a multiple of
    /// [`ATOMIC_BYTES`]. Whether the operation was carried out is not known after a failure.
    fn atomic(
        &mut self,
        peer: Peer,
        key: &Key,
        offset: u64,
        operation: Atomic,
        former: Region,
        token: u64,
    ) -> Started;
}

/// A channel that moves memory. Where the peer's [`Reach`](crate::Reach) tells no cost of a
/// direction, that direction may fail with a fault.
pub trait RemoteMemory {
    /// Describes `region` so that `peer` may use it as `access` says; `None` if this channel cannot
    /// move memory with that peer.
    fn expose(&mut self, peer: Peer, region: Region, access: Access) -> Option<Key>;

    /// Ends the exposure of `key`.
    fn conceal(&mut self, peer: Peer, key: &Key);

    /// Reads `into.len()` bytes at `offset` of the peer's exposed memory.
    ///
    /// # Errors
    /// The peer is not reached any more, the key does not cover the bytes, or the memory cannot be
    /// used. Nothing is promised about `into`, and the engine falls back to packets.
    fn get(&mut self, peer: Peer, key: &Key, offset: u64, into: Region, token: u64) -> Started;

    /// Writes `from` at `offset` of the peer's exposed memory.
    ///
    /// # Errors
    /// Those of [`get`](RemoteMemory::get); nothing is promised about the peer's memory.
    fn put(&mut self, peer: Peer, key: &Key, offset: u64, from: Region, token: u64) -> Started;

    /// The atomic operations; `None` if the device has none.
    fn atomics(&mut self) -> Option<&mut dyn Atomics> {
        None
    }

    /// Chooses who moves a message of this many bytes to this process, where both can. It goes by
    /// the times of earlier ones, which the costs in [`Reach`](crate::Reach) (whose answer is
    /// `estimate`) can only guess. `None` if the channel learns nothing. Every such message must be
    /// followed by [`choice_ended`](RemoteMemory::choice_ended) as soon as it has ended, however it
    /// went.
    fn choose_direction(&mut self, _bytes: u64, _estimate: Direction) -> Option<Choice> {
        None
    }

    /// Tells that the message of that choice has ended.
    fn choice_ended(&mut self, _choice: Choice) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_combination_has_its_place() {
        assert!(Access::ALL.iter().enumerate().all(|(at, access)| access.index() == at));
    }
}
