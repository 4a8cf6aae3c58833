//! The development tasks: `cargo xtask NAME`.

mod peers;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The development tasks of Verbena")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Installs MPICH, Open MPI and Intel MPI and measures them against Verbena
    Peers(peers::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::Peers(args) => peers::run(&args),
    }
}
