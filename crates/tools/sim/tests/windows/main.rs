//! One-sided operations by messages on simulated clusters: any mixture of puts, gets, accumulates,
//! swaps, locks and flushes, with short and long data of all shapes, and some that must fail. Every
//! result is compared with a memory that does the same at once, and a flush with the target's
//! memory at that moment.
//!
//! `VERBENA_SIM_SEEDS=10000` runs that many seeds. To replay one:
//! `VERBENA_SIM_SEED=<number> cargo test -p verbena-sim --test windows replay -- --nocapture`

mod deaths;
mod epochs;
mod exposed;
mod far;
mod job;
mod locks;
mod many;
mod misuse;
mod process;
mod programs;
mod rank;
mod sample;
mod types;

use job::{Flaw, Job};
use std::ops::AddAssign;
use verbena_mpi::window::service::Counts;
use verbena_sim::seeds::seeds_beside_kept;
use verbena_sim::{Canary, Faults, Random, seed_to_replay};

/// Seeds that a test run tries.
const SEEDS: u64 = 500;

fn run(seed: u64) -> Counts {
    let ran = Job::new(seed, Flaw::None, Faults::random).run();
    let counts = ran.unwrap_or_else(|problem| panic!("VERBENA_SIM_SEED={seed}: {problem}"));
    counts.into_iter().fold(Counts::default(), sum)
}

fn run_all(seeds: &[u64]) -> Counts {
    seeds.iter().map(|&seed| run(seed)).fold(Counts::default(), sum)
}

fn sum(mut a: Counts, b: Counts) -> Counts {
    let pairs: [(&mut u64, u64); 6] = [
        (&mut a.requests, b.requests),
        (&mut a.straight, b.straight),
        (&mut a.pieces, b.pieces),
        (&mut a.queued_locks, b.queued_locks),
        (&mut a.held_flushes, b.held_flushes),
        (&mut a.failures, b.failures),
    ];
    pairs.into_iter().for_each(|(a, b)| a.add_assign(b));
    a
}

#[test]
fn replay() {
    if let Some(seed) = seed_to_replay() {
        println!("{:?}", run(seed));
    }
}

#[test]
fn operations_have_their_results_and_flushes_wait_for_them() {
    let seeds = seeds_beside_kept("windows", SEEDS);
    let (some, others) = seeds.split_at(seeds.len() / 2);
    let met = std::thread::scope(|scope| {
        let some = scope.spawn(|| run_all(some));
        let others = run_all(others);
        sum(some.join().expect("no seed fails"), others)
    });
    println!("{met:?}");
    let Counts { requests, straight, pieces, queued_locks, held_flushes, failures, .. } = met;
    let all =
        [(requests, 50), (straight, 5), (pieces, 3), (queued_locks, 1), (held_flushes, 1), (failures, 2)];
    for (met, least) in all {
        // A turn of `cargo xtask soak` has too few seeds to tell.
        assert!(seeds.len() < SEEDS as usize || met >= least * SEEDS, "{met} instead of {least} a seed");
    }
}

/// A target that answers a flush before its puts are done must be found out.
#[test]
fn a_flush_that_is_answered_early_is_noticed() {
    let early = |seed| Job::new(seed, Flaw::EarlyFlush, Faults::random).run();
    let noticed =
        (0..60).filter(|&seed| early(seed).is_err_and(|problem| problem.contains("has flushed"))).count();
    assert!(noticed >= 20, "{noticed}");
}

/// A fabric that garbles bytes must be found out, so the checks see something.
#[test]
fn a_garbling_fabric_is_noticed() {
    let garbles = |_: &mut Random| Faults { canary: Canary::Garbles(10), ..Faults::none() };
    let noticed = (0..40).filter(|&seed| Job::new(seed, Flaw::None, garbles).run().is_err()).count();
    assert!(noticed >= 30, "{noticed}");
}
