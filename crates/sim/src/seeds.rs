//! Random traffic for many seeds, as the tests of this crate run it: a failure names its seed, and how to replay it.

use crate::traffic::Report;
use crate::verbs::Counts;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What came of a run.
pub type Outcome = (Report, Counts);

/// What is counted of a run.
pub type Count = fn(&Report, &Counts) -> u64;

/// Seeds of a run if nobody says how many.
const SEEDS: u64 = 1000;

/// A test of one sort of traffic.
#[derive(Clone, Copy)]
pub struct Trial {
    /// The name of the test's file.
    pub test: &'static str,
    /// Runs a seed.
    pub run: fn(u64) -> Result<Outcome, String>,
}

impl Trial {
    /// Runs a seed.
    ///
    /// # Panics
    /// If it breaks a rule.
    pub fn seed(self, seed: u64) -> Outcome {
        let broken = match catch_unwind(AssertUnwindSafe(|| (self.run)(seed))) {
            Ok(Ok(outcome)) => return outcome,
            Ok(Err(broken)) => broken,
            Err(_) => "a panic (its message is above)".into(),
        };
        let test = self.test;
        panic!(
            "seed {seed}: {broken}\nreplay: VERBENA_SIM_SEED={seed} cargo test -p verbena-sim --test {test} replay -- --nocapture"
        );
    }

    /// Runs a thousand seeds, or as many as `VERBENA_SIM_SEEDS` says. All together must have met each of these things, so many times for each
    /// seed at least.
    ///
    /// # Panics
    /// If a seed breaks a rule, or something was met too seldom.
    pub fn many(self, least: f64, things: &[(&str, Count)]) {
        let seeds = seeds_to_run(SEEDS);
        let halves = [0..seeds / 2, seeds / 2..seeds];
        let run = |seeds: Range<u64>| move || seeds.map(|seed| self.seed(seed)).collect::<Vec<_>>();
        let halves = halves.map(|seeds| std::thread::spawn(run(seeds)));
        let outcomes: Vec<Outcome> =
            halves.into_iter().flat_map(|half| half.join().expect("no seed fails")).collect();
        for (name, count) in things {
            let met: u64 = outcomes.iter().map(|(report, counts)| count(report, counts)).sum();
            println!("{name}: {met}");
            assert!(met as f64 >= least * seeds as f64, "only {met} {name} in all runs");
        }
    }

    /// Runs each of these seeds twice.
    ///
    /// # Panics
    /// If the two runs differ, or a seed breaks a rule.
    pub fn replays_exactly(self, seeds: Range<u64>) {
        seeds.for_each(|seed| assert_eq!(self.seed(seed), self.seed(seed), "seed {seed}"));
    }

    /// Runs the seed that `VERBENA_SIM_SEED` names, and prints what came of it; nothing if it names none.
    ///
    /// # Panics
    /// As [`Trial::seed`].
    pub fn replay(self) {
        if let Some(seed) = seed_to_replay() {
            println!("{:#?}", self.seed(seed));
        }
    }
}

/// The number of seeds that `VERBENA_SIM_SEEDS` asks for, else this one.
///
/// # Panics
/// If the variable is no number.
pub fn seeds_to_run(usual: u64) -> u64 {
    number("VERBENA_SIM_SEEDS").unwrap_or(usual)
}

/// The seed named by `VERBENA_SIM_SEED`, to replay one run; `None` if the variable is not set.
///
/// # Panics
/// If the variable is no number.
pub fn seed_to_replay() -> Option<u64> {
    number("VERBENA_SIM_SEED")
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}, which is no number")))
}
