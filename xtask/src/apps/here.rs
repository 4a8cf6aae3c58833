//! All runs of the applications on this machine, over shared memory.

use super::judged;
use super::report::Outcome;
use verbena_tests::apps::{App, Purpose, Run};
use verbena_tests::world::World;

/// The place of these runs, in the table.
const PLACE: &str = "shared memory";

/// Builds, runs and judges.
pub(super) fn run(apps: &[App]) -> Vec<Outcome> {
    let world = match judged(World::ours) {
        Ok(world) => world,
        Err(why) => return vec![Outcome::not_run("verbena", PLACE, why)],
    };
    apps.iter().flat_map(|app| all_of(app, &world)).collect()
}

fn all_of(app: &App, world: &World) -> Vec<Outcome> {
    eprintln!("{}: fetching and building what is missing", app.name);
    match judged(|| (app.runs)(world, Purpose::Checked)) {
        Ok(runs) => runs.iter().map(|run| one(run, world)).collect(),
        Err(why) => vec![Outcome::not_run(app.name, PLACE, why)],
    }
}

fn one(run: &Run, world: &World) -> Outcome {
    let outcome = Outcome::of(run, PLACE, &run.go(world));
    let words = if outcome.passed() { "passed" } else { "FAILED" };
    eprintln!("{}: {words} in {:.1} s", run.name, outcome.seconds);
    outcome
}
