//! `cargo xtask instructions`: how many instructions a call with a small message takes, and a guard
//! against growth.
//!
//! `tests/instructions/calls.c` runs at two ranks on a staged release build, rank 0 under callgrind
//! (valgrind), which counts nothing but the calls of each section. The ranks meet outside MPI, so a
//! call finds the same state at any time, and the counts are the same in every run to within a
//! fraction of an instruction. They include the few instructions with which the program passes the
//! arguments.
//!
//! `tests/instructions/counts.toml` holds the counts that were last agreed on. `--check` fails if
//! one grew by more than its tolerance, or if the MPICH face takes over 20 instructions more than
//! the standard one, and says when one fell so that the file can follow; `--update` writes the
//! file.

mod counts;
mod run;

use anyhow::{Result, bail};
use counts::{Counts, Verdict};
pub(crate) use run::{RANK, counted};
use std::path::{Path, PathBuf};

/// The options of `cargo xtask instructions`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Fail if a count grew beyond the tolerance
    #[arg(long)]
    check: bool,
    /// Write the counts to tests/instructions/counts.toml
    #[arg(long, conflicts_with = "check")]
    update: bool,
    /// The installation to run on
    #[arg(long, default_value = "target/stage")]
    stage: PathBuf,
}

/// The number of runs, at most, that look for growth.
const RUNS_MAX: usize = 5;

/// Runs the task.
///
/// # Errors
/// valgrind or the stage is missing, a run fails, or with `--check` a count grew.
pub(crate) fn run(args: &Args) -> Result<()> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default();
    let file = top.join("tests/instructions/counts.toml");
    let mut counted = run::count(&top, &top.join(&args.stage))?;
    if args.update {
        return counts::write(&file, &counted);
    }
    let agreed = counts::read(&file)?;
    let mut grown = report(&agreed, &counted);
    // The other rank may be late, and with it the way of a message another one: growth must show in
    // every run.
    for _ in 1..RUNS_MAX {
        if args.check && grown > 0 {
            println!("counted again, the least of each so far:");
            counted = counted.least(&run::count(&top, &top.join(&args.stage))?);
            grown = report(&agreed, &counted);
        }
    }
    if args.check && grown > 0 {
        bail!(
            "{grown} counts grew by more than {}%, or are too many on the MPICH face: make the calls cheaper again, \
             or say in the commit why they are worth more and run `cargo xtask instructions --update`",
            agreed.tolerance_percent
        );
    }
    Ok(())
}

/// Prints a line for each count and returns how many grew, or are too many on the MPICH face.
fn report(agreed: &Counts, counted: &Counts) -> usize {
    let mut grown = 0;
    for (name, &now) in &counted.instructions {
        let verdict = agreed.judge(name, now);
        grown += usize::from(verdict.is_failure());
        println!("{name:24} {now:8.1}  {verdict}");
    }
    if counted
        .instructions
        .keys()
        .any(|name| matches!(agreed.judge(name, counted.instructions[name]), Verdict::Fell(_)))
    {
        println!("some fell: `cargo xtask instructions --update` lets the guard follow");
    }
    let far = counted.far_faces();
    for (name, more) in &far {
        println!("{name:24} {more:8.1}  more on the MPICH face, which is TOO MANY");
    }
    grown + far.len()
}
