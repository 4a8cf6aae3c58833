//! The command `verbena-fuzz`: drives targets with random and mutated inputs, without libFuzzer.

use anyhow::{Context, Result};
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use verbena_fuzz::driver::{Until, drive_and_keep};
use verbena_fuzz::{Target, all, corpus, find};

/// Looks for inputs that break what must hold of everything that comes from outside.
#[derive(Parser)]
struct Arguments {
    /// The targets; all if none is named.
    targets: Vec<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Number from which the inputs are made.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder of inputs; one that breaks a target is written there.
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Lists the targets and does nothing else.
    #[arg(long)]
    list: bool,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if arguments.list {
        all().iter().for_each(|target| println!("{} - {}", target.name, target.about));
        return Ok(ExitCode::SUCCESS);
    }
    let named = |name: &String| find(name).with_context(|| format!("there is no target {name}; see --list"));
    let targets: Vec<&Target> = match arguments.targets.is_empty() {
        true => all().iter().collect(),
        false => arguments.targets.iter().map(named).collect::<Result<_>>()?,
    };
    let mut whole = true;
    for target in targets {
        whole &= run(target, &arguments)?;
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns whether the target held.
fn run(target: &Target, arguments: &Arguments) -> Result<bool> {
    let folder = arguments.corpus.clone().unwrap_or_else(corpus::folder);
    let until = Until::after(Duration::from_secs(arguments.seconds));
    let (report, file) = drive_and_keep(target, &folder, arguments.seed, until)?;
    match &file {
        None => println!("{}: {} inputs, all held", target.name, report.inputs),
        Some(file) => println!("{}: broken after {} inputs: {}", target.name, report.inputs, file.display()),
    }
    Ok(file.is_none())
}
