//! `verbena bench verbs`: the bare verbs device, between two ranks.

use super::{BenchArgs, Progress, limit, write_json};
use crate::info::verbs::describe;
use anyhow::{Result, bail, ensure};
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
        args.sizes.is_empty()
            && args.rounds.is_none_or(|rounds| rounds == 1)
            && args.busy == 0
            && args.library.is_none(),
        "--sizes, --rounds, --busy and --library have no meaning for the bare device"
    );
    // On other hosts it is the ranks that look.
    if args.launcher_args.is_empty() && !describe().ports.iter().any(|port| port.chosen) {
        bail!(
            "the bare device cannot be measured: it takes InfiniBand or RoCE devices on two hosts, and here there is \
             none that could be used (verbena info says why); name hosts that have them by --launcher-arg=-hosts \
             --launcher-arg=A,B"
        );
    }
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
    let mut progress = Progress::new(0);
    let outcome = run.measure(&mut |text| progress.tell(text))?;
    drop(progress);
    if !write_json(args, &outcome)? {
        output::print(&show::render(&outcome))?;
    }
    Ok(())
}
