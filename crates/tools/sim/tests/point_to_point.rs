//! Point-to-point traffic over five hundred seeds. To replay one:
//! `VERBENA_SIM_SEED=<seed> cargo test -p verbena-sim --test point_to_point replay -- --nocapture`.

use std::panic::{AssertUnwindSafe, UnwindSafe, catch_unwind};
use verbena_engine::Large;
use verbena_sim::seeds::seeds_beside_kept;
use verbena_sim::traffic::{Report, run, run_under};
use verbena_sim::{Canary, Faults, MemoryFaults, Random, seed_to_replay};

/// Runs a seed; a failure or panic names the seed and how to replay it.
fn run_seed(seed: u64) -> Report {
    judged(seed, AssertUnwindSafe(|| run(seed)))
}

fn run_seed_under(seed: u64, faults: Faults) -> Report {
    judged(seed, AssertUnwindSafe(|| run_under(seed, faults)))
}

fn judged(seed: u64, run: impl FnOnce() -> Result<Report, String> + UnwindSafe) -> Report {
    let outcome = catch_unwind(run);
    let broken = match outcome {
        Ok(Ok(report)) => return report,
        Ok(Err(broken)) => broken,
        Err(_) => "a panic (its message is above)".into(),
    };
    panic!(
        "seed {seed}: {broken}\nreplay: VERBENA_SIM_SEED={seed} cargo test -p verbena-sim --test point_to_point replay -- --nocapture"
    );
}

fn run_seeds(seeds: &[u64]) -> Vec<Report> {
    seeds.iter().map(|&seed| run_seed(seed)).collect()
}

/// The runs together must have met everything that they are meant to try.
#[test]
fn a_thousand_seeds() {
    let seeds = seeds_beside_kept("point_to_point", 1000);
    let (first, second) = seeds.split_at(seeds.len() / 2);
    let reports: Vec<Report> = std::thread::scope(|scope| {
        let halves = [first, second].map(|half| scope.spawn(|| run_seeds(half)));
        halves.into_iter().flat_map(|half| half.join().expect("no seed fails")).collect()
    });
    let sum = |what: fn(&Report) -> u64| reports.iter().map(what).sum::<u64>();
    for (name, count) in [
        ("messages", sum(|r| r.messages as u64)),
        ("died", sum(|r| r.died as u64)),
        ("cancelled", sum(|r| r.cancelled as u64)),
        ("truncated", sum(|r| r.truncated as u64)),
        ("rendezvous", sum(|r| r.rendezvous)),
        ("written", sum(|r| r.written)),
        ("memory bytes", sum(|r| r.memory_bytes)),
        ("fallbacks", sum(|r| r.fallbacks)),
        ("duplicates", sum(|r| r.duplicates)),
        ("throttles", sum(|r| r.throttles)),
    ] {
        println!("{name}: {count}");
        assert!(count as usize > seeds.len() / 10, "only {count} {name} in all runs");
    }
    // Rare in such traffic, where something is always under way: `engine/tests/direct_receive.rs`
    // is about these.
    println!("fronts: {}", sum(|r| r.fronts));
}

/// Every message that can be written is, and one write in five fails.
#[test]
fn writing_over_seeds() {
    for percents in [(20, 0), (0, 20), (10, 10)] {
        let reports: Vec<Report> =
            (0..100).map(|seed| run_seed_under(seed, writing(seed, percents))).collect();
        let sum = |what: fn(&Report) -> u64| reports.iter().map(what).sum::<u64>();
        let (written, fallbacks) = (sum(|r| r.written), sum(|r| r.fallbacks));
        assert!(written > 100 && fallbacks > 10, "{written} messages written, {fallbacks} fallbacks");
        assert!(sum(|r| r.died as u64) > 5);
    }
}

/// Faults of this seed, with memory that is written and is refused or fails this often, at once or
/// in the background.
fn writing(seed: u64, (refused_percent, failing_percent): (u32, u32)) -> Faults {
    let mut faults = Faults::random(&mut Random::new(seed));
    faults.large = if seed.is_multiple_of(2) { Large::Write } else { Large::Auto };
    let later_percent = if failing_percent > 0 { 100 } else { faults.memory.later_percent };
    faults.memory = MemoryFaults {
        put: true,
        put_is_quicker: true,
        refused_percent,
        failing_percent,
        later_percent,
        refused_after: u64::MAX,
        ..faults.memory
    };
    faults
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 2000..2020 {
        assert_eq!(run_seed(seed), run_seed(seed), "seed {seed}");
    }
    assert_ne!(run_seed(2000).trace, run_seed(2001).trace);
}

#[test]
fn replay() {
    if let Some(seed) = seed_to_replay() {
        println!("{:#?}", run_seed(seed));
    }
}

/// Counts the seeds, of 40, that notice a fabric with this defect.
fn noticed(canary: Canary) -> usize {
    let faults = Faults { canary, ..Faults::none() };
    (0..40).filter(|seed| run_under(*seed, faults).is_err()).count()
}

#[test]
fn an_honest_fabric_is_not_accused() {
    assert_eq!(noticed(Canary::None), 0);
}

#[test]
fn a_fabric_that_loses_packets_is_found_out() {
    assert!(noticed(Canary::Loses(20)) > 20);
}

#[test]
fn a_fabric_that_breaks_its_promise_of_order_is_found_out() {
    assert!(noticed(Canary::Swaps(5)) > 10);
}

#[test]
fn a_fabric_that_does_not_move_the_memory_is_found_out() {
    assert!(noticed(Canary::Lies(2)) > 5);
}

#[test]
fn a_fabric_that_garbles_bytes_is_found_out() {
    assert!(noticed(Canary::Garbles(10)) > 20);
}
