//! The command line of `verbena-papers polling`.

use super::experiments::Name;
use crate::comparison::CommonOptions;
use crate::model::Model;
use anyhow::Result;
use clap::{Args, ValueEnum};
use verbena_sim::figures::{Table, polling};

/// The options of `verbena-papers polling`.
#[derive(Args, Debug)]
pub(crate) struct PollingArgs {
    /// Experiments to run [default: all]
    #[arg(value_enum)]
    experiments: Vec<Name>,
    #[command(flatten)]
    common: CommonOptions,
    /// Print the figures of the model of the paper's costs below
    #[arg(long)]
    model: bool,
    /// Measure nothing: only the model
    #[arg(long, requires = "model")]
    model_only: bool,
}

/// The line above the tables of the model.
const TITLE: &str = "A model of paper 3's costs, nothing measured here";

/// Runs `verbena-papers polling`.
///
/// # Errors
/// No nodes are named, something needed is missing, a file cannot be written, or points could not
/// be measured.
pub(crate) fn run(args: &PollingArgs) -> Result<()> {
    let names = if args.experiments.is_empty() { Name::value_variants() } else { &args.experiments };
    let names = if args.model_only { &[] } else { names };
    let model = args.model.then(|| Model::new(TITLE, figures())).transpose()?;
    let all = names.iter().map(|name| name.experiment()).collect();
    args.common.run_between_nodes(all, model)
}

fn figures() -> Result<Vec<Table>, String> {
    let all = [polling::ratios, polling::discovery, polling::histories, polling::claims, polling::good_rates];
    all.into_iter().map(|figure| figure()).collect()
}
