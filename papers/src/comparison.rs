//! The run of a comparison: its command line, its rounds, and what becomes of the measurements.

use crate::model::Model;
use crate::{panels, plot};
use anyhow::{Result, bail, ensure};
use clap::Args;
use std::path::PathBuf;
use verbena_fault::Fault;
use verbena_infiniband::device::options::Options;
use verbena_infiniband::rc::verbs::Verbs;
use verbena_lab::experiment::bar::Bar;
use verbena_lab::experiment::between::Between;
use verbena_lab::experiment::command::{Nodes, Timing};
use verbena_lab::experiment::variant::Variant;
use verbena_lab::experiment::{Experiment, Measured, Wanted, record, show};
use verbena_lab::output;
use verbena_lab::report::Entry;

/// Options that choose what is measured of the experiments, and where the result goes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Output {
    /// Only these variants, as in all,50:1
    #[arg(long, value_delimiter = ',', value_name = "VARIANTS")]
    only: Vec<String>,
    /// The wire loses packets: leave out what would hang then, and take means, since a few long
    /// recoveries may take most of the time
    #[arg(long)]
    lossy: bool,
    /// Remark on this run, for the record, as in "1% loss"
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Write the result as JSON to FILE, again after each experiment of each round
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Go on with the result in the file of --json, if there is one: these rounds add to its
    /// samples
    #[arg(long, requires = "json")]
    add: bool,
    /// Draw what has three sizes at least into FILE (.svg)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Compare the ratios with what Verbena's developers ask of them
    #[arg(long)]
    goals: bool,
}

/// The options that all comparisons have.
#[derive(Args, Clone, Debug)]
pub(crate) struct CommonOptions {
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    timing: Timing,
    #[command(flatten)]
    output: Output,
}

impl CommonOptions {
    /// Runs the experiments; without any there is only the model.
    ///
    /// # Errors
    /// Something needed is missing, a file cannot be written, or points could not be measured.
    pub(crate) fn run(&self, experiments: Vec<Experiment>, model: Option<Model>) -> Result<()> {
        let between = self.nodes.between(&self.timing)?;
        run(experiments, &between, self.timing.rounds(), &self.output, model)
    }

    /// Runs experiments as [`CommonOptions::run`] does, where nodes are needed. Those on the
    /// devices of one node need no name of another.
    ///
    /// # Errors
    /// Those of [`CommonOptions::run`], or no nodes are named.
    pub(crate) fn run_between_nodes(&self, experiments: Vec<Experiment>, model: Option<Model>) -> Result<()> {
        let on_devices = |experiment: &Experiment| experiment.variants.iter().all(Variant::is_on_devices);
        let is_here = experiments.iter().all(on_devices);
        ensure!(is_here || self.nodes.hosts.len() >= 2, no_nodes(&survey()));
        self.run(experiments, model)
    }
}

/// Describes the verbs devices of this machine in a few words.
fn survey() -> String {
    match Verbs::survey(&Options::current()).0 {
        survey if survey.ports.is_empty() => "no verbs device is here".into(),
        survey => format!("ports of verbs devices here: {}", survey.ports.len()),
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

/// Measures all rounds. The results so far are written after each experiment, since the machine may
/// be taken away at any moment.
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
        record::write(path, all, output.note.as_deref(), model.as_ref().map(Model::json))?;
    }
    if let Some(path) = &output.plot {
        plot::draw_panels(&panels::panels(all), path)?;
    }
    every_point_is_there(all)
}

/// # Errors
/// Points could not be measured.
fn every_point_is_there(all: &[Measured]) -> Result<()> {
    let entries =
        || all.iter().flat_map(|measured| &measured.series).flat_map(|series| &series.report.entries);
    match entries().filter(|entry| entry.failure.is_some()).count() {
        0 => Ok(()),
        failed => {
            bail!("{failed} of {} points could not be measured; the reasons are above", entries().count())
        }
    }
}
