//! The division of ranks among nodes.

use crate::Rank;

/// The placement of ranks on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// Ranks in all.
    pub ranks: Rank,
    /// Ranks on each node, numbered one after the other.
    pub size: Rank,
}

impl Nodes {
    /// Returns whether both ranks are on one node.
    pub fn are_together(&self, one: Rank, other: Rank) -> bool {
        one / self.size == other / self.size
    }
}
