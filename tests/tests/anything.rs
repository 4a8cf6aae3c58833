//! Random messages and collectives between two to four ranks, against a naive computation: the
//! first seeds, and those that failed once. `cargo xtask soak` tries others.

use verbena_tests::anything::Run;
use verbena_tests::program;

#[test]
fn random_messages_and_collectives_are_as_expected() {
    let program = program("anything");
    for run in Run::kept().into_iter().chain((0..24).map(Run::of_seed)) {
        run.try_out(&program, &[]).unwrap_or_else(|why| panic!("{run}: {why}"));
    }
}

/// If asked to, one seed in four expects a wrong byte: the program sees that, and says which
/// message it was.
#[test]
fn a_planted_fault_is_seen() {
    let program = program("anything");
    for seed in [4, 8, 12] {
        let why = Run::of_seed(seed)
            .try_out(&program, &[("ANYTHING_PLANTED", "1")])
            .expect_err("the planted fault");
        assert!(why.contains(&format!("seed {seed} step ")), "{why}");
    }
    Run::of_seed(5)
        .try_out(&program, &[("ANYTHING_PLANTED", "1")])
        .expect("no fault is planted for this seed");
}

#[test]
fn a_run_is_kept_as_it_is_displayed() {
    let run = Run::of_seed(77);
    assert_eq!(Run::parse(&run.to_string()), Some(run));
    assert_eq!(
        [Run::parse(""), Run::parse("1 2"), Run::parse("1 2 x y"), Run::parse("a 2 x")],
        [None, None, None, None]
    );
}
