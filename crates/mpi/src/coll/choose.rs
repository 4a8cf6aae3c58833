//! Which algorithm: a table of thresholds by ranks and bytes. The one place that a measurement rewrites: in a file
//! ([`load`]), or here as the defaults.
//!
//! Every function here depends only on what all ranks of the communicator know alike, since all must choose
//! the same algorithm. Sizes are packed bytes.

mod file;

pub use file::load;

use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::sync::OnceLock;

/// How to broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bcast {
    /// [`super::algorithms::bcast::binomial`]
    Binomial,
    /// [`super::algorithms::bcast::chain`] with pieces of at least so many bytes.
    Chain(usize),
    /// [`super::algorithms::bcast::scatter_allgather`]
    ScatterAllgather,
}

/// How to reduce to one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// [`super::algorithms::reduce::binomial`]
    Binomial,
    /// [`super::algorithms::reduce::halving_gather`]
    HalvingGather,
}

/// How to reduce to all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allreduce {
    /// [`super::algorithms::allreduce::recursive_doubling`]
    RecursiveDoubling,
    /// [`super::algorithms::allreduce::halving_doubling`]
    HalvingDoubling,
    /// [`super::algorithms::allreduce::ring`]
    Ring,
    /// [`super::algorithms::over_board::exchange`] in pieces of so many bytes.
    BoardExchange(usize),
    /// [`super::algorithms::over_board::reduce_and_gather`] in pieces of so many bytes.
    BoardParts(usize),
}

/// How to gather at or scatter from one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rooted {
    /// `linear`
    Linear,
    /// `binomial`
    Binomial,
}

/// How to gather at all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allgather {
    /// [`super::algorithms::allgather::recursive_doubling`]
    RecursiveDoubling,
    /// [`super::algorithms::allgather::bruck`]
    Bruck,
    /// [`super::algorithms::allgather::ring`]
    Ring,
}

/// How to exchange between all pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alltoall {
    /// [`super::algorithms::alltoall::bruck`]
    Bruck,
    /// [`super::algorithms::alltoall::direct`] with this window.
    Direct(usize),
}

/// How to reduce and scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceScatter {
    /// [`super::algorithms::reduce_scatter::pairwise`]
    Pairwise,
    /// [`super::algorithms::reduce_scatter::halving`]
    Halving,
    /// [`super::algorithms::reduce_scatter::reduce_then_scatter`]
    ReduceThenScatter,
}

/// The thresholds, in bytes unless named otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Table {
    /// Largest message that a broadcast sends whole down a tree.
    pub bcast_whole_max: usize,
    /// Largest number of ranks for which a long broadcast is a chain.
    pub bcast_chain_ranks_max: usize,
    /// Smallest piece of such a chain.
    pub bcast_piece_min: usize,
    /// Largest vector that a reduction sends whole.
    pub reduce_whole_max: usize,
    /// Largest vector for halving; longer ones go round a ring if the ranks are no power of two.
    pub allreduce_halving_max: usize,
    /// Largest number of ranks for which rooted collectives are linear at any size.
    pub rooted_linear_ranks_max: usize,
    /// Largest block that goes up or down a tree.
    pub rooted_tree_block_max: usize,
    /// Largest total for the logarithmic algorithms of allgather.
    pub allgather_short_total_max: usize,
    /// Largest block for Bruck's alltoall.
    pub alltoall_bruck_block_max: usize,
    /// Least number of ranks for Bruck's alltoall.
    pub alltoall_bruck_ranks_min: usize,
    /// Largest block that goes out to many ranks at once.
    pub alltoall_wide_block_max: usize,
    /// Number of pairs at once, for such blocks.
    pub alltoall_wide_window: usize,
    /// Number of pairs at once, for longer blocks.
    pub alltoall_narrow_window: usize,
    /// Largest total operand for the halving reduce-scatter.
    pub reduce_scatter_halving_max: usize,
    /// Largest record of a short collective over a board, for up to [`Table::FEW`] ranks.
    pub short_few_max: usize,
    /// As above, for more ranks.
    pub short_many_max: usize,
    /// Bytes of the pieces in which two ranks exchange long vectors over a board.
    pub board_exchange_piece: usize,
    /// Bytes of the pieces of a long vector of which each rank reduces a part over a board.
    pub board_parts_piece: usize,
}

/// The table in use: the one that was loaded, else the built-in one.
pub static TABLE: InUse = InUse(OnceLock::new());

/// See [`TABLE`].
pub struct InUse(OnceLock<Table>);

impl Deref for InUse {
    type Target = Table;
    #[inline]
    fn deref(&self) -> &Table {
        self.0.get().unwrap_or(&BUILT_IN)
    }
}

impl Default for Table {
    fn default() -> Table {
        BUILT_IN
    }
}

/// As measured on a machine of two cores, where one was found to matter.
const BUILT_IN: Table = Table {
    bcast_whole_max: 128 << 10,
    bcast_chain_ranks_max: 8,
    bcast_piece_min: 64 << 10,
    reduce_whole_max: 8 << 10,
    allreduce_halving_max: 4 << 20,
    rooted_linear_ranks_max: 4,
    rooted_tree_block_max: 2 << 10,
    allgather_short_total_max: 32 << 10,
    alltoall_bruck_block_max: 128,
    alltoall_bruck_ranks_min: 8,
    alltoall_wide_block_max: 32 << 10,
    alltoall_wide_window: 32,
    alltoall_narrow_window: 2,
    reduce_scatter_halving_max: 64 << 10,
    short_few_max: 8 << 10,
    short_many_max: 2 << 10,
    board_exchange_piece: 16 << 10,
    board_parts_piece: 64 << 10,
};

impl Table {
    /// How many ranks are few.
    pub const FEW: usize = 16;

    /// Largest record of a short collective over a board.
    #[inline]
    pub fn short_bytes_max(&self, ranks: usize) -> usize {
        if ranks <= Self::FEW { self.short_few_max } else { self.short_many_max }
    }

    /// For a message of `bytes`.
    #[inline]
    pub fn bcast(&self, ranks: usize, bytes: usize) -> Bcast {
        match () {
            _ if ranks <= 2 || bytes <= self.bcast_whole_max => Bcast::Binomial,
            _ if ranks <= self.bcast_chain_ranks_max => Bcast::Chain(self.bcast_piece_min),
            _ => Bcast::ScatterAllgather,
        }
    }

    /// For `count` elements of `bytes` in all.
    #[inline]
    pub fn reduce(&self, ranks: usize, count: usize, bytes: usize, commutative: bool) -> Reduce {
        let whole = ranks <= 2 || bytes <= self.reduce_whole_max || count < ranks;
        if whole || !commutative { Reduce::Binomial } else { Reduce::HalvingGather }
    }

    /// For `count` elements of `bytes` in all.
    #[inline]
    pub fn allreduce(&self, ranks: usize, count: usize, bytes: usize, commutative: bool) -> Allreduce {
        match () {
            _ if bytes <= self.reduce_whole_max || count < ranks || !commutative => {
                Allreduce::RecursiveDoubling
            }
            _ if ranks.is_power_of_two() || bytes <= self.allreduce_halving_max => Allreduce::HalvingDoubling,
            _ => Allreduce::Ring,
        }
    }

    /// For a vector that does not go in one record of the board that the ranks have.
    #[inline]
    pub fn allreduce_over_board(&self, ranks: usize) -> Allreduce {
        match ranks {
            2 => Allreduce::BoardExchange(self.board_exchange_piece),
            _ => Allreduce::BoardParts(self.board_parts_piece),
        }
    }

    /// For blocks of `block` bytes.
    #[inline]
    pub fn rooted(&self, ranks: usize, block: usize) -> Rooted {
        let tree = ranks > self.rooted_linear_ranks_max && block <= self.rooted_tree_block_max;
        if tree { Rooted::Binomial } else { Rooted::Linear }
    }

    /// For blocks of `total` bytes together; `even` if all have the same size by definition.
    #[inline]
    pub fn allgather(&self, ranks: usize, total: usize, even: bool) -> Allgather {
        match () {
            _ if ranks <= 2 || total > self.allgather_short_total_max => Allgather::Ring,
            _ if even && ranks.is_power_of_two() => Allgather::RecursiveDoubling,
            _ => Allgather::Bruck,
        }
    }

    /// For blocks of `block` bytes.
    #[inline]
    pub fn alltoall(&self, ranks: usize, block: usize) -> Alltoall {
        match () {
            _ if ranks >= self.alltoall_bruck_ranks_min && block <= self.alltoall_bruck_block_max => {
                Alltoall::Bruck
            }
            _ if block <= self.alltoall_wide_block_max => Alltoall::Direct(self.alltoall_wide_window),
            _ => Alltoall::Direct(self.alltoall_narrow_window),
        }
    }

    /// The window where each pair has a size of its own, that only the pair knows.
    #[inline]
    pub fn alltoallv_window(&self) -> usize {
        self.alltoall_wide_window
    }

    /// For operands of `total` bytes.
    #[inline]
    pub fn reduce_scatter(&self, ranks: usize, total: usize, commutative: bool) -> ReduceScatter {
        match () {
            _ if !commutative => ReduceScatter::ReduceThenScatter,
            _ if ranks > 2 && total <= self.reduce_scatter_halving_max => ReduceScatter::Halving,
            _ => ReduceScatter::Pairwise,
        }
    }
}
