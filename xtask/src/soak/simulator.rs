//! The simulator: each of its tests of random runs in turn, with seeds that none has tried.

use super::{Turn, ledger};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// The tests that take their seeds from outside: file, test, and seeds for one turn.
const TESTS: [(&str, &str, u64); 8] = [
    ("point_to_point", "a_thousand_seeds", 300),
    ("collectives", "every_collective", 100),
    ("collectives", "neighbor", 100),
    ("partitioned", "partitions_arrive", 100),
    ("over_rc", "a_thousand", 150),
    ("over_ud", "a_thousand", 150),
    ("over_rails", "a_thousand", 100),
    ("over_hybrid", "a_thousand", 100),
];

/// The tests in turn.
#[derive(Debug, Default)]
pub struct Simulator {
    next: usize,
}

impl Simulator {
    /// Runs the next test, with seeds from this one on.
    ///
    /// # Errors
    /// The test cannot be run, or a seed not be kept.
    pub fn turn(&mut self, top: &Path, seed: u64) -> Result<Turn> {
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
        Ok(Turn {
            tried: seeds,
            findings: if output.status.success() { Vec::new() } else { failed(top, test, seed, &text)? },
        })
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
