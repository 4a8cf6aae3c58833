//! Every collective on simulated clusters of up to 256 ranks, against a naive computation.
//!
//! `VERBENA_SIM_SEED=<number>` replays one seed.

mod arena;
mod element;
mod job;
mod moving;
mod reducing;
mod run;
mod typed;

use job::{Job, Maker};
use verbena_sim::{Faults, Random, seed_to_replay};

/// Seeds that a test run tries.
const SEEDS: u64 = 1000;

/// A random number of ranks: mostly few, now and then many.
fn ranks(random: &mut Random) -> usize {
    match random.below(100) {
        0..60 => random.between(1, 9) as usize,
        60..95 => random.between(10, 24) as usize,
        95..99 => random.between(25, 70) as usize,
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
    let many = if ranks > 30 { 1 } else { random.between(1, 4) };
    let mut maker = Maker { random: &mut random, ranks };
    let mut jobs: Vec<Job> = (0..many).map(|_| job(&mut maker)).collect();
    let faults = if ranks > 100 { Faults::none() } else { Faults::random(&mut random) };
    run::run(&mut random, ranks, faults, &mut jobs).map_err(|problem| {
        let all: Vec<&str> = jobs.iter().map(|job| job.what.as_str()).collect();
        format!("VERBENA_SIM_SEED={seed}, {ranks} ranks, {all:?}: {problem}")
    })
}

#[test]
fn every_collective_gives_what_a_naive_computation_gives() {
    let seeds = seed_to_replay().map_or(0..SEEDS, |seed| seed..seed + 1);
    for seed in seeds {
        if let Err(problem) = try_seed(seed) {
            panic!("{problem}");
        }
    }
}
