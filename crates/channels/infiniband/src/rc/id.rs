//! The numbers that work carries, which tell completions apart.
//!
//! | bits | meaning |
//! | --- | --- |
//! | 60 to 63 | kind |
//! | 32 to 59 | peer, if the kind has one |
//! | 0 to 31 | number of a buffer or of a transfer, if the kind has one |

use verbena_channel::Peer;

/// The number of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    /// A receive buffer, by its number in the pool.
    Receive(u32),
    /// A packet sent by send and receive, by the number of its buffer.
    Send(u32),
    /// A write into a ring of this peer, or of a pointer.
    Ring(Peer),
    /// Long memory of a message (`memory.rs`): the peer, and the transfer's number.
    Memory(Peer, u32),
}

const PEER_BITS: u32 = 28;

impl Id {
    /// Encodes it as it stands in [`Work::id`](super::adapter::Work).
    pub(crate) fn word(self) -> u64 {
        let (kind, peer, number) = match self {
            Id::Receive(number) => (1, 0, number),
            Id::Send(number) => (2, 0, number),
            Id::Ring(peer) => (3, peer, 0),
            Id::Memory(peer, number) => (4, peer, number),
        };
        debug_assert!(peer >> PEER_BITS == 0);
        kind << 60 | u64::from(peer) << 32 | u64::from(number)
    }

    /// Decodes what [`Id::word`] made; `None` if it made no such word.
    #[inline]
    pub(crate) fn of_word(word: u64) -> Option<Id> {
        let (peer, number) = ((word >> 32) as u32 & ((1 << PEER_BITS) - 1), word as u32);
        Some(match word >> 60 {
            1 => Id::Receive(number),
            2 => Id::Send(number),
            3 => Id::Ring(peer),
            4 => Id::Memory(peer, number),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_as_they_went() {
        for id in [Id::Receive(7), Id::Send(u32::MAX), Id::Ring((1 << 28) - 1), Id::Memory(5, 1 << 31)] {
            assert_eq!(Id::of_word(id.word()), Some(id));
        }
        assert_eq!(Id::of_word(0), None);
    }
}
