//! The prefix of every datagram on the wire.
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 1 | [`Kind`] |
//! | 1 | 1 | bit 0: the sender waits for the acknowledgement; bit 1: an answer |
//! | 2 | 1 | the fragment's place in its group, from 0 |
//! | 3 | 1 | fragments of the group |
//! | 4 | 4 | rank of the sender |
//! | 8 | 4 | number of the fragment between the two |
//! | 12 | 4 | the acknowledgement: the first fragment that the sender lacks |
//! | 16 | 2 | the lower half of the receiver's rank |
//! | 18 | 2 | the time between the last arrival and this ([`Delay`]) |
//! | 20 | 4 | CRC-32C of the whole datagram with zero here; without checksums "vUD2" |
//!
//! Behind it a fragment has its bytes, an acknowledgement that went alone the words of its bitmap
//! up to the last that is not zero. Numbers are little-endian.

use crate::reliable::incoming::WORDS;
use crate::reliable::{Ack, Incoming, Shot};
use verbena_channel::Peer;

/// Bytes of the prefix.
pub(super) const PREFIX_BYTES: usize = 24;

/// The longest datagram without a fragment.
pub(super) const NOTE_BYTES_MAX: usize = PREFIX_BYTES + 8 * WORDS;

const MAGIC: u32 = u32::from_le_bytes(*b"vUD2");
const CHECKSUM_AT: usize = 20;

/// The kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A fragment, numbered and acknowledged.
    Fragment = 1,
    /// A fragment that nobody acknowledges.
    Bare = 2,
    /// An acknowledgement that found nothing to ride on.
    Ack = 3,
    /// The sender leaves: it has all that it wants, and hears nothing from now on.
    Bye = 4,
}

impl Kind {
    fn of(code: u8) -> Option<Kind> {
        [Kind::Fragment, Kind::Bare, Kind::Ack, Kind::Bye].into_iter().find(|kind| *kind as u8 == code)
    }
}

/// The prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The kind of the datagram.
    pub kind: Kind,
    /// The sender waits for the acknowledgement.
    pub wanted: bool,
    /// True if it answers one of its kind.
    pub answer: bool,
    /// The fragment's place in its group.
    pub index: u8,
    /// The number of fragments in the group.
    pub count: u8,
    /// The sender.
    pub from: Peer,
    /// The receiver, by the lower half of its number.
    pub to: u16,
    /// The fragment's number.
    pub number: u32,
    /// The first fragment that the sender lacks.
    pub next: u32,
    /// The time since the last arrival.
    pub delay: Delay,
}

/// A time in two bytes, up to a thousandth too short: 11 bits of nanoseconds, and above them by how
/// many bits to shift these to the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay(u16);

impl Delay {
    const DIGITS: u32 = 11;
    const DIGITS_MASK: u16 = (1 << Delay::DIGITS) - 1;
    /// Encodes this many nanoseconds, or the longest time that there is: more than an hour.
    #[inline]
    pub(super) fn of_ns(ns: u64) -> Delay {
        let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(Delay::DIGITS);
        match shift << Delay::DIGITS {
            high if high <= u32::from(u16::MAX) => Delay(high as u16 | (ns >> shift) as u16),
            _ => Delay(u16::MAX),
        }
    }

    /// Returns the time in nanoseconds.
    #[inline]
    pub(super) fn ns(self) -> u64 {
        u64::from(self.0 & Delay::DIGITS_MASK) << (self.0 >> Delay::DIGITS)
    }
}

impl Frame {
    /// Makes one without a fragment. It carries all of the acknowledgement but the bitmap.
    #[inline(always)]
    pub(super) fn note(kind: Kind, from: Peer, to: Peer, ack: &Ack) -> Frame {
        Frame {
            kind,
            wanted: false,
            answer: false,
            index: 0,
            count: 0,
            from,
            to: to as u16,
            number: 0,
            next: ack.next,
            delay: Delay::of_ns(ack.delay_ns),
        }
    }

    /// Makes the prefix of a fragment's first transmission, from one to the other, which takes
    /// along what is to be said of those that came in.
    #[inline(always)]
    pub(super) fn fragment((from, to): (Peer, Peer), shot: &Shot, incoming: &Incoming, now_ns: u64) -> Frame {
        let (wanted, number, piece) = (shot.last, shot.number, &shot.piece);
        let note = Frame::note(Kind::Fragment, from, to, &incoming.ack(now_ns));
        Frame { wanted, index: piece.index, count: piece.count, number, ..note }
    }

    /// Returns whether it may be for this process.
    #[inline]
    pub(super) fn is_for(&self, me: Peer) -> bool {
        self.to == me as u16
    }

    /// Writes it to the front of the datagram, whose other bytes are there already; with a checksum
    /// over all, if wanted.
    ///
    /// # Panics
    /// If the datagram is shorter than a prefix.
    #[inline(always)]
    pub(super) fn emit(&self, datagram: &mut [u8], checksum: bool) {
        let flags = u8::from(self.wanted) | u8::from(self.answer) << 1;
        let what = u32::from_le_bytes([self.kind as u8, flags, self.index, self.count]);
        let ends = u32::from(self.to) | u32::from(self.delay.0) << 16;
        let words = [(what, self.from), (self.number, self.next), (ends, if checksum { 0 } else { MAGIC })];
        let (prefix, _) = datagram.split_first_chunk_mut::<PREFIX_BYTES>().expect("room for a prefix");
        for (place, (low, high)) in prefix.as_chunks_mut().0.iter_mut().zip(words) {
            *place = (u64::from(low) | u64::from(high) << 32).to_le_bytes();
        }
        if checksum {
            let sum = sum(datagram);
            datagram[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
        }
    }

    /// Reads it; `None` if it is of something else, or garbled.
    #[inline]
    pub(super) fn parse(datagram: &[u8], checksum: bool) -> Option<Frame> {
        let (words, _) = datagram.first_chunk::<PREFIX_BYTES>()?.as_chunks();
        let [first, second, third] = [0, 1, 2].map(|at: usize| u64::from_le_bytes(words[at]));
        let (low, high) = (|word: u64| word as u32, |word: u64| (word >> 32) as u32);
        if high(third) != if checksum { sum(datagram) } else { MAGIC } {
            return None;
        }
        let [kind, flags, index, count] = low(first).to_le_bytes();
        Some(Frame {
            kind: Kind::of(kind)?,
            wanted: flags & 1 != 0,
            answer: flags & 2 != 0,
            index,
            count,
            from: high(first),
            to: low(third) as u16,
            number: low(second),
            next: high(second),
            delay: Delay((third >> 16) as u16),
        })
    }
}

/// Returns the checksum, which counts itself as zero.
fn sum(datagram: &[u8]) -> u32 {
    let before = crc32c::crc32c_append(crc32c::crc32c(&datagram[..CHECKSUM_AT]), &[0; 4]);
    crc32c::crc32c_append(before, &datagram[CHECKSUM_AT + 4..])
}

/// Writes the bitmap behind the prefix; returns the length of the datagram.
pub(super) fn write_bits(datagram: &mut [u8], bits: &[u64; WORDS]) -> usize {
    let words = WORDS - bits.iter().rev().take_while(|word| **word == 0).count();
    for (place, word) in datagram[PREFIX_BYTES..].chunks_exact_mut(8).zip(&bits[..words]) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    PREFIX_BYTES + 8 * words
}

/// Reads what [`write_bits`] wrote.
pub(super) fn read_bits(body: &[u8]) -> [u64; WORDS] {
    let mut bits = [0; WORDS];
    for (word, bytes) in bits.iter_mut().zip(body.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame {
        kind: Kind::Fragment,
        wanted: true,
        answer: false,
        index: 3,
        count: 9,
        from: 1023,
        to: 7,
        number: 0xfedc_ba98,
        next: 5,
        delay: Delay(0x1234),
    };

    #[test]
    fn a_frame_survives_the_wire() {
        for checksum in [false, true] {
            let mut datagram = [9; 50];
            FRAME.emit(&mut datagram, checksum);
            assert_eq!(Frame::parse(&datagram, checksum), Some(FRAME));
            assert_eq!(datagram[PREFIX_BYTES..], [9; 26]);
        }
        assert_eq!(Frame::parse(&[0; 23], false), None);
        assert_eq!(Frame::parse(&[0; 24], false), None);
    }

    #[test]
    fn a_delay_is_at_most_a_thousandth_too_short() {
        for ns in (0..42).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + (1 << bit) / 3]) {
            let told = Delay::of_ns(ns).ns();
            assert!(told <= ns && ns - told <= ns / 1024, "{ns} as {told}");
        }
        assert_eq!(Delay::of_ns(2047).ns(), 2047);
        assert_eq!(Delay::of_ns(u64::MAX), Delay::of_ns(1 << 42));
        assert!(Delay::of_ns(u64::MAX).ns() > 4_000_000_000_000);
    }

    #[test]
    fn the_checksum_finds_every_flipped_bit() {
        let mut datagram = [0x5a; 45];
        FRAME.emit(&mut datagram, true);
        for bit in 0..8 * datagram.len() {
            datagram[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Frame::parse(&datagram, true), None, "bit {bit}");
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_bitmap_takes_only_the_words_that_it_needs() {
        let mut datagram = [0; NOTE_BYTES_MAX];
        for (bits, bytes) in [([0, 0, 0, 0], 24), ([5, 0, 0, 0], 32), ([0, 0, 0, 1], 56)] {
            assert_eq!(write_bits(&mut datagram, &bits), bytes);
            assert_eq!(read_bits(&datagram[PREFIX_BYTES..bytes]), bits);
        }
    }
}
