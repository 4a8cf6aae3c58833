//! The run under callgrind: compiling the program, running it, and reading callgrind's files.

use super::counts::{Counts, MPICH};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Rounds of a section that are counted: `ROUNDS` in `calls.c`.
const ROUNDS: f64 = 40.0;
/// Calls of a section that makes several: `WINDOW` in `calls.c`.
const WINDOW: f64 = 16.0;
/// The sections that make `WINDOW` calls a round.
const WINDOWED: &[&str] = &["isend", "wait_sent", "isend_waitall", "irecv", "wait_received", "irecv_waitall"];
/// The section that shows what switching the counting on and off adds to each round.
const NOTHING: &str = "nothing";

/// Rank 0 under callgrind, rank 1 as it is, in the folder of the first argument; the second, if
/// there is one, is the program's. Callgrind knows the processor only up to AVX2.
pub(crate) const RANK: &str = r#"if [ "$PMI_RANK" = 0 ]; then
exec valgrind --tool=callgrind --collect-atstart=no --callgrind-out-file="$1/out" --log-file="$1/log" "$1/calls" "$1/words" ${2:+"$2"}
else exec "$1/calls" "$1/words" ${2:+"$2"}; fi"#;

/// Counts every section, on both faces: the names of those of the MPICH face begin with `mpich.`.
///
/// # Errors
/// valgrind or the stage is missing, or the program fails.
pub(super) fn count(top: &Path, stage: &Path) -> Result<Counts> {
    let work = top.join("target/instructions");
    let source = top.join("tests/instructions/calls.c");
    let mut counts = count_built(&work, stage, |calls| {
        let mut compile = Command::new(stage.join("bin/mpicc"));
        compile.arg("-O2").arg("-o").arg(calls).arg(&source);
        compile
    })?;
    let of_mpich = count_built(&work.join("mpich"), stage, |calls| {
        let mut compile = Command::new("cc");
        compile
            .arg("-O2")
            .arg("-I")
            .arg(top.join("tests/instructions/mpich"))
            .arg("-o")
            .arg(calls)
            .arg(&source);
        compile
            .arg(stage.join("lib/libmpi.so.12"))
            .arg(format!("-Wl,-rpath,{}", stage.join("lib").display()));
        compile
    })?;
    counts.extend(of_mpich.into_iter().map(|(name, count)| (format!("{MPICH}{name}"), count)));
    Ok(Counts::new(counts))
}

/// Counts every section of the program that `compile` makes, in a folder of its own.
fn count_built(
    work: &Path,
    stage: &Path,
    compile: impl FnOnce(&Path) -> Command,
) -> Result<BTreeMap<String, f64>> {
    let _ = std::fs::remove_dir_all(work);
    std::fs::create_dir_all(work).with_context(|| format!("cannot make {}", work.display()))?;
    std::fs::write(work.join("words"), [0; 4096])?;
    succeed(&mut compile(&work.join("calls")))?;
    let mut run = Command::new(stage.join("bin/mpiexec"));
    run.args(["-n", "2", "sh", "-c", RANK, "rank"]).arg(work);
    succeed(&mut run)
        .context("is valgrind installed? `make deps` does it (packaging/debian-packages.txt)")?;
    counted(work, ROUNDS)
}

/// Returns the instructions of a call in each section of `rounds` rounds, by the files that
/// callgrind left in a folder.
///
/// # Errors
/// A file cannot be read, or there are no counts.
pub(crate) fn counted(folder: &Path, rounds: f64) -> Result<BTreeMap<String, f64>> {
    let mut totals = BTreeMap::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("out.") {
            totals.extend(total(&std::fs::read_to_string(entry.path())?));
        }
    }
    per_call(totals, rounds)
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

/// Returns name and total of the section that a file of callgrind is about; `None` for the one at
/// the program's end.
fn total(text: &str) -> Option<(String, f64)> {
    let name = text.lines().find_map(|line| line.strip_prefix("desc: Trigger: Client Request: "))?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "))?;
    Some((name.trim().to_owned(), total.trim().parse().ok()?))
}

fn per_call(mut totals: BTreeMap<String, f64>, rounds: f64) -> Result<BTreeMap<String, f64>> {
    let Some(nothing) = totals.remove(NOTHING) else { bail!("callgrind wrote no counts") };
    let calls = |name: &str| if WINDOWED.contains(&name) { rounds * WINDOW } else { rounds };
    let rounded = |count: f64| (count * 10.0).round() / 10.0;
    Ok(totals
        .into_iter()
        .map(|(name, total)| {
            let count = rounded((total - nothing) / calls(&name));
            (name, count)
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_callgrind_is_read() {
        let text = "version: 1\ndesc: Trigger: Client Request: isend\nevents: Ir\ntotals: 64000\n";
        let totals = BTreeMap::from([total(text).expect("a section"), (NOTHING.to_owned(), 640.0)]);
        assert_eq!(per_call(totals, ROUNDS).expect("counts")["isend"], 99.0);
        assert_eq!(total("desc: Trigger: Program termination\ntotals: 5\n"), None);
    }

    #[test]
    fn no_counts_are_an_error() {
        assert!(per_call(BTreeMap::new(), ROUNDS).is_err());
    }
}
