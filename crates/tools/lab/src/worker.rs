//! One rank of a benchmark: the hidden command `bench-worker`, started by an `mpiexec`.
//!
//! Rank 0 writes one JSON document a line to standard output: first the library's identity, then
//! each point as soon as it is measured, so that the parent still has these results when a library
//! hangs or dies.

use super::metric::{Family, Point};
use super::timing::Effort;
use super::{collective, discovery, everyone, few_talk, files, kernels, mixed, one_sided, overlap};
use super::{pair, pairs, threads};
use crate::mpi::{Identity, World};
use crate::witness::Witness;
use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The worker's command line, written by [`super::job`].
#[derive(Args, Debug)]
pub struct WorkerArgs {
    /// The MPI library to open
    #[arg(long)]
    library: PathBuf,
    /// Time of all repetitions of one point, in milliseconds
    #[arg(long, default_value_t = 60)]
    point_ms: u64,
    /// Repetitions of one point
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Messages in flight in the window tests
    #[arg(long, default_value_t = 64)]
    window: usize,
    /// Leave the buffers of pairs as they are between messages
    #[arg(long)]
    unwritten: bool,
    /// The points to measure, as in latency:8,barrier; none: initialise, meet in a barrier, end
    #[arg(long, value_delimiter = ',')]
    points: Vec<Point>,
}

/// A line of rank 0's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// MPI is up.
    Library(Identity),
    /// A point is measured.
    Point {
        /// The point that was measured.
        point: Point,
        /// The values of the repetitions, in the metric's unit.
        samples: Vec<f64>,
        /// Iterations a repetition.
        iterations: u64,
        /// The circumstances, if they are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        witness: Option<Witness>,
    },
    /// A point could not be measured; the worker goes on with the next.
    Failed {
        /// The point that failed.
        point: Point,
        /// The reason of the failure.
        reason: String,
    },
}

/// Runs one rank.
///
/// # Errors
/// The library cannot be opened or fails, a point makes no sense here, or standard output is
/// closed.
pub fn run(args: &WorkerArgs) -> Result<()> {
    // A rank whose launcher was killed would otherwise spin for ever on a core.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
        .context("cannot tie this rank to its launcher")?;
    let effort = Effort {
        point: Duration::from_millis(args.point_ms),
        repetitions: args.repetitions.max(1),
        window: args.window.max(1),
    };
    let threads = args.points.iter().any(|point| point.metric.family() == Family::Threads);
    let mut world = World::init(&args.library, threads)?;
    if world.rank() == 0 && !args.points.is_empty() {
        emit(&Line::Library(world.identity()?))?;
    }
    if !args.points.is_empty() {
        world.start_counters()?;
    }
    for &point in &args.points {
        let line = measure(&world, point, effort, args.unwritten)?;
        if world.rank() == 0 {
            emit(&line)?;
        }
    }
    world.barrier()?;
    world.finalize()
}

fn measure(world: &World, point: Point, effort: Effort, unwritten: bool) -> Result<Line> {
    let measured = match point.metric.family() {
        Family::Pair | Family::Threads | Family::Overlap if world.size() != 2 => {
            let reason = format!("measured between two ranks, not {}", world.size());
            return Ok(Line::Failed { point, reason });
        }
        Family::OneSided if world.size() < 2 => {
            let reason = "measured between ranks: start two at least".into();
            return Ok(Line::Failed { point, reason });
        }
        Family::Pair => pair::run(world, point, effort, unwritten),
        Family::Pairs => pairs::run(world, point, effort),
        Family::Everyone => everyone::run(world, point),
        Family::Threads => threads::run(world, point, effort),
        Family::Collective => collective::run(world, point, effort),
        Family::Kernel => match kernels::refusal(point, world.size() as usize) {
            Some(reason) => return Ok(Line::Failed { point, reason }),
            None => kernels::run(world, point, effort),
        },
        Family::Mixed => mixed::run(world, point, effort),
        Family::Discovery => discovery::run(world, point, effort),
        Family::FewTalk => few_talk::run(world, point, effort),
        Family::Overlap => overlap::run(world, point, effort),
        Family::OneSided => one_sided::run(world, point, effort),
        Family::File => files::run(world, point, effort),
        Family::Startup | Family::Floor => bail!("{point} is not measured by a rank"),
    };
    let (samples, iterations) = measured.with_context(|| format!("measuring {point}"))?;
    Ok(Line::Point { point, samples, iterations, witness: world.take_witness() })
}

fn emit(line: &Line) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(line)?)
        .and_then(|()| out.flush())
        .context("cannot write a result")
}
