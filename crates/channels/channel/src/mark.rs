//! Marks: what the sender of a message, or the writer of a record, says of its call, so that a
//! receiver whose own call does not match it finds out.
//!
//! A mark never takes part in matching. The lowest five bits stand for the type of the elements; 0
//! there goes with every type. The other bits are defined by the layers above.

/// Sixteen bits that say which call a message belongs to; 0 says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark(pub u16);

impl Mark {
    /// The mark that says nothing, and goes with every other.
    pub const NONE: Mark = Mark(0);
    /// The bits for the type of the elements.
    pub const TYPE: u16 = 31;

    /// Returns whether the calls of both marks cannot belong together.
    #[inline]
    pub fn is_unlike(self, other: Mark) -> bool {
        self != other && self.differs(other)
    }

    #[cold]
    fn differs(self, other: Mark) -> bool {
        if self == Mark::NONE || other == Mark::NONE {
            return false;
        }
        let differing = self.0 ^ other.0;
        let typed = self.0 & Mark::TYPE != 0 && other.0 & Mark::TYPE != 0;
        differing & !Mark::TYPE != 0 || typed && differing & Mark::TYPE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_say_can_differ() {
        let [plain, int, float] = [0x520, 0x521, 0x523].map(Mark);
        let other_call = Mark(0x621);
        for (a, b) in [(int, int), (int, plain), (plain, float), (Mark::NONE, float), (int, Mark::NONE)] {
            assert!(!a.is_unlike(b) && !b.is_unlike(a), "{a:?} {b:?}");
        }
        for (a, b) in [(int, float), (int, other_call), (plain, other_call)] {
            assert!(a.is_unlike(b) && b.is_unlike(a), "{a:?} {b:?}");
        }
    }
}
