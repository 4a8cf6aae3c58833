//! The words of a board in mapped memory by which its members say where they are and what they
//! call.

use std::sync::atomic::{AtomicU64, Ordering::*, fence};
use verbena_channel::board::{ANY_BYTES, Announced};
use verbena_channel::mark::Mark;

/// The most slots of all members that one member may fill: no more pieces are unread at a time.
pub(crate) const SHARED_SLOTS_MAX: usize = 64;

/// The words of one member.
#[repr(C)]
pub(crate) struct MemberWords {
    pub(crate) closed: ClosedLine,
    pub(crate) posts: PostLine,
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

    /// Returns whether this member has left collective `number`: it has opened a later one, or has
    /// given that one or a later one up, or skipped it. All that it did there is seen then.
    #[inline]
    pub(crate) fn has_left(&self, number: u64) -> bool {
        let left_early = || self.given_up.load(Acquire).max(self.closed.skipped.load(Acquire));
        self.told.iter().any(|told| told.is_beyond(number)) || left_early() >= number.max(1)
    }
}

/// A post of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Post {
    /// The number of its collective.
    pub(crate) collective: u64,
    /// The number of the post there, from 1.
    pub(crate) number: u64,
}

impl Post {
    /// The bits of its number: posts are made of pieces of 64 bytes and more, so they are enough
    /// for 256 GiB. The low half of the collective's number is above.
    const NUMBER_BITS: u32 = 32;

    /// Numbers from here on are of no post: in the slot table they stand for members.
    const NUMBERS: u64 = u32::MAX as u64 - u16::MAX as u64;

    fn word(self) -> u64 {
        self.collective << Post::NUMBER_BITS | self.number
    }
}

/// The posts of one member. It says of the collective of its last post alone how many it made: what
/// it does later tells nothing of an earlier one, in which it may have failed.
#[repr(C, align(64))]
pub(crate) struct PostLine {
    /// The whole number of that collective. A member that made no post for long is in another one
    /// with the same low half.
    collective: AtomicU64,
    /// The low half of that number, above that of the last post. It is of a post of none before the
    /// other word names the collective.
    last: AtomicU64,
    /// The last collective in which the member filled its own slots, or was about to.
    pub(crate) filling: AtomicU64,
}

impl PostLine {
    /// Tells a post, the next one after the last one that was told.
    #[inline]
    pub(crate) fn tell(&self, post: Post) {
        assert!(post.number < Post::NUMBERS, "too many posts in a collective");
        if post.number == 1 {
            self.last.store(Post { number: 0, ..post }.word(), Release);
            self.collective.store(post.collective, Release);
        }
        self.last.store(post.word(), Release);
    }

    /// Returns whether this post was made. False if the member has made posts of a later collective
    /// by now.
    #[inline]
    pub(crate) fn has(&self, post: Post) -> bool {
        if self.collective.load(Acquire) != post.collective {
            return false;
        }
        let (last, mask) = (self.last.load(Acquire), (1 << Post::NUMBER_BITS) - 1);
        last >> Post::NUMBER_BITS == post.collective & mask && last & mask >= post.number
    }

    /// Returns whether this post was made, or one of a later collective.
    #[inline]
    pub(crate) fn has_or_is_beyond(&self, post: Post) -> bool {
        self.collective.load(Acquire) > post.collective || self.has(post)
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

    /// Returns whether a collective later than `number` is told.
    #[inline]
    pub(crate) fn is_beyond(&self, number: u64) -> bool {
        let ahead = ((self.call.load(Acquire) >> 32) as u32).wrapping_sub(number as u32);
        (1..1 << 31).contains(&ahead)
    }

    /// The call and the bytes in collective `number`, if they are told.
    pub(crate) fn of(&self, number: u64) -> Option<(Mark, u64)> {
        let (word, bytes) = (self.call.load(Acquire), self.bytes.load(Acquire));
        let is_of_this = word >> 32 == number & u64::from(u32::MAX)
            && bytes >> CallWords::BYTES_BITS == number & u64::from(u16::MAX);
        is_of_this.then_some((Mark(word as u16), bytes & ANY_BYTES))
    }
}

/// For each slot that any member may fill, what was announced of it. Valid from the post that
/// announces it on, until all have read the slot.
#[repr(C, align(64))]
pub(crate) struct SlotTable([SlotWords; SHARED_SLOTS_MAX]);

impl SlotTable {
    /// The words of slot `slot`.
    #[inline]
    pub(crate) fn of(&self, slot: usize) -> &SlotWords {
        &self.0[slot]
    }

    /// The slot that was announced by this post. One such piece stands in one slot, and nobody
    /// else's words look like it.
    pub(crate) fn find(&self, post: Post) -> Option<Announced> {
        let of = post.word();
        let slot = self.0.iter().position(|words| words.of.load(Relaxed) == of)?;
        let told = self.0[slot].told.load(Relaxed);
        Some(Announced { slot, call: Mark((told >> CallWords::BYTES_BITS) as u16), bytes: told & ANY_BYTES })
    }
}

/// An announced slot. The call is written first.
#[repr(C)]
pub(crate) struct SlotWords {
    /// The post, as a word.
    of: AtomicU64,
    /// The bytes that the poster told, and above them its call.
    told: AtomicU64,
}

impl SlotWords {
    /// Claims the slot for member `me`, which is about to fill it in collective `collective`. False
    /// if another member fills it there, or has: two take themselves for the root. Readers of what
    /// stood there find out ([`SlotWords::is_of`]).
    pub(crate) fn claim(&self, collective: u64, me: usize) -> bool {
        let own = Post { collective, number: Post::NUMBERS + me as u64 }.word();
        let seen = self.of.load(Relaxed);
        let number = seen & u64::from(u32::MAX);
        let is_others = seen >> Post::NUMBER_BITS == own >> Post::NUMBER_BITS && number >= Post::NUMBERS;
        if seen == own {
            return true;
        }
        let is_claimed = !is_others && self.of.compare_exchange(seen, own, Relaxed, Relaxed).is_ok();
        // What is filled in is seen after the claim, and what its owner does after this.
        fence(SeqCst);
        is_claimed
    }

    /// Returns whether a member has claimed the slot in a later collective than this one.
    pub(crate) fn is_beyond(&self, collective: u64) -> bool {
        let ahead = ((self.of.load(Relaxed) >> Post::NUMBER_BITS) as u32).wrapping_sub(collective as u32);
        (1..1 << 31).contains(&ahead)
    }

    /// Returns whether the slot still holds what this post announced, after it was read.
    pub(crate) fn is_of(&self, post: Post) -> bool {
        fence(Acquire);
        self.of.load(Relaxed) == post.word()
    }

    /// Tells of a slot, before the post by which it is announced.
    pub(crate) fn tell(&self, post: Post, call: Mark, bytes: u64) {
        self.told.store(u64::from(call.0) << CallWords::BYTES_BITS | bytes.min(ANY_BYTES), Relaxed);
        self.of.store(post.word(), Release);
    }
}

/// The words of a member that change seldom.
#[repr(C, align(64))]
pub(crate) struct ClosedLine {
    /// The last collective that this member told that it closed.
    pub(crate) closed: AtomicU64,
    /// The collective of which this member does parts; 0 if it does none.
    pub(crate) working: AtomicU64,
    /// The last collective that this member abandoned or gave up.
    pub(crate) abandoned: AtomicU64,
    /// The last collective that this member told that it skipped.
    pub(crate) skipped: AtomicU64,
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
        assert!(at(7).is_beyond(6) && at(8).is_beyond(6) && !at(7).is_beyond(7) && at(8).is_beyond(7));
        assert!(!at(7).is_beyond(8) && !at(8).is_beyond(8), "it is in the eighth");
        at(9).tell(9, Mark(0x522), 5);
        assert_eq!((at(7).of(7), at(9).of(9)), (None, Some((Mark(0x522), 5))));
        // The bytes of the next collective are written before its call.
        at(10).bytes.store(10 << CallWords::BYTES_BITS | 3, Relaxed);
        assert_eq!((at(8).of(8), at(10).of(10)), (None, None));
    }

    #[test]
    fn a_slot_is_found_by_its_piece_and_its_collective() {
        let zero = || AtomicU64::new(0);
        let table = SlotTable(std::array::from_fn(|_| SlotWords { of: zero(), told: zero() }));
        let post = |collective, number| Post { collective, number };
        table.of(5).tell(post(7, 1), Mark(0x520), 100);
        table.of(2).tell(post(7, 2), Mark(0x520), 100);
        table.of(63).tell(post(8, 1), Mark(0x521), u64::MAX);
        let slot = |collective, number| {
            table.find(post(collective, number)).map(|found| (found.slot, found.call, found.bytes))
        };
        assert_eq!((slot(7, 1), slot(7, 2)), (Some((5, Mark(0x520), 100)), Some((2, Mark(0x520), 100))));
        assert_eq!((slot(8, 1), slot(8, 2), slot(6, 1)), (Some((63, Mark(0x521), ANY_BYTES)), None, None));
        table.of(5).tell(post(8, 2), Mark(0x521), 3);
        assert_eq!((slot(7, 1), slot(8, 2)), (None, Some((5, Mark(0x521), 3))));
    }
}
