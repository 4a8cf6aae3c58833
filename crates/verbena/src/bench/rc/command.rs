//! The command line of `verbena bench rc`.

use super::experiment::{Experiment, Name};
use super::goals::goals;
use super::quick::quick;
use super::series::{Between, Series};
use super::{model, record, show};
use crate::bench::metric::{Metric, Point};
use crate::bench::plot;
use crate::bench::timing::Effort;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options of `verbena bench rc`.
#[derive(Args, Debug)]
pub struct RcArgs {
    /// What to measure [default: all]
    #[arg(value_enum)]
    experiments: Vec<Name>,
    /// The nodes, as in node0,node1
    #[arg(long, value_delimiter = ',', default_value = "node0,node1")]
    hosts: Vec<String>,
    /// What runs a command line on a node: COMMAND NODE COMMAND-LINE [default: VERBENA_LAUNCHER, or ssh]
    #[arg(long)]
    launcher: Option<String>,
    /// The entry of the device's table of addresses that perftest uses
    #[arg(long, default_value_t = 1)]
    gid_index: u32,
    /// The device that all ranks share in the comparison with the peers
    #[arg(long, default_value = "rxe0")]
    device: String,
    /// Where the peers are installed, as `cargo xtask peers` does it
    #[arg(long, default_value = "target/peers")]
    peers: PathBuf,
    /// How often to repeat the whole
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Time for the repetitions of one point in a round, in milliseconds
    #[arg(long, default_value_t = 60)]
    point_ms: u64,
    /// Repetitions of one point in a round
    #[arg(long, default_value_t = 3)]
    repetitions: usize,
    /// The longest that one point may take, in seconds
    #[arg(long, default_value_t = 30.0)]
    limit_s: f64,
    /// Print the figures of the simulator's cost model below
    #[arg(long)]
    model: bool,
    /// Write the result as JSON to FILE, again after each experiment of each round
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Go on with the result in the file of --json, if there is one: these rounds add to its samples
    #[arg(long, requires = "json")]
    add: bool,
    /// Draw what has several sizes into FILE (.svg or .png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// An experiment and what was measured of its variants.
pub struct Measured {
    /// Which.
    pub experiment: Experiment,
    /// Its variants, in order.
    pub series: Vec<Series>,
}

impl Measured {
    fn new(name: Name, between: &Between) -> Result<Measured> {
        let experiment = Experiment::of(name);
        let variants = experiment.variants.iter();
        let series = variants.map(|variant| Series::new(&experiment, variant.clone(), between));
        Ok(Measured { series: series.collect::<Result<_>>()?, experiment })
    }

    /// The value of a variant at a point.
    pub fn value(&self, variant: &str, point: Point) -> Option<f64> {
        self.series.iter().find(|series| series.variant.name == variant)?.value(point)
    }

    /// The median of a variant's quick samples at a point ([`quick`]).
    pub fn quick(&self, variant: &str, point: Point) -> Option<f64> {
        let series = self.series.iter().find(|series| series.variant.name == variant)?;
        quick(&series.entry(point)?.samples).map(|(value, _)| value)
    }

    /// The points of bandwidth.
    pub fn bandwidths(&self) -> impl Iterator<Item = Point> {
        self.experiment.points.iter().copied().filter(|point| point.metric == Metric::Bandwidth)
    }
}

/// Runs `verbena bench rc`.
///
/// # Errors
/// Something needed is missing, a file cannot be written, or points could not be measured.
pub fn run(args: &RcArgs) -> Result<()> {
    if let Some(path) = &args.plot {
        plot::check_name(path)?;
    }
    let between = between(args)?;
    let names = if args.experiments.is_empty() { Name::value_variants() } else { &args.experiments };
    let mut all: Vec<Measured> =
        names.iter().map(|&name| Measured::new(name, &between)).collect::<Result<_>>()?;
    if let Some(path) = args.json.as_ref().filter(|_| args.add) {
        record::take_up(path, &mut all)?;
    }
    for round in 1..=args.rounds {
        eprintln!("round {round} of {}", args.rounds);
        measure(args, &mut all, &between)?;
        if round < args.rounds {
            println!("After round {round} of {}\n{}", args.rounds, show::tables(&all));
        }
    }
    finish(args, &all)
}

/// One round. What is known is written after each experiment, since the machine may be taken away at any moment.
fn measure(args: &RcArgs, all: &mut [Measured], between: &Between) -> Result<()> {
    for at in 0..all.len() {
        all[at].series.iter_mut().try_for_each(|series| series.round(between, &mut |_| {}))?;
        if let Some(path) = &args.json {
            record::write(path, all, &[])?;
        }
    }
    Ok(())
}

fn finish(args: &RcArgs, all: &[Measured]) -> Result<()> {
    print!("{}", show::render(all, &goals(all)));
    let figures = if args.model { model::figures()? } else { Vec::new() };
    if args.model {
        println!("\n{}\n", model::TITLE);
        figures.iter().for_each(|table| println!("{table}"));
    }
    if let Some(path) = &args.json {
        record::write(path, all, &figures)?;
    }
    if let Some(path) = &args.plot {
        plot::draw_panels(&show::panels(all), path)?;
    }
    let entries =
        || all.iter().flat_map(|measured| &measured.series).flat_map(|series| &series.report.entries);
    match entries().filter(|entry| entry.failure.is_some()).count() {
        0 => Ok(()),
        failed => {
            bail!("{failed} of {} points could not be measured; the reasons are above", entries().count())
        }
    }
}

fn between(args: &RcArgs) -> Result<Between> {
    ensure!(args.hosts.len() >= 2, "--hosts needs two nodes at least");
    ensure!(
        args.rounds > 0 && args.repetitions > 0 && args.point_ms > 0,
        "rounds, repetitions and milliseconds must be at least 1"
    );
    let limit =
        Duration::try_from_secs_f64(args.limit_s).map_err(|_| anyhow!("--limit-s must be positive"))?;
    let effort =
        Effort { point: Duration::from_millis(args.point_ms), repetitions: args.repetitions, window: 1 };
    Ok(Between {
        nodes: args.hosts.clone(),
        launcher: args
            .launcher
            .clone()
            .or_else(|| std::env::var("VERBENA_LAUNCHER").ok())
            .unwrap_or_else(|| "ssh".into()),
        gid_index: args.gid_index,
        device: args.device.clone(),
        peers: absolute(&args.peers)?,
        effort,
        limit,
    })
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is no path", path.display()))
}
