//! `verbena bench verbs`: the bare verbs device, between two ranks.

use super::{BenchArgs, limit, progress, write_json};
use anyhow::{Result, ensure};
use verbena_lab::verbs::command::Run;
use verbena_lab::verbs::show;
use verbena_lab::{output, place};

/// Runs `verbena bench verbs`.
///
/// # Errors
/// There is no device, something needed is missing, or a rank failed.
pub(super) fn run(args: &BenchArgs) -> Result<()> {
    ensure!(args.ranks == [2], "the bare device is measured between 2 ranks");
    ensure!(
        args.sizes.is_empty() && args.rounds == 1 && args.busy == 0 && args.library.is_none(),
        "--sizes, --rounds, --busy and --library have no meaning for the bare device"
    );
    let run = Run {
        mpiexec: args.mpiexec.clone().map_or_else(place::mpiexec, Ok)?,
        launcher_args: args.launcher_args.clone(),
        environment: Vec::new(),
        point_ms: args.point_ms(),
        repetitions: args.repetitions,
        quick: args.quick,
        only: Vec::new(),
        turn: 0,
        limit: limit(args)?,
    };
    let outcome = run.measure(&mut progress())?;
    if !write_json(args, &outcome)? {
        output::print(&show::render(&outcome))?;
    }
    Ok(())
}
