//! Finds the runs of bytes behind a range of packed offsets.
//!
//! Every function takes a range that lies within its shape; displacements cannot overflow because
//! the bounds of the tree were checked when it was built, and `Buffer`'s creator vouches for whole
//! messages.

use super::tree::{Run, Shape, Tree};
use std::ops::Range;

/// Receives what a walk finds, in packed order.
pub(super) trait Visitor {
    /// One run.
    fn run(&mut self, at: isize, len: usize);

    /// `count` whole runs of `len` bytes, `stride` bytes apart.
    fn strided(&mut self, at: isize, count: usize, stride: isize, len: usize) {
        for i in 0..count {
            self.run(at.wrapping_add(stride.wrapping_mul(i as isize)), len);
        }
    }

    /// Whole runs of `len` bytes at `base` plus each of `at`.
    fn blocks(&mut self, base: isize, at: &[isize], len: usize) {
        for &a in at {
            self.run(base.wrapping_add(a), len);
        }
    }
}

/// A visitor that calls a function for each run.
pub(super) struct Each<F>(pub F);

impl<F: FnMut(isize, usize)> Visitor for Each<F> {
    fn run(&mut self, at: isize, len: usize) {
        (self.0)(at, len);
    }
}

/// Visits all of `tree`, shifted by `base`.
pub(super) fn whole(tree: &Tree, base: isize, visitor: &mut impl Visitor) {
    part(tree, base, 0..tree.size, visitor);
}

/// Visits a range of packed offsets of `tree`'s copies at multiples of `stride`.
pub(super) fn repeated(
    tree: &Tree,
    stride: isize,
    base: isize,
    range: Range<usize>,
    visitor: &mut impl Visitor,
) {
    match tree.shape {
        _ if range.is_empty() => {}
        Shape::Run { at, len } if len as isize == stride => {
            visitor.run(base.wrapping_add(at).wrapping_add(range.start as isize), range.len());
        }
        Shape::Run { at, len } => strided(base.wrapping_add(at), stride, len, range, visitor),
        Shape::Strided { at, count, stride: step, len } if (count as isize).wrapping_mul(step) == stride => {
            strided(base.wrapping_add(at), step, len, range, visitor);
        }
        _ => copies(tree, stride, base, range, visitor),
    }
}

fn copies(tree: &Tree, stride: isize, base: isize, range: Range<usize>, visitor: &mut impl Visitor) {
    let (mut index, mut start) = (range.start / tree.size, range.start % tree.size);
    let mut left = range.len();
    while left > 0 {
        let take = left.min(tree.size - start);
        part(tree, base.wrapping_add(stride.wrapping_mul(index as isize)), start..start + take, visitor);
        left -= take;
        index += 1;
        start = 0;
    }
}

fn part(tree: &Tree, base: isize, range: Range<usize>, visitor: &mut impl Visitor) {
    if range.is_empty() {
        return;
    }
    match &tree.shape {
        Shape::Empty => {}
        Shape::Run { at, .. } => visitor.run(base.wrapping_add(at + range.start as isize), range.len()),
        Shape::Strided { at, stride, len, .. } => {
            strided(base.wrapping_add(*at), *stride, *len, range, visitor)
        }
        Shape::Blocks { len, at } => blocks(base, at, *len, range, visitor),
        Shape::Runs { runs, .. } if range.len() == tree.size => {
            runs.iter().for_each(|run| visitor.run(base.wrapping_add(run.at), run.len));
        }
        Shape::Runs { runs, starts } => listed(runs, starts, base, range, visitor),
        Shape::Repeat { at, stride, inner } => copies(inner, *stride, base.wrapping_add(*at), range, visitor),
        Shape::Parts { parts, starts } => {
            each_part(starts, range, |i, skip, len| {
                let room = len.min(parts[i].tree.size - skip);
                part(&parts[i].tree, base.wrapping_add(parts[i].at), skip..skip + room, visitor);
                room
            });
        }
    }
}

/// The three pieces of a range over equal blocks: the end of a first one, whole ones, the start of
/// a last.
fn cut(range: &Range<usize>, len: usize) -> (usize, usize, usize, usize) {
    let (index, skip) = (range.start / len, range.start % len);
    let head = if skip == 0 { 0 } else { (len - skip).min(range.len()) };
    let rest = range.len() - head;
    (index, head, rest / len, rest % len)
}

fn strided(at: isize, stride: isize, len: usize, range: Range<usize>, visitor: &mut impl Visitor) {
    let place = |i: usize| at.wrapping_add(stride.wrapping_mul(i as isize));
    let (mut index, head, whole, tail) = cut(&range, len);
    if head > 0 {
        visitor.run(place(index) + (range.start % len) as isize, head);
        index += 1;
    }
    if whole > 0 {
        visitor.strided(place(index), whole, stride, len);
    }
    if tail > 0 {
        visitor.run(place(index + whole), tail);
    }
}

fn blocks(base: isize, at: &[isize], len: usize, range: Range<usize>, visitor: &mut impl Visitor) {
    let (mut index, head, whole, tail) = cut(&range, len);
    if head > 0 {
        visitor.run(base.wrapping_add(at[index]) + (range.start % len) as isize, head);
        index += 1;
    }
    visitor.blocks(base, &at[index..index + whole], len);
    if tail > 0 {
        visitor.run(base.wrapping_add(at[index + whole]), tail);
    }
}

fn listed(runs: &[Run], starts: &[usize], base: isize, range: Range<usize>, visitor: &mut impl Visitor) {
    each_part(starts, range, |i, skip, len| {
        let room = len.min(runs[i].len - skip);
        visitor.run(base.wrapping_add(runs[i].at + skip as isize), room);
        room
    });
}

/// Goes through the items that a range touches: `visit` gets the index, the bytes to skip in that
/// item and the bytes left, and returns how many it took.
fn each_part(starts: &[usize], range: Range<usize>, mut visit: impl FnMut(usize, usize, usize) -> usize) {
    let mut index = starts.partition_point(|&s| s <= range.start) - 1;
    let mut skip = range.start - starts[index];
    let mut left = range.len();
    while left > 0 {
        left -= visit(index, skip, left);
        index += 1;
        skip = 0;
    }
}
