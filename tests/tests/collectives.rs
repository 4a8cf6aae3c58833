//! Collectives whole: every one of them, in every form, on one group and between two, and among
//! neighbours.

use verbena_tests::{job, program};

fn passes(name: &str, ranks: &[u32]) {
    let program = program(name);
    for &n in ranks {
        let ended = job(n, &program).run().ok();
        assert!(ended.stdout.contains(&format!("{name}: ok with {n} ranks")), "{ended:?}");
    }
}

#[test]
fn every_collective_in_every_form() {
    passes("every_collective", &[1, 2, 4, 7]);
}

#[test]
fn reductions_in_every_form() {
    passes("reductions", &[1, 2, 4, 7]);
}

#[test]
fn persistent_collectives() {
    passes("persistent", &[1, 2, 4, 7]);
}

#[test]
fn neighbourhood_collectives() {
    passes("neighbor", &[1, 2, 4, 7]);
}

#[test]
fn a_mistake_on_one_rank_leaves_the_others_in_step() {
    passes("collective_errors", &[2, 4]);
}
