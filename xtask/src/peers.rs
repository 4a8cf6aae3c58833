//! `cargo xtask peers`: Verbena against the other MPI libraries, on this machine, in one command.
//!
//! It builds and stages Verbena, installs the peers' PyPI wheels into `target/peers/`, and runs the
//! same worker (`verbena bench`) with each library under that library's own launcher. The libraries
//! take turns round by round, in an order that rotates, because a machine's speed drifts from
//! minute to minute; what counts are the ratios of medians over the rounds. A floor (a cache line's
//! way between two processors, `memcpy`) is measured in the same rounds.
//!
//! | module | job |
//! | --- | --- |
//! | [`contender`] | the libraries: where they come from, their launchers and environments |
//! | [`install`] | wheels into virtual environments |
//! | [`plan`] | which points at which numbers of ranks |
//! | [`distance`] | how far Verbena is from what the machine can do |
//! | [`measure`], [`report`] | one contender's turn, and its report |
//! | [`summary`] | medians and ratios |
//! | [`render`] | tables for the terminal and in Markdown |

pub(crate) mod contender;
mod distance;
pub(crate) mod install;
pub(crate) mod measure;
mod plan;
pub(crate) mod render;
pub(crate) mod report;
pub(crate) mod summary;

use anyhow::{Context, Result, bail};
use contender::Contender;
use measure::Turn;
use plan::Part;
use std::path::{Path, PathBuf};
use std::process::Command;
use summary::Summary;

/// The options of `cargo xtask peers`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Turns of each library
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// One round, 10 ms a point: shows that everything works, not who is faster
    #[arg(long)]
    quick: bool,
    /// Numbers of ranks
    #[arg(long, value_delimiter = ',', default_value = "2")]
    ranks: Vec<usize>,
    /// Only these contenders, as in mpich,intel (Verbena always takes part)
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these points of those that would be measured, as in put:8,fence
    #[arg(long, value_delimiter = ',')]
    points: Vec<String>,
    /// The longest that one point may take, in seconds
    #[arg(long, default_value_t = 20.0)]
    limit_s: f64,
    /// Spinning processes beside each library while it is measured [default: 0, for --page as many
    /// as cores]
    #[arg(long, value_name = "N")]
    busy: Option<usize>,
    /// Measure what `cargo xtask benchmarks-page` shows: more sizes, 2, 4 and 8 ranks, and 4 beside
    /// busy processes
    #[arg(long, conflicts_with = "ranks")]
    page: bool,
    /// Install the peers and measure nothing; fail if one cannot be installed
    #[arg(long)]
    install_only: bool,
    /// An installation of Verbena to measure [default: build this tree in release and stage it]
    #[arg(long)]
    stage: Option<PathBuf>,
    /// The `verbena` program that does the measuring [default: the stage's]
    #[arg(long)]
    worker: Option<PathBuf>,
    /// Add the rounds to the result that an earlier run wrote with --json, of the same libraries:
    /// for one that was never measured in the mode of the machine in which the others were
    #[arg(long, value_name = "FILE")]
    more: Option<PathBuf>,
    /// Write everything as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write everything as Markdown to FILE, with the distance to the floor
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Runs the task.
///
/// # Errors
/// Verbena cannot be built, or a file cannot be written. A peer that fails is reported in its
/// cells.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.rounds == 0 || args.ranks.iter().any(|&ranks| ranks < 2) {
        bail!("there must be at least one round, and at least two ranks");
    }
    if parts(args).iter().all(|part| part.points.is_empty()) {
        bail!("none of the points of --points is measured at these ranks");
    }
    let top = top();
    let peers = || {
        let wanted =
            |peer: &contender::Peer| args.only.is_empty() || args.only.iter().any(|n| n == peer.name);
        let peers = contender::peers().into_iter().filter(wanted);
        peers.map(|peer| install::install(&peer, &top.join("target/peers"))).collect::<Vec<_>>()
    };
    if args.install_only {
        return all_installed(&peers());
    }
    let stage = args.stage.clone().map_or_else(|| build_stage(&top), Ok)?;
    let worker = args.worker.clone().unwrap_or_else(|| stage.join("bin/verbena"));
    let worker =
        worker.canonicalize().with_context(|| format!("there is no program {}", worker.display()))?;
    let mut contenders = vec![contender::ours(&stage)];
    contenders.extend(peers());
    let summary = rounds(args, &worker, &contenders)?;
    write(args, &summary)?;
    print!("{}", render::terminal(&summary));
    Ok(())
}

fn all_installed(peers: &[Contender]) -> Result<()> {
    for peer in peers {
        if let Err(reason) = &peer.setup {
            bail!("cannot install {}: {reason}", peer.name);
        }
    }
    Ok(())
}

fn rounds(args: &Args, worker: &Path, contenders: &[Contender]) -> Result<Summary> {
    let rounds = if args.quick { 1 } else { args.rounds };
    let mut summary = Summary::new(contenders, rounds);
    if let Some(path) = &args.more {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let earlier: Summary = serde_json::from_str(&text)
            .with_context(|| format!("{} is no result of cargo xtask peers", path.display()))?;
        summary = earlier.continued(summary);
    }
    let point_ms = if args.quick { 10 } else { 60 };
    let parts = parts(args);
    for round in 0..rounds {
        let turn = Turn { worker, point_ms, limit_s: args.limit_s };
        summary.machine = turn.floor(&mut summary.floor)?;
        for step in 0..contenders.len() {
            let contender = &contenders[(round + step) % contenders.len()];
            eprintln!("round {} of {rounds}: {}", round + 1, contender.name);
            parts.iter().for_each(|part| turn.take(contender, part, &mut summary));
        }
    }
    Ok(summary)
}

fn parts(args: &Args) -> Vec<Part> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let mut parts = match args.page {
        true => plan::of_page(args.busy.unwrap_or_else(cores)),
        false => plan::usual(&args.ranks, args.busy.unwrap_or(0)),
    };
    let is_wanted = |point: &str| args.points.is_empty() || args.points.iter().any(|wanted| wanted == point);
    parts.iter_mut().for_each(|part| part.points.retain(|point| is_wanted(point)));
    parts
}

fn write(args: &Args, summary: &Summary) -> Result<()> {
    let put = |path: &Path, text: String| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    if let Some(path) = &args.json {
        put(path, serde_json::to_string_pretty(summary)?)?;
    }
    args.markdown.as_ref().map_or(Ok(()), |path| put(path, render::markdown(summary)))
}

/// The repository's top folder.
pub(crate) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Builds Verbena in release and puts it into `target/stage`, as `make stage` does.
///
/// # Errors
/// It cannot be built or installed.
pub(crate) fn build_stage(top: &Path) -> Result<PathBuf> {
    let stage = top.join("target/stage");
    let mut command = Command::new("make");
    command.args(["--no-print-directory", "stage"]).current_dir(top);
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(stage)
}
