//! Jobs that lose processes and go on (ULFM).

use verbena_tests::{Ended, job, program};

fn run(ranks: u32, arguments: &[&str]) -> Ended {
    job(ranks, program("ulfm")).args(arguments).run()
}

#[test]
fn calls_about_failures_work_when_nobody_fails() {
    let ended = run(4, &["nobody"]).ok();
    assert!(ended.stdout.contains("ulfm: ok with 4 ranks"), "{ended:?}");
}

#[test]
fn what_is_under_way_on_a_revoked_communicator_ends_and_nothing_begins() {
    let ended = run(4, &["revoked"]).ok();
    assert!(ended.stdout.contains("ulfm: ok with 4 ranks"), "{ended:?}");
}

#[test]
fn operations_with_a_lost_process_end_with_its_error() {
    let ended = run(4, &["lost"]).ok();
    assert!(ended.stdout.contains("ulfm: ok with 4 ranks"), "{ended:?}");
    assert!(ended.stderr.contains("the others went on without it"), "{ended:?}");
}

#[test]
fn survivors_of_random_deaths_go_on_and_give_the_right_answer() {
    for seed in 0..30_u32 {
        let victims = 1 + seed % 3;
        let ended = run(8, &[&victims.to_string(), &seed.to_string()]).ok();
        let said = format!("left: {} of 8 after {victims} deaths", 8 - victims);
        assert!(ended.stdout.contains(&said), "seed {seed}: {ended:?}");
    }
}
