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

fn main() -> ExitCode {
    let outcome = match &Cli::parse().command {
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
