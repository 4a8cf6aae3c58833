//! Every collective on simulated clusters of up to 256 ranks, against a naive computation.
//!
//! `VERBENA_SIM_SEED=<number>` replays one seed.

mod arena;
mod board;
mod direct;
mod element;
mod errors;
mod in_place;
mod inter;
mod job;
mod jobs;
mod late;
mod lengths;
mod moving;
mod neighbor;
mod reducing;
mod rounds;
mod run;
mod typed;
mod unlike;
mod waiting;

use inter::Sides;
use job::{Job, Maker};
use neighbor::Around;
use verbena_mpi::Comm;
use verbena_sim::seeds::{on_two_threads, seeds_of};
use verbena_sim::{Canary, Faults, Random};

/// Seeds that a test run tries.
const SEEDS: u64 = 750;
/// Seeds for intercommunicators.
const INTER_SEEDS: u64 = 500;
/// Seeds for neighbours.
const NEIGHBOR_SEEDS: u64 = 700;

/// A random number of ranks: mostly few, now and then many.
fn ranks(random: &mut Random) -> usize {
    match random.below(100) {
        0..60 => random.between(1, 9) as usize,
        60..90 => random.between(10, 24) as usize,
        90..97 => random.between(25, 70) as usize,
        _ => random.between(200, 256) as usize,
    }
}

fn job(maker: &mut Maker) -> Job {
    match maker.random.below(17) {
        0 => maker.barrier(),
        1 => maker.bcast(),
        2 => maker.gather(),
        3 => maker.gatherv(),
        4 => maker.scatter(),
        5 => maker.scatterv(),
        6 => maker.allgather(),
        7 => maker.allgatherv(),
        8 => maker.alltoall(),
        9 => maker.alltoallv(),
        10 => maker.alltoallw(),
        11 => maker.reduce(),
        12 | 13 => maker.allreduce(),
        14 | 15 => maker.reduce_scatter(),
        _ => maker.scan(),
    }
}

fn try_seed(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let ranks = ranks(&mut random);
    let many = if ranks > 30 { 1 } else { random.between(1, 6) };
    let mut maker = Maker { random: &mut random, ranks };
    let jobs: Vec<Job> = (0..many).map(|_| job(&mut maker)).collect();
    let faults = if ranks > 100 { Faults::none() } else { Faults::random(&mut random) };
    let comms = run::intra(&mut random, ranks);
    finish(seed, &mut random, comms, faults, jobs)
}

fn finish(
    seed: u64,
    random: &mut Random,
    comms: Vec<(Comm, usize)>,
    faults: Faults,
    mut jobs: Vec<Job>,
) -> Result<(), String> {
    let ranks = comms.len();
    run::run(random, comms, faults, &mut jobs).map_err(|problem| {
        let all: Vec<&str> = jobs.iter().map(|job| job.what.as_str()).collect();
        format!("VERBENA_SIM_SEED={seed}, {ranks} ranks, {all:?}: {problem}")
    })
}

fn try_inter_seed(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let (first, second) = (random.between(1, 9) as usize, random.between(1, 9) as usize);
    let mut maker =
        Sides { maker: Maker { random: &mut random, ranks: first + second }, sizes: [first, second] };
    let jobs: Vec<Job> = (0..3).map(|_| maker.job()).collect();
    let faults = Faults::random(&mut random);
    let comms = run::inter(&mut random, first + second, first);
    finish(seed, &mut random, comms, faults, jobs)
}

/// Collectives of neighbours in a random topology, and others in between.
fn try_neighbor_seed(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let most = random.pick(&[2, 4, 8, 8, 12, 40]);
    let wanted = random.between(1, most) as usize;
    let net = neighbor::random(&mut random, wanted);
    let ranks = net.topologies.len();
    let mut jobs = Vec::new();
    for _ in 0..random.between(1, 4) {
        let others = random.percent(20);
        let maker = Maker { random: &mut random, ranks };
        let mut around = Around { maker, net: &net };
        jobs.push(if others { job(&mut around.maker) } else { around.job() });
    }
    let faults = Faults::random(&mut random);
    let comms = neighbor::on(&net, run::intra(&mut random, ranks));
    finish(seed, &mut random, comms, faults, jobs)
}

fn seeds(many: u64) -> Vec<u64> {
    seeds_of("collectives", many)
}

#[test]
fn every_collective_gives_what_a_naive_computation_gives() {
    on_two_threads(&seeds(SEEDS), |seed| try_seed(seed).unwrap_or_else(|problem| panic!("{problem}")));
}

#[test]
fn intercommunicators_give_what_a_naive_computation_gives() {
    for seed in seeds(INTER_SEEDS) {
        try_inter_seed(seed).unwrap_or_else(|problem| panic!("{problem}"));
    }
}

#[test]
fn neighbours_get_what_a_naive_computation_gives() {
    for seed in seeds(NEIGHBOR_SEEDS) {
        try_neighbor_seed(seed).unwrap_or_else(|problem| panic!("{problem}"));
    }
}

/// Messages up and down between the same two processes, sent in the order of their places, must be
/// found out.
#[test]
fn a_grid_whose_messages_cross_is_noticed() {
    let noticed = (0..20).filter(|&seed| {
        let (mut random, net) = (Random::new(seed), neighbor::crossed_ring());
        let mut around = Around { maker: Maker { random: &mut random, ranks: 2 }, net: &net };
        let jobs = (0..6).map(|_| around.job()).collect();
        let comms = neighbor::on(&net, run::intra(&mut random, 2));
        finish(seed, &mut random, comms, Faults::none(), jobs).is_err()
    });
    assert!(noticed.count() >= 15);
}

/// An algorithm that takes operands in any order must be found out when the operation is not
/// commutative.
#[test]
fn a_wrong_algorithm_is_noticed() {
    let noticed = (0..20).filter(|&seed| {
        let mut random = Random::new(seed);
        let job = Maker { random: &mut random, ranks: 6 }.allreduce_out_of_order();
        let comms = run::intra(&mut random, 6);
        finish(seed, &mut random, comms, Faults::none(), vec![job]).is_err()
    });
    assert_eq!(noticed.count(), 20);
}

/// A fabric that garbles bytes must be found out, too.
#[test]
fn a_garbling_fabric_is_noticed() {
    let noticed = (0..20).filter(|&seed| {
        let mut random = Random::new(seed);
        let mut maker = Maker { random: &mut random, ranks: 5 };
        let jobs = (0..4).map(|_| maker.alltoallv()).collect();
        let comms = run::intra(&mut random, 5);
        let faults = Faults { canary: Canary::Garbles(10), ..Faults::none() };
        finish(seed, &mut random, comms, faults, jobs).is_err()
    });
    assert!(noticed.count() >= 15);
}
