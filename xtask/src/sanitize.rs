//! `cargo xtask sanitize`: the checks that see undefined behaviour while code runs.
//!
//! | step | what it runs |
//! | --- | --- |
//! | `miri` | the parts without system calls, interpreted by Miri ([`miri`]) |
//! | `address`, `thread` | the C test programs on a library built with a sanitizer ([`instrumented`]) |
//! | `memcheck` | the C test programs on the staged library under valgrind ([`memcheck`]) |
//!
//! Each step prints what it ran and what was found. One that lacks something fails and says what to
//! install; nothing is skipped silently.

mod instrumented;
mod memcheck;
mod miri;
mod programs;

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The options of `cargo xtask sanitize`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only these steps
    #[arg(long, value_delimiter = ',')]
    only: Vec<Step>,
    /// The toolchain for Miri and the sanitizers, a nightly one
    #[arg(long, default_value = "nightly")]
    toolchain: String,
    /// The installation whose mpiexec runs the programs, and which memcheck looks at
    #[arg(long, default_value = "target/stage")]
    stage: PathBuf,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Step {
    /// Miri on the parts without system calls
    Miri,
    /// AddressSanitizer
    Address,
    /// ThreadSanitizer
    Thread,
    /// valgrind's memcheck
    Memcheck,
}

const STEPS: [Step; 4] = [Step::Miri, Step::Address, Step::Thread, Step::Memcheck];

/// The place where the steps run.
struct Ground {
    top: PathBuf,
    stage: PathBuf,
    toolchain: String,
}

/// Runs the steps, all of them even if one fails.
///
/// # Errors
/// A step found something, or could not run.
pub(crate) fn run(args: &Args) -> Result<()> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default();
    let ground = Ground { stage: top.join(&args.stage), toolchain: args.toolchain.clone(), top };
    let mut failed = Vec::new();
    for step in STEPS.into_iter().filter(|step| args.only.is_empty() || args.only.contains(step)) {
        println!("== {step:?}");
        match ground.take(step) {
            Ok(said) => println!("{step:?}: {said}"),
            Err(error) => {
                println!("{step:?} failed: {error:#}");
                failed.push(format!("{step:?}"));
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

impl Ground {
    fn take(&self, step: Step) -> Result<String> {
        match step {
            Step::Miri => miri::run(self),
            Step::Address => instrumented::run(self, instrumented::Sanitizer::Address),
            Step::Thread => instrumented::run(self, instrumented::Sanitizer::Thread),
            Step::Memcheck => memcheck::run(self),
        }
    }

    /// Returns cargo of the nightly toolchain, in the tree.
    fn cargo(&self) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.arg(format!("+{}", self.toolchain)).current_dir(&self.top);
        // The surrounding cargo's variables for its own toolchain must not reach this one.
        ["RUSTUP_TOOLCHAIN", "RUSTC", "RUSTFLAGS", "CARGO"].iter().for_each(|name| {
            cargo.env_remove(name);
        });
        cargo
    }

    /// Fails unless the toolchain has these components.
    fn demand_components(&self, names: &[&str]) -> Result<()> {
        let install = format!("rustup toolchain install {} --component {}", self.toolchain, names.join(","));
        let mut rustup = Command::new("rustup");
        rustup.args(["component", "list", "--installed", "--toolchain", &self.toolchain]);
        let listed = output(&mut rustup).with_context(|| format!("install it: {install}"))?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        match names.iter().find(|name| !listed.lines().any(|line| line.starts_with(**name))) {
            Some(name) => bail!("the toolchain {} lacks {name}. Install it: {install}", self.toolchain),
            None => Ok(()),
        }
    }

    /// A file of the stage.
    fn staged(&self, path: &str) -> Result<PathBuf> {
        let file = self.stage.join(path);
        ensure!(file.exists(), "{} is missing. Make it: `make stage`", file.display());
        Ok(file)
    }
}

/// Runs a command that must succeed.
fn output(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {}\n{}", output.status, tail(&stderr));
    Ok(output)
}

/// The last lines of a long text.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}
