//! Random traffic for many seeds, as the tests of this crate run it: a failure names its seed, and
//! how to replay it.
//!
//! Without a word from outside a test tries the seeds from 0 on, which are the same each time, and
//! those that `seeds.txt` keeps for it: `cargo xtask soak` tries others and writes one that fails
//! there.

use crate::traffic::Report;
use crate::verbs::Counts;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The result of a run.
pub type Outcome = (Report, Counts);

/// A count of one thing in a run.
pub type Count = fn(&Report, &Counts) -> u64;

/// Seeds of a run if nobody says how many.
const SEEDS: u64 = 500;

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

    /// Runs the seeds that are kept for the test, and five hundred others, or those that
    /// `VERBENA_SIM_SEEDS` and `VERBENA_SIM_FIRST` name. The others together must have met each of
    /// these things `least` times for each seed; fewer than five hundred seeds (a turn of
    /// `cargo xtask soak`) are too few to tell.
    ///
    /// # Panics
    /// If a seed breaks a rule, or something was met too rarely.
    pub fn many(self, least: f64, things: &[(&str, Count)]) {
        for seed in kept(self.test) {
            self.seed(seed);
        }
        let seeds: Vec<u64> = seeds_to_run(SEEDS).collect();
        let outcomes = on_two_threads(&seeds, |seed| self.seed(seed));
        for (name, count) in things {
            let met: u64 = outcomes.iter().map(|(report, counts)| count(report, counts)).sum();
            println!("{name}: {met}");
            let enough = met as f64 >= least * seeds.len() as f64;
            assert!((seeds.len() as u64) < SEEDS || enough, "only {met} {name} in all runs");
        }
    }

    /// Runs each of these seeds twice.
    ///
    /// # Panics
    /// If the two runs differ, or a seed breaks a rule.
    pub fn replays_exactly(self, seeds: Range<u64>) {
        seeds.for_each(|seed| assert_eq!(self.seed(seed), self.seed(seed), "seed {seed}"));
    }

    /// Runs the seed that `VERBENA_SIM_SEED` names, and prints the result; nothing if it names
    /// none.
    ///
    /// # Panics
    /// As in [`Trial::seed`].
    pub fn replay(self) {
        if let Some(seed) = seed_to_replay() {
            println!("{:#?}", self.seed(seed));
        }
    }
}

/// Runs each of the seeds, half of them on a thread of its own, and returns the outcomes in order.
/// A test that is left over when the others of its file have ended takes half the time so.
///
/// # Panics
/// As the first half that does, with the same message.
pub fn on_two_threads<T: Send>(seeds: &[u64], run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let (here, there) = seeds.split_at(seeds.len() / 2);
    let all = |seeds: &[u64]| seeds.iter().map(|&seed| run(seed)).collect::<Vec<T>>();
    std::thread::scope(|scope| {
        let there = scope.spawn(|| all(there));
        let mut outcomes = all(here);
        outcomes.extend(there.join().unwrap_or_else(|panic| resume_unwind(panic)));
        outcomes
    })
}

/// Returns as many seeds as `VERBENA_SIM_SEEDS` asks for, else `usual`, from `VERBENA_SIM_FIRST`
/// on, else from 0.
///
/// # Panics
/// If a variable is no number, or the seeds go beyond the largest.
pub fn seeds_to_run(usual: u64) -> Range<u64> {
    let (first, many) =
        (number("VERBENA_SIM_FIRST").unwrap_or(0), number("VERBENA_SIM_SEEDS").unwrap_or(usual));
    first..first.checked_add(many).expect("VERBENA_SIM_FIRST leaves room for as many seeds")
}

/// Returns the seeds for a test without counts: the seed to replay alone if one is named, else
/// [`seeds_beside_kept`].
///
/// # Panics
/// As in [`seeds_to_run`].
pub fn seeds_of(test: &'static str, usual: u64) -> Vec<u64> {
    match seed_to_replay() {
        Some(seed) => vec![seed],
        None => seeds_beside_kept(test, usual),
    }
}

/// Returns the seeds for a test that counts: those kept for it and [`seeds_to_run`].
///
/// # Panics
/// As in [`seeds_to_run`].
pub fn seeds_beside_kept(test: &'static str, usual: u64) -> Vec<u64> {
    kept(test).chain(seeds_to_run(usual)).collect()
}

/// The seeds that failed once in this test.
///
/// # Panics
/// If a line of `seeds.txt` is not of its form.
fn kept(test: &'static str) -> impl Iterator<Item = u64> {
    let lines = include_str!("../seeds.txt").lines().map(|line| line.split('#').next().unwrap_or("").trim());
    lines.filter(|line| !line.is_empty()).filter_map(move |line| {
        let (name, seed) = line.split_once(' ').unwrap_or_else(|| panic!("seeds.txt: {line}"));
        (name == test).then(|| seed.trim().parse().unwrap_or_else(|_| panic!("seeds.txt: {line}")))
    })
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
