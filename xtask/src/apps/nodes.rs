//! Runs of the applications on two virtual nodes with kernel verbs devices, all in one boot.

use super::judged;
use super::report::Outcome;
use std::cell::RefCell;
use std::rc::Rc;
use verbena_tests::apps::{App, Purpose, Run};
use verbena_tests::softroce::Boot;
use verbena_tests::world::World;

/// The place of these runs, in the table.
const PLACE: &str = "Soft-RoCE";

/// A run that was made for this machine may take this many times as long on virtual nodes.
const SLOWER: u32 = 12;

/// Builds, boots, runs and judges: the short checks of the applications, or the whole ones.
pub(super) fn run(apps: &[App], whole: bool) -> Vec<Outcome> {
    let world = match judged(World::nodes) {
        Ok(world) => world,
        Err(why) => return vec![Outcome::not_run("verbena", PLACE, why)],
    };
    let outcomes = Rc::new(RefCell::new(Vec::new()));
    let mut runs = Vec::new();
    let (purpose, slower) = if whole { (Purpose::Checked, SLOWER) } else { (Purpose::Nodes, 1) };
    for app in apps {
        match judged(|| (app.runs)(&world, purpose)) {
            Ok(more) => runs.extend(more),
            Err(why) => outcomes.borrow_mut().push(Outcome::not_run(app.name, PLACE, why)),
        }
    }
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    if let Err(why) = judged(|| boot(runs, slower, &world, &outcomes)) {
        let mut outcomes = outcomes.borrow_mut();
        let missing: Vec<&String> =
            names.iter().filter(|name| !outcomes.iter().any(|o: &Outcome| o.run == **name)).collect();
        let more: Vec<Outcome> =
            missing.into_iter().map(|name| Outcome::not_run(name, PLACE, why.clone())).collect();
        outcomes.extend(more);
    }
    outcomes.take()
}

fn boot(runs: Vec<Run>, slower: u32, world: &World, outcomes: &Rc<RefCell<Vec<Outcome>>>) {
    let mut boot = Boot::new(&["--nodes", "2", "--memory", "2048"]);
    for run in runs {
        let (name, seconds_max, script) = (run.name.clone(), slower * run.seconds_max, run.ready(world));
        let outcomes = Rc::clone(outcomes);
        boot = boot.check(&name, seconds_max, script, move |ended| {
            outcomes.borrow_mut().push(Outcome::of(&run, PLACE, &ended));
        });
    }
    boot.run();
}
