//! The results of a reduction, and who gets which.

use crate::coll::algorithms::part;
use crate::coll::algorithms::reduce_scatter::BlockCounts;

/// The results that members get.
#[derive(Clone, Copy)]
pub enum Results<'a> {
    /// All get the whole vector.
    All,
    /// This rank gets it.
    Root(usize),
    /// Each gets its own block.
    Blocks(BlockCounts<'a>),
}

impl Results<'_> {
    /// The elements of a vector of `count` that a rank gets: the first one, and how many.
    pub(super) fn wanted(&self, count: usize, rank: usize) -> (usize, usize) {
        match *self {
            Results::All => (0, count),
            Results::Root(root) => (0, if rank == root { count } else { 0 }),
            Results::Blocks(blocks) => (blocks.sum(0, rank), blocks.count(rank)),
        }
    }

    /// Returns whether a rank gets what others reduce, if each reduces its share.
    pub(super) fn has_others(&self, rank: usize) -> bool {
        match *self {
            Results::All => true,
            Results::Root(root) => rank == root,
            Results::Blocks(_) => false,
        }
    }

    /// The elements that a rank reduces: the first one, and how many. They are its own block, if it
    /// gets only that.
    pub(super) fn share(&self, count: usize, ranks: usize, rank: usize) -> (usize, usize) {
        match *self {
            Results::Blocks(blocks) => (blocks.sum(0, rank), blocks.count(rank)),
            _ => part(count, ranks, rank),
        }
    }
}
