//! The NAS programs themselves, where somebody has built them: `DIR/is.W.x` (or `DIR/bin/is.W.x`)
//! and so on, of version 3 of their MPI form. Between nodes they run under the designs of papers 1,
//! 2 and 4, job by job as everything else.

use super::job_table::JobTable;
use super::measure::{Budget, is_due, order};
use super::pick;
use super::plan;
use super::program::Program;
use super::record::Record;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use verbena_lab::experiment::between::Between;
use verbena_lab::experiment::variant::Variant;
use verbena_lab::witness::Witness;

/// The programs of the papers; only the first ones with `--quick`.
const PROGRAMS: [&str; 7] = ["is", "cg", "mg", "lu", "ft", "sp", "bt"];
const PROGRAMS_QUICK: usize = 2;
/// Classes, the one that is preferred first.
const CLASSES: [&str; 2] = ["W", "S"];
/// With `--quick`, and where a program of class W has taken longer than this once.
const CLASSES_QUICK: [&str; 2] = ["S", "W"];
const LONG: Duration = Duration::from_secs(10);
/// The number of ranks: one that all programs can be divided among.
const RANKS: usize = 4;
/// The longest that a program may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs each program that is there.
///
/// # Errors
/// The file cannot be written. A program that is missing or fails is noted.
pub(super) fn run(folder: &Path, between: &Between, budget: &Budget, record: &mut Record) -> Result<()> {
    if !between.has_nodes() {
        return record.skip("npb", super::measure::NO_NODES);
    }
    let mut table = JobTable::new("NAS programs between nodes", "program").of_ranks(RANKS);
    let mut failures = Vec::new();
    let variants = plan::programs_designs();
    let programs = if budget.quick { &PROGRAMS[..PROGRAMS_QUICK] } else { &PROGRAMS[..] };
    for name in programs {
        if let Err(error) = all_rounds(folder, name, &variants, between, budget, &mut table, record) {
            failures.push(format!("{name}: {error:#}"));
        }
    }
    if failures.is_empty() { Ok(()) } else { record.skip("npb", &failures.join("; ")) }
}

/// Runs all rounds of a program, or none: fewer would be no measurement.
fn all_rounds(
    folder: &Path,
    name: &str,
    variants: &[Variant],
    between: &Between,
    budget: &Budget,
    table: &mut JobTable,
    record: &mut Record,
) -> Result<()> {
    let program = chosen(folder, name, &variants[0], between, budget)?;
    let row = pick::with_class(&format!("{name}, {RANKS}"), class(&program));
    let start = Instant::now();
    for round in 0.. {
        if !is_due(round, start.elapsed(), ("npb", &row), budget, record)? {
            break;
        }
        eprintln!("npb {}, round {} of {}", program.display(), round + 1, budget.rounds);
        for at in order(variants.len(), round) {
            let (said, witness) = once(&program, &variants[at], between)?;
            table.add_seen(&row, &variants[at].name, said.mop_s, Some(witness));
        }
        record.jobs("npb", "mop_s", "Mop/s", table)?;
    }
    Ok(())
}

/// The program of the class that the time allows: one run says how long it takes.
fn chosen(
    folder: &Path,
    name: &str,
    variant: &Variant,
    between: &Between,
    budget: &Budget,
) -> Result<PathBuf> {
    let classes = if budget.quick { CLASSES_QUICK } else { CLASSES };
    let first = found(folder, name, classes)?;
    let start = Instant::now();
    once(&first, variant, between)?;
    if start.elapsed() > LONG { found(folder, name, CLASSES_QUICK) } else { Ok(first) }
}

fn found(folder: &Path, name: &str, classes: [&str; 2]) -> Result<PathBuf> {
    let folders = [folder.to_path_buf(), folder.join("bin")];
    let paths =
        classes.iter().flat_map(|class| folders.iter().map(move |at| at.join(format!("{name}.{class}.x"))));
    let mut paths = paths.filter(|path| path.exists());
    paths.next().with_context(|| format!("neither {name}.W.x nor {name}.S.x is in {}", folder.display()))
}

/// The class in the name of a program, as in `is.W.x`.
fn class(path: &Path) -> &str {
    let name = path.file_stem().and_then(|stem| stem.to_str());
    name.and_then(|stem| stem.rsplit_once('.')).map_or("unknown", |(_, class)| class)
}

fn once(path: &Path, variant: &Variant, between: &Between) -> Result<(Said, Witness)> {
    let program = Program { path: path.to_path_buf(), arguments: Vec::new(), ranks: RANKS, limit: LIMIT };
    let ran = program.run(&variant.how, between)?;
    Ok((understood(&ran.text)?, ran.witness))
}

/// The results that a program prints at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    mop_s: f64,
    seconds: f64,
}

/// Reads the summary that all of them print.
fn understood(text: &str) -> Result<Said> {
    // Some of them also announce the verification, in a line without a sign of equality.
    let after = |name: &str| {
        let of_name = |line: &&str| line.trim_start().starts_with(name);
        text.lines().filter(of_name).find_map(|line| Some(line.split_once('=')?.1.trim()))
    };
    let verdict = after("Verification").context("it printed no line \"Verification\"")?;
    anyhow::ensure!(verdict == "SUCCESSFUL", "its verification says {verdict}");
    let number = |name: &str| -> Result<f64> {
        let text = after(name).with_context(|| format!("it printed no line \"{name}\""))?;
        text.parse().with_context(|| format!("\"{text}\" is no number"))
    };
    Ok(Said { mop_s: number("Mop/s total")?, seconds: number("Time in seconds")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\n Verification being performed for class W\n IS Benchmark Completed\n Class           =                        W\n Time in seconds =                     0.02\n \
                        Mop/s total     =                    51.43\n Mop/s/process   =                    12.86\n Verification    =               SUCCESSFUL\n";

    #[test]
    fn a_summary_is_read() {
        assert_eq!(understood(TEXT).expect("a summary"), Said { mop_s: 51.43, seconds: 0.02 });
    }

    #[test]
    fn what_did_not_verify_is_no_result() {
        assert!(understood(&TEXT.replace("SUCCESSFUL", "UNSUCCESSFUL")).is_err());
        assert!(understood("Segmentation fault").is_err());
    }

    #[test]
    fn a_programs_class_is_in_its_name() {
        assert_eq!([class(Path::new("/npb/bin/is.W.x")), class(Path::new("is"))], ["W", "unknown"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = found(Path::new("/nowhere"), "is", CLASSES).expect_err("no such folder");
        assert!(error.to_string().contains("is.W.x"), "{error}");
    }
}
