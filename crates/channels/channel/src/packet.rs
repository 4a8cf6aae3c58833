//! The packet header: one layout, written down here and nowhere else, the same on every channel.
//!
//! | offset | bytes | field | meaning |
//! | --- | --- | --- | --- |
//! | 0 | 1 | kind | [`Kind`] |
//! | 1 | 1 | flags | bits defined by the engine |
//! | 2 | 2 | mark | what the message belongs to ([`crate::mark`]); 0 says nothing |
//! | 4 | 4 | sequence | number of the packet between this pair, wrapping; `Moved` and `Again` have none of their own |
//! | 8 | 8 | context | matching context, or the receiver's request for `Data` and its like |
//! | 16 | 4 | source | rank of the sender in the communicator |
//! | 20 | 4 | tag | message tag |
//! | 24 | 8 | length | message length, or offset in the message for `Data` |
//!
//! Integers are little-endian. The payload's length is told by the channel's own framing.

use crate::mark::Mark;

/// Bytes of an encoded header.
pub const HEADER_BYTES: usize = 32;

/// The meaning of a packet to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A whole message.
    Eager = 1,
    /// A whole message whose sender waits for the match (`MPI_Ssend`); the header's length is the
    /// sender's request.
    EagerSync = 2,
    /// Answer to `EagerSync`: it was matched.
    Matched = 3,
    /// Rendezvous: announces a long message.
    RequestToSend = 4,
    /// Rendezvous: the receiver asks for `Data`, or shows memory for the sender to write, whole or
    /// in parts.
    ClearToSend = 5,
    /// Rendezvous: a part of the message.
    Data = 6,
    /// Rendezvous: the receiver has all; the sender's request is complete.
    Finish = 7,
    /// Rendezvous: the sender has written a part, or all, or could not.
    Copied = 8,
    /// The receiver's unexpected memory is full (flags 1) or has room again (flags 0).
    Throttle = 9,
    /// Asks to cancel a send that was not matched yet.
    Cancel = 10,
    /// Answer to `Cancel`.
    CancelAnswer = 11,
    /// A channel between the two is given up: packets come another way from now on.
    Moved = 12,
    /// A part of a packet that is sent again over a channel whose packets are shorter.
    Again = 13,
    /// The connection of a channel is to be given back.
    Leave = 14,
    /// The communicator with this context was revoked.
    Revoke = 15,
}

impl Kind {
    /// The kind with this code.
    #[inline]
    pub fn from_code(code: u8) -> Option<Kind> {
        use Kind::*;
        Some(match code {
            1 => Eager,
            2 => EagerSync,
            3 => Matched,
            4 => RequestToSend,
            5 => ClearToSend,
            6 => Data,
            7 => Finish,
            8 => Copied,
            9 => Throttle,
            10 => Cancel,
            11 => CancelAnswer,
            12 => Moved,
            13 => Again,
            14 => Leave,
            15 => Revoke,
            _ => return None,
        })
    }
}

/// A decoded packet header; see the module for the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The meaning of the packet.
    pub kind: Kind,
    /// Bits defined by the engine.
    pub flags: u8,
    /// The mark of the message; no part of what is matched.
    pub mark: Mark,
    /// Number of the packet between this pair of processes.
    pub sequence: u32,
    /// Matching context, or a request of the receiver.
    pub context: u64,
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Message tag.
    pub tag: i32,
    /// Message length in bytes, or offset.
    pub length: u64,
}

impl Header {
    /// A header of this kind with all else zero.
    pub fn new(kind: Kind) -> Header {
        Header { kind, flags: 0, mark: Mark::NONE, sequence: 0, context: 0, source: 0, tag: 0, length: 0 }
    }

    /// The encoded form as four words in memory order.
    #[inline(always)]
    pub fn words(&self) -> [u64; 4] {
        let kind = self.kind as u64 | u64::from(self.flags) << 8 | u64::from(self.mark.0) << 16;
        let ends = u64::from(self.source as u32) | u64::from(self.tag as u32) << 32;
        [kind | u64::from(self.sequence) << 32, self.context, ends, self.length].map(u64::to_le)
    }

    /// The header with these words, which [`Header::words`] gave.
    ///
    /// # Panics
    /// If it did not.
    #[inline]
    pub fn of_words(words: [u64; 4]) -> Header {
        let mut bytes = [0; HEADER_BYTES];
        for (part, word) in bytes.chunks_exact_mut(8).zip(words) {
            part.copy_from_slice(&word.to_ne_bytes());
        }
        Header::parse(&bytes).expect("the words of a header")
    }

    /// The encoded form.
    #[inline]
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        for (part, word) in out.chunks_exact_mut(8).zip(self.words()) {
            part.copy_from_slice(&word.to_ne_bytes());
        }
        out
    }

    /// Returns whether these bytes are this header, but for the length.
    #[inline(always)]
    pub fn is_in(&self, bytes: &[u8; HEADER_BYTES]) -> bool {
        let words = self.words();
        let word = |i: usize| u64::from_ne_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes"));
        word(0) == words[0] && word(1) == words[1] && word(2) == words[2]
    }

    /// Decodes a header; `None` if the kind is unknown.
    #[inline]
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Header> {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        Some(Header {
            kind: Kind::from_code(bytes[0])?,
            flags: bytes[1],
            mark: Mark(u16::from_le_bytes([bytes[2], bytes[3]])),
            sequence: half(4),
            context: word(8),
            source: half(16) as i32,
            tag: half(20) as i32,
            length: word(24),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_wire() {
        let header = Header {
            kind: Kind::RequestToSend,
            flags: 3,
            mark: Mark(700),
            sequence: 0xfedc_ba98,
            context: 0x0123_4567_89ab_cdef,
            source: -1,
            tag: 0x7fff_ffff,
            length: 1 << 40,
        };
        assert_eq!(Header::parse(&header.emit()), Some(header));
        assert_eq!(Header::of_words(header.words()), header);
        assert!(Header { length: 0, ..header }.is_in(&header.emit()));
        let others =
            [Header { tag: 0, ..header }, Header { sequence: 1, ..header }, Header { context: 1, ..header }];
        assert!(others.iter().all(|other| !other.is_in(&header.emit())));
    }

    #[test]
    fn an_unknown_kind_is_refused() {
        assert_eq!(Header::parse(&[0; HEADER_BYTES]), None);
        assert_eq!(Header::parse(&[200; HEADER_BYTES]), None);
    }
}
