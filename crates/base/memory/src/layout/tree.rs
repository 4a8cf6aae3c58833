//! The tree of shapes.

use std::sync::Arc;

/// The longest lists that are spelt out inside longer ones, where their runs may join others.
const INLINE_RUNS_MAX: usize = 8;

/// A set of bytes in packed order. Never changes; shared between layouts.
#[derive(Debug)]
pub(super) struct Tree {
    /// Packed bytes.
    pub size: usize,
    /// Displacement of the lowest byte.
    pub low: isize,
    /// Displacement of the byte after the highest.
    pub high: isize,
    pub shape: Shape,
}

/// The way in which the bytes lie. Lists have at least two entries and nothing in a tree is empty,
/// except for the whole tree: so the depth is at most the logarithm of the size.
#[derive(Debug)]
pub(super) enum Shape {
    /// No byte at all.
    Empty,
    /// One run.
    Run { at: isize, len: usize },
    /// `count` runs of `len` bytes, `stride` bytes apart.
    Strided { at: isize, count: usize, stride: isize, len: usize },
    /// Runs of `len` bytes at these places.
    Blocks { len: usize, at: Box<[isize]> },
    /// Runs; `starts[i]` is the packed offset of run `i`.
    Runs { runs: Box<[Run]>, starts: Box<[usize]> },
    /// `inner`, shifted by multiples of `stride` from `at` on.
    Repeat { at: isize, stride: isize, inner: Arc<Tree> },
    /// Shapes one after the other; `starts[i]` is the packed offset of part `i`.
    Parts { parts: Box<[Part]>, starts: Box<[usize]> },
}

/// A run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub at: isize,
    pub len: usize,
}

/// A tree shifted by `at` bytes.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub at: isize,
    pub tree: Arc<Tree>,
}

impl Tree {
    pub(super) fn empty() -> Arc<Tree> {
        Arc::new(Tree { size: 0, low: 0, high: 0, shape: Shape::Empty })
    }

    pub(super) fn run(at: isize, len: usize) -> Option<Arc<Tree>> {
        let high = at.checked_add(isize::try_from(len).ok()?)?;
        Some(Arc::new(Tree { size: len, low: at, high, shape: Shape::Run { at, len } }))
    }

    /// The displacement and length, if this is a single run.
    #[inline]
    pub(super) fn as_run(&self) -> Option<(isize, usize)> {
        match self.shape {
            Shape::Run { at, len } => Some((at, len)),
            _ => None,
        }
    }

    /// `count` copies of `inner`, `stride` bytes apart. `None` if the bounds overflow.
    pub(super) fn repeat(inner: &Arc<Tree>, count: usize, stride: isize) -> Option<Arc<Tree>> {
        if count == 0 || inner.size == 0 {
            return Some(Tree::empty());
        }
        if count == 1 {
            return Some(inner.clone());
        }
        if let Some((at, len)) = inner.as_run()
            && len as isize == stride
        {
            return Tree::run(at, len.checked_mul(count)?);
        }
        let (size, low, high) = inner.repeated_bounds(count, stride)?;
        Some(Arc::new(Tree { size, low, high, shape: Shape::repeat(inner, count, stride) }))
    }

    fn repeated_bounds(&self, count: usize, stride: isize) -> Option<(usize, isize, isize)> {
        let size = self.size.checked_mul(count).filter(|&s| s <= isize::MAX as usize)?;
        let last = stride.checked_mul(isize::try_from(count - 1).ok()?)?;
        Some((size, self.low.checked_add(last.min(0))?, self.high.checked_add(last.max(0))?))
    }

    /// The number of runs, if there are few.
    pub(super) fn few_runs(&self) -> Option<usize> {
        let runs = match &self.shape {
            Shape::Empty => 0,
            Shape::Run { .. } => 1,
            Shape::Strided { count, .. } => *count,
            Shape::Blocks { at, .. } => at.len(),
            Shape::Runs { runs, .. } => runs.len(),
            Shape::Repeat { .. } | Shape::Parts { .. } => return None,
        };
        (runs <= INLINE_RUNS_MAX).then_some(runs)
    }
}

impl Shape {
    /// At least two copies of something that does not simply grow longer.
    fn repeat(inner: &Arc<Tree>, copies: usize, step: isize) -> Shape {
        match inner.shape {
            Shape::Run { at, len } => Shape::Strided { at, count: copies, stride: step, len },
            Shape::Strided { at, count, stride, len }
                if (count as isize).checked_mul(stride) == Some(step) =>
            {
                Shape::Strided { at, count: count * copies, stride, len }
            }
            _ => Shape::Repeat { at: 0, stride: step, inner: inner.clone() },
        }
    }
}
