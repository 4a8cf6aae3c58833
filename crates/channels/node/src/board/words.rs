//! The words of a board in mapped memory by which its members say where they are and what they
//! call.

use std::sync::atomic::{AtomicU64, Ordering::*};
use verbena_channel::board::{ANY_BYTES, Announced};
use verbena_channel::mark::Mark;

/// The most slots of all members that one member may fill: no more pieces are unread at a time.
pub(crate) const SHARED_SLOTS_MAX: usize = 64;

/// The words of one member.
#[repr(C)]
pub(crate) struct MemberWords {
    pub(crate) closed: ClosedLine,
    pub(crate) posts: Line,
    pub(crate) offered: Line,
    pub(crate) finished: Line,
    pub(crate) failed: AtomicU64,
    pub(crate) entered: AtomicU64,
    pub(crate) latest: AtomicU64,
    /// The last collective that this member gave up.
    pub(crate) given_up: AtomicU64,
    /// The last two collectives that were opened, at the remainders of their numbers. So a member
    /// that has gone on still says what it called.
    told: [CallWords; 2],
}

impl MemberWords {
    /// The place for what this member tells of collective `number`.
    #[inline]
    pub(crate) fn told(&self, number: u64) -> &CallWords {
        &self.told[number as usize % self.told.len()]
    }
}

/// The call of a member in a collective. The bytes are written first.
#[repr(C)]
pub(crate) struct CallWords {
    /// The low half of the collective's number, above the member's call.
    call: AtomicU64,
    /// The bytes that each member gives, and above them the low quarter of that number.
    bytes: AtomicU64,
}

impl CallWords {
    /// The bits of bytes: as many as [`ANY_BYTES`] has.
    const BYTES_BITS: u32 = 48;

    /// Tells the call and the bytes in collective `number`.
    #[inline]
    pub(crate) fn tell(&self, number: u64, call: Mark, bytes: u64) {
        self.bytes.store(number << CallWords::BYTES_BITS | bytes.min(ANY_BYTES), Release);
        self.call.store(number << 32 | u64::from(call.0), Release);
    }

    /// The call and the bytes in collective `number`, if they are told.
    pub(crate) fn of(&self, number: u64) -> Option<(Mark, u64)> {
        let (word, bytes) = (self.call.load(Acquire), self.bytes.load(Acquire));
        let is_of_this = word >> 32 == number & u64::from(u32::MAX)
            && bytes >> CallWords::BYTES_BITS == number & u64::from(u16::MAX);
        is_of_this.then_some((Mark(word as u16), bytes & ANY_BYTES))
    }
}

/// For each post that announces a slot, at the post's remainder, what was announced. Valid from the
/// post on, until all have read the slot.
#[repr(C, align(64))]
pub(crate) struct SlotTable([SlotWords; SHARED_SLOTS_MAX]);

impl SlotTable {
    /// The words of the post of this number.
    #[inline]
    pub(crate) fn of(&self, post: u64) -> &SlotWords {
        &self.0[post as usize % SHARED_SLOTS_MAX]
    }
}

/// An announced slot.
#[repr(C)]
pub(crate) struct SlotWords {
    /// The slot's number, above it the poster's call and the low half of the collective's number.
    slot: AtomicU64,
    /// The bytes that the poster told.
    bytes: AtomicU64,
}

impl SlotWords {
    /// Tells of a slot, before the post.
    pub(crate) fn tell(&self, announced: Announced) {
        let Announced { slot, number, call, bytes } = announced;
        self.bytes.store(bytes, Relaxed);
        self.slot.store(u64::from(number) << 32 | u64::from(call.0) << 16 | slot as u64, Relaxed);
    }

    /// The slot that was told of, after the post.
    pub(crate) fn announced(&self) -> Announced {
        let (word, bytes) = (self.slot.load(Relaxed), self.bytes.load(Relaxed));
        let (slot, call) = (usize::from(word as u16), Mark((word >> 16) as u16));
        Announced { slot, number: (word >> 32) as u32, call, bytes }
    }
}

/// The words of a member that change seldom.
#[repr(C, align(64))]
pub(crate) struct ClosedLine {
    /// The last collective that this member told that it closed.
    pub(crate) closed: AtomicU64,
    /// The collective of which this member does parts; 0 if it does none.
    pub(crate) working: AtomicU64,
    /// The last collective that this member abandoned.
    pub(crate) abandoned: AtomicU64,
}

/// A word with a cache line to itself.
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) AtomicU64);

#[cfg(test)]
mod tests {
    use super::*;

    /// A member's words beside its log, posts and parts take one line.
    #[test]
    fn what_a_member_tells_takes_no_line_more() {
        assert_eq!(size_of::<MemberWords>(), 5 * size_of::<Line>());
    }

    #[test]
    fn a_member_says_what_it_called_until_it_is_two_collectives_ahead() {
        let zero = || AtomicU64::new(0);
        let told = [(); 2].map(|()| CallWords { call: zero(), bytes: zero() });
        let at = |number: u64| &told[number as usize % 2];
        at(7).tell(7, Mark(0x520), 100);
        at(8).tell(8, Mark(0x521), u64::MAX);
        assert_eq!(at(7).of(7), Some((Mark(0x520), 100)));
        assert_eq!(at(8).of(8), Some((Mark(0x521), ANY_BYTES)));
        at(9).tell(9, Mark(0x522), 5);
        assert_eq!((at(7).of(7), at(9).of(9)), (None, Some((Mark(0x522), 5))));
        // The bytes of the next collective are written before its call.
        at(10).bytes.store(10 << CallWords::BYTES_BITS | 3, Relaxed);
        assert_eq!((at(8).of(8), at(10).of(10)), (None, None));
    }
}
