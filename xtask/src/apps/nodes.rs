//! Short runs of the applications on two virtual nodes with kernel verbs devices, all in one boot.

use super::judged;
use super::report::Outcome;
use std::cell::RefCell;
use std::rc::Rc;
use verbena_tests::apps::{App, Purpose, Run};
use verbena_tests::softroce::Boot;
use verbena_tests::world::World;

/// The place of these runs, in the table.
const PLACE: &str = "Soft-RoCE";

/// Builds, boots, runs and judges.
pub(super) fn run(apps: &[App]) -> Vec<Outcome> {
    let world = match judged(World::nodes) {
        Ok(world) => world,
        Err(why) => return vec![Outcome::not_run("verbena", PLACE, why)],
    };
    let outcomes = Rc::new(RefCell::new(Vec::new()));
    let mut runs = Vec::new();
    for app in apps {
        match judged(|| (app.runs)(&world, Purpose::Nodes)) {
            Ok(more) => runs.extend(more),
            Err(why) => outcomes.borrow_mut().push(Outcome::not_run(app.name, PLACE, why)),
        }
    }
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    if let Err(why) = judged(|| boot(runs, &world, &outcomes)) {
        let mut outcomes = outcomes.borrow_mut();
        let missing: Vec<&String> =
            names.iter().filter(|name| !outcomes.iter().any(|o: &Outcome| o.run == **name)).collect();
        let more: Vec<Outcome> =
            missing.into_iter().map(|name| Outcome::not_run(name, PLACE, why.clone())).collect();
        outcomes.extend(more);
    }
    outcomes.take()
}

fn boot(runs: Vec<Run>, world: &World, outcomes: &Rc<RefCell<Vec<Outcome>>>) {
    let mut boot = Boot::new(&["--nodes", "2", "--memory", "2048"]);
    for run in runs {
        let (name, seconds_max, script) = (run.name.clone(), run.seconds_max, run.ready(world));
        let outcomes = Rc::clone(outcomes);
        boot = boot.check(&name, seconds_max, script, move |ended| {
            outcomes.borrow_mut().push(Outcome::of(&run, PLACE, &ended));
        });
    }
    boot.run();
}
