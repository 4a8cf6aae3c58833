//! The parts of a long message that is read: which are taken, and by whom.

use super::Piece;
use verbena_channel::{Division, PARTS_MAX};

/// A message cut into parts of equal length but for the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Bytes of all.
    pub bytes: u64,
    /// Bytes of a part.
    pub part_bytes: u64,
}

/// Parts begin at pages where the message does: a page that two sides copy is pinned by both.
const PAGE_BYTES: u64 = 4096;

impl Cut {
    /// Cuts for one reader: parts of the given length, so that other traffic gets its turn in
    /// between.
    pub(crate) fn for_one(bytes: u64, part_bytes_max: u64) -> Cut {
        Cut { bytes, part_bytes: part_bytes_max.min(bytes).max(bytes.div_ceil(PARTS_MAX.into())) }
    }

    /// Cuts for two copiers. Each takes a half, which then is in its cache. A long message has more
    /// parts, so that a copier that comes late finds some.
    pub(crate) fn for_both(bytes: u64, part_bytes_max: u64) -> Cut {
        let half = bytes.div_ceil(2).next_multiple_of(PAGE_BYTES);
        Cut::for_one(bytes, half.min(part_bytes_max))
    }

    /// The number of parts.
    pub(crate) fn count(&self) -> u32 {
        self.bytes.div_ceil(self.part_bytes) as u32
    }

    /// Returns one part; `None` if there is no such part.
    pub(crate) fn part(&self, index: u32) -> Option<Piece> {
        let offset = self.part_bytes * u64::from(index);
        (offset < self.bytes).then(|| Piece { offset, len: self.part_bytes.min(self.bytes - offset) })
    }

    /// Returns all from part `first` on, without the last `last` ones; `None` if that is nothing.
    pub(crate) fn between(&self, first: u32, last: u32) -> Option<Piece> {
        let end = (self.part_bytes * u64::from(self.count().saturating_sub(last))).min(self.bytes);
        let offset = self.part_bytes * u64::from(first);
        (offset < end).then(|| Piece { offset, len: end - offset })
    }
}

/// The receiver's account.
#[derive(Debug)]
pub(crate) struct Parts {
    pub cut: Cut,
    /// The channel that hands the parts out to both sides, while it does.
    pub division: Option<(usize, Division)>,
    /// Parts that this side took from the front.
    first: u32,
    /// Parts that the sender took from the back; known when the division has ended.
    last: u32,
    /// The number of parts that the sender has reported, as in place or not.
    reported: u32,
    /// True if this side has yet to read the first part, which a division leaves to it.
    has_first: bool,
}

impl Parts {
    /// Parts for this side alone.
    pub(crate) fn alone(cut: Cut) -> Parts {
        Parts { cut, division: None, first: 0, last: 0, reported: 0, has_first: false }
    }

    /// No parts: the sender writes the whole message.
    pub(crate) fn none(bytes: u64) -> Parts {
        Parts { first: 1, ..Parts::alone(Cut { bytes, part_bytes: bytes }) }
    }

    /// Parts for both sides.
    pub(crate) fn divided(cut: Cut, channel: usize, division: Division) -> Parts {
        Parts { division: Some((channel, division)), first: 1, has_first: true, ..Parts::alone(cut) }
    }

    /// Returns whether some part may still be there for this side.
    pub(crate) fn is_open(&self) -> bool {
        self.has_first || self.first + self.last.max(self.reported) < self.cut.count()
    }

    /// Returns whether the sender copies nothing any more.
    pub(crate) fn is_settled(&self) -> bool {
        let last = if self.division.is_some() { self.cut.count() - self.first } else { self.last };
        self.reported == last
    }

    /// Takes the part that this side has without asking: the first of a division, or the next of a
    /// message that is not divided.
    pub(crate) fn take_own(&mut self) -> Option<Piece> {
        if std::mem::take(&mut self.has_first) {
            return self.cut.part(0);
        }
        let piece = if self.division.is_none() && self.is_open() { self.cut.part(self.first) } else { None };
        self.first += piece.is_some() as u32;
        piece
    }

    /// The division gave this part to this side.
    pub(crate) fn taken(&mut self, part: u32) -> Option<Piece> {
        self.first += 1;
        self.cut.part(part)
    }

    /// Ends the division. The sender took `last` parts.
    pub(crate) fn end(&mut self, last: u32) {
        (self.division, self.last) = (None, last);
    }

    /// The sender has ended a part. False if it can have none.
    pub(crate) fn report(&mut self) -> bool {
        let last_max = if self.division.is_some() { self.cut.count() - self.first } else { self.last };
        let known = self.reported < last_max;
        self.reported += known as u32;
        known
    }

    /// The span that nobody took, once the division has ended; `None` if it is empty.
    pub(crate) fn untaken(&self) -> Option<Piece> {
        let first = if self.has_first { 0 } else { self.first };
        self.cut.between(first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_covers_all_once() {
        for (bytes, most) in [(1, 1), (8193, 4096), (65536, 1 << 20), (100_000, 700), (10 << 30, 1)] {
            for cut in [Cut::for_one(bytes, most), Cut::for_both(bytes, most)] {
                let parts: Vec<Piece> = (0..cut.count()).filter_map(|i| cut.part(i)).collect();
                assert_eq!(parts[0].offset, 0);
                assert!(parts.windows(2).all(|pair| pair[0].end() == pair[1].offset));
                assert_eq!((parts.last().unwrap().end(), cut.part(cut.count())), (bytes, None));
                assert!(cut.count() <= PARTS_MAX, "{cut:?}");
            }
        }
    }

    #[test]
    fn two_copiers_get_a_half_each_if_it_is_not_too_long() {
        let parts = |bytes| Cut::for_both(bytes, 256 << 10);
        assert_eq!((parts(65536).count(), parts(65536).part_bytes), (2, 32768));
        assert_eq!((parts(4 << 20).count(), parts(4 << 20).part_bytes), (16, 256 << 10));
        assert_eq!(parts(4096).count(), 1);
    }

    #[test]
    fn what_nobody_took_lies_between() {
        let cut = Cut { bytes: 95, part_bytes: 10 };
        assert_eq!(cut.between(2, 3), Some(Piece { offset: 20, len: 50 }));
        assert_eq!(cut.between(9, 0), Some(Piece { offset: 90, len: 5 }));
        assert_eq!((cut.between(5, 5), cut.between(10, 0), cut.between(0, 99)), (None, None, None));
    }

    #[test]
    fn a_lone_reader_takes_every_part() {
        let mut parts = Parts::alone(Cut { bytes: 25, part_bytes: 10 });
        assert_eq!((0..3).map(|_| parts.take_own().unwrap().len).collect::<Vec<_>>(), [10, 10, 5]);
        assert!(parts.take_own().is_none() && !parts.is_open() && parts.is_settled());
        assert!(!parts.report());
    }

    #[test]
    fn a_divided_message_is_settled_when_all_parts_are_accounted_for() {
        let mut parts = Parts::divided(Cut { bytes: 40, part_bytes: 10 }, 0, Division(1));
        assert_eq!(parts.take_own().map(|piece| piece.offset), Some(0));
        assert_eq!((parts.take_own(), parts.taken(1).unwrap().offset), (None, 10));
        assert!(parts.report() && parts.is_open() && !parts.is_settled());
        assert!(parts.report() && !parts.is_open() && parts.is_settled());
        assert!(!parts.report());
    }

    #[test]
    fn a_division_that_ends_early_leaves_the_middle() {
        let mut parts = Parts::divided(Cut { bytes: 60, part_bytes: 10 }, 0, Division(1));
        parts.end(2);
        assert_eq!(parts.untaken(), Some(Piece { offset: 0, len: 40 }));
        parts.take_own();
        assert_eq!(parts.untaken(), Some(Piece { offset: 10, len: 30 }));
        assert!(!parts.is_settled() && parts.report() && parts.report() && parts.is_settled());
    }
}
