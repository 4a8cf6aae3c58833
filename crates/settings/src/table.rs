//! The table. An entry reads: name, type with default and range, category, unit, scope, until when it may
//! change, and the source; the comment above it is the help text that a user reads.

use crate::kinds::{Automatic, Choice, Flag, Names, Number, Text};
use crate::setting::{About, Category, Scope, Setting, Unit, When};

macro_rules! settings {
    ($($(#[doc = $help:literal])+ $name:ident: $type:ident($($argument:expr),*), $category:ident, $unit:ident, $scope:ident, $when:ident, $source:literal;)*) => {
        $(
            $(#[doc = $help])+
            pub static $name: $type = $type::new(
                About {
                    name: concat!("VERBENA_", stringify!($name)),
                    help: concat!($($help),+).trim_ascii(),
                    source: $source,
                    category: Category::$category,
                    unit: Unit::$unit,
                    scope: Scope::$scope,
                    when: When::$when,
                },
                $($argument),*
            );
        )*

        /// Every setting, in the order of the table.
        pub static ALL: &[&(dyn std::ops::Deref<Target = Setting> + Sync)] = &[$(&$name),*];
    };
}

settings! {
    /// a file of settings in TOML: a line for each, as in coll_bcast_whole_bytes_max = 65536; the environment goes before it
    SETTINGS: Text("none"), Startup, None, Process, Start, "";
    /// speak this version of PMI with the launcher, without Verbena's extension; auto: what the launcher speaks
    PMI: Choice(&["auto", "1", "2"], 0), Startup, None, Process, Start, "";

    /// the channels to use; without cma nothing is copied between processes by system calls
    CHANNELS: Names("all that work here", &["loopback", "shm", "cma"]), Channel, None, Process, Start, "";
    /// 0 leaves out the channel cma (process_vm_readv and process_vm_writev)
    CMA: Flag(true), Channel, None, Process, Start, "";
    /// the shortest message that cma is used for; shorter ones are copied twice through shared memory
    CMA_BYTES_MIN: Number(12 << 10, 1..=1 << 40), Channel, Bytes, Process, Start, "measured with verbena bench";
    /// size of each ring in shared memory; the next power of two counts
    SHM_RING_BYTES: Automatic("by the number of ranks on the node and the free memory", 1..=1 << 28), Channel, Bytes, Node, Start, "";

    /// the longest message that is sent at once, without asking the receiver
    EAGER_BYTES_MAX: Automatic("what the channel takes in one packet, or less where reading the sender's memory is quicker", 0..=1 << 40), Engine, Bytes, Process, Start, "paper 1, 2.1";
    /// unexpected messages held for one peer before it is asked to send by rendezvous only
    UNEXPECTED_BYTES_MAX: Number(4 << 20, 0..=1 << 40), Engine, Bytes, Process, Anytime, "MPI-5.0, 3.5";
    /// the piece of a long message that one of the two sides copies at a time
    CLAIM_BYTES: Number(128 << 10, 4 << 10..=1 << 40), Engine, Bytes, Process, Anytime, "";
    /// whether sender and receiver both copy a long message
    COPY_BY_BOTH: Flag(true), Engine, None, Process, Anytime, "";
    /// the shortest message that sender and receiver both copy
    COPY_BY_BOTH_BYTES_MIN: Number(64 << 10, 0..=1 << 40), Engine, Bytes, Process, Anytime, "measured with verbena bench";

    /// rounds of pure spinning before a wait begins to yield
    WAIT_SPINS: Automatic("100 with a core for each rank of the node, else 0", 0..=1_000_000_000), Wait, Rounds, Process, Start, "paper 3, 4.2";
    /// rounds of yielding before a wait sleeps
    WAIT_YIELDS: Automatic("60000 with a core for each rank of the node, else at most 200 by the ranks for a core", 0..=1_000_000_000), Wait, Rounds, Process, Start, "paper 3, 4.2";
    /// of the rounds of yielding, every how many-th gives up the core; the others only pause it
    WAIT_YIELD_EVERY: Automatic("32 with a core for each rank of the node, else 1", 1..=1_000_000_000), Wait, Rounds, Process, Start, "";

    /// 0 makes collectives between processes of one node go by messages; what rank 0 of a communicator has counts
    BOARDS: Flag(true), Collective, None, Job, Start, "";
    /// largest record of a short collective over a board, for up to 16 ranks
    COLL_SHORT_FEW_BYTES_MAX: Number(8 << 10, 0..=8 << 10), Collective, Bytes, Job, Anytime, "";
    /// largest record of a short collective over a board, for more than 16 ranks
    COLL_SHORT_MANY_BYTES_MAX: Number(2 << 10, 0..=4000), Collective, Bytes, Job, Anytime, "";
    /// smallest vector that two ranks exchange over a board and not by messages
    COLL_BOARD_EXCHANGE_BYTES_MIN: Number(128 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// pieces in which two ranks exchange long vectors over a board
    COLL_BOARD_EXCHANGE_PIECE_BYTES: Number(64 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "";
    /// pieces of a long vector of which each rank reduces a part over a board
    COLL_BOARD_PARTS_PIECE_BYTES: Number(64 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "";
    /// smallest share of a vector, of which each has one, that ranks of a node reduce in each other's memory (by cma)
    COLL_DIRECT_SHARE_BYTES_MIN: Number(6 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "measured with verbena bench";
    /// smallest part of such a vector that one rank reduces at a time
    COLL_DIRECT_PIECE_BYTES_MIN: Number(8 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "measured with verbena bench";
    /// largest part of such a vector that one rank reduces at a time
    COLL_DIRECT_PIECE_BYTES_MAX: Number(64 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "measured with verbena bench";
    /// smallest message that is broadcast over a board, among more than two ranks
    COLL_BOARD_BCAST_BYTES_MIN: Number(64 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// pieces in which a long message is broadcast over a board
    COLL_BOARD_BCAST_PIECE_BYTES: Number(64 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "";
    /// largest message that a broadcast sends whole down a tree
    COLL_BCAST_WHOLE_BYTES_MAX: Number(128 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest number of ranks for which a long broadcast is a chain
    COLL_BCAST_CHAIN_RANKS_MAX: Number(8, 0..=1 << 30), Collective, Ranks, Job, Anytime, "";
    /// smallest piece of such a chain
    COLL_BCAST_PIECE_BYTES_MIN: Number(64 << 10, 1..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest vector that a reduction sends whole
    COLL_REDUCE_WHOLE_BYTES_MAX: Number(8 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest vector for halving; longer ones go round a ring if the number of ranks is no power of two
    COLL_ALLREDUCE_HALVING_BYTES_MAX: Number(4 << 20, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest number of ranks for which gather and scatter are linear at any size
    COLL_ROOTED_LINEAR_RANKS_MAX: Number(4, 0..=1 << 30), Collective, Ranks, Job, Anytime, "";
    /// largest block that goes up or down a tree in gather and scatter
    COLL_ROOTED_TREE_BLOCK_BYTES_MAX: Number(2 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest total for the logarithmic algorithms of allgather
    COLL_ALLGATHER_SHORT_TOTAL_BYTES_MAX: Number(32 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest block for Bruck's alltoall
    COLL_ALLTOALL_BRUCK_BLOCK_BYTES_MAX: Number(128, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// least number of ranks for Bruck's alltoall
    COLL_ALLTOALL_BRUCK_RANKS_MIN: Number(8, 1..=1 << 30), Collective, Ranks, Job, Anytime, "";
    /// largest block of an alltoall that goes out to many ranks at once
    COLL_ALLTOALL_WIDE_BLOCK_BYTES_MAX: Number(32 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// exchanges at once for such blocks
    COLL_ALLTOALL_WIDE_WINDOW: Number(32, 1..=1 << 30), Collective, Exchanges, Job, Anytime, "";
    /// exchanges at once for longer blocks
    COLL_ALLTOALL_NARROW_WINDOW: Number(2, 1..=1 << 30), Collective, Exchanges, Job, Anytime, "";
    /// largest operand, over all ranks, of the halving reduce-scatter
    COLL_REDUCE_SCATTER_HALVING_BYTES_MAX: Number(64 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";

    /// the C compiler that mpicc runs, with arguments if need be
    CC: Text("cc"), Compiler, None, Process, Start, "";
    /// the C++ compiler that mpicxx runs, with arguments if need be
    CXX: Text("c++"), Compiler, None, Process, Start, "";
    /// the installation that mpicc compiles and links against
    PREFIX: Text("the installation that mpicc lies in"), Compiler, None, Process, Start, "";
}

/// Variables that begin with `VERBENA_` and are no settings: what `mpiexec` tells the ranks, and what the
/// project's own tests read.
pub const OTHERS: &[&str] = &[
    "VERBENA_LAUNCHER",
    "VERBENA_JOB",
    "VERBENA_APPNUM",
    "VERBENA_LOCAL_RANK",
    "VERBENA_LOCAL_SIZE",
    "VERBENA_SIM_SEED",
    "VERBENA_STAGE",
    "VERBENA_VENV",
    "VERBENA_STOCK_VENV",
    "VERBENA_STOCK_RANKS",
    "VERBENA_MPICH",
];

/// The settings, in the order of the table.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    ALL.iter().map(|setting| &***setting)
}
