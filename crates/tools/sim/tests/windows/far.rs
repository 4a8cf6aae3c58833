//! Puts and gets by simulated devices, beside operations by messages, over `rc`, over `rc` and `ud`
//! with connections that come and go, and over several rails of which some fail: every result and
//! every flush is compared with a memory that does the same at once.
//!
//! To replay a seed:
//! `VERBENA_SIM_SEED=<number> cargo test -p verbena-sim --test windows far::replay -- --nocapture`

mod job;
mod many;
mod slots;

use job::{Flaw, Job, Met, Over};
use std::ops::AddAssign;
use verbena_sim::seed_to_replay;
use verbena_sim::seeds::{on_two_threads, seeds_of};

/// Seeds that a test run tries over each sort of cluster.
const SEEDS: u64 = 200;

fn run(seed: u64, over: Over) -> Met {
    let ran = Job::new(seed, over, Flaw::None).run();
    ran.unwrap_or_else(|problem| panic!("VERBENA_SIM_SEED={seed} {over:?}: {problem}"))
}

fn sum(mut a: Met, b: Met) -> Met {
    let pairs: [(&mut u64, u64); 7] = [
        (&mut a.by_device, b.by_device),
        (&mut a.by_messages, b.by_messages),
        (&mut a.lists, b.lists),
        (&mut a.went_again, b.went_again),
        (&mut a.held_back, b.held_back),
        (&mut a.followed, b.followed),
        (&mut a.flushes, b.flushes),
    ];
    pairs.into_iter().for_each(|(a, b)| a.add_assign(b));
    a
}

/// The name of a thing that runs meet, its count, and how often a hundred of them meet it.
type Thing = (&'static str, fn(&Met) -> u64, u64);

/// Runs many seeds. Those together must have met each of these things so often for a hundred seeds.
fn many(over: Over, things: &[Thing]) {
    let seeds = seeds_of("windows", SEEDS);
    let met = on_two_threads(&seeds, |seed| run(seed, over)).into_iter().fold(Met::default(), sum);
    println!("{met:?}");
    for (name, count, least) in things {
        let enough = count(&met) * 100 >= least * SEEDS;
        assert!(seeds.len() < SEEDS as usize || enough, "only {} {name} over {over:?}", count(&met));
    }
}

#[test]
fn replay() {
    if let Some(seed) = seed_to_replay() {
        Over::ALL.into_iter().for_each(|over| println!("{:?}", run(seed, over)));
    }
}

#[test]
fn operations_over_connections_have_their_results() {
    many(
        Over::Connections,
        &[
            ("operations by device", |met| met.by_device, 500),
            ("operations by messages", |met| met.by_messages, 500),
            ("operations in several parts", |met| met.lists, 20),
            ("accumulates that waited for the device", |met| met.held_back, 20),
            ("operations behind an accumulate", |met| met.followed, 20),
            ("flushes", |met| met.flushes, 100),
        ],
    );
}

#[test]
fn connections_may_come_and_go() {
    many(
        Over::FewConnections,
        &[
            ("operations by device", |met| met.by_device, 50),
            ("operations by messages", |met| met.by_messages, 500),
        ],
    );
}

#[test]
fn what_a_failed_device_has_not_done_goes_by_messages() {
    many(
        Over::FailingRails,
        &[
            ("operations by device", |met| met.by_device, 200),
            ("operations that went again", |met| met.went_again, 10),
        ],
    );
}

/// Counts the seeds, of 60, that notice this flaw.
fn noticed(flaw: Flaw, words: &str) -> usize {
    let ran = |seed| Job::new(seed, Over::Connections, flaw).run();
    (0..60).filter(|&seed| ran(seed).is_err_and(|problem| problem.contains(words))).count()
}

/// A flush that does not wait for the device must be found out.
#[test]
fn a_flush_before_the_acknowledgement_is_noticed() {
    let noticed = noticed(Flaw::EarlyFlush, "has flushed");
    assert!(noticed >= 15, "{noticed}");
}

/// An accumulate that does not wait for the device must be found out.
#[test]
fn an_accumulate_that_overtakes_the_device_is_noticed() {
    let noticed = noticed(Flaw::Overtakes, "");
    assert!(noticed >= 10, "{noticed}");
}
