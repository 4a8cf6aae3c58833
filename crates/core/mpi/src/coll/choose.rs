//! Chooses the algorithm by thresholds of ranks and bytes. These are settings
//! (`verbena_settings::table`, category collective), so a measurement can rewrite them.
//!
//! Every function here depends only on what all ranks of the communicator know, since all must
//! choose the same algorithm. Sizes are packed bytes.

use verbena_settings as set;

/// The algorithm of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bcast {
    /// [`super::algorithms::bcast::binomial`]
    Binomial,
    /// [`super::algorithms::bcast::chain`] with pieces of at least this many bytes.
    Chain(usize),
    /// [`super::algorithms::bcast::scatter_allgather`]
    ScatterAllgather,
}

/// The algorithm of a reduction to one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// [`super::algorithms::reduce::binomial`]
    Binomial,
    /// [`super::algorithms::reduce::halving_gather`]
    HalvingGather,
}

/// The algorithm of a reduction to all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allreduce {
    /// [`super::algorithms::allreduce::recursive_doubling`]
    RecursiveDoubling,
    /// [`super::algorithms::allreduce::halving_doubling`]
    HalvingDoubling,
    /// [`super::algorithms::allreduce::ring`]
    Ring,
    /// [`super::algorithms::by_posts::exchange`] in pieces of this many bytes: two ranks with an
    /// operation of the program's own.
    BoardExchange(usize),
    /// [`super::algorithms::by_posts::reduce_and_gather`] in pieces of this many bytes: more ranks
    /// with such an operation, or without access to each other's memory.
    BoardParts(usize),
}

/// The way of a blocking collective between ranks that have a board in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBoard {
    /// One record of each rank ([`super::board::short`]).
    Record,
    /// Pieces of this many bytes through the slots of the board ([`super::board::long_bcast`]).
    Slots(usize),
    /// All bytes of a rank at once, in its slots ([`super::board::long_exchange`]).
    WholeSlots,
    /// Parts of this many bytes, reduced in slots in rounds ([`super::board::rounds`]).
    Rounds(usize),
    /// Parts of this many bytes, or of a slot of the board if that has fewer, reduced in each
    /// other's memory ([`super::board::direct`]).
    Direct(usize),
    /// Pieces of this many bytes, reduced in the slots of the board ([`super::board::in_place`]).
    InPlace(usize),
    /// A schedule; the other functions of [`Table`] choose which.
    Schedule,
}

/// The algorithm of a gather at or a scatter from one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rooted {
    /// `linear`
    Linear,
    /// `binomial`
    Binomial,
}

/// The algorithm of a gather at all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allgather {
    /// [`super::algorithms::allgather::recursive_doubling`]
    RecursiveDoubling,
    /// [`super::algorithms::allgather::bruck`]
    Bruck,
    /// [`super::algorithms::allgather::ring`]
    Ring,
}

/// The algorithm of an exchange between all pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alltoall {
    /// [`super::algorithms::alltoall::bruck`]
    Bruck,
    /// [`super::algorithms::alltoall::direct`] with this window.
    Direct(usize),
}

/// The algorithm of a reduce-scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceScatter {
    /// [`super::algorithms::reduce_scatter::pairwise`]
    Pairwise,
    /// [`super::algorithms::reduce_scatter::halving`]
    Halving,
    /// [`super::algorithms::reduce_scatter::reduce_then_scatter`]
    ReduceThenScatter,
}

/// Chooses by the current settings.
#[derive(Clone, Copy, Debug)]
pub struct Table;

/// The table in use.
pub static TABLE: Table = Table;

impl Table {
    /// The most ranks that count as few.
    pub const FEW: usize = 16;

    /// Largest record of a short collective over a board.
    #[inline]
    pub fn short_bytes_max(&self, ranks: usize) -> usize {
        match ranks <= Self::FEW {
            true => set::COLL_SHORT_FEW_BYTES_MAX.get(),
            false => set::COLL_SHORT_MANY_BYTES_MAX.get(),
        }
    }

    /// Chooses for a blocking collective in which each rank writes one record of `bytes`.
    #[inline]
    pub fn record_on_board(&self, ranks: usize, bytes: usize) -> OnBoard {
        if bytes <= self.short_bytes_max(ranks) { OnBoard::Record } else { OnBoard::Schedule }
    }

    /// Chooses for a blocking exchange in which each rank has up to `bytes` for the others, and
    /// reads what all others have.
    #[inline]
    pub fn exchange_on_board(&self, ranks: usize, bytes: usize) -> OnBoard {
        match self.record_on_board(ranks, bytes) {
            OnBoard::Schedule
                if ranks > 2
                    && bytes.saturating_mul(ranks) >= Self::SLOTS_TOTAL_BYTES_MIN
                    && bytes <= set::COLL_BOARD_EXCHANGE_BYTES_MAX.get() =>
            {
                OnBoard::WholeSlots
            }
            way => way,
        }
    }

    /// Chooses for a blocking reduction of vectors of `bytes` that gives each rank a block. Four
    /// ranks with 16 KiB were quicker by messages, and so were blocks of 64 KiB and more.
    #[inline]
    pub fn reduce_scatter_on_board(&self, ranks: usize, bytes: usize) -> OnBoard {
        let total = bytes.saturating_mul(ranks);
        match total >= 2 * Self::SLOTS_TOTAL_BYTES_MIN && bytes / ranks <= Self::DIRECT_BLOCK_BYTES_MAX {
            true => self.allreduce_on_board(ranks, bytes),
            false => OnBoard::Schedule,
        }
    }

    /// Chooses for a blocking broadcast of `bytes`.
    #[inline]
    pub fn bcast_on_board(&self, ranks: usize, bytes: usize) -> OnBoard {
        if ranks > 2 && bytes >= set::COLL_BOARD_BCAST_BYTES_MIN.get().max(1) {
            return OnBoard::Slots(set::COLL_BOARD_BCAST_PIECE_BYTES.get());
        }
        self.record_on_board(ranks, bytes)
    }

    /// The least bytes that all ranks together put into slots in an exchange: with four ranks,
    /// fewer were quicker by messages.
    const SLOTS_TOTAL_BYTES_MIN: usize = 64 << 10;

    /// The longest block that ranks reduce in each other's memory.
    const DIRECT_BLOCK_BYTES_MAX: usize = 32 << 10;

    /// The most ranks that reduce in place. More of them share their cores here, where nobody waits
    /// for a rank without a core if any may do its parts ([`super::board::rounds`]).
    pub const IN_PLACE_RANKS_MAX: usize = 2;

    /// Chooses whether vectors of `bytes` are reduced in place by a blocking allreduce or
    /// reduce-scatter, with a predefined operation and datatype; [`Table::allreduce_on_board`]
    /// knows the ways of longer ones that are not.
    #[inline]
    pub fn reduce_on_board(&self, ranks: usize, bytes: usize) -> OnBoard {
        match ranks <= Self::IN_PLACE_RANKS_MAX && bytes >= set::COLL_IN_PLACE_BYTES_MIN.get() {
            true => OnBoard::InPlace(set::COLL_IN_PLACE_PIECE_BYTES.get()),
            false => self.record_on_board(ranks, bytes),
        }
    }

    /// Chooses whether more than two ranks reduce vectors of `bytes` in rounds, with a predefined
    /// operation and datatype, to all ranks or to one, or scan them.
    #[inline]
    pub fn reduce_in_rounds(&self, ranks: usize, bytes: usize) -> OnBoard {
        let share = bytes / ranks;
        let piece_max = set::COLL_ROUND_PIECE_BYTES_MAX.get();
        let piece_min = set::COLL_DIRECT_PIECE_BYTES_MIN.get().min(piece_max);
        let suits = ranks > 2
            && bytes > self.short_bytes_max(ranks)
            && share >= set::COLL_DIRECT_SHARE_BYTES_MIN.get();
        match suits {
            true => OnBoard::Rounds(share.clamp(piece_min, piece_max)),
            false => OnBoard::Schedule,
        }
    }

    /// Chooses whether ranks do so in a reduction that gives each a block. Four ranks with 16 KiB
    /// were quicker by messages.
    #[inline]
    pub fn reduce_scatter_in_rounds(&self, ranks: usize, bytes: usize) -> OnBoard {
        match bytes.saturating_mul(ranks) >= 2 * Self::SLOTS_TOTAL_BYTES_MIN {
            true => self.reduce_in_rounds(ranks, bytes),
            false => OnBoard::Schedule,
        }
    }

    /// Chooses for a blocking reduction of vectors of `bytes`, with a predefined operation and
    /// datatype, to all ranks or to one, that is not done in place or in rounds.
    #[inline]
    pub fn allreduce_on_board(&self, ranks: usize, bytes: usize) -> OnBoard {
        if bytes <= self.short_bytes_max(ranks) {
            return OnBoard::Record;
        }
        let share = bytes / ranks;
        match share >= set::COLL_DIRECT_SHARE_BYTES_MIN.get() {
            true => OnBoard::Direct(share.max(set::COLL_DIRECT_PIECE_BYTES_MIN.get())),
            false => OnBoard::Schedule,
        }
    }

    /// Chooses for a broadcast of `bytes`.
    #[inline]
    pub fn bcast(&self, ranks: usize, bytes: usize) -> Bcast {
        if ranks <= 2 || bytes <= set::COLL_BCAST_WHOLE_BYTES_MAX.get() {
            Bcast::Binomial
        } else if ranks <= set::COLL_BCAST_CHAIN_RANKS_MAX.get() {
            Bcast::Chain(set::COLL_BCAST_PIECE_BYTES_MIN.get())
        } else {
            Bcast::ScatterAllgather
        }
    }

    /// Chooses for `count` elements of `bytes` in all.
    #[inline]
    pub fn reduce(&self, ranks: usize, count: usize, bytes: usize, commutative: bool) -> Reduce {
        let whole = ranks <= 2 || bytes <= set::COLL_REDUCE_WHOLE_BYTES_MAX.get() || count < ranks;
        if whole || !commutative { Reduce::Binomial } else { Reduce::HalvingGather }
    }

    /// Chooses for `count` elements of `bytes` in all, which did not go over the board without a
    /// schedule. `on_board`: the ranks have a board, over which a schedule can go.
    #[inline]
    pub fn allreduce(
        &self,
        ranks: usize,
        (count, bytes): (usize, usize),
        commutative: bool,
        on_board: bool,
    ) -> Allreduce {
        if on_board && ranks > 2 {
            Allreduce::BoardParts(set::COLL_BOARD_PARTS_PIECE_BYTES.get())
        } else if on_board && bytes >= set::COLL_BOARD_EXCHANGE_BYTES_MIN.get() {
            Allreduce::BoardExchange(set::COLL_BOARD_EXCHANGE_PIECE_BYTES.get())
        } else if bytes <= set::COLL_REDUCE_WHOLE_BYTES_MAX.get() || count < ranks || !commutative {
            Allreduce::RecursiveDoubling
        } else if ranks.is_power_of_two() || bytes <= set::COLL_ALLREDUCE_HALVING_BYTES_MAX.get() {
            Allreduce::HalvingDoubling
        } else {
            Allreduce::Ring
        }
    }

    /// Chooses for blocks of `block` bytes.
    #[inline]
    pub fn rooted(&self, ranks: usize, block: usize) -> Rooted {
        let tree = ranks > set::COLL_ROOTED_LINEAR_RANKS_MAX.get()
            && block <= set::COLL_ROOTED_TREE_BLOCK_BYTES_MAX.get();
        if tree { Rooted::Binomial } else { Rooted::Linear }
    }

    /// Chooses for blocks of `total` bytes together; `even` if all have the same size by
    /// definition.
    #[inline]
    pub fn allgather(&self, ranks: usize, total: usize, even: bool) -> Allgather {
        if ranks <= 2 || total > set::COLL_ALLGATHER_SHORT_TOTAL_BYTES_MAX.get() {
            Allgather::Ring
        } else if even && ranks.is_power_of_two() {
            Allgather::RecursiveDoubling
        } else {
            Allgather::Bruck
        }
    }

    /// Chooses for blocks of `block` bytes.
    #[inline]
    pub fn alltoall(&self, ranks: usize, block: usize) -> Alltoall {
        let bruck = ranks >= set::COLL_ALLTOALL_BRUCK_RANKS_MIN.get()
            && block <= set::COLL_ALLTOALL_BRUCK_BLOCK_BYTES_MAX.get();
        if bruck {
            Alltoall::Bruck
        } else if block <= set::COLL_ALLTOALL_WIDE_BLOCK_BYTES_MAX.get() {
            Alltoall::Direct(set::COLL_ALLTOALL_WIDE_WINDOW.get())
        } else {
            Alltoall::Direct(set::COLL_ALLTOALL_NARROW_WINDOW.get())
        }
    }

    /// The window of a call in which each pair has a size of its own that only the pair knows.
    #[inline]
    pub fn alltoallv_window(&self) -> usize {
        set::COLL_ALLTOALL_WIDE_WINDOW.get()
    }

    /// Chooses for operands of `total` bytes.
    #[inline]
    pub fn reduce_scatter(&self, ranks: usize, total: usize, commutative: bool) -> ReduceScatter {
        if !commutative {
            ReduceScatter::ReduceThenScatter
        } else if ranks > 2 && total <= set::COLL_REDUCE_SCATTER_HALVING_BYTES_MAX.get() {
            ReduceScatter::Halving
        } else {
            ReduceScatter::Pairwise
        }
    }
}
