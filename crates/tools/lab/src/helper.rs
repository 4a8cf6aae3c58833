//! The hidden commands of a program that measures: it starts itself as a rank, as a partner and as
//! a load.

use crate::{busy, floor, verbs, worker};
use anyhow::Result;
use clap::Subcommand;

/// A program that measures starts itself again in one of these roles.
#[derive(Subcommand)]
pub enum Helper {
    /// One rank of a benchmark
    #[command(hide = true)]
    BenchWorker(worker::WorkerArgs),
    /// One rank of the bare device's program
    #[command(hide = true)]
    BenchVerbs(verbs::worker::VerbsWorkerArgs),
    /// The second process of a measurement
    #[command(hide = true)]
    FloorPartner(floor::partner::PartnerArgs),
    /// A process that only spins
    #[command(hide = true)]
    Spin,
}

impl Helper {
    /// Runs it to its end.
    ///
    /// # Errors
    /// What it was started for cannot be done here.
    pub fn run(&self) -> Result<()> {
        match self {
            Helper::BenchWorker(args) => worker::run(args),
            Helper::BenchVerbs(args) => verbs::worker::run(args),
            Helper::FloorPartner(args) => floor::partner::run(args),
            Helper::Spin => busy::spin(),
        }
    }
}
