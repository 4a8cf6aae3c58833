//! Builds a tree of what is added to it in packed order, and normalises it.

use super::tree::{Part, Run, Shape, Tree};
use super::walk;
use std::sync::Arc;

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
            walk::whole(tree, at, &mut walk::Each(|at, len| outcome = outcome.and(self.run(at, len))));
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
