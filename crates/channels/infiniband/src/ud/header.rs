//! The head of a packet's payload in the first fragment: its header, whole or compact.
//!
//! Most packets are short whole messages, and much of their header is small or known otherwise.
//! Then each byte counts, since it is touched several times on its way. Their compact header is
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 1 | [`COMPACT`], which is no kind of a packet |
//! | 1 | 3 | rank of the sender in the communicator |
//! | 4 | 4 | sequence |
//! | 8 | 4 | message tag |
//! | 12 | 4 | matching context |
//!
//! Numbers are little-endian. The message is as long as the payload. Unlike that of `rc`
//! ([`Kind::WithoutHeader`](crate::rc)) it needs nothing that went before, which may be lost.

use verbena_channel::mark::Mark;
use verbena_channel::packet::{HEADER_BYTES, Header, Kind};
use verbena_memory::Region;

/// Bytes of a compact header.
const COMPACT_BYTES: usize = 16;
/// The first byte of a compact header.
const COMPACT: u8 = 0x80;
/// The bound below which ranks and contexts fit.
const SOURCES: i32 = 1 << 24;
const CONTEXTS: u64 = 1 << 32;

/// A packet's header as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EncodedHeader {
    /// Compact.
    Compact([u8; COMPACT_BYTES]),
    /// Whole.
    Whole([u8; HEADER_BYTES]),
}

impl EncodedHeader {
    /// Makes the shorter form that holds this header, of a packet with `payload_bytes` bytes of
    /// payload.
    #[inline]
    pub(super) fn of(header: &Header, payload_bytes: usize) -> EncodedHeader {
        let Header { kind, flags, mark, sequence, context, source, tag, length } = *header;
        let plain = kind == Kind::Eager && flags == 0 && mark == Mark::NONE && length == payload_bytes as u64;
        if !plain || !(0..SOURCES).contains(&source) || context >= CONTEXTS {
            return EncodedHeader::Whole(header.emit());
        }
        let first = u64::from(COMPACT) | (source as u64) << 8 | u64::from(sequence) << 32;
        let second = u64::from(tag as u32) | context << 32;
        EncodedHeader::Compact((u128::from(first) | u128::from(second) << 64).to_le_bytes())
    }

    /// Returns its bytes on the wire.
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            EncodedHeader::Compact(_) => COMPACT_BYTES,
            EncodedHeader::Whole(_) => HEADER_BYTES,
        }
    }

    /// Writes it to the front of the region.
    #[inline]
    pub(super) fn write(&self, into: Region) {
        match self {
            EncodedHeader::Compact(bytes) => into.write(0, bytes),
            EncodedHeader::Whole(bytes) => into.write(0, bytes),
        }
    }

    /// Returns the header of this packet, and its payload; or what is wrong.
    ///
    /// # Errors
    /// It is torn, or of no kind.
    #[inline]
    pub(super) fn parse(packet: &[u8]) -> Result<(Header, &[u8]), &'static str> {
        if packet.first() == Some(&COMPACT) {
            let (bytes, payload) = packet.split_first_chunk().ok_or("a torn header")?;
            return Ok((expand(bytes, payload.len()), payload));
        }
        let (bytes, payload) = packet.split_first_chunk().ok_or("a torn header")?;
        Header::parse(bytes).map(|header| (header, payload)).ok_or("an unknown kind")
    }
}

/// Returns the header that was made compact.
#[inline]
fn expand(bytes: &[u8; COMPACT_BYTES], payload_bytes: usize) -> Header {
    let words = u128::from_le_bytes(*bytes);
    let (first, second) = (words as u64, (words >> 64) as u64);
    Header {
        sequence: (first >> 32) as u32,
        context: second >> 32,
        source: (first as u32 >> 8) as i32,
        tag: second as u32 as i32,
        length: payload_bytes as u64,
        ..Header::new(Kind::Eager)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(header: &Header, payload: &[u8]) -> Vec<u8> {
        let head = EncodedHeader::of(header, payload.len());
        let mut bytes = vec![0; head.len()];
        // SAFETY: the vector outlives the region, and nothing else uses it meanwhile.
        head.write(unsafe { Region::new(bytes.as_mut_ptr(), bytes.len()) });
        bytes.extend_from_slice(payload);
        bytes
    }

    const PLAIN: Header = Header {
        kind: Kind::Eager,
        flags: 0,
        mark: Mark::NONE,
        sequence: 0xfedc_ba98,
        context: 0xffff_fffe,
        source: 0xff_fffe,
        tag: 0x7fff_ffff,
        length: 3,
    };

    #[test]
    fn a_plain_header_is_compact_and_any_other_whole() {
        assert_eq!(packet(&PLAIN, b"abc").len(), 16 + 3);
        let others = [
            Header { kind: Kind::EagerSync, ..PLAIN },
            Header { flags: 1, ..PLAIN },
            Header { mark: Mark(1), ..PLAIN },
            Header { context: 1 << 32, ..PLAIN },
            Header { source: 1 << 24, ..PLAIN },
            Header { source: -1, ..PLAIN },
            Header { length: 4, ..PLAIN },
        ];
        for header in others.iter().chain([&PLAIN, &Header { tag: -1, source: 0, context: 0, ..PLAIN }]) {
            let bytes = packet(header, b"abc");
            assert_eq!(bytes.len() == 32 + 3, others.contains(header), "{header:?}");
            assert_eq!(EncodedHeader::parse(&bytes), Ok((*header, &b"abc"[..])));
        }
    }

    #[test]
    fn what_is_torn_or_unknown_is_refused() {
        assert!(Kind::from_code(COMPACT).is_none());
        let bytes = packet(&PLAIN, b"");
        assert_eq!(EncodedHeader::parse(&bytes[..15]), Err("a torn header"));
        assert_eq!(EncodedHeader::parse(&[]), Err("a torn header"));
        assert_eq!(EncodedHeader::parse(&[1; 31]), Err("a torn header"));
        assert_eq!(EncodedHeader::parse(&[200; 32]), Err("an unknown kind"));
    }
}
