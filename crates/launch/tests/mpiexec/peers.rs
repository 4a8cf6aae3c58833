//! Launchers of others start our processes. They need these launchers, so they run only when asked for:
//! `VERBENA_HYDRA=.../mpiexec cargo test -p verbena-launch -- --ignored hydra`.

use crate::harness::{CLIENT, Outcome, begin};
use std::process::Command;

const STEPS: [&str; 7] =
    [CLIENT, "who", "exchange=3000", "exchange=100", "barrier", "exchange=0", "finalize"];

fn hydra(options: &[&str], pmi: &str, steps: &[&str]) -> Outcome {
    let mpiexec = std::env::var("VERBENA_HYDRA").expect("VERBENA_HYDRA names Hydra's mpiexec");
    begin(Command::new(mpiexec).args(options).args(steps).env("VERBENA_PMI", pmi)).finish()
}

#[test]
#[ignore = "needs Hydra: set VERBENA_HYDRA"]
fn hydra_starts_ours_over_every_line() {
    for (options, pmi, kind) in [
        (&["-n", "3"][..], "", "pmi-1"),
        (&["-n", "3"], "2", "pmi-2"),
        (&["-pmi-port", "-n", "3"], "", "pmi-1"),
    ] {
        let outcome = hydra(options, pmi, &STEPS);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert_eq!(outcome.out.matches("exchanged 3").count(), 9, "{outcome:?}");
        assert_eq!(outcome.out.matches(&format!("of 3 kind {kind}")).count(), 3, "{outcome:?}");
    }
}

#[test]
#[ignore = "needs Hydra: set VERBENA_HYDRA"]
fn hydra_hears_our_abort() {
    for pmi in ["1", "2"] {
        let outcome = hydra(&["-n", "3"], pmi, &[CLIENT, "exchange", "abort=7@1", "sleep=20000"]);
        assert_eq!(outcome.code, Some(7), "{outcome:?}");
        assert!(outcome.took.as_secs() < 5, "{outcome:?}");
    }
}
