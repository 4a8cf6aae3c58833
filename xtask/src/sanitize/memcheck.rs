//! valgrind's memcheck on the staged library: reads of what was never written, and of what is gone.

use super::Ground;
use super::programs::{Canary, run_all, trouble};
use anyhow::{Context, Result};
use std::process::Command;

/// The exit status of valgrind if it found something.
const FOUND: u8 = 9;

/// Runs all programs under memcheck, with the suppressions that are installed.
///
/// # Errors
/// valgrind or the stage is missing, or a program's run had an error.
pub(super) fn run(ground: &Ground) -> Result<String> {
    let version = Command::new("valgrind").arg("--version").output();
    version.context("valgrind is missing. Install it: apt-get install valgrind")?;
    let into = ground.top.join("target/sanitize/memcheck");
    std::fs::create_dir_all(&into)?;
    let suppressions = ground.staged("share/verbena/verbena.supp")?;
    let under = [
        "valgrind".to_string(),
        "--quiet".into(),
        "--leak-check=no".into(),
        format!("--error-exitcode={FOUND}"),
        format!("--suppressions={}", suppressions.display()),
    ];
    let compiler = ground.staged("bin/mpicc")?;
    let canary = Canary { fault: "freed", report: "Invalid read" };
    run_all(&canary, |program| {
        let built = program.compile(ground, &into, &compiler, &[])?;
        // A rank that waits must let the other one compute, which valgrind makes fifty times as
        // long.
        trouble(&mut program.job(ground, &under, &built)?, program.name, &[" errors in context"])
    })
}
