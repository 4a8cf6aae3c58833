//! The pieces in which the data of a long accumulate travel: each of whole predefined elements, so
//! that every element changes at once. Origin and target cut alike, by the datatype.

use crate::datatype::{Datatype, Element, Signature};

/// The longest piece of an accumulate's data, in bytes.
pub const PIECE_BYTES: usize = 64 << 10;

/// The cut of some packed bytes into messages.
#[derive(Clone)]
pub(super) struct Pieces {
    /// All bytes.
    bytes: usize,
    /// The longest piece, in bytes; it is not cut if it has all of them.
    longest: usize,
    /// The elements, if they are of several sizes: a piece ends where one of them does.
    ends: Option<Signature>,
}

impl Pieces {
    /// All bytes in one.
    pub(super) fn one(bytes: usize) -> Pieces {
        Pieces { bytes, longest: bytes, ends: None }
    }

    /// The cut that a request tells, where the elements are not known.
    pub(super) fn as_told(bytes: usize, told: usize) -> Pieces {
        Pieces { bytes, longest: if told == 0 { bytes } else { told }, ends: None }
    }

    /// The pieces of so many packed bytes of elements of a datatype: of whole elements, or, if one
    /// is longer than a piece may be, of whole predefined elements.
    pub(super) fn of(datatype: &Datatype, bytes: usize) -> Pieces {
        let unit = match (datatype.size(), datatype.element()) {
            (size, _) if size <= PIECE_BYTES => size,
            (_, Some(Element::Basic(basic))) => basic.size(),
            (_, Some(Element::Pair(pair))) => pair.value.size() + pair.index.size(),
            (_, None) => {
                return Pieces { bytes, longest: PIECE_BYTES, ends: Some(datatype.signature().clone()) };
            }
        };
        let unit = unit.max(1);
        Pieces { bytes, longest: PIECE_BYTES / unit * unit, ends: None }
    }

    /// The number that tells the cut in a request: 0 for one piece, else the bytes of the longest.
    pub(super) fn told(&self) -> usize {
        if self.longest < self.bytes { self.longest } else { 0 }
    }

    /// All bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes of the longest piece.
    pub(super) fn longest(&self) -> usize {
        self.longest.min(self.bytes)
    }

    /// The bytes of the piece that begins at byte `at`, where one ends or at 0.
    pub(super) fn len(&self, at: usize) -> usize {
        let rest = self.bytes - at;
        match &self.ends {
            _ if rest <= self.longest => rest,
            None => self.longest,
            // Predefined elements are far shorter than a piece.
            Some(ends) => ends.whole_bytes(at + self.longest) - at,
        }
    }

    /// The beginning and the bytes of each piece.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let len = self.len(at);
            at += len;
            (len > 0).then_some((at - len, len))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Form;
    use crate::generated::constants as mpi;
    use std::sync::Arc;

    fn predefined(handle: usize) -> &'static Arc<Datatype> {
        Datatype::predefined(handle).expect("predefined")
    }

    fn row(count: i64, of: &Arc<Datatype>) -> Arc<Datatype> {
        Arc::new(Datatype::contiguous(Form::Int, count, of).expect("a row"))
    }

    /// A byte, a double and a pair of double and int, packed.
    fn mixed() -> Arc<Datatype> {
        let parts = [mpi::MPI_BYTE, mpi::MPI_DOUBLE, mpi::MPI_DOUBLE_INT].map(|it| predefined(it).clone());
        Arc::new(Datatype::structure(Form::Int, &[1; 3], &[0, 8, 16], &parts).expect("a structure"))
    }

    /// The pieces of a datatype's element cover it, and end where elements of this many bytes do.
    fn check(datatype: &Datatype, unit: usize) {
        let pieces = Pieces::of(datatype, datatype.size());
        let mut end = 0;
        for (at, len) in pieces.iter() {
            assert!(at == end && (len > PIECE_BYTES - 64 || at + len == datatype.size()), "{at} {len}");
            assert!(len <= pieces.longest() && len.is_multiple_of(unit), "{at} {len}");
            end = at + len;
        }
        assert_eq!(end, datatype.size());
        assert!(pieces.told() > 0);
    }

    #[test]
    fn pieces_have_whole_pairs() {
        check(&row(20_000, predefined(mpi::MPI_DOUBLE_INT)), 12);
        check(&row(20_000, predefined(mpi::MPI_SHORT_INT)), 6);
        check(&row(20_000, &row(1, predefined(mpi::MPI_LONG_DOUBLE_INT))), 20);
    }

    #[test]
    fn pieces_have_whole_elements_of_one_sort() {
        check(&row(20_000, predefined(mpi::MPI_DOUBLE)), 8);
        let short = Pieces::of(&row(1000, predefined(mpi::MPI_DOUBLE)), 100_000 * 8);
        assert_eq!((short.len(0), short.len(64_000)), (64_000, 64_000));
    }

    #[test]
    fn pieces_of_elements_of_several_sizes_end_where_one_does() {
        let datatype = row(20_000, &mixed());
        check(&datatype, 1);
        let pieces = Pieces::of(&datatype, datatype.size());
        // 1, 8, 8 and 4 bytes, again and again.
        let ends = pieces.iter().map(|(at, len)| (at + len) % 21).collect::<Vec<usize>>();
        assert!(ends.iter().all(|end| [0, 1, 9, 17].contains(end)), "{ends:?}");
        assert!(ends.iter().any(|end| *end != 0), "{ends:?}");
    }

    #[test]
    fn what_is_short_is_one_piece() {
        let pieces = Pieces::of(&mixed(), mixed().size());
        assert_eq!((pieces.told(), pieces.iter().collect::<Vec<_>>()), (0, vec![(0, 21)]));
        assert_eq!(Pieces::one(1 << 20).iter().collect::<Vec<_>>(), [(0, 1 << 20)]);
        assert_eq!(Pieces::of(&mixed(), 0).iter().count(), 0);
    }
}
