//! The frame before each message of the channel.
//!
//! | offset | bytes | field | meaning |
//! | --- | --- | --- | --- |
//! | 0 | 8 | token | the receiver's, from its card: what does not bear it comes from a stranger |
//! | 8 | 4 | source | rank of the sender in the job |
//! | 12 | 4 | heard | packets of the receiver that the sender has taken, wrapping |
//! | 16 | 4 | number | of a packet or a question, from 1 on; else of the last question that came |
//! | 20 | 1 | kind | [`Kind`] |
//! | 21 | 3 | | 0 |
//!
//! Integers are little-endian. Behind a [`Kind::Packet`] come the packet's header and its payload.

use verbena_channel::Peer;
use verbena_channel::packet::HEADER_BYTES;

/// Bytes of an encoded frame.
pub const FRAME_BYTES: usize = 24;
/// Bytes before a packet's payload.
pub const PACKET_FRAME_BYTES: usize = FRAME_BYTES + HEADER_BYTES;

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A packet of the engine.
    Packet = 1,
    /// Only says how many packets were taken.
    Ack = 2,
    /// Like `Ack`, and asks for one.
    AckWanted = 3,
    /// Answers a question: the sender has given the receiver up, and takes no packet any more.
    GivenUp = 4,
}

/// A decoded frame; see the module for the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The receiver's token.
    pub token: u64,
    /// The sender.
    pub source: Peer,
    /// Packets of the receiver that the sender has taken.
    pub heard: u32,
    /// The number of a packet between this pair: a gap shows that a connection was cut and made
    /// anew. Or the number of a question, or of the last one that came, 0 if none did; they wrap.
    pub number: u32,
    /// The kind of message that follows.
    pub kind: Kind,
}

/// Returns whether the message begins with this token: nothing else is looked at before.
#[inline]
pub fn bears(message: &[u8], token: u64) -> bool {
    message.first_chunk().is_some_and(|bytes| u64::from_le_bytes(*bytes) == token)
}

impl Frame {
    /// The encoded form.
    #[inline]
    pub fn emit(&self) -> [u8; FRAME_BYTES] {
        let mut out = [0; FRAME_BYTES];
        out[..8].copy_from_slice(&self.token.to_le_bytes());
        out[8..12].copy_from_slice(&self.source.to_le_bytes());
        out[12..16].copy_from_slice(&self.heard.to_le_bytes());
        out[16..20].copy_from_slice(&self.number.to_le_bytes());
        out[20] = self.kind as u8;
        out
    }

    /// Decodes the frame at the beginning of a message, and returns it with the bytes behind it;
    /// `None` if it is no frame.
    #[inline]
    pub fn parse(message: &[u8]) -> Option<(Frame, &[u8])> {
        let (bytes, rest) = message.split_first_chunk::<FRAME_BYTES>()?;
        let (token, numbers) = bytes.split_first_chunk().expect("longer than a token");
        let word =
            |at: usize| u32::from_le_bytes([numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]]);
        let kind = match bytes[20] {
            1 => Kind::Packet,
            2 => Kind::Ack,
            3 => Kind::AckWanted,
            4 => Kind::GivenUp,
            _ => return None,
        };
        let token = u64::from_le_bytes(*token);
        Some((Frame { token, source: word(0), heard: word(4), number: word(8), kind }, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_the_wire_and_nonsense_is_refused() {
        let (token, source, heard, number) = (0xfedc_ba98_7654_3210, 7, u32::MAX, 0xfedc_ba98);
        let frame = Frame { token, source, heard, number, kind: Kind::AckWanted };
        let message = [&frame.emit()[..], b"rest"].concat();
        assert_eq!(Frame::parse(&message), Some((frame, &b"rest"[..])));
        for kind in [Kind::Packet, Kind::Ack, Kind::GivenUp] {
            let other = Frame { kind, ..frame };
            assert_eq!(Frame::parse(&other.emit()), Some((other, &[][..])));
        }
        assert_eq!(Frame::parse(&message[..23]), None);
        assert_eq!(Frame::parse(&[0; 24]), None);
        assert!(bears(&message, token) && !bears(&message, token ^ 1 << 63) && !bears(&message[..7], token));
    }
}
