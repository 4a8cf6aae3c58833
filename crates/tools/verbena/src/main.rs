//! The command `verbena`: what the library is and does on this machine (`info`), how fast it is
//! (`bench`), which settings are best here (`tune`), what the ranks of a running job do (`top`),
//! and where the time of a message goes (`trace`).

mod bench;
mod info;
mod top;
mod trace;
mod tune;

use clap::{Parser, Subcommand};
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
    #[command(flatten)]
    Helper(Helper),
    /// Says what this installation is and what it finds on this machine
    Info(info::InfoArgs),
    /// One process with which `info` tries the channels
    #[command(hide = true)]
    InfoProbe(info::probe::ProbeArgs),
    /// Finds the settings that are best on this machine and writes them into a file
    Tune(Box<tune::command::TuneArgs>),
    /// Shows what the ranks of a running job do and wait for
    Top(top::TopArgs),
    /// Breaks the time of messages down into its components, from what VERBENA_TRACE made the ranks
    /// write
    Trace(trace::TraceArgs),
}

fn main() -> ExitCode {
    let outcome = match &Cli::parse().command {
        Command::Bench(args) => bench::run(args),
        Command::Helper(helper) => helper.run(),
        Command::Info(args) => info::run(args),
        Command::InfoProbe(args) => info::probe::run(args),
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
