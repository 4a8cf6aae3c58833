//! The command `verbena`: what the library is and does on this machine (`info`), what is to be
//! mended at a site (`doctor`), how fast the library is (`bench`), which settings are best here
//! (`tune`), what the ranks of a running job do (`top`), and what those of a job did (`trace`).

mod bench;
mod doctor;
mod info;
mod pages;
mod quiet;
mod style;
mod top;
mod trace;
mod tune;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;
use verbena_lab::helper::Helper;

#[derive(Parser)]
#[command(name = "verbena", version = env!("VERSION_AND_COMMIT"), about = "Looks at and measures the MPI library Verbena")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures an MPI library on this machine
    Bench(Box<bench::BenchArgs>),
    /// Prints what a shell needs to complete the words of this command
    Completions(pages::CompletionsArgs),
    /// Looks over this host, and others, and says what to do so that jobs run well
    Doctor(doctor::DoctorArgs),
    #[command(flatten)]
    Helper(Helper),
    /// Says what this installation is and what it finds on this machine
    Info(info::InfoArgs),
    /// One process with which `info` tries the channels
    #[command(hide = true)]
    InfoProbe(info::probe::ProbeArgs),
    /// Prints the manual page
    #[command(hide = true)]
    Manual,
    /// Finds the settings that are best on this machine and writes them into a file
    Tune(Box<tune::command::TuneArgs>),
    /// Shows what the ranks of a running job do and wait for
    Top(top::TopArgs),
    /// Shows what the ranks of a job did, from what VERBENA_TRACE made them write: a timeline for a
    /// viewer, a profile, the components of messages' times
    Trace(trace::TraceArgs),
}

/// Takes commands that are no user's out of what the error of a mistyped one proposes.
fn without_hidden(mut error: clap::Error) -> clap::Error {
    let cli = Cli::command();
    let is_shown = |name: &String| {
        let command = cli.find_subcommand(name);
        command.is_some_and(|command| !command.is_hide_set())
    };
    let kind = ContextKind::SuggestedSubcommand;
    let shown: Vec<String> = match error.remove(kind) {
        Some(ContextValue::Strings(names)) => names.into_iter().filter(is_shown).collect(),
        Some(ContextValue::String(name)) => Some(name).into_iter().filter(is_shown).collect(),
        _ => Vec::new(),
    };
    if !shown.is_empty() {
        error.insert(kind, ContextValue::Strings(shown));
    }
    error
}

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| without_hidden(error).exit());
    let outcome = match &cli.command {
        Command::Bench(args) => bench::run(args),
        Command::Completions(args) => pages::complete(&Cli::command(), args),
        Command::Doctor(args) => doctor::run(args),
        Command::Helper(helper) => helper.run(),
        Command::Info(args) => info::run(args),
        Command::InfoProbe(args) => info::probe::run(args),
        Command::Manual => pages::manual(&Cli::command()),
        Command::Top(args) => top::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Tune(args) => tune::command::run(args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("verbena: {error:#}");
            ExitCode::FAILURE
        }
    }
}
