//! The run of the plan: experiment after experiment, round by round, until time is up. Experiments
//! that were not reached are noted with that reason.

use super::plan::{Section, experiments};
use super::record::Record;
use anyhow::Result;
use std::time::Instant;
use verbena_lab::campaign::Campaign;
use verbena_lab::experiment::between::Between;
use verbena_lab::experiment::{Measured, Wanted};
use verbena_lab::metric::{Metric, Point};
use verbena_lab::report::Report;

/// The time for all measurements.
pub(super) struct Budget {
    /// The time after which nothing new begins.
    pub until: Instant,
    /// Rounds of each experiment.
    pub rounds: usize,
    /// True for few sizes and variants.
    pub quick: bool,
}

impl Budget {
    /// Returns whether time is up.
    pub(super) fn is_up(&self) -> bool {
        Instant::now() >= self.until
    }
}

/// Measures the experiments of a section: one round of all of them before a second of any, so that
/// a lack of time costs rounds and no experiments.
///
/// # Errors
/// Our launcher cannot be started, or the file cannot be written. A point that fails is noted in
/// its entry.
pub(super) fn section(
    section: Section,
    between: &Between,
    budget: &Budget,
    record: &mut Record,
) -> Result<()> {
    let mut all = Vec::new();
    for experiment in experiments(section, budget.quick) {
        let name = experiment.name;
        let measured = Measured::new(experiment, &Wanted::default(), between)?;
        if measured.series.is_empty() {
            record.skip(name, NO_NODES)?;
        } else {
            all.push(measured);
        }
    }
    for round in 1..=budget.rounds {
        for measured in &mut all {
            eprintln!("{}, round {round} of {}", measured.experiment.name, budget.rounds);
            if !one_round(measured, between, budget, record)? {
                return all.iter_mut().try_for_each(|measured| unreached(measured, record));
            }
        }
    }
    Ok(())
}

/// The reason why experiments between nodes are not measured.
pub(super) const NO_NODES: &str = "no nodes were named (--hosts), so nothing between nodes was measured";

/// Runs one round of an experiment. Returns whether the time sufficed for it.
fn one_round(
    measured: &mut Measured,
    between: &Between,
    budget: &Budget,
    record: &mut Record,
) -> Result<bool> {
    for at in 0..measured.series.len() {
        if budget.is_up() {
            return Ok(false);
        }
        measured.series[at].round(between)?;
        record.measured(measured)?;
    }
    Ok(true)
}

/// Notes for experiments that were never measured why not.
fn unreached(measured: &mut Measured, record: &mut Record) -> Result<()> {
    let entries = measured.series.iter_mut().flat_map(|series| &mut series.report.entries);
    let untried = entries.filter(|entry| entry.samples.is_empty() && entry.failure.is_none());
    untried.for_each(|entry| entry.fail("the time for this run was up"));
    record.measured(measured)
}

/// Measures what needs no MPI: copies, and looks at rings.
///
/// # Errors
/// The file cannot be written.
pub(super) fn floor(between: &Between, record: &mut Record) -> Result<()> {
    let sizes =
        |metric, sizes: &[usize]| sizes.iter().map(|&bytes| Point { metric, bytes }).collect::<Vec<_>>();
    let floors = [
        ("node floor", "memcpy", sizes(Metric::Copy, &[4 << 10, 64 << 10, 1 << 20, 4 << 20])),
        ("node polling set", "rings", sizes(Metric::PollingSet, &[1, 2, 4, 8, 16, 32, 64, 128])),
    ];
    for (experiment, name, points) in floors {
        let campaign = Campaign { launch: None, points, ranks: vec![1], rounds: 1, effort: between.effort };
        let mut report = Report { entries: campaign.entries(), ..Report::of_this_command() };
        campaign.run(&mut report, &mut |_| {})?;
        record.reports(experiment, std::iter::once((name.to_string(), report)))?;
    }
    Ok(())
}
