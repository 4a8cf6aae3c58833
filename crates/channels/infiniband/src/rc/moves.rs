//! The long messages that one peer has under way.

use std::collections::VecDeque;

/// The transfers that one peer has under way.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// Transfers with pieces to post, oldest first.
    pub waiting: VecDeque<u32>,
    /// Reads and atomic operations.
    pub reads: u32,
    pub writes: u32,
}

impl Moves {
    /// Returns whether something waits to be posted and no completion will see to it.
    pub(super) fn is_stuck(&self) -> bool {
        !self.waiting.is_empty() && self.reads + self.writes == 0
    }

    /// Returns whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.reads + self.writes == 0
    }
}
