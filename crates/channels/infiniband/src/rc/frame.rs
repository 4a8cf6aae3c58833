//! The prefix of every packet of `rc`, on either path.
//!
//! | offset | bytes | field | meaning |
//! | --- | --- | --- | --- |
//! | 0 | 4 | first | in a ring the head flag (`ring/flags.rs`), else the sender's rank |
//! | 4 | 4 | kind and size | [`Kind`] in the top 8 bits, below it the bytes that follow this prefix |
//! | 8 | 4 | PSN | packet sequence number of this direction of the pair, over both paths (paper 1, 4.5) |
//! | 12 | 2 | ring credits | ring slots freed since the last packet (paper 1, 4.4) |
//! | 14 | 2 | receive credits | receive buffers posted anew since the last packet |
//!
//! The first two fields are one aligned word, so a receiver that sees the head flag sees the size.
//! In a ring the prefix of a short message may be that word alone ([`Kind::ShortPrefix`]). Then the
//! lower 24 bits of its second half are, from the lowest: 7 for the bytes that follow, 4 for ring
//! credits, 4 for receive credits, and the lowest 9 of the PSN. A packet of the engine
//! ([`Kind::Data`]) goes on with its header ([`verbena_channel::packet`]) and payload, or only with
//! the latter if the header follows from the one before ([`Kind::WithoutHeader`]). Integers are
//! little-endian.

use std::ops::RangeInclusive;
use verbena_channel::packet::HEADER_BYTES;
use verbena_memory::Region;

/// Bytes of the prefix.
pub(super) const PREFIX_BYTES: usize = 16;

/// Bytes before the payload of a packet of the engine.
pub(super) const DATA_BYTES: usize = PREFIX_BYTES + HEADER_BYTES;

/// Bytes of the prefix of a [`Kind::ShortPrefix`] packet.
const SHORT_PREFIX_BYTES: usize = 8;
/// The bits of a short prefix: for the bytes that follow, for credits of either sort, and for the
/// PSN.
const SHORT_SIZE_BITS: u32 = 7;
const SHORT_CREDIT_BITS: u32 = 4;
const SHORT_PSN_BITS: u32 = 9;
/// The first bits of its credits for receive buffers and of its PSN; those for ring slots follow
/// the size.
const SHORT_RECEIVE_AT: u32 = SHORT_SIZE_BITS + SHORT_CREDIT_BITS;
const SHORT_PSN_AT: u32 = SHORT_RECEIVE_AT + SHORT_CREDIT_BITS;
const _: () = assert!(SHORT_PSN_AT + SHORT_PSN_BITS == 24, "the kind follows");
/// The bytes that may follow it: no packet is shorter than a whole prefix.
const SHORT_BODY_BYTES: RangeInclusive<usize> =
    PREFIX_BYTES - SHORT_PREFIX_BYTES..=low_bits(SHORT_SIZE_BITS) as usize;
/// The most credits of either sort that it can carry: all its bits.
const SHORT_CREDITS_MAX: u16 = low_bits(SHORT_CREDIT_BITS) as u16;
/// The most packets under way on both paths for which its PSN is enough.
pub(super) const SHORT_UNDER_WAY_MAX: u32 = low_bits(SHORT_PSN_BITS - 1);

/// Returns this many bits, from the lowest on.
const fn low_bits(bits: u32) -> u32 {
    (1 << bits) - 1
}

/// The most bytes that can follow the prefix.
pub(super) const BODY_BYTES_MAX: usize = (1 << 24) - 1;

/// The meaning of a packet to the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A packet of the engine.
    Data = 1,
    /// Only credits.
    Credits = 2,
    /// The receiver offers a ring (paper 1, 4.7).
    Offer = 3,
    /// The sender will use the ring.
    Accept = 4,
    /// The sender will not use it.
    Decline = 5,
    /// The receiver takes the ring back.
    Withdraw = 6,
    /// The sender wrote into the ring for the last time before this packet.
    Withdrawn = 7,
    /// The receiver, too, wrote for the last time: its tail pointer.
    Closed = 8,
    /// A packet of the engine without its header (`elided_header.rs`).
    WithoutHeader = 9,
    /// A packet as [`Kind::WithoutHeader`], with a prefix of one word.
    ShortPrefix = 10,
}

impl Kind {
    #[inline]
    fn from_code(code: u8) -> Option<Kind> {
        use Kind::*;
        Some(match code {
            1 => Data,
            2 => Credits,
            3 => Offer,
            4 => Accept,
            5 => Decline,
            6 => Withdraw,
            7 => Withdrawn,
            8 => Closed,
            9 => WithoutHeader,
            10 => ShortPrefix,
            _ => return None,
        })
    }
}

/// A decoded prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The head flag or the sender's rank.
    pub first: u32,
    /// The kind of the packet.
    pub kind: Kind,
    /// Bytes behind the prefix.
    pub body_bytes: u32,
    /// Packet sequence number.
    pub psn: u32,
    /// The number of ring slots freed.
    pub ring_credits: u16,
    /// The number of receive buffers posted anew.
    pub receive_credits: u16,
}

impl Frame {
    /// Makes the prefix the shorter one, if all fits in that.
    #[inline(always)]
    pub(super) fn shorten(&mut self) {
        let credits = self.ring_credits | self.receive_credits;
        let fits = SHORT_BODY_BYTES.contains(&(self.body_bytes as usize)) && credits <= SHORT_CREDITS_MAX;
        if self.kind == Kind::WithoutHeader && fits {
            self.kind = Kind::ShortPrefix;
        }
    }

    /// Returns the bytes before the body.
    #[inline]
    pub(super) fn prefix_bytes(&self) -> usize {
        if self.kind == Kind::ShortPrefix { SHORT_PREFIX_BYTES } else { PREFIX_BYTES }
    }

    /// Returns the bytes of prefix and body.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.prefix_bytes() + self.body_bytes as usize
    }

    /// Encodes the prefix of a [`Kind::ShortPrefix`] packet.
    #[inline]
    pub(super) fn short_word(&self) -> u64 {
        let psn = self.psn & low_bits(SHORT_PSN_BITS);
        let (ring, receive) = (u32::from(self.ring_credits), u32::from(self.receive_credits));
        let credits = ring << SHORT_SIZE_BITS | receive << SHORT_RECEIVE_AT;
        let low = self.body_bytes | credits | psn << SHORT_PSN_AT;
        (u64::from(self.first) | u64::from(low) << 32 | (Kind::ShortPrefix as u64) << 56).to_le()
    }

    /// Encodes the prefix of any other as two words in memory order.
    #[inline(always)]
    pub(super) fn words(&self) -> [u64; 2] {
        let size = u64::from(self.body_bytes) | (self.kind as u64) << 24;
        let credits = u64::from(self.ring_credits) | u64::from(self.receive_credits) << 16;
        [u64::from(self.first) | size << 32, u64::from(self.psn) | credits << 32].map(u64::to_le)
    }

    /// Decodes a prefix; `None` if the kind is unknown. The packet that is next has the number
    /// `expected`.
    #[inline(always)]
    pub(super) fn of_words(words: [u64; 2], expected: u32) -> Option<Frame> {
        let [size, credits] = words.map(u64::from_le);
        let kind = Kind::from_code((size >> 56) as u8)?;
        if kind == Kind::ShortPrefix {
            let low = (size >> 32) as u32;
            // It is as far ahead or behind as the bits say.
            let ahead = ((low >> SHORT_PSN_AT).wrapping_sub(expected) << (32 - SHORT_PSN_BITS)) as i32;
            let credits = |at: u32| (low >> at) as u16 & SHORT_CREDITS_MAX;
            return Some(Frame {
                first: size as u32,
                kind,
                body_bytes: low & low_bits(SHORT_SIZE_BITS),
                psn: expected.wrapping_add((ahead >> (32 - SHORT_PSN_BITS)) as u32),
                ring_credits: credits(SHORT_SIZE_BITS),
                receive_credits: credits(SHORT_RECEIVE_AT),
            });
        }
        Some(Frame {
            first: size as u32,
            kind,
            body_bytes: (size >> 32) as u32 & BODY_BYTES_MAX as u32,
            psn: credits as u32,
            ring_credits: (credits >> 32) as u16,
            receive_credits: (credits >> 48) as u16,
        })
    }
}

/// Returns the bytes of the packet that begins with this word: prefix and body.
#[inline(always)]
pub(super) fn packet_bytes(first_word: u64) -> usize {
    let low = (first_word >> 32) as usize;
    match first_word >> 56 == Kind::ShortPrefix as u64 {
        true => SHORT_PREFIX_BYTES + (low & low_bits(SHORT_SIZE_BITS) as usize),
        false => PREFIX_BYTES + (low & BODY_BYTES_MAX),
    }
}

/// Writes the words to the front of the region.
///
/// # Panics
/// If it is shorter, or not aligned for words.
#[inline(always)]
pub(super) fn write_words<const N: usize>(into: Region, words: [u64; N]) {
    assert!(into.len() >= N * 8 && into.address().is_multiple_of(8));
    // SAFETY: within the region by the check above, and aligned; the region's creator promised
    // valid memory.
    unsafe { into.pointer().cast::<[u64; N]>().write(words) }
}

/// Reads words from the front of the region, on the conditions of [`write_words`].
#[inline(always)]
pub(super) fn read_words<const N: usize>(from: Region) -> [u64; N] {
    assert!(from.len() >= N * 8 && from.address().is_multiple_of(8));
    // SAFETY: as in `write_words`. Volatile, since a device wrote them.
    unsafe { from.pointer().cast::<[u64; N]>().read_volatile() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(frame: Frame) -> Option<Frame> {
        let mut short = frame;
        short.shorten();
        (short != frame).then_some(short)
    }

    #[test]
    fn a_prefix_survives_the_wire() {
        let frame = Frame {
            first: 0xfeed_beef,
            kind: Kind::Withdrawn,
            body_bytes: BODY_BYTES_MAX as u32,
            psn: 0x8000_0001,
            ring_credits: 0xfffe,
            receive_credits: 3,
        };
        assert_eq!(Frame::of_words(frame.words(), 5), Some(frame));
        assert_eq!(packet_bytes(u64::from_le(frame.words()[0])), frame.bytes());
        assert_eq!(shortened(frame), None);
    }

    #[test]
    fn a_short_prefix_survives_the_wire() {
        for (psn, expected) in [(7, 7), (0, u32::MAX), (3, 3u32.wrapping_sub(200)), (u32::MAX - 99, 20)] {
            let without_header = Frame {
                first: 0xfeed_beef,
                kind: Kind::WithoutHeader,
                body_bytes: 127,
                psn,
                ring_credits: 15,
                receive_credits: 9,
            };
            let short = shortened(without_header).expect("short enough");
            assert_eq!(Frame::of_words([short.short_word(), 0x0123_4567_89ab_cdef], expected), Some(short));
            assert_eq!(packet_bytes(u64::from_le(short.short_word())), 8 + 127);
            for long in [
                Frame { body_bytes: 128, ..without_header },
                Frame { body_bytes: 7, ..without_header },
                Frame { ring_credits: 16, ..without_header },
                Frame { receive_credits: 16, ..without_header },
                Frame { kind: Kind::Data, ..without_header },
            ] {
                assert_eq!(shortened(long), None);
            }
        }
    }

    #[test]
    fn an_unknown_kind_is_refused() {
        assert_eq!(Frame::of_words([0; 2], 0), None);
    }
}
