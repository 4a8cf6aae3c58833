//! The command line of `verbena-papers bulk`.

use super::experiments::Name;
use crate::comparison::CommonOptions;
use anyhow::Result;
use clap::{Args, ValueEnum};

/// The options of `verbena-papers bulk`.
#[derive(Args, Debug)]
pub(crate) struct BulkArgs {
    /// Experiments to run [default: all]
    #[arg(value_enum)]
    experiments: Vec<Name>,
    #[command(flatten)]
    common: CommonOptions,
}

/// Runs `verbena-papers bulk`; without `--hosts` only what goes on within this machine.
///
/// # Errors
/// Something needed is missing, a file cannot be written, or points could not be measured.
pub(crate) fn run(args: &BulkArgs) -> Result<()> {
    let names = if args.experiments.is_empty() { Name::value_variants() } else { &args.experiments };
    let all = names.iter().map(|name| name.experiment()).collect();
    args.common.run(all, None)
}
