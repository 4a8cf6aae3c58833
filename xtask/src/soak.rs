//! `cargo xtask soak`: looks for failures that no test has found yet, for `--minutes`, and keeps
//! what it finds.
//!
//! Three parts take turns: fuzzers on everything that comes from outside (`fuzz/`), the simulator,
//! and random MPI programs on the stage (`tests/programs/anything.c`). All seeds come from the
//! clock, so that each run tries new ones. A failure becomes a test: an input in `fuzz/corpus`, a
//! line in `crates/tools/sim/seeds.txt` or in `tests/programs/anything.seeds`. The ordinary tests
//! replay all of these.

mod fuzzers;
mod ledger;
mod programs;
mod simulator;

use anyhow::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The options of `cargo xtask soak`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The time in minutes, after everything is built
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Only this part; may be repeated
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Do not use libFuzzer, even where cargo-fuzz is installed
    #[arg(long)]
    without_libfuzzer: bool,
}

/// The parts of the soak take turns.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Fuzzers on what comes from outside
    Fuzzers,
    /// Simulated clusters
    Simulator,
    /// Random MPI programs on the stage
    Programs,
}

/// The duration of a part's turn.
const TURN: Duration = Duration::from_secs(30);

/// The outcome of a turn.
#[derive(Debug, Default)]
struct Turn {
    /// Inputs, seeds or programs that were tried.
    tried: u64,
    /// The failures, in words, with where they are kept.
    findings: Vec<String>,
}

/// Runs the task.
///
/// # Errors
/// Something cannot be built, run or written.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default();
    let mut soak = Soak::prepare(args, top)?;
    let end = Instant::now() + Duration::from_secs(args.minutes * 60);
    let mut totals: BTreeMap<Part, (u64, Duration)> = BTreeMap::new();
    let mut findings = Vec::new();
    for part in soak.parts.clone().into_iter().cycle() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let start = Instant::now();
        let turn = soak.turn(part, left.min(TURN))?;
        let total = totals.entry(part).or_default();
        *total = (total.0 + turn.tried, total.1 + start.elapsed());
        turn.findings.iter().for_each(|finding| println!("found: {finding}"));
        findings.extend(turn.findings);
    }
    for (part, (tried, time)) in totals {
        println!("{part:?}: {tried} tried in {} s", time.as_secs());
    }
    println!("{} findings", findings.len());
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Soak {
    top: PathBuf,
    parts: Vec<Part>,
    fuzzers: fuzzers::Fuzzers,
    simulator: simulator::Simulator,
}

impl Soak {
    fn prepare(args: &Args, top: PathBuf) -> Result<Soak> {
        let all = [Part::Fuzzers, Part::Simulator, Part::Programs];
        let parts: Vec<Part> =
            all.into_iter().filter(|part| args.only.is_empty() || args.only.contains(part)).collect();
        let fuzzers = match parts.contains(&Part::Fuzzers) {
            true => fuzzers::Fuzzers::prepare(&top, args.without_libfuzzer)?,
            false => fuzzers::Fuzzers::default(),
        };
        Ok(Soak { top, parts, fuzzers, simulator: simulator::Simulator::default() })
    }

    fn turn(&mut self, part: Part, time: Duration) -> Result<Turn> {
        let seed = clock();
        match part {
            Part::Fuzzers => self.fuzzers.turn(&self.top, seed, time),
            Part::Simulator => self.simulator.turn(&self.top, seed),
            Part::Programs => programs::turn(&self.top, seed, time),
        }
    }
}

/// A seed that no other run has: microseconds since 1970, which leave room to count on.
fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64)
}
