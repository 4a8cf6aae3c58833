//! What the command lines of all comparisons have in common, and how a comparison is run.

use super::bar::Bar;
use super::between::Between;
use super::measured::{Experiment, Measured, Wanted};
use super::model::Model;
use super::variant::Variant;
use super::{record, show};
use crate::bench::plot;
use crate::bench::report::Entry;
use crate::bench::timing::Effort;
use crate::output;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;
use verbena_fault::Fault;

/// How long to measure.
#[derive(Args, Clone, Debug)]
pub struct Timing {
    /// How often to repeat the whole
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Time for the repetitions of one point in a round, in milliseconds
    #[arg(long, default_value_t = 60)]
    pub point_ms: u64,
    /// Repetitions of one point in a round
    #[arg(long, default_value_t = 3)]
    pub repetitions: usize,
    /// The longest that one point may take, in seconds
    #[arg(long, default_value_t = 30.0)]
    pub limit_s: f64,
    /// One round with 10 ms a point: a first impression
    #[arg(long)]
    pub quick: bool,
}

/// Milliseconds a point with `--quick`.
const QUICK_MS: u64 = 10;

impl Timing {
    /// How often the whole is repeated.
    pub fn rounds(&self) -> usize {
        if self.quick { 1 } else { self.rounds }
    }

    /// Effort and time limit of a point.
    ///
    /// # Errors
    /// A number is 0.
    fn effort(&self) -> Result<(Effort, Duration)> {
        ensure!(
            self.rounds > 0 && self.repetitions > 0 && self.point_ms > 0,
            "rounds, repetitions and milliseconds must be at least 1"
        );
        let ms = if self.quick { self.point_ms.min(QUICK_MS) } else { self.point_ms };
        let effort = Effort { point: Duration::from_millis(ms), repetitions: self.repetitions, window: 1 };
        let limit = Duration::try_from_secs_f64(self.limit_s);
        Ok((effort, limit.map_err(|_| anyhow!("--limit-s must be positive"))?))
    }
}

/// Where to measure.
#[derive(Args, Clone, Debug)]
pub struct Nodes {
    /// The nodes, as in node0,node1; what goes between nodes is measured only with them
    #[arg(long, value_delimiter = ',')]
    pub hosts: Vec<String>,
    /// What runs a command line on a node: COMMAND NODE COMMAND-LINE [default: VERBENA_LAUNCHER, or ssh]
    #[arg(long)]
    launcher: Option<String>,
    /// The entry of the device's table of addresses that perftest uses
    #[arg(long, default_value_t = GID_INDEX)]
    gid_index: u32,
    /// The devices of the ranks in comparisons with other libraries, which all run on this node; messages take the wire between them
    #[arg(long, value_delimiter = ',', default_values = DEVICES)]
    devices: Vec<String>,
    /// Where other libraries are installed, as `cargo xtask peers` does it
    #[arg(long, default_value = PEERS)]
    peers: PathBuf,
}

/// The devices of the first two nodes of `cargo xtask softroce`, all of which every node sees.
const DEVICES: [&str; 2] = ["rxe0", "rxe1"];
/// Where `cargo xtask peers` installs other libraries.
const PEERS: &str = "target/peers";
/// The entry that has the IPv4 address on Soft-RoCE.
const GID_INDEX: u32 = 1;

impl Nodes {
    /// These nodes, with nothing else said.
    pub fn of(hosts: &[String]) -> Nodes {
        let devices = DEVICES.map(String::from).to_vec();
        Nodes { hosts: hosts.to_vec(), launcher: None, gid_index: GID_INDEX, devices, peers: PEERS.into() }
    }

    /// The nodes with the time for a point.
    ///
    /// # Errors
    /// A number is 0, or a path is no path.
    pub fn between(&self, timing: &Timing) -> Result<Between> {
        let (effort, limit) = timing.effort()?;
        let own = || std::env::var("VERBENA_LAUNCHER").ok();
        Ok(Between {
            nodes: self.hosts.clone(),
            launcher: self.launcher.clone().or_else(own).unwrap_or_else(|| "ssh".into()),
            gid_index: self.gid_index,
            devices: self.devices.clone(),
            peers: absolute(&self.peers)?,
            effort,
            limit,
        })
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is no path", path.display()))
}

/// What is measured of the experiments, and what becomes of it.
#[derive(Args, Clone, Debug)]
pub struct Output {
    /// Only these variants, as in all,50:1
    #[arg(long, value_delimiter = ',', value_name = "VARIANTS")]
    only: Vec<String>,
    /// The wire loses packets: leave out what would hang then, and take means, since a few long recoveries may take most of the time
    #[arg(long)]
    lossy: bool,
    /// What is special about this run, for the record, as in "1% loss"
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Write the result as JSON to FILE, again after each experiment of each round
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Go on with the result in the file of --json, if there is one: these rounds add to its samples
    #[arg(long, requires = "json")]
    add: bool,
    /// Draw what has three sizes at least into FILE (.svg)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Compare the ratios with what Verbena's developers ask of them
    #[arg(long)]
    goals: bool,
}

/// What the command lines of all comparisons have in common.
#[derive(Args, Clone, Debug)]
pub struct Common {
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    timing: Timing,
    #[command(flatten)]
    output: Output,
}

impl Common {
    /// Runs the experiments; without any there is only the model.
    ///
    /// # Errors
    /// Something needed is missing, a file cannot be written, or points could not be measured.
    pub fn run(&self, experiments: Vec<Experiment>, model: Option<Model>) -> Result<()> {
        let between = self.nodes.between(&self.timing)?;
        run(experiments, &between, self.timing.rounds(), &self.output, model)
    }

    /// As [`Common::run`], for what can be measured between nodes only. What runs on the devices of
    /// one node needs no name of another.
    ///
    /// # Errors
    /// As [`Common::run`], or no nodes are named.
    pub fn run_between_nodes(&self, experiments: Vec<Experiment>, model: Option<Model>) -> Result<()> {
        let on_devices = |experiment: &Experiment| experiment.variants.iter().all(Variant::is_on_devices);
        let is_here = experiments.iter().all(on_devices);
        ensure!(is_here || self.nodes.hosts.len() >= 2, no_nodes(&survey()));
        self.run(experiments, model)
    }
}

/// What is known of verbs devices on this machine, in a few words.
fn survey() -> String {
    match crate::info::verbs::describe() {
        verbs if verbs.ports.is_empty() => "no verbs device is here".into(),
        verbs => format!("ports of verbs devices here: {}", verbs.ports.len()),
    }
}

fn no_nodes(devices: &str) -> Fault {
    Fault::new(
        "this is measured between two hosts with verbs devices, and none were named",
        devices,
        "--hosts is missing, or there is no InfiniBand",
        "name two hosts, as in --hosts a,b; without InfiniBand `cargo xtask softroce` boots two virtual ones",
    )
}

fn run(
    experiments: Vec<Experiment>,
    between: &Between,
    rounds: usize,
    output: &Output,
    model: Option<Model>,
) -> Result<()> {
    if let Some(path) = &output.plot {
        plot::check_name(path)?;
    }
    let wanted = Wanted { only: output.only.clone(), reliable: output.lossy };
    let new = |experiment| Measured::new(experiment, &wanted, between);
    let mut all: Vec<Measured> = experiments.into_iter().map(new).collect::<Result<_>>()?;
    let is_empty = all.is_empty();
    all.retain(|measured| !measured.series.is_empty());
    ensure!(
        is_empty || !all.is_empty(),
        "there is nothing to measure: no variant of that name, or no nodes (--hosts)"
    );
    if let Some(path) = output.json.as_ref().filter(|_| output.add) {
        record::take_up(path, &mut all, output.note.as_deref())?;
    }
    measure(&mut all, between, rounds, output)?;
    finish(&all, output, model)
}

/// All rounds. What is known is written after each experiment, since the machine may be taken away at any moment.
fn measure(all: &mut [Measured], between: &Between, rounds: usize, output: &Output) -> Result<()> {
    let steps: usize = all.iter().map(|measured| measured.series.len()).sum();
    let mut bar = Bar::new(steps * rounds);
    for round in 1..=rounds {
        for at in 0..all.len() {
            let name = all[at].experiment.name;
            for series in &mut all[at].series {
                bar.step(&format!("{name}: {}", series.variant.name));
                series.round(between)?;
                if output.lossy {
                    series.report.entries.iter_mut().for_each(Entry::take_mean);
                }
            }
            if let Some(path) = &output.json {
                record::write(path, all, output.note.as_deref(), None)?;
            }
        }
        if round < rounds {
            bar.clear();
            output::line(&format!("After round {round} of {rounds}\n{}", show::tables(all)))?;
        }
    }
    Ok(())
}

fn finish(all: &[Measured], output: &Output, model: Option<Model>) -> Result<()> {
    output::print(&show::render(all, output.goals))?;
    if let Some(model) = &model {
        output::print(&model.to_string())?;
    }
    if let Some(path) = &output.json {
        record::write(path, all, output.note.as_deref(), model.as_ref())?;
    }
    if let Some(path) = &output.plot {
        plot::draw_panels(&show::panels(all), path)?;
    }
    every_point_is_there(all)
}

/// # Errors
/// Points could not be measured.
pub fn every_point_is_there(all: &[Measured]) -> Result<()> {
    let entries =
        || all.iter().flat_map(|measured| &measured.series).flat_map(|series| &series.report.entries);
    match entries().filter(|entry| entry.failure.is_some()).count() {
        0 => Ok(()),
        failed => {
            bail!("{failed} of {} points could not be measured; the reasons are above", entries().count())
        }
    }
}
