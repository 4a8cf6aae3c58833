//! Which algorithm: by thresholds of ranks and bytes, which are settings (`verbena_settings::table`, category
//! collective), so that a measurement can rewrite them.
//!
//! Every function here depends only on what all ranks of the communicator know alike, since all must choose
//! the same algorithm. Sizes are packed bytes.

use verbena_settings as set;

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

/// The choice by the settings as they are now.
#[derive(Clone, Copy, Debug)]
pub struct Table;

/// The table in use.
pub static TABLE: Table = Table;

impl Table {
    /// How many ranks are few.
    pub const FEW: usize = 16;

    /// Largest record of a short collective over a board.
    #[inline]
    pub fn short_bytes_max(&self, ranks: usize) -> usize {
        match ranks <= Self::FEW {
            true => set::COLL_SHORT_FEW_BYTES_MAX.get(),
            false => set::COLL_SHORT_MANY_BYTES_MAX.get(),
        }
    }

    /// For a message of `bytes`: the pieces in which it goes through the slots of a board, if the ranks have one;
    /// `None` if another way is better.
    #[inline]
    pub fn bcast_over_slots(&self, ranks: usize, bytes: usize) -> Option<usize> {
        let goes = ranks > 2 && bytes >= set::COLL_BOARD_BCAST_BYTES_MIN.get().max(1);
        goes.then(|| set::COLL_BOARD_BCAST_PIECE_BYTES.get())
    }

    /// For a message of `bytes`.
    #[inline]
    pub fn bcast(&self, ranks: usize, bytes: usize) -> Bcast {
        match () {
            _ if ranks <= 2 || bytes <= set::COLL_BCAST_WHOLE_BYTES_MAX.get() => Bcast::Binomial,
            _ if ranks <= set::COLL_BCAST_CHAIN_RANKS_MAX.get() => {
                Bcast::Chain(set::COLL_BCAST_PIECE_BYTES_MIN.get())
            }
            _ => Bcast::ScatterAllgather,
        }
    }

    /// For `count` elements of `bytes` in all.
    #[inline]
    pub fn reduce(&self, ranks: usize, count: usize, bytes: usize, commutative: bool) -> Reduce {
        let whole = ranks <= 2 || bytes <= set::COLL_REDUCE_WHOLE_BYTES_MAX.get() || count < ranks;
        if whole || !commutative { Reduce::Binomial } else { Reduce::HalvingGather }
    }

    /// For `count` elements of `bytes` in all.
    #[inline]
    pub fn allreduce(&self, ranks: usize, count: usize, bytes: usize, commutative: bool) -> Allreduce {
        match () {
            _ if bytes <= set::COLL_REDUCE_WHOLE_BYTES_MAX.get() || count < ranks || !commutative => {
                Allreduce::RecursiveDoubling
            }
            _ if ranks.is_power_of_two() || bytes <= set::COLL_ALLREDUCE_HALVING_BYTES_MAX.get() => {
                Allreduce::HalvingDoubling
            }
            _ => Allreduce::Ring,
        }
    }

    /// For a vector of `bytes` bytes that does not go in one record of the board that the ranks have; `None` if
    /// messages are better.
    #[inline]
    pub fn allreduce_over_board(&self, ranks: usize, bytes: usize) -> Option<Allreduce> {
        match ranks {
            2 if bytes < set::COLL_BOARD_EXCHANGE_BYTES_MIN.get() => None,
            2 => Some(Allreduce::BoardExchange(set::COLL_BOARD_EXCHANGE_PIECE_BYTES.get())),
            _ => Some(Allreduce::BoardParts(set::COLL_BOARD_PARTS_PIECE_BYTES.get())),
        }
    }

    /// For a vector of `bytes` bytes that does not go in one record of the board: the parts in which the ranks reduce
    /// it in each other's memory; `None` if another way is better.
    #[inline]
    pub fn allreduce_directly(&self, ranks: usize, bytes: usize) -> Option<usize> {
        let share = bytes / ranks;
        let piece_max = set::COLL_DIRECT_PIECE_BYTES_MAX.get();
        let piece_min = set::COLL_DIRECT_PIECE_BYTES_MIN.get().min(piece_max);
        let pays = bytes > self.short_bytes_max(ranks) && share >= set::COLL_DIRECT_SHARE_BYTES_MIN.get();
        pays.then(|| share.clamp(piece_min, piece_max))
    }

    /// For blocks of `block` bytes.
    #[inline]
    pub fn rooted(&self, ranks: usize, block: usize) -> Rooted {
        let tree = ranks > set::COLL_ROOTED_LINEAR_RANKS_MAX.get()
            && block <= set::COLL_ROOTED_TREE_BLOCK_BYTES_MAX.get();
        if tree { Rooted::Binomial } else { Rooted::Linear }
    }

    /// For blocks of `total` bytes together; `even` if all have the same size by definition.
    #[inline]
    pub fn allgather(&self, ranks: usize, total: usize, even: bool) -> Allgather {
        match () {
            _ if ranks <= 2 || total > set::COLL_ALLGATHER_SHORT_TOTAL_BYTES_MAX.get() => Allgather::Ring,
            _ if even && ranks.is_power_of_two() => Allgather::RecursiveDoubling,
            _ => Allgather::Bruck,
        }
    }

    /// For blocks of `block` bytes.
    #[inline]
    pub fn alltoall(&self, ranks: usize, block: usize) -> Alltoall {
        match () {
            _ if ranks >= set::COLL_ALLTOALL_BRUCK_RANKS_MIN.get()
                && block <= set::COLL_ALLTOALL_BRUCK_BLOCK_BYTES_MAX.get() =>
            {
                Alltoall::Bruck
            }
            _ if block <= set::COLL_ALLTOALL_WIDE_BLOCK_BYTES_MAX.get() => {
                Alltoall::Direct(set::COLL_ALLTOALL_WIDE_WINDOW.get())
            }
            _ => Alltoall::Direct(set::COLL_ALLTOALL_NARROW_WINDOW.get()),
        }
    }

    /// The window where each pair has a size of its own, that only the pair knows.
    #[inline]
    pub fn alltoallv_window(&self) -> usize {
        set::COLL_ALLTOALL_WIDE_WINDOW.get()
    }

    /// For operands of `total` bytes.
    #[inline]
    pub fn reduce_scatter(&self, ranks: usize, total: usize, commutative: bool) -> ReduceScatter {
        match () {
            _ if !commutative => ReduceScatter::ReduceThenScatter,
            _ if ranks > 2 && total <= set::COLL_REDUCE_SCATTER_HALVING_BYTES_MAX.get() => {
                ReduceScatter::Halving
            }
            _ => ReduceScatter::Pairwise,
        }
    }
}
