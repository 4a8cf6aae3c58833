//! The binomial tree over ranks counted from the root.

/// A rank's place in the binomial tree of `size` ranks rooted at `root`. The subtree of virtual
/// rank `v` holds virtual ranks `v` to `v + span`, so it is a run of ranks (modulo the size).
#[derive(Clone, Copy)]
pub(super) struct Tree {
    size: usize,
    root: usize,
    /// This rank, counted from the root.
    pub virtual_rank: usize,
    /// The lowest bit of the virtual rank; for the root a power of two that is at least the size.
    low_bit: usize,
}

impl Tree {
    /// The place of `rank`.
    pub(super) fn new(rank: usize, size: usize, root: usize) -> Tree {
        let virtual_rank = (rank + size - root) % size;
        let low_bit =
            if virtual_rank == 0 { size.next_power_of_two() } else { 1 << virtual_rank.trailing_zeros() };
        Tree { size, root, virtual_rank, low_bit }
    }

    /// The rank with this virtual rank.
    pub(super) fn rank(&self, virtual_rank: usize) -> usize {
        (virtual_rank + self.root) % self.size
    }

    /// The parent's rank; `None` for the root.
    pub(super) fn parent(&self) -> Option<usize> {
        (self.virtual_rank != 0).then(|| self.rank(self.virtual_rank - self.low_bit))
    }

    /// Number of ranks in this rank's subtree.
    pub(super) fn span(&self) -> usize {
        self.low_bit.min(self.size - self.virtual_rank)
    }

    /// The children, nearest first: virtual rank, and number of ranks in the subtree.
    pub(super) fn children(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + use<> {
        let Tree { size, virtual_rank, low_bit, .. } = *self;
        (0..low_bit.trailing_zeros())
            .map(move |bit| (virtual_rank + (1 << bit), 1 << bit))
            .filter(move |&(child, _)| child < size)
            .map(move |(child, span): (usize, usize)| (child, span.min(size - child)))
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn parents_and_children_agree_and_spans_add_up() {
        for size in 1..40 {
            for root in [0, size / 2, size - 1] {
                for rank in 0..size {
                    let tree = Tree::new(rank, size, root);
                    let below: usize = tree.children().map(|(_, span)| span).sum();
                    assert_eq!(tree.span(), below + 1);
                    for (child, span) in tree.children() {
                        let child = Tree::new(tree.rank(child), size, root);
                        assert_eq!((child.parent(), child.span()), (Some(rank), span));
                    }
                }
                assert_eq!(Tree::new(root, size, root).span(), size);
            }
        }
    }
}
