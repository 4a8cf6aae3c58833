//! Development tasks: `cargo xtask <task>`.

mod generate;
mod peers;
mod tidy;

use clap::{Parser, Subcommand};

/// Development tasks of Verbena.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Make the header, the entry points, the constants and the coverage page from the API table.
    Generate {
        /// Write nothing; fail if a file is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Install MPICH, Open MPI and Intel MPI and measure them against Verbena.
    Peers(peers::Args),
    /// Check what a machine can check of the house rules (`xtask/tidy.toml`).
    Tidy,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Generate { check } => generate::run(check),
        Task::Peers(args) => peers::run(&args),
        Task::Tidy => tidy::run(),
    }
}
