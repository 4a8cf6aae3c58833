//! Random MPI programs on the stage: `tests/programs/anything.c`, whose ranks check all that
//! arrives.

use super::{Turn, ledger};
use anyhow::Result;
use std::path::Path;
use std::time::{Duration, Instant};
use verbena_tests::anything::Run;
use verbena_tests::program;

/// Runs the seeds from this one on, for this long.
///
/// # Errors
/// A run that failed cannot be kept.
pub(super) fn turn(top: &Path, seed: u64, time: Duration) -> Result<Turn> {
    let program = program("anything");
    let (end, mut turn) = (Instant::now() + time, Turn::default());
    while Instant::now() < end {
        let run = Run::of_seed(seed + turn.tried);
        turn.tried += 1;
        if let Err(why) = run.try_out(&program, &[]) {
            ledger::keep(&top.join("tests/programs/anything.seeds"), &run.to_string())?;
            turn.findings.push(format!("{run}: see tests/programs/anything.seeds\n{why}"));
        }
    }
    Ok(turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runs of a turn differ in everything that a run has.
    #[test]
    fn runs_go_over_every_channel_with_every_number_of_ranks() {
        let runs: Vec<Run> = (0..200).map(Run::of_seed).collect();
        for ranks in 2..=4 {
            for channels in verbena_tests::anything::CHANNELS {
                assert!(runs.iter().any(|run| run.ranks == ranks && run.channels == channels));
            }
        }
    }
}
