//! All runs of the applications on this machine: over shared memory, or between two nodes that are
//! this machine under other names, over libfabric.

use super::judged;
use super::report::Outcome;
use verbena_tests::apps::{App, Purpose, Run};
use verbena_tests::world::World;

/// Builds, runs and judges in this world, which the table calls `place`.
pub(super) fn run(apps: &[App], world: fn() -> World, place: &'static str) -> Vec<Outcome> {
    let world = match judged(world) {
        Ok(world) => world,
        Err(why) => return vec![Outcome::not_run("verbena", place, why)],
    };
    apps.iter().flat_map(|app| all_of(app, &world, place)).collect()
}

fn all_of(app: &App, world: &World, place: &'static str) -> Vec<Outcome> {
    eprintln!("{}: fetching and building what is missing", app.name);
    match judged(|| (app.runs)(world, Purpose::Checked)) {
        Ok(runs) => runs.iter().map(|run| one(run, world, place)).collect(),
        Err(why) => vec![Outcome::not_run(app.name, place, why)],
    }
}

fn one(run: &Run, world: &World, place: &'static str) -> Outcome {
    let outcome = Outcome::of(run, place, &run.go(world));
    let words = if outcome.passed() { "passed" } else { "FAILED" };
    eprintln!("{}: {words} in {:.1} s", run.name, outcome.seconds);
    outcome
}
