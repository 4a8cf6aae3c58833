//! The command line of `verbena-papers ud`.

use super::experiments::Name;
use crate::comparison::CommonOptions;
use crate::model::Model;
use anyhow::Result;
use clap::{Args, ValueEnum};
use verbena_sim::figures::everyone;

/// The options of `verbena-papers ud`.
#[derive(Args, Debug)]
pub(crate) struct UdArgs {
    /// Experiments to run [default: all]
    #[arg(value_enum)]
    experiments: Vec<Name>,
    /// Ranks of the jobs in which everyone speaks to everyone
    #[arg(long, value_delimiter = ',', default_value = "2,4,8,16")]
    ranks: Vec<usize>,
    #[command(flatten)]
    common: CommonOptions,
    /// Print the simulator's figures for up to 4,096 ranks below
    #[arg(long)]
    model: bool,
    /// Measure nothing: only the simulator's figures
    #[arg(long, requires = "model")]
    model_only: bool,
}

/// The line above the tables of the model.
const TITLE: &str =
    "The simulator's figures: the real channels over simulated devices, nothing measured here";

/// Runs `verbena-papers ud`.
///
/// # Errors
/// No nodes are named, something needed is missing, a file cannot be written, or points could not
/// be measured.
pub(crate) fn run(args: &UdArgs) -> Result<()> {
    let names = if args.experiments.is_empty() { Name::value_variants() } else { &args.experiments };
    let names = if args.model_only { &[] } else { names };
    let model = args.model.then(|| Model::new(TITLE, everyone::tables())).transpose()?;
    let all = names.iter().map(|name| name.experiment(&args.ranks)).collect();
    args.common.run_between_nodes(all, model)
}
