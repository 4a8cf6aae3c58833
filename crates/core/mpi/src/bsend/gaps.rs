//! The free gaps of the buffer for buffered sends: taking and giving back cost the logarithm of
//! their number.

use std::collections::{BTreeMap, BTreeSet};

/// Each piece begins at a multiple of this, in bytes (`MPI_BSEND_OVERHEAD` is larger).
const PIECE_ALIGN: usize = 64;

/// A piece of the buffer, or a gap between pieces: where it begins, and its length, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub at: usize,
    pub len: usize,
}

/// The gaps. No two of them touch.
pub(super) struct Gaps {
    /// The length of each gap, by where it begins.
    by_place: BTreeMap<usize, usize>,
    /// Length and beginning of each gap.
    by_len: BTreeSet<(usize, usize)>,
}

impl Gaps {
    /// No gap.
    pub(super) const fn none() -> Gaps {
        Gaps { by_place: BTreeMap::new(), by_len: BTreeSet::new() }
    }

    /// One gap: all of a buffer.
    pub(super) fn whole(len: usize) -> Gaps {
        let mut gaps = Gaps::none();
        gaps.insert(0, len);
        gaps
    }

    /// Takes a piece of at least `len` bytes out of the smallest gap that has as many.
    pub(super) fn take(&mut self, len: usize) -> Option<Piece> {
        if len == 0 {
            return Some(Piece { at: 0, len: 0 });
        }
        let (room, at) = *self.by_len.range((len, 0)..).next()?;
        self.remove(at);
        // The last piece of the buffer may end at any byte.
        let taken = len.checked_next_multiple_of(PIECE_ALIGN)?.min(room);
        self.insert(at + taken, room - taken);
        Some(Piece { at, len: taken })
    }

    /// Gives a piece back, and joins it with the gaps beside it.
    ///
    /// # Panics
    /// If part of it is free already.
    pub(super) fn give_back(&mut self, Piece { mut at, mut len }: Piece) {
        let before = self.by_place.range(..at).next_back().map(|(&before, &room)| (before, room));
        let after = self.by_place.range(at..).next().map(|(&after, _)| after);
        let is_free = before.is_some_and(|(before, room)| before + room > at)
            || after.is_some_and(|after| after < at + len);
        assert!(!is_free, "a piece of the buffer for buffered sends came back that is free");
        if after == Some(at + len) {
            len += self.remove(at + len);
        }
        if let Some((before, room)) = before.filter(|(before, room)| before + room == at) {
            self.remove(before);
            (at, len) = (before, room + len);
        }
        self.insert(at, len);
    }

    fn insert(&mut self, at: usize, len: usize) {
        if len > 0 {
            self.by_place.insert(at, len);
            self.by_len.insert((len, at));
        }
    }

    fn remove(&mut self, at: usize) -> usize {
        let len = self.by_place.remove(&at).expect("a gap begins here");
        assert!(self.by_len.remove(&(len, at)), "each gap is in both orders");
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_overlap_and_all_comes_back() {
        const LEN: usize = 10_007;
        let mut gaps = Gaps::whole(LEN);
        let mut pieces: Vec<Piece> = Vec::new();
        let mut owned = vec![false; LEN];
        let mut seed = 1_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for _ in 0..20_000 {
            if random(2) == 0 {
                let len = random(300);
                let Some(piece) = gaps.take(len) else { continue };
                assert!(piece.len >= len && piece.at % PIECE_ALIGN == 0);
                for byte in &mut owned[piece.at..piece.at + piece.len] {
                    assert!(!std::mem::replace(byte, true));
                }
                pieces.push(piece);
            } else if !pieces.is_empty() {
                let piece = pieces.swap_remove(random(pieces.len()));
                owned[piece.at..piece.at + piece.len].fill(false);
                gaps.give_back(piece);
            }
        }
        pieces.into_iter().for_each(|piece| gaps.give_back(piece));
        assert_eq!(gaps.take(LEN), Some(Piece { at: 0, len: LEN }));
        assert_eq!(gaps.take(1), None);
        assert!(gaps.take(0).is_some());
    }

    #[test]
    fn a_message_that_just_fits_fits() {
        let mut gaps = Gaps::whole(100);
        assert_eq!(gaps.take(101), None);
        assert_eq!(gaps.take(60), Some(Piece { at: 0, len: 64 }));
        assert_eq!(gaps.take(36), Some(Piece { at: 64, len: 36 }));
        assert_eq!(gaps.take(1), None);
        assert_eq!(gaps.take(usize::MAX), None);
    }

    #[test]
    #[should_panic(expected = "that is free")]
    fn a_piece_of_another_buffer_is_refused() {
        let mut gaps = Gaps::whole(256);
        gaps.take(64);
        let piece = gaps.take(64).expect("a piece");
        gaps = Gaps::whole(256);
        gaps.give_back(piece);
    }

    #[test]
    #[should_panic(expected = "that is free")]
    fn a_piece_comes_back_once() {
        let mut gaps = Gaps::whole(256);
        let piece = gaps.take(64).expect("a piece");
        gaps.take(64);
        gaps.give_back(piece);
        gaps.give_back(piece);
    }
}
