//! The C test programs, compiled and run one by one.

use super::{Ground, output, tail};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of `tests/programs`, and its number of ranks.
pub(super) struct Program {
    pub name: &'static str,
    pub ranks: u32,
    /// The fault that the program commits ([`Canary`]).
    fault: Option<&'static str>,
}

const fn program(name: &'static str, ranks: u32) -> Program {
    Program { name, ranks, fault: None }
}

/// A fault that a check must find, or it finds nothing elsewhere either: one of
/// `tests/programs/faulty.c`.
pub(super) struct Canary {
    /// The name of the fault.
    pub fault: &'static str,
    /// The words of the check's report.
    pub report: &'static str,
}

/// The programs that run through by themselves: every part of the library, threads included.
pub(super) const PROGRAMS: &[Program] = &[
    program("hello", 2),
    program("point", 2),
    program("collectives", 3),
    program("collective_forms", 2),
    program("datatypes", 2),
    program("objects", 2),
    program("communicators", 3),
    program("persistent", 2),
    program("partitioned", 2),
    program("neighbor", 4),
    program("reductions", 2),
    program("topologies", 4),
    program("sessions", 2),
    program("threads", 2),
    program("stress", 2),
];

/// A job is ended after this many seconds: a hang.
const SECONDS_MAX: &str = "600";

/// Returns the output of a run, if something is wrong with it.
pub(super) fn trouble(run: &mut Command, name: &str, marks: &[&str]) -> Result<Option<String>> {
    let output = run.output().with_context(|| format!("cannot run {run:?}"))?;
    let text = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    let reported = marks.iter().any(|mark| text.contains(mark));
    let ended_well = output.status.success() && text.contains(&format!("{name}: ok with"));
    Ok((reported || !ended_well).then(|| format!("{run:?}: {}\n{}", output.status, tail(&text))))
}

impl Program {
    /// Compiles it; `more` is for the compiler and the linker.
    pub(super) fn compile(
        &self,
        ground: &Ground,
        into: &Path,
        compiler: &Path,
        more: &[String],
    ) -> Result<PathBuf> {
        let program = into.join(self.name);
        let source = ground.top.join("tests/programs").join(format!("{}.c", self.name));
        let mut compile = Command::new(compiler);
        compile.args(["-O1", "-g", "-std=c11", "-D_GNU_SOURCE", "-o"]).arg(&program).arg(source).args(more);
        output(compile.arg("-lpthread"))?;
        Ok(program)
    }

    /// A command that runs it under the staged `mpiexec`, by way of `under` if that is not empty.
    pub(super) fn job(&self, ground: &Ground, under: &[String], program: &Path) -> Result<Command> {
        let mut job = Command::new("timeout");
        job.args(["-k", "5", SECONDS_MAX]).arg(ground.staged("bin/mpiexec")?);
        job.args(["-n", &self.ranks.to_string()]).args(under).arg(program);
        job.envs(self.fault.map(|fault| ("FAULT", fault)));
        Ok(job)
    }
}

/// Runs the program with a fault, then all programs, and says how many passed.
///
/// # Errors
/// The fault was not found, or the programs that did not pass.
pub(super) fn run_all(canary: &Canary, run: impl Fn(&Program) -> Result<Option<String>>) -> Result<String> {
    let faulty = Program { fault: Some(canary.fault), ..program("faulty", 2) };
    let found = run(&faulty)?.unwrap_or_default();
    ensure!(
        found.contains(canary.report),
        "the fault `{}` of faulty.c was not found, so this check finds nothing:\n{found}",
        canary.fault
    );
    println!("   faulty ({}): found, as it must be", canary.fault);
    let mut troubles = Vec::new();
    for program in PROGRAMS {
        let trouble = run(program)?;
        println!(
            "   {} with {} ranks: {}",
            program.name,
            program.ranks,
            if trouble.is_none() { "nothing found" } else { "TROUBLE" }
        );
        troubles.extend(trouble);
    }
    ensure!(
        troubles.is_empty(),
        "{} of {} programs\n{}",
        troubles.len(),
        PROGRAMS.len(),
        troubles.join("\n\n")
    );
    Ok(format!("{} programs, nothing found", PROGRAMS.len()))
}
