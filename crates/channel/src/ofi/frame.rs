//! What stands before each message of the channel.
//!
//! | offset | bytes | field | meaning |
//! | --- | --- | --- | --- |
//! | 0 | 4 | source | rank of the sender in the job |
//! | 4 | 4 | job | a number made of the job's name: what does not carry it is not ours |
//! | 8 | 4 | heard | packets of the receiver that the sender has taken, wrapping |
//! | 12 | 1 | kind | [`Kind`] |
//! | 13 | 3 | number | the number of a packet, from 1 on, wrapping; 0 for anything else |
//!
//! Integers are little-endian. Behind a [`Kind::Packet`] come the packet's header and its payload.

use crate::Peer;
use crate::packet::HEADER_BYTES;

/// Bytes of an encoded frame.
pub const FRAME_BYTES: usize = 16;
/// Bytes before a packet's payload.
pub const PACKET_FRAME_BYTES: usize = FRAME_BYTES + HEADER_BYTES;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A packet of the engine.
    Packet = 1,
    /// Only says what was heard.
    Ack = 2,
    /// As `Ack`, and asks for one.
    AckWanted = 3,
}

/// A decoded frame; see the module for the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The sender.
    pub source: Peer,
    /// The job's number.
    pub job: u32,
    /// Packets of the receiver that the sender has taken.
    pub heard: u32,
    /// What follows.
    pub kind: Kind,
    /// Low 24 bits of the number of a packet between this pair: a gap shows that a connection was cut and made anew.
    pub number: u32,
}

/// The bits of a number that a frame has room for.
pub const NUMBER_MASK: u32 = 0xff_ffff;

impl Frame {
    /// The encoded form.
    #[inline]
    pub fn emit(&self) -> [u8; FRAME_BYTES] {
        let mut out = [0; FRAME_BYTES];
        out[..4].copy_from_slice(&self.source.to_le_bytes());
        out[4..8].copy_from_slice(&self.job.to_le_bytes());
        out[8..12].copy_from_slice(&self.heard.to_le_bytes());
        out[12] = self.kind as u8;
        out[13..].copy_from_slice(&self.number.to_le_bytes()[..3]);
        out
    }

    /// The frame at the beginning of a message, and what stands behind it; `None` if that is none.
    #[inline]
    pub fn parse(message: &[u8]) -> Option<(Frame, &[u8])> {
        let (bytes, rest) = message.split_first_chunk::<FRAME_BYTES>()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let kind = match bytes[12] {
            1 => Kind::Packet,
            2 => Kind::Ack,
            3 => Kind::AckWanted,
            _ => return None,
        };
        Some((Frame { source: word(0), job: word(4), heard: word(8), kind, number: word(12) >> 8 }, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_the_wire_and_nonsense_is_refused() {
        let frame =
            Frame { source: 7, job: 0xfedc_ba98, heard: u32::MAX, kind: Kind::AckWanted, number: 0xfe_dcba };
        let message = [&frame.emit()[..], b"rest"].concat();
        assert_eq!(Frame::parse(&message), Some((frame, &b"rest"[..])));
        assert_eq!(Frame::parse(&message[..15]), None);
        assert_eq!(Frame::parse(&[0; 16]), None);
    }
}
