//! Jobs of thousands of ranks, 64 on a node: what a rank costs grows with their number by nothing
//! but what is named here, and each step takes messages by the logarithm. The whole size, 65,536
//! ranks, is `cargo run -p verbena-sim --example large -- 65536`.

use std::sync::{Mutex, PoisonError};
use verbena_sim::large::account::Counting;
use verbena_sim::large::{Costs, Job, Start, Step, Took};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Ranks on a node.
const NODE_SIZE: u32 = 64;
/// Numbers of ranks that are compared.
const SMALL: u32 = 512;
const LARGE: u32 = 4096;
/// Bytes of the place for each peer in the engine's table. The system gives memory to the part of
/// the table in which a peer was met.
const PLACE_BYTES: usize = 8;
/// The most bytes that a peer costs which was met.
const MET_BYTES_MAX: usize = 1024;
/// The most bytes that a rank holds besides, at any time.
const REST_BYTES_MAX: usize = 20 << 10;

/// The figures of a job.
struct Outcome {
    start: Start,
    /// Each step, in the order of [`STEPS`].
    took: Vec<Took>,
    /// The most peers that a rank met.
    met: usize,
}

const STEPS: [Step; 4] = [Step::Neighbors, Step::Barrier, Step::Sum(8), Step::Sum(1024)];
const BARRIER: usize = 1;

fn run(ranks: u32, node_size: u32) -> Outcome {
    // A process has one job, and one list of its ranks: so one runs at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut job = Job::start(ranks, node_size, Costs::PAPERS);
    let start = job.held();
    let took = STEPS.map(|step| job.take(step).unwrap_or_else(|problem| panic!("{ranks} ranks: {problem}")));
    let met = (0..ranks).map(|rank| job.met(rank)).max().unwrap_or(0);
    Outcome { start, took: took.to_vec(), met }
}

#[test]
fn a_rank_costs_a_place_for_each_peer_and_something_for_those_that_it_met() {
    let (small, large) = (run(SMALL, NODE_SIZE), run(LARGE, NODE_SIZE));
    println!("{:?}, {:?}", small.start, large.start);
    // Before the first message a rank has nothing for each peer, the list of all aside.
    assert!(small.start.most_bytes > 0);
    assert_eq!(small.start.most_bytes, large.start.most_bytes);
    assert_eq!(large.start.list_bytes, 4 * LARGE as usize);
    let high = |outcome: &Outcome| outcome.took.iter().map(|took| took.high_bytes).max().unwrap_or(0);
    let (high_small, high_large) = (high(&small), high(&large));
    println!("{high_small} and {high_large} bytes; {} and {} peers met", small.met, large.met);
    let places = |ranks: u32| PLACE_BYTES * ranks as usize;
    for (outcome, high, ranks) in [(&small, high_small, SMALL), (&large, high_large, LARGE)] {
        assert!(high > places(ranks), "the table is counted");
        let rest = high - places(ranks);
        assert!(rest <= outcome.met * MET_BYTES_MAX + REST_BYTES_MAX, "{ranks} ranks: {rest} bytes");
    }
    // Sums take temporary memory, which an earlier job of this process may have left.
    let after_barrier = |outcome: &Outcome| outcome.took[BARRIER].high_bytes;
    let growth = after_barrier(&large) - after_barrier(&small);
    assert!(growth >= places(LARGE - SMALL));
    let most = places(LARGE - SMALL) + (large.met - small.met) * MET_BYTES_MAX;
    assert!(growth <= most, "{growth} bytes more, of which {most} are explained");
}

#[test]
fn messages_and_time_grow_by_the_logarithm() {
    let (small, large) = (run(SMALL, NODE_SIZE), run(LARGE, NODE_SIZE));
    for (outcome, ranks) in [(&small, SMALL), (&large, LARGE)] {
        // Each round of a barrier or a short sum is a message of each rank; six are within nodes.
        for took in &outcome.took[BARRIER..] {
            let packets: u64 = took.packets.iter().sum();
            assert_eq!(packets, u64::from(ranks) * u64::from(ranks.ilog2()), "{took:?}");
        }
        // Those to the next node and from it.
        assert!(outcome.took[0].packets[1] >= 2 * u64::from(ranks));
    }
    for (few, many) in small.took.iter().zip(&large.took).skip(BARRIER) {
        println!("{} and {} ns", few.time_ns, many.time_ns);
        // Three rounds between nodes, and six.
        assert!(many.time_ns > few.time_ns && many.time_ns < 3 * few.time_ns);
    }
}

/// A number of ranks that is no power of two, on nodes of which the last is not full.
#[test]
fn an_odd_number_of_ranks_comes_to_the_same_sums() {
    for (ranks, node_size) in [(1000, 48), (3, 2), (2, 64)] {
        assert_eq!(run(ranks, node_size).took.len(), STEPS.len());
    }
}
