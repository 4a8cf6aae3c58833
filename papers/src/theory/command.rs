//! The command line of `verbena-papers theory`.

use super::ladder::Ladder;
use super::{predict, text};
use anyhow::{Context, Result, anyhow};
use clap::Args;
use std::path::{Path, PathBuf};
use verbena_lab::output;
use verbena_lab::verbs::outcome::Outcome;
use verbena_sim::figures::{held_out, pairs};
use verbena_sim::verbs::theory;

/// The options of `verbena-papers theory`.
#[derive(Args, Debug)]
pub(crate) struct TheoryArgs {
    /// The result of `verbena bench verbs --json FILE`: calibrates the model on that device
    #[arg(long, value_name = "FILE")]
    device: Option<PathBuf>,
    /// The result of `verbena-papers rc ladder --json FILE` on the same device, to compare with
    #[arg(long, value_name = "FILE", requires = "device")]
    ladder: Option<PathBuf>,
}

/// Runs `verbena-papers theory`.
///
/// # Errors
/// A file cannot be read or lacks a row, or the simulator hung.
pub(crate) fn run(args: &TheoryArgs) -> Result<()> {
    let failed = |reason| anyhow!("the simulator: {reason}");
    for theory in [theory::PAPER_1, theory::PAPER_2] {
        output::print(&text::constants(&theory))?;
    }
    output::print(&text::claims(&held_out::claims().map_err(failed)?))?;
    output::print(&format!("\n{}", pairs().map_err(failed)?))?;
    let Some(device) = &args.device else { return Ok(()) };
    let ladder = args.ladder.as_deref().map(Ladder::read).transpose()?;
    let seen = |variant: &str, point| ladder.as_ref()?.value(variant, point);
    let (theory, all) = predict::predict(&read(device)?, &seen)?;
    output::print(&text::constants(&theory))?;
    output::print(&text::predictions(&all))
}

fn read(path: &Path) -> Result<Outcome> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no result of the bare device", path.display()))
}
