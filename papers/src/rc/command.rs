//! The command line of `verbena-papers rc`.

use super::experiments::Name;
use crate::comparison::CommonOptions;
use crate::model::Model;
use anyhow::Result;
use clap::{Args, ValueEnum};
use verbena_sim::figures::{Table, set, tables};

/// The options of `verbena-papers rc`.
#[derive(Args, Debug)]
pub(crate) struct RcArgs {
    /// Experiments to run [default: all]
    #[arg(value_enum)]
    experiments: Vec<Name>,
    #[command(flatten)]
    common: CommonOptions,
    /// Print the figures of the simulator's cost model below
    #[arg(long)]
    model: bool,
}

/// The line above the tables of the model.
const TITLE: &str = "The simulator's figures: a cost model of the papers' device, nothing measured here";

/// Runs `verbena-papers rc`.
///
/// # Errors
/// No nodes are named, something needed is missing, a file cannot be written, or points could not
/// be measured.
pub(crate) fn run(args: &RcArgs) -> Result<()> {
    let names = if args.experiments.is_empty() { Name::value_variants() } else { &args.experiments };
    let model = args.model.then(|| Model::new(TITLE, figures())).transpose()?;
    let all = names.iter().map(|name| name.experiment()).collect();
    args.common.run_between_nodes(all, model)
}

/// The figures of papers 1 and 2, and that of the polling set.
fn figures() -> Result<Vec<Table>, String> {
    let mut all = tables()?;
    all.push(set::polling_sets()?);
    Ok(all)
}
