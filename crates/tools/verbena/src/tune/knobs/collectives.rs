//! Collectives: over a board within a node, and by messages.

use super::{Counts, Edge, Knob, KnobKind, NEVER, from, sizes, up_to};
use verbena_lab::experiment::variant::{Set, set};
use verbena_lab::metric::Metric;

/// Ranks where the number does not matter beyond that it is more than two.
const FOUR: usize = 4;
/// The number of ranks that is more than few ([`verbena_settings::COLL_SHORT_MANY_BYTES_MAX`]).
const MANY: usize = 17;
/// Ranks of windows: more than the widest.
const WIDE: usize = 8;
/// The numbers of ranks at which thresholds of ranks are looked for.
const RANKS: [usize; 4] = [3, 4, 8, 16];

fn threshold(ways: [&'static str; 2], edge: Edge, counts: Counts) -> KnobKind {
    KnobKind::Threshold { ways, edge, counts }
}

/// Returns the knobs for ranks of one node, over a board and in each other's memory. The short
/// vectors come last: their limit depends on the best other way, and no other knob looks at vectors
/// so short.
pub(super) fn on_a_node() -> Vec<Knob> {
    in_place().into_iter().chain(of_vectors()).chain(of_more()).chain(short()).collect()
}

type Words = &'static str;

fn knob(
    setting: Words,
    what: Words,
    metric: Metric,
    sizes: Vec<usize>,
    ranks: usize,
    kind: KnobKind,
    fixed: &[Set],
) -> Knob {
    Knob { setting, what, metric, sizes, ranks: vec![ranks], network: false, kind, fixed: fixed.to_vec() }
}

fn short() -> Vec<Knob> {
    let both = [set("CHANNELS", "shm,cma")];
    let ways = ["as a record over the board", "another way"];
    vec![
        knob(
            "COLL_SHORT_FEW_BYTES_MAX",
            "short allreduces of up to 16 ranks of a node: as records over a board, or another way",
            Metric::Allreduce,
            sizes(6, 13),
            2,
            up_to(ways),
            &both,
        ),
        knob(
            "COLL_SHORT_MANY_BYTES_MAX",
            "short allreduces of more than 16 ranks of a node: as records over a board, or another way",
            Metric::Allreduce,
            sizes(6, 11),
            MANY,
            up_to(ways),
            &both,
        ),
    ]
}

/// Returns the knobs of reductions in place.
fn in_place() -> Vec<Knob> {
    vec![
        knob(
            "COLL_IN_PLACE_PIECE_BYTES",
            "the pieces in which two ranks of a node reduce in place",
            Metric::Allreduce,
            sizes(14, 20),
            2,
            KnobKind::Values(&["4096", "8192", "16384", "32768"]),
            &[set("COLL_IN_PLACE_BYTES_MIN", 1)],
        ),
        knob(
            "COLL_IN_PLACE_BYTES_MIN",
            "reductions of two ranks of a node: another way, or in place",
            Metric::Allreduce,
            sizes(9, 17),
            2,
            from(["another way", "in place"]),
            &[],
        ),
    ]
}

/// Returns the knobs of long allreduces of more than two ranks, which two do in place.
fn of_vectors() -> Vec<Knob> {
    let both = [set("CHANNELS", "shm,cma")];
    let directly = [both[0].clone(), set("COLL_DIRECT_SHARE_BYTES_MIN", 0)];
    let directly_from = threshold(["through the board", "in rounds"], Edge::From, Counts::Share);
    let allreduce = Metric::Allreduce;
    vec![
        knob(
            "COLL_BOARD_PARTS_PIECE_BYTES",
            "the pieces of a vector of which each rank reduces a part over the board, without cma",
            allreduce,
            sizes(16, 20),
            FOUR,
            KnobKind::Values(&["8192", "16384", "32768", "65536"]),
            &[set("CHANNELS", "shm")],
        ),
        knob(
            "COLL_DIRECT_SHARE_BYTES_MIN",
            "allreduce on a node: through the board part by part, or in rounds (the share of each counts)",
            allreduce,
            sizes(14, 20),
            FOUR,
            directly_from,
            &both,
        ),
        knob(
            "COLL_DIRECT_PIECE_BYTES_MIN",
            "the smallest part of such a vector that one rank reduces at a time",
            allreduce,
            sizes(15, 18),
            FOUR,
            KnobKind::Values(&["4096", "8192", "16384", "32768"]),
            &directly,
        ),
        knob(
            "COLL_ROUND_PIECE_BYTES_MAX",
            "the largest part of such a vector that one rank reduces at a time",
            allreduce,
            sizes(18, 22),
            FOUR,
            KnobKind::Values(&["8192", "16384", "32768"]),
            &directly,
        ),
    ]
}

fn of_more() -> Vec<Knob> {
    let slots = [set("CHANNELS", "shm,cma"), set("COLL_BOARD_BCAST_BYTES_MIN", 0)];
    let pieces = KnobKind::Values(&["8192", "16384", "32768", "65536"]);
    vec![
        knob(
            "COLL_BOARD_EXCHANGE_BYTES_MAX",
            "allgathers of a node: over the board, or by messages",
            Metric::Allgather,
            sizes(14, 18),
            FOUR,
            up_to(["over the board", "by messages"]),
            &[set("CHANNELS", "shm,cma")],
        ),
        knob(
            "COLL_BOARD_BCAST_BYTES_MIN",
            "long broadcasts within a node: by messages, or over the board",
            Metric::Bcast,
            sizes(14, 21),
            FOUR,
            from(["by messages", "over the board"]),
            &[set("CHANNELS", "shm,cma")],
        ),
        knob(
            "COLL_BOARD_BCAST_PIECE_BYTES",
            "the pieces in which a long message is broadcast over the board",
            Metric::Bcast,
            sizes(17, 21),
            FOUR,
            pieces,
            &slots,
        ),
    ]
}

/// Returns the knobs for collectives by messages: between nodes if there are some, else within one
/// without boards.
pub(super) fn by_messages(network: bool) -> Vec<Knob> {
    let all =
        broadcasts().into_iter().chain(reductions()).chain(rooted()).chain(exchanges()).chain(by_ranks());
    let place = |mut knob: Knob| {
        knob.network = network;
        knob.fixed.extend((!network).then(|| set("BOARDS", 0)));
        knob
    };
    all.map(place).collect()
}

fn broadcasts() -> Vec<Knob> {
    vec![
        knob(
            "COLL_BCAST_WHOLE_BYTES_MAX",
            "broadcasts by messages: whole down a tree, or in pieces",
            Metric::Bcast,
            sizes(13, 20),
            FOUR,
            up_to(["whole down a tree", "in pieces"]),
            &[],
        ),
        knob(
            "COLL_BCAST_PIECE_BYTES_MIN",
            "the pieces of a long broadcast that goes along a chain",
            Metric::Bcast,
            sizes(18, 21),
            FOUR,
            KnobKind::Values(&["16384", "32768", "65536", "131072"]),
            &[set("COLL_BCAST_WHOLE_BYTES_MAX", 0), set("COLL_BCAST_CHAIN_RANKS_MAX", MANY)],
        ),
    ]
}

fn reductions() -> Vec<Knob> {
    vec![
        knob(
            "COLL_REDUCE_WHOLE_BYTES_MAX",
            "reductions by messages: of the whole vector, or of parts",
            Metric::Allreduce,
            sizes(9, 17),
            FOUR,
            up_to(["the whole vector", "parts"]),
            &[],
        ),
        knob(
            "COLL_ALLREDUCE_HALVING_BYTES_MAX",
            "long allreduces by messages of ranks that are no power of two: by halving, or round a ring",
            Metric::Allreduce,
            sizes(16, 23),
            3,
            up_to(["by halving", "round a ring"]),
            &[],
        ),
        knob(
            "COLL_REDUCE_SCATTER_HALVING_BYTES_MAX",
            "reduce-scatter by messages: by halving, or between pairs (the operand of all ranks counts)",
            Metric::ReduceScatter,
            sizes(8, 17),
            FOUR,
            threshold(["by halving", "between pairs"], Edge::UpTo, Counts::Total),
            &[],
        ),
    ]
}

fn rooted() -> Vec<Knob> {
    vec![
        knob(
            "COLL_ROOTED_TREE_BLOCK_BYTES_MAX",
            "gather and scatter: along a tree, or with each rank",
            Metric::Gather,
            sizes(4, 14),
            FOUR,
            up_to(["along a tree", "with each rank"]),
            &[set("COLL_ROOTED_LINEAR_RANKS_MAX", 0)],
        ),
        knob(
            "COLL_ALLGATHER_SHORT_TOTAL_BYTES_MAX",
            "allgather: in a logarithmic number of steps, or round a ring (all blocks count)",
            Metric::Allgather,
            sizes(8, 17),
            FOUR,
            threshold(["few steps", "round a ring"], Edge::UpTo, Counts::Total),
            &[],
        ),
    ]
}

fn exchanges() -> Vec<Knob> {
    let direct = set("COLL_ALLTOALL_BRUCK_BLOCK_BYTES_MAX", 0);
    vec![
        knob(
            "COLL_ALLTOALL_BRUCK_BLOCK_BYTES_MAX",
            "alltoall: Bruck's few steps, or with each rank",
            Metric::Alltoall,
            sizes(3, 12),
            WIDE,
            up_to(["Bruck's few steps", "with each rank"]),
            &[set("COLL_ALLTOALL_BRUCK_RANKS_MIN", 1)],
        ),
        knob(
            "COLL_ALLTOALL_WIDE_BLOCK_BYTES_MAX",
            "alltoall: with many ranks at once, or with few",
            Metric::Alltoall,
            sizes(10, 18),
            WIDE,
            up_to(["many at once", "few at once"]),
            std::slice::from_ref(&direct),
        ),
        knob(
            "COLL_ALLTOALL_WIDE_WINDOW",
            "exchanges at once for short blocks of an alltoall",
            Metric::Alltoall,
            sizes(8, 14),
            WIDE,
            KnobKind::Values(&["2", "4", "32"]),
            &[direct.clone(), set("COLL_ALLTOALL_WIDE_BLOCK_BYTES_MAX", NEVER)],
        ),
        knob(
            "COLL_ALLTOALL_NARROW_WINDOW",
            "exchanges at once for long blocks of an alltoall",
            Metric::Alltoall,
            sizes(15, 18),
            WIDE,
            KnobKind::Values(&["1", "2", "4"]),
            &[direct, set("COLL_ALLTOALL_WIDE_BLOCK_BYTES_MAX", 0)],
        ),
    ]
}

/// Thresholds of ranks, at one size each: one at which the algorithms differ.
fn by_ranks() -> Vec<Knob> {
    let knob = |setting, what, metric, bytes, ways, edge, fixed: &[Set]| Knob {
        ranks: RANKS.to_vec(),
        ..knob(setting, what, metric, vec![bytes], 0, threshold(ways, edge, Counts::Ranks), fixed)
    };
    vec![
        knob(
            "COLL_BCAST_CHAIN_RANKS_MAX",
            "long broadcasts by messages: along a chain, or scattered and gathered",
            Metric::Bcast,
            1 << 20,
            ["along a chain", "scattered and gathered"],
            Edge::UpTo,
            &[set("COLL_BCAST_WHOLE_BYTES_MAX", 0)],
        ),
        knob(
            "COLL_ROOTED_LINEAR_RANKS_MAX",
            "gather and scatter of short blocks: with each rank, or along a tree",
            Metric::Gather,
            256,
            ["with each rank", "along a tree"],
            Edge::UpTo,
            &[],
        ),
        knob(
            "COLL_ALLTOALL_BRUCK_RANKS_MIN",
            "alltoall of short blocks: with each rank, or Bruck's few steps",
            Metric::Alltoall,
            64,
            ["with each rank", "Bruck's few steps"],
            Edge::From,
            &[],
        ),
    ]
}
