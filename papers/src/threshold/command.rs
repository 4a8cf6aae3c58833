//! The command line of `verbena-papers threshold`.

use super::ways;
use crate::comparison::CommonOptions;
use anyhow::Result;
use clap::{Args, ValueEnum};
use verbena_lab::metric::parse_size;

/// The experiment to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Latency and bandwidth by size
    Sizes,
    /// Time that a long transfer takes from a computation beside it
    Overlap,
}

/// The options of `verbena-papers threshold`.
#[derive(Args, Debug)]
pub(crate) struct ThresholdArgs {
    /// Experiments to run [default: all]
    #[arg(value_enum)]
    experiments: Vec<Name>,
    /// Message sizes, as in 1K,64K,1M (powers of 1024)
    #[arg(long, value_delimiter = ',', value_parser = parse_size,
          default_value = "64,512,1K,2K,4K,8K,16K,32K,64K,256K,1M,4M")]
    sizes: Vec<usize>,
    #[command(flatten)]
    common: CommonOptions,
}

/// Runs `verbena-papers threshold`.
///
/// # Errors
/// Something needed is missing, a file cannot be written, or points could not be measured.
pub(crate) fn run(args: &ThresholdArgs) -> Result<()> {
    let names = if args.experiments.is_empty() { Name::value_variants() } else { &args.experiments };
    let experiment = |name: &Name| match name {
        Name::Sizes => ways::sizes(&args.sizes),
        Name::Overlap => ways::overlap(),
    };
    args.common.run(names.iter().map(experiment).collect(), None)
}
