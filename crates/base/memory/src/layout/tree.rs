//! The tree of shapes and its normalisation.

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
    fn empty() -> Arc<Tree> {
        Arc::new(Tree { size: 0, low: 0, high: 0, shape: Shape::Empty })
    }

    fn run(at: isize, len: usize) -> Option<Arc<Tree>> {
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
    fn few_runs(&self) -> Option<usize> {
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

/// Gathers runs and trees in packed order, joining runs that touch.
#[derive(Default)]
pub(super) struct List {
    runs: Vec<Run>,
    parts: Vec<Part>,
}

impl List {
    /// Adds a run. `None` if its end is beyond the address space.
    pub(super) fn run(&mut self, at: isize, len: usize) -> Option<()> {
        at.checked_add(isize::try_from(len).ok()?)?;
        match self.runs.last_mut() {
            _ if len == 0 => {}
            Some(last) if last.at + last.len as isize == at => last.len += len,
            _ => self.runs.push(Run { at, len }),
        }
        Some(())
    }

    /// Adds a tree shifted by `at`. `None` if its bounds overflow.
    pub(super) fn tree(&mut self, at: isize, tree: &Arc<Tree>) -> Option<()> {
        at.checked_add(tree.low)?;
        at.checked_add(tree.high)?;
        if tree.few_runs().is_some() {
            let mut outcome = Some(());
            super::walk::whole(
                tree,
                at,
                &mut super::walk::Each(|at, len| outcome = outcome.and(self.run(at, len))),
            );
            return outcome;
        }
        self.flush()?;
        self.parts.push(Part { at, tree: tree.clone() });
        Some(())
    }

    /// The tree of all that was added. `None` if the size overflows.
    pub(super) fn finish(mut self) -> Option<Arc<Tree>> {
        self.flush()?;
        match self.parts.len() {
            0 => Some(Tree::empty()),
            1 if self.parts[0].at == 0 => Some(self.parts.remove(0).tree),
            1 => shifted(self.parts.remove(0)),
            _ => parts_tree(self.parts),
        }
    }

    fn flush(&mut self) -> Option<()> {
        if !self.runs.is_empty() {
            let tree = runs_tree(std::mem::take(&mut self.runs))?;
            self.parts.push(Part { at: 0, tree });
        }
        Some(())
    }
}

fn shifted(part: Part) -> Option<Arc<Tree>> {
    let Part { at: by, tree } = part;
    let (low, high) = (tree.low.checked_add(by)?, tree.high.checked_add(by)?);
    let shape = match &tree.shape {
        Shape::Strided { at, count, stride, len } => {
            Shape::Strided { at: at + by, count: *count, stride: *stride, len: *len }
        }
        Shape::Repeat { at, stride, inner } => {
            Shape::Repeat { at: at + by, stride: *stride, inner: inner.clone() }
        }
        Shape::Blocks { len, at } => Shape::Blocks { len: *len, at: at.iter().map(|a| a + by).collect() },
        Shape::Runs { runs, starts } => {
            let runs = runs.iter().map(|r| Run { at: r.at + by, len: r.len }).collect();
            Shape::Runs { runs, starts: starts.clone() }
        }
        Shape::Parts { parts, starts } => {
            let parts = parts.iter().map(|p| Part { at: p.at + by, tree: p.tree.clone() }).collect();
            Shape::Parts { parts, starts: starts.clone() }
        }
        Shape::Run { at, len } => Shape::Run { at: at + by, len: *len },
        Shape::Empty => Shape::Empty,
    };
    Some(Arc::new(Tree { size: tree.size, low, high, shape }))
}

fn parts_tree(parts: Vec<Part>) -> Option<Arc<Tree>> {
    let (starts, size) = starts(parts.iter().map(|p| p.tree.size))?;
    let low = parts.iter().map(|p| p.at + p.tree.low).min()?;
    let high = parts.iter().map(|p| p.at + p.tree.high).max()?;
    Some(Arc::new(Tree { size, low, high, shape: Shape::Parts { parts: parts.into(), starts } }))
}

fn runs_tree(runs: Vec<Run>) -> Option<Arc<Tree>> {
    let [first, rest @ ..] = runs.as_slice() else { return Some(Tree::empty()) };
    if rest.is_empty() {
        return Tree::run(first.at, first.len);
    }
    let low = runs.iter().map(|r| r.at).min()?;
    let high = runs.iter().map(|r| r.at + r.len as isize).max()?;
    let (starts, size) = starts(runs.iter().map(|r| r.len))?;
    let shape = match constant_stride(&runs) {
        _ if rest.iter().any(|r| r.len != first.len) => Shape::Runs { runs: runs.into(), starts },
        Some(stride) => Shape::Strided { at: first.at, count: runs.len(), stride, len: first.len },
        None => Shape::Blocks { len: first.len, at: runs.iter().map(|r| r.at).collect() },
    };
    Some(Arc::new(Tree { size, low, high, shape }))
}

fn constant_stride(runs: &[Run]) -> Option<isize> {
    let stride = runs[1].at.checked_sub(runs[0].at)?;
    runs.windows(2).all(|w| w[1].at.checked_sub(w[0].at) == Some(stride)).then_some(stride)
}

/// The packed offset of each item and their total.
fn starts(sizes: impl Iterator<Item = usize>) -> Option<(Box<[usize]>, usize)> {
    let mut total = 0usize;
    let mut starts = Vec::with_capacity(sizes.size_hint().0);
    for size in sizes {
        starts.push(total);
        total = total.checked_add(size).filter(|&t| t <= isize::MAX as usize)?;
    }
    Some((starts.into(), total))
}
