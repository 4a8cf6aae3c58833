//! One-sided operations: this process reads and writes memory that a peer has shown to it, and the
//! peer does nothing.
//!
//! The owner shows its memory to one peer at a time ([`show`](crate::Engine::show)) and tells that
//! peer what it got. Only channels take part that move memory in the background and close the
//! connection with a peer when something fails: what failed then writes nothing any more, and can
//! be done again by messages. A channel without connections takes part if no other one leads to the
//! peer: what fails there is done no more, since the peer is lost.
//!
//! An operation consists of parts, each a transfer of the channel. A peer has a line of them: some
//! are with the channel ([`UNDER_WAY_MAX`]), the others wait here, up to [`PARTS_WAITING_MAX`].
//! Whoever asks for more is refused until there is room, so the line is never longer.
//!
//! The end of an operation means that its bytes are in place ([`verbena_channel::RemoteMemory`]).
//! Operations on one peer may end in any order.

mod moving;

use crate::slab::{Id, Slab};
use std::collections::{BTreeMap, VecDeque};
use verbena_channel::{Key, Peer};
use verbena_memory::Region;

/// The most parts on the memory of one peer that wait for the channel.
pub const PARTS_WAITING_MAX: usize = 4096;
/// The most parts on the memory of one peer that a channel has at a time.
const UNDER_WAY_MAX: usize = 64;

/// The bit that tells tokens of one-sided operations from those of messages. Tokens hold a place in
/// a table, and no table is so long that a place needs this bit.
const BESIDE: u64 = 1 << 31;

/// Returns whether a channel's token stands for a one-sided operation.
pub(crate) fn is_one_sided(token: u64) -> bool {
    token & BESIDE != 0
}

/// Memory as it is shown to one peer, which may read and write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The name of the channel that made the key, hashed.
    channel: u32,
    key: Key,
}

impl Shown {
    /// The number of bytes by which the peer learns of it.
    pub const BYTES: usize = 36;

    /// The bytes by which the peer learns of it.
    pub fn emit(&self) -> [u8; Shown::BYTES] {
        let mut bytes = [0; Shown::BYTES];
        bytes[..4].copy_from_slice(&self.channel.to_le_bytes());
        bytes[4..].copy_from_slice(&self.key.0);
        bytes
    }

    /// Reads what an owner has told. Any bytes are something; whether they lead anywhere shows when
    /// they are used.
    pub fn parse(bytes: &[u8; Shown::BYTES]) -> Shown {
        let (channel, key) = bytes.split_first_chunk().expect("more than four bytes");
        let key = Key(key.try_into().expect("the rest is a key"));
        Shown { channel: u32::from_le_bytes(*channel), key }
    }
}

/// The direction of a one-sided operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// From the peer's memory to this process's.
    Get,
    /// From this process's memory to the peer's.
    Put,
}

/// A part of an operation: bytes side by side on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bytes from the beginning of the memory that is shown.
    pub offset: u64,
    /// The memory here, not empty.
    pub region: Region,
}

/// The reason why an operation did not begin. Nothing has happened then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no room now, but will be after progress.
    Full,
    /// No channel leads to that memory now.
    NoWay,
}

/// An operation under way. Valid until [`take_one_sided`](crate::Engine::take_one_sided) has told
/// its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OneSidedId(Id);

/// An operation.
struct Operation {
    peer: Peer,
    channel: usize,
    key: Key,
    motion: Motion,
    /// The number of parts that have not ended.
    left: usize,
    bytes: u64,
    /// Set once a part has failed: the others are of no use then.
    has_failed: bool,
}

/// A part that waits.
struct Waiting {
    operation: Id,
    part: Part,
}

/// The parts of one peer.
#[derive(Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    /// The number of parts that the channel has.
    under_way: usize,
    /// Set while the peer stands among the events to see to.
    is_listed: bool,
}

/// All operations, and the lines of those peers that have parts.
pub(crate) struct OneSided {
    operations: Slab<Operation>,
    lines: BTreeMap<Peer, Line>,
}

impl OneSided {
    pub(crate) fn new() -> OneSided {
        OneSided { operations: Slab::new(), lines: BTreeMap::new() }
    }

    /// Returns whether some part on the peer's memory has not ended.
    pub(crate) fn is_busy_with(&self, peer: Peer) -> bool {
        self.lines.contains_key(&peer)
    }

    fn has_room(&self, peer: Peer, parts: usize) -> bool {
        self.lines.get(&peer).is_none_or(|line| line.waiting.len() + parts <= PARTS_WAITING_MAX)
    }

    fn add(&mut self, operation: Operation, parts: &[Part]) -> Id {
        let peer = operation.peer;
        let id = self.operations.insert(operation);
        let waiting = parts.iter().map(|&part| Waiting { operation: id, part });
        self.lines.entry(peer).or_default().waiting.extend(waiting);
        id
    }

    /// Takes the next part that the channel may have.
    fn next(&mut self, peer: Peer) -> Option<Waiting> {
        let line = self.lines.get_mut(&peer).filter(|line| line.under_way < UNDER_WAY_MAX)?;
        line.waiting.pop_front()
    }

    /// Forgets a line without parts.
    fn tidy(&mut self, peer: Peer) {
        if self.lines.get(&peer).is_some_and(|line| line.under_way == 0 && line.waiting.is_empty()) {
            self.lines.remove(&peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_survives_the_wire() {
        let shown = Shown { channel: 0x1234_5678, key: Key([7; 32]) };
        assert_eq!(Shown::parse(&shown.emit()), shown);
    }

    #[test]
    fn tokens_of_messages_are_none_of_operations() {
        let mut table = Slab::new();
        let id: Id = table.insert('a');
        assert!(!is_one_sided(id.number()) && is_one_sided(id.number() | BESIDE));
        assert_eq!(Id::of((id.number() | BESIDE) & !BESIDE), id);
    }
}
