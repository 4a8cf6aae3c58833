//! The runs of bytes of elements at a target: one after the other, in the order of packed bytes.

use crate::datatype::Datatype;
use std::ops::Range;
use verbena_machine::touch::{Touch, may_touch};

/// The smallest pages that systems have, in bytes.
const PAGE_BYTES: u64 = 4096;

/// Calls `each` with the addresses of every run of `count` elements, the first one's origin at
/// `origin`.
fn for_each(origin: u64, (count, datatype): (usize, &Datatype), mut each: impl FnMut(Range<u64>)) {
    let layout = datatype.layout();
    let mut each = |at: isize, len: usize| {
        let first = origin.wrapping_add_signed(at as i64);
        each(first..first.wrapping_add(len as u64));
    };
    match layout.contiguous_span(count) {
        Some((at, len)) => each(at, len),
        None => layout.for_each_run(count, 0, datatype.size() * count, each),
    }
}

/// Returns whether every run of the elements lies in a piece of memory. `find` gives the piece that
/// holds a run; it is asked again where a run leaves the last piece.
pub(super) fn lie_in_pieces(
    origin: u64,
    elements: (usize, &Datatype),
    mut find: impl FnMut(&Range<u64>) -> Option<Range<u64>>,
) -> bool {
    let (mut piece, mut are_found) = (0..0, true);
    for_each(origin, elements, |run| {
        if are_found && (run.start < piece.start || run.end > piece.end) {
            match find(&run) {
                Some(found) => piece = found,
                None => are_found = false,
            }
        }
    });
    are_found
}

/// Returns whether this process may touch every run of the elements.
pub(super) fn may_be_touched(origin: u64, elements: (usize, &Datatype), touch: Touch) -> bool {
    let may = |run: &Range<u64>| may_touch(run.start, (run.end - run.start) as usize, touch);
    in_stretches(origin, elements, may)
}

/// Asks of runs whose pages are side by side at once.
fn in_stretches(
    origin: u64,
    elements: (usize, &Datatype),
    mut is_so: impl FnMut(&Range<u64>) -> bool,
) -> bool {
    let (mut stretch, mut are_so) = (None::<Range<u64>>, true);
    for_each(origin, elements, |run| match &mut stretch {
        _ if !are_so || run.is_empty() => (),
        Some(stretch) if is_near(stretch, &run) => {
            *stretch = stretch.start.min(run.start)..stretch.end.max(run.end);
        }
        other => are_so = other.replace(run).is_none_or(|stretch| is_so(&stretch)),
    });
    are_so && stretch.is_none_or(|stretch| is_so(&stretch))
}

/// Returns whether the pages of two runs overlap or lie side by side.
fn is_near(one: &Range<u64>, other: &Range<u64>) -> bool {
    let pages = |run: &Range<u64>| (run.start / PAGE_BYTES, (run.end - 1) / PAGE_BYTES);
    let (one, other) = (pages(one), pages(other));
    other.0 <= one.1 + 1 && one.0 <= other.1 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::construct::Unit;
    use crate::datatype::{Datatype, Form};
    use crate::generated::constants as mpi;
    use std::sync::Arc;

    /// Blocks of some bytes, `stride` bytes from one to the next.
    fn blocks(count: i64, bytes: i64, stride: i64) -> Arc<Datatype> {
        let byte = Datatype::predefined(mpi::MPI_BYTE).expect("predefined");
        Arc::new(Datatype::vector(Form::Int, count, bytes, stride, Unit::Byte, byte).expect("a vector"))
    }

    /// Beginning and end of each stretch that is asked of.
    fn stretches(origin: u64, elements: (usize, &Datatype)) -> Vec<(u64, u64)> {
        let mut seen = Vec::new();
        assert!(in_stretches(origin, elements, |stretch| {
            seen.push((stretch.start, stretch.end));
            true
        }));
        seen
    }

    #[test]
    fn runs_in_pages_side_by_side_are_one_stretch() {
        assert_eq!(stretches(5, (1, &blocks(1000, 4, 8))), [(5, 5 + 999 * 8 + 4)]);
        assert_eq!(stretches(8191, (3, &blocks(2, 1, 4096))), [(8191, 8191 + 2 * 4097 + 4096 + 1)]);
        let apart = [(0, 10), (8192, 8202), (16_384, 16_394)];
        assert_eq!(stretches(0, (1, &blocks(3, 10, 8192))), apart);
        let downwards = [((1 << 20) - 8192, (1 << 20) + 10)];
        assert_eq!(stretches(1 << 20, (1, &blocks(3, 10, -4096))), downwards);
        assert_eq!(stretches(7, (0, &blocks(3, 10, 20))), []);
    }

    #[test]
    fn the_first_stretch_that_is_not_so_ends_the_questions() {
        let mut asked = 0;
        let mut refuse = |after: u32| {
            asked = 0;
            in_stretches(0, (1, &blocks(4, 10, 8192)), |_| {
                asked += 1;
                asked <= after
            })
        };
        assert!(!refuse(0) && !refuse(3) && refuse(4));
        assert!(!refuse(1));
        assert_eq!(asked, 2);
    }

    #[test]
    fn a_piece_is_asked_for_where_runs_leave_the_one_before() {
        let elements = blocks(10, 10, 100);
        let mut asked = Vec::new();
        let mut lie_in = |pieces: &[Range<u64>]| {
            asked.clear();
            lie_in_pieces(1000, (1, &elements), |run| {
                asked.push(run.start);
                pieces.iter().find(|piece| piece.start <= run.start && run.end <= piece.end).cloned()
            })
        };
        assert!(lie_in(&[1000..1410, 1500..1910]));
        assert!(!lie_in(&[1000..1410, 1501..1910]) && !lie_in(&[1000..1410, 1500..1909]));
        assert!(lie_in(&[1000..1410, 1500..1910]));
        assert_eq!(asked, [1000, 1500]);
    }
}
