//! Headers that are not sent.
//!
//! The next message of a process often has the header of the one before, except for the sequence
//! number, which is one more, and the length, which the prefix has already. Then it goes without
//! header ([`frame::Kind::WithoutHeader`]): every byte of a short packet is copied and summed up
//! several times on its way. Both ends remember the last header of each direction; since packets of
//! a pair are sent and delivered in one order over both paths, they remember the same.
//!
//! Soft-RoCE takes some 2 us longer for packets from 79 bytes on: there its checksum begins to use
//! vector registers, which have to be saved.

use super::frame;
use verbena_channel::packet::{Header, Kind};

/// The last header of one direction, as words, without its length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last([u64; 3]);

impl Last {
    /// Returns whether this header comes next, whatever its length.
    #[inline]
    pub(super) fn precedes(&self, [first, context, ends, _]: [u64; 4]) -> bool {
        [first, context, ends] == self.following()
    }

    /// Returns whether a packet with this header and `payload_bytes` bytes behind it goes with or
    /// without the header.
    #[inline(always)]
    pub(super) fn kind_of(&self, words: [u64; 4], payload_bytes: usize) -> frame::Kind {
        let is_whole =
            u64::from_le(words[0]) as u8 == Kind::Eager as u8 && words[3] == (payload_bytes as u64).to_le();
        if is_whole && self.precedes(words) { frame::Kind::WithoutHeader } else { frame::Kind::Data }
    }

    /// Notes that a packet with this header went or came.
    #[inline]
    pub(super) fn set(&mut self, [first, context, ends, _]: [u64; 4]) {
        self.0 = [first, context, ends];
    }

    /// Returns the header of a packet with `payload_bytes` bytes that came without it; `None` if
    /// none came before.
    #[inline]
    pub(super) fn next(&mut self, payload_bytes: usize) -> Option<Header> {
        if self.0[0] == 0 {
            return None;
        }
        self.0 = self.following();
        let [first, context, ends] = self.0;
        Some(Header::of_words([first, context, ends, (payload_bytes as u64).to_le()]))
    }

    #[inline]
    fn following(&self) -> [u64; 3] {
        let [first, context, ends] = self.0;
        // The sequence number is the upper half, so it wraps by itself.
        [u64::from_le(first).wrapping_add(1 << 32).to_le(), context, ends]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(sequence: u32, tag: i32) -> Header {
        Header { context: 7, source: -1, tag, sequence, length: 5, flags: 3, ..Header::new(Kind::Eager) }
    }

    #[test]
    fn only_what_follows_goes_without_a_header_and_gets_it_back() {
        let (mut out, mut back) = (Last::default(), Last::default());
        let goes_without = |out: &Last, header: &Header, bytes| {
            out.kind_of(header.words(), bytes) == frame::Kind::WithoutHeader
        };
        assert!(!goes_without(&out, &header(0, 1), 5) && back.next(5).is_none());
        for sequence in [u32::MAX - 1, u32::MAX, 0, 1] {
            assert_eq!(goes_without(&out, &header(sequence, 1), 5), sequence != u32::MAX - 1);
            match goes_without(&out, &header(sequence, 1), 5) {
                true => assert_eq!(back.next(5), Some(header(sequence, 1))),
                false => back.set(header(sequence, 1).words()),
            }
            out.set(header(sequence, 1).words());
        }
        assert!(!goes_without(&out, &header(2, 2), 5), "another tag");
        assert!(!goes_without(&out, &header(3, 1), 5), "one is missing");
        assert!(!goes_without(&out, &header(2, 1), 4), "a part");
        let data = Header { kind: Kind::Data, ..header(1, 1) };
        out.set(data.words());
        assert!(!goes_without(&out, &Header { sequence: 2, ..data }, 5), "no message");
    }
}
