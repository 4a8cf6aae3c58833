//! The memory of a pipe, and what lies in it.
//!
//! A connection has two pieces of registered memory on each side. The *inbox* may be written by the
//! peer: the ring of the pipe from it, and two words. The *outbox* is this process's alone: a copy
//! of the ring of the pipe to the peer, from which it is written, and words on their way.
//!
//! | offset in the inbox | bytes | what the peer writes there |
//! | --- | --- | --- |
//! | 0 | ring | chunks, or bytes ([`Design::Basic`]) |
//! | ring | 8 | its head pointer: bytes that it has put into the ring ([`Design::Basic`] only) |
//! | ring + 8 | 8 | its tail pointer: how much of our pipe it has taken, in chunks or bytes |
//!
//! A chunk, whose flags are those of `rc` (`rc/ring/flags.rs`):
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 4 | flag |
//! | 4 | 3 | length of the body in bytes |
//! | 7 | 1 | kind ([`Kind`]), never 0 |
//! | 8 | 8 | the sender's own tail pointer (paper 2, 4.3) |
//! | 16 | length | body, filled up to a multiple of 4 |
//! | then | 4 | the flag again |

use super::settings::{Design, Settings};
use crate::rc::ring::flags::{FLAG_BYTES, tail_offset};
use verbena_channel::packet::{HEADER_BYTES, Header};

/// Bytes of a pointer.
pub(super) const WORD_BYTES: usize = 8;
/// Bytes of a chunk before its body.
pub(super) const CHUNK_HEAD_BYTES: usize = 16;
/// Bytes of a chunk that are no body.
pub const CHUNK_FRAME_BYTES: usize = CHUNK_HEAD_BYTES + FLAG_BYTES;
/// Bytes before the payload of a packet in the pipe: the payload's length, and the header.
pub const RECORD_BYTES: usize = 8 + HEADER_BYTES;
/// Bytes of an offer of memory: address, length, key.
pub(super) const OFFER_BYTES: usize = 20;

/// The kind of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of the pipe.
    Data = 1,
    /// The special packet: memory to be read in place of bytes (paper 2, 5).
    Offer = 2,
    /// The acknowledgement: the memory was read.
    Done = 3,
}

/// The first word of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The flag.
    pub flag: u32,
    /// The kind.
    pub kind: Kind,
    /// Bytes of the body, less than 2^24.
    pub bytes: usize,
}

impl Head {
    /// The word.
    pub fn word(&self) -> u64 {
        u64::from(self.flag) | (self.bytes as u64) << 32 | (self.kind as u64) << 56
    }

    /// The head with this word, if a chunk with so much room can have it.
    pub fn of_word(word: u64, body_bytes_max: usize) -> Option<Head> {
        let kind = match word >> 56 {
            1 => Kind::Data,
            2 => Kind::Offer,
            3 => Kind::Done,
            _ => return None,
        };
        let bytes = (word >> 32) as usize & 0xff_ffff;
        let fits = match kind {
            Kind::Data => (1..=body_bytes_max).contains(&bytes),
            Kind::Offer => bytes == OFFER_BYTES,
            Kind::Done => bytes == 0,
        };
        fits.then_some(Head { flag: word as u32, kind, bytes })
    }

    /// The bytes that are written for the chunk.
    pub fn written_bytes(&self) -> usize {
        tail_offset(CHUNK_HEAD_BYTES + self.bytes) + FLAG_BYTES
    }
}

/// Memory of the sender that stands for bytes of the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The address there.
    pub address: u64,
    /// The length in bytes, more than 0.
    pub bytes: u64,
    /// The key, with the right to read and no other.
    pub key: u32,
}

impl Offer {
    /// The body of the special packet.
    pub fn emit(&self) -> [u8; OFFER_BYTES] {
        let mut out = [0; OFFER_BYTES];
        out[..8].copy_from_slice(&self.address.to_le_bytes());
        out[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        out[16..].copy_from_slice(&self.key.to_le_bytes());
        out
    }

    /// The offer in this body; `None` if it has no bytes or reaches past the end of all memory.
    pub fn parse(body: &[u8; OFFER_BYTES]) -> Option<Offer> {
        let word = |at: usize| u64::from_le_bytes(body[at..at + 8].try_into().expect("eight bytes"));
        let key = u32::from_le_bytes(body[16..].try_into().expect("four bytes"));
        let offer = Offer { address: word(0), bytes: word(8), key };
        let fits = offer.bytes > 0 && offer.address.checked_add(offer.bytes).is_some();
        (fits && usize::try_from(offer.bytes).is_ok_and(|bytes| bytes <= isize::MAX as usize))
            .then_some(offer)
    }
}

/// The bytes before a packet's payload.
pub fn record(header: &Header, payload_bytes: usize) -> [u8; RECORD_BYTES] {
    let mut out = [0; RECORD_BYTES];
    out[..8].copy_from_slice(&(payload_bytes as u64).to_le_bytes());
    out[8..].copy_from_slice(&header.emit());
    out
}

/// The header, and the length of its payload; `None` if no packet begins so.
pub fn parse_record(bytes: &[u8; RECORD_BYTES]) -> Option<(Header, u64)> {
    let (len, header) = bytes.split_first_chunk::<8>().expect("more than eight bytes");
    let len = u64::from_le_bytes(*len);
    let header = Header::parse(header.try_into().expect("the rest is a header"))?;
    (len <= isize::MAX as u64).then_some((header, len))
}

/// The layout of the memory of a pipe: the same on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The design.
    pub design: Design,
    /// Bytes of the ring.
    pub ring_bytes: usize,
    /// Bytes of a chunk.
    pub chunk_bytes: usize,
}

impl Layout {
    /// The layout that these settings ask for.
    pub fn of(settings: &Settings) -> Layout {
        let Settings { design, ring_bytes, chunk_bytes, .. } = *settings;
        Layout { design, ring_bytes, chunk_bytes }
    }

    /// The number of chunks.
    pub fn chunks(&self) -> u64 {
        (self.ring_bytes / self.chunk_bytes) as u64
    }

    /// The offset of the chunk with this number, of all that were ever put.
    pub fn chunk_at(&self, number: u64) -> usize {
        (number % self.chunks()) as usize * self.chunk_bytes
    }

    /// The longest body of a chunk.
    pub fn body_bytes_max(&self) -> usize {
        self.chunk_bytes - CHUNK_FRAME_BYTES
    }

    /// The offset of the peer's head pointer in the inbox.
    pub fn head_at(&self) -> usize {
        self.ring_bytes
    }

    /// The offset of the peer's tail pointer in the inbox.
    pub fn tail_at(&self) -> usize {
        self.ring_bytes + WORD_BYTES
    }

    /// The bytes of the inbox.
    pub fn inbox_bytes(&self) -> usize {
        self.ring_bytes + 2 * WORD_BYTES
    }

    /// The most that the sender may be ahead of the receiver: chunks, or bytes.
    pub fn capacity(&self) -> u64 {
        match self.design {
            Design::Basic => self.ring_bytes as u64,
            _ => self.chunks(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_channel::packet;

    #[test]
    fn what_lies_in_a_pipe_survives_it() {
        let head = Head { flag: 0xdead_beef, kind: Kind::Data, bytes: 77 };
        assert_eq!(Head::of_word(head.word(), 77), Some(head));
        assert_eq!(Head::of_word(head.word(), 76), None);
        assert_eq!(head.written_bytes(), 16 + 80 + 4);
        let offer = Offer { address: 1 << 40, bytes: 5, key: 9 };
        assert_eq!(Offer::parse(&offer.emit()), Some(offer));
        assert_eq!(Offer::parse(&Offer { bytes: 0, ..offer }.emit()), None);
        assert_eq!(Offer::parse(&Offer { address: u64::MAX - 3, ..offer }.emit()), None);
        assert_eq!(Offer::parse(&Offer { bytes: 1 << 63, address: 0, ..offer }.emit()), None);
        let header = Header::new(packet::Kind::Data);
        assert_eq!(parse_record(&record(&header, 300)), Some((header, 300)));
        assert_eq!(parse_record(&[0; RECORD_BYTES]), None);
    }

    #[test]
    fn chunks_go_round_in_the_ring() {
        let layout = Layout { design: Design::Pipeline, ring_bytes: 1024, chunk_bytes: 256 };
        assert_eq!([0, 3, 4, 9].map(|number| layout.chunk_at(number)), [0, 768, 0, 256]);
        assert_eq!((layout.capacity(), layout.tail_at()), (4, 1032));
    }
}
