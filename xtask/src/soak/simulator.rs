//! The simulator: each of its tests of random runs in turn, with seeds that none has tried.

use super::{Turn, ledger};
use crate::passed::passed;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// The tests that take their seeds from outside: file, test, and seeds for one turn.
const TESTS: [(&str, &str, u64); 18] = [
    ("point_to_point", "a_thousand_seeds", 300),
    ("collectives", "every_collective", 100),
    ("collectives", "neighbours_get", 100),
    ("partitioned", "partitions_arrive", 100),
    ("windows", "operations_have", 100),
    ("windows", "operations_over_connections", 60),
    ("windows", "connections_may_come", 60),
    ("windows", "what_a_failed_device", 60),
    ("windows", "epochs_of_all", 40),
    ("windows", "a_rank_that_dies_in", 40),
    ("windows", "a_dead_rank_harms", 100),
    ("windows", "a_dead_rank_that_waited", 100),
    ("windows", "those_who_wait_for", 100),
    ("over_rc", "a_thousand", 150),
    ("over_ud", "a_thousand", 150),
    ("over_pipe", "a_thousand", 150),
    ("over_rails", "a_thousand", 100),
    ("over_hybrid", "a_thousand", 100),
];

/// The tests in turn.
#[derive(Debug, Default)]
pub(super) struct Simulator {
    next: usize,
}

impl Simulator {
    /// Runs the next test, with seeds from this one on.
    ///
    /// # Errors
    /// The test cannot be run, or a seed not be kept.
    pub(super) fn turn(&mut self, top: &Path, seed: u64) -> Result<Turn> {
        let (test, filter, seeds) = TESTS[self.next % TESTS.len()];
        self.next += 1;
        let mut cargo = Command::new("cargo");
        cargo.current_dir(top).args([
            "test",
            "--quiet",
            "--locked",
            "-p",
            "verbena-sim",
            "--test",
            test,
            filter,
        ]);
        cargo.env("VERBENA_SIM_FIRST", seed.to_string()).env("VERBENA_SIM_SEEDS", seeds.to_string());
        let output = cargo.output().context("cannot run cargo test")?;
        let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
        if output.status.success() {
            return Ok(succeeded(test, filter, seeds, &text));
        }
        let tried = if text.contains("test result: FAILED") { seeds } else { 0 };
        Ok(Turn { tried, findings: failed(top, test, seed, &text)? })
    }
}

/// The turn of a `cargo test` that succeeds, as it also does if it knows no such test.
fn succeeded(test: &str, filter: &str, seeds: u64, text: &str) -> Turn {
    match passed(text) {
        0 => Turn {
            tried: 0,
            findings: vec![format!("{test} has no test \"{filter}\": was it renamed?\n{text}")],
        },
        _ => Turn { tried: seeds, findings: Vec::new() },
    }
}

/// Keeps the seeds that failed. A failure without a seed means that the runs together did not meet
/// what they must.
fn failed(top: &Path, test: &str, first: u64, text: &str) -> Result<Vec<String>> {
    let seeds = ledger::seeds_in(text);
    for seed in &seeds {
        ledger::keep(&top.join("crates/tools/sim/seeds.txt"), &format!("{test} {seed}"))?;
    }
    let what = match seeds.is_empty() {
        true => format!("{test} failed without naming a seed (VERBENA_SIM_FIRST={first})"),
        false => format!("{test}, seeds {seeds:?}: see crates/tools/sim/seeds.txt"),
    };
    Ok(vec![format!("{what}\n{text}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_is_there_under_its_name() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/tools/sim/tests");
        for (file, filter, _) in TESTS {
            let one = tests.join(format!("{file}.rs"));
            let sources = match std::fs::read_dir(tests.join(file)) {
                Ok(folder) => folder.map(|entry| entry.expect("it is there").path()).collect(),
                Err(_) => vec![one],
            };
            let has_test = |source: &std::path::PathBuf| {
                let text = std::fs::read_to_string(source).unwrap_or_default();
                text.contains(&format!("\nfn {filter}"))
            };
            assert!(sources.iter().any(has_test), "{file} has no test {filter}");
        }
    }

    #[test]
    fn seeds_count_only_if_a_test_tried_them() {
        let ran =
            succeeded("over_rc", "a_thousand", 150, "\ntest result: ok. 1 passed; 0 failed; 0 ignored\n");
        assert_eq!((ran.tried, ran.findings.len()), (150, 0));
        let none =
            succeeded("over_rc", "a_milion", 150, "\ntest result: ok. 0 passed; 0 failed; 0 ignored\n");
        assert_eq!((none.tried, none.findings.len()), (0, 1));
        assert!(none.findings[0].contains("over_rc has no test \"a_milion\""), "{none:?}");
    }
}
