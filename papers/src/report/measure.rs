//! The run of the plan: experiment after experiment, each with all its rounds, until time is up.
//!
//! In a round each variant runs one job. The order rotates, and runs backwards every other time, so
//! that no variant always follows the same other one, and a drift of the machine meets all alike.
//! An experiment has its rounds at one go: half of them would be no measurement. Where jobs were
//! disturbed, a few rounds are added, at once or with the time that the others leave over.

use super::jobs::{self, JOBS_MIN};
use super::plan::{Section, experiments, twinned};
use super::record::Record;
use super::results::{Measured as Place, Results, Series};
use anyhow::Result;
use std::ops::Range;
use std::time::{Duration, Instant};
use verbena_lab::campaign::Campaign;
use verbena_lab::experiment::between::Between;
use verbena_lab::experiment::{Experiment, Measured, Wanted};
use verbena_lab::metric::{Metric, Point};
use verbena_lab::report::Report;

/// The time for all measurements.
pub(super) struct Budget {
    /// The time after which nothing new begins.
    pub until: Instant,
    /// Rounds of each experiment, [`JOBS_MIN`] at least.
    pub rounds: usize,
    /// True for few sizes and variants.
    pub quick: bool,
}

/// Rounds that are added at most where jobs were disturbed.
pub(super) const ROUNDS_MORE: usize = 3;
/// Those of polling, where a message takes a part of a microsecond, and the kernel's least work on
/// one of the two processors spoils a job: half of all jobs were thrown out.
const ROUNDS_MORE_POLLING: usize = 15;

impl Budget {
    /// Returns whether time is up.
    pub(super) fn is_up(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Returns the end of the time that is one of `shares` equal ones.
    fn fair(&self, shares: usize) -> Instant {
        let now = Instant::now();
        now + self.until.saturating_duration_since(now) / shares.max(1) as u32
    }

    /// Returns whether the time suffices for `left` more rounds, if `done` rounds took so long.
    pub(super) fn suffices(&self, done: usize, took: Duration, left: usize) -> bool {
        let each = took.checked_div(done as u32).unwrap_or_default();
        Instant::now() + each * left as u32 <= self.until
    }
}

/// The order of `variants` in a round, counted from 0.
pub(super) fn order(variants: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..variants).collect();
    order.rotate_left(round / 2 % variants.max(1));
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// Measures the experiments of a section.
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
    let all = experiments(section, budget.quick);
    let count = all.len();
    let more = if section == Section::Polling { ROUNDS_MORE_POLLING } else { ROUNDS_MORE };
    let added = budget.rounds..budget.rounds + more;
    let mut begun = Vec::new();
    for (at, experiment) in all.into_iter().enumerate() {
        let Some(mut running) = Running::new(experiment, between, record)? else { continue };
        let fair = budget.fair(count - at);
        while running.wants(budget, budget.rounds) || running.wants_more(&added, fair, record) {
            running.round(budget.rounds, between, record)?;
        }
        eprintln!("{}: {:.0} s", running.name, running.took.as_secs_f64());
        begun.push(running);
    }
    // The time that others left over is for those whose share did not suffice.
    for running in &mut begun {
        while running.wants_more(&added, budget.until, record) {
            running.round(budget.rounds, between, record)?;
        }
    }
    begun.into_iter().try_for_each(|mut running| unreached(&mut running.measured, record))
}

/// The reason why experiments between nodes are not measured.
pub(super) const NO_NODES: &str = "no nodes were named (--hosts), so nothing between nodes was measured";
/// The reason why an experiment has no jobs, or not enough.
const TIME_UP: &str = "the time for this run was up";

/// An experiment, some rounds of which may have been run.
struct Running {
    name: &'static str,
    measured: Measured,
    rounds: usize,
    took: Duration,
}

impl Running {
    /// Begins an experiment; none if it needs nodes that are not there, which is noted.
    fn new(experiment: Experiment, between: &Between, record: &mut Record) -> Result<Option<Running>> {
        let name = experiment.name;
        let measured = Measured::new(twinned(experiment), &Wanted::default(), between)?;
        if measured.series.is_empty() {
            return record.skip(name, NO_NODES).map(|()| None);
        }
        Ok(Some(Running { name, measured, rounds: 0, took: Duration::ZERO }))
    }

    /// Returns whether a round is due of the first `rounds`, all of which fit into the time.
    fn wants(&self, budget: &Budget, rounds: usize) -> bool {
        let left = rounds.saturating_sub(self.rounds);
        left > 0 && budget.suffices(self.rounds, self.took, left)
    }

    /// Returns whether one of the rounds `added` is due, since jobs were disturbed, and in time.
    fn wants_more(&self, added: &Range<usize>, until: Instant, record: &Record) -> bool {
        let each = self.took.checked_div(self.rounds as u32).unwrap_or_default();
        added.contains(&self.rounds) && Instant::now() + each <= until && disturbed(self.name, "", record) > 0
    }

    fn round(&mut self, rounds: usize, between: &Between, record: &mut Record) -> Result<()> {
        eprintln!("{}, round {} of {rounds}", self.name, self.rounds + 1);
        let start = Instant::now();
        for at in order(self.measured.series.len(), self.rounds) {
            self.measured.series[at].round(between)?;
        }
        self.rounds += 1;
        self.took += start.elapsed();
        record.measured(&self.measured)
    }
}

/// Returns whether a round of a program of others is due: one of the first ones, or one that is
/// added since jobs of these places ([`disturbed`]) were disturbed.
///
/// # Errors
/// The time does not suffice for the first ones.
pub(super) fn is_due(
    round: usize,
    took: Duration,
    (experiment, label): (&str, &str),
    budget: &Budget,
    record: &Record,
) -> Result<bool> {
    let left = budget.rounds.saturating_sub(round).max(1);
    let suffices = budget.suffices(round, took, left);
    if round < budget.rounds {
        anyhow::ensure!(suffices, TIME_UP);
        return Ok(true);
    }
    let may_add = suffices && round < budget.rounds + ROUNDS_MORE;
    Ok(may_add && disturbed(experiment, label, record) > 0)
}

/// The number of places of an experiment whose jobs do not suffice since some were disturbed; only
/// of those of this name, if one is given.
pub(super) fn disturbed(experiment: &str, label: &str, record: &Record) -> usize {
    let mut results = Results::default();
    results.add(&record.document());
    let of_experiment = results.series.iter().filter(|series| series.experiment == experiment);
    let lacks = |series: &Series, point: &Place| {
        let jobs = jobs::of(&results, series, point, false);
        !jobs.suffice() && !jobs.thrown.is_empty()
    };
    let is_here = |point: &Place| label.is_empty() || point.label == label;
    let points = of_experiment.flat_map(|series| series.points.iter().map(move |point| (series, point)));
    points.filter(|(series, point)| is_here(point) && lacks(series, point)).count()
}

/// Notes for places that were never measured why not.
fn unreached(measured: &mut Measured, record: &mut Record) -> Result<()> {
    let entries = measured.series.iter_mut().flat_map(|series| &mut series.report.entries);
    let untried = entries.filter(|entry| entry.jobs.len() < JOBS_MIN && entry.failure.is_none());
    untried.for_each(|entry| entry.fail(TIME_UP));
    record.measured(measured)
}

/// Measures what needs no MPI: copies, and looks at rings; each beside its twin.
///
/// # Errors
/// The file cannot be written.
pub(super) fn floor(between: &Between, budget: &Budget, record: &mut Record) -> Result<()> {
    let sizes =
        |metric, sizes: &[usize]| sizes.iter().map(|&bytes| Point { metric, bytes }).collect::<Vec<_>>();
    let floors = [
        ("node floor", "memcpy", sizes(Metric::Copy, &[4 << 10, 64 << 10, 1 << 20, 4 << 20])),
        ("node polling set", "rings", sizes(Metric::PollingSet, &[1, 2, 4, 8, 16, 32, 64, 128])),
    ];
    for (experiment, name, points) in floors {
        let campaign = Campaign { launch: None, points, ranks: vec![1], rounds: 1, effort: between.effort };
        let report = || Report { entries: campaign.entries(), ..Report::of_this_command() };
        let mut all = [(name.to_string(), report()), (super::noise::again(name), report())];
        for round in 0..budget.rounds {
            for at in order(all.len(), round) {
                campaign.run(&mut all[at].1, &mut |_| {})?;
            }
        }
        record.reports(experiment, all.into_iter())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_variant_takes_every_place_in_turn() {
        for variants in 1..7 {
            let orders: Vec<Vec<usize>> = (0..2 * variants).map(|round| order(variants, round)).collect();
            for place in 0..variants {
                let at_place: BTreeSet<usize> = orders.iter().map(|order| order[place]).collect();
                assert_eq!(at_place.len(), variants, "place {place} of {variants}: {orders:?}");
            }
        }
        assert_eq!(order(3, 0), [0, 1, 2]);
        assert_eq!(order(3, 1), [2, 1, 0]);
        assert_eq!(order(3, 2), [1, 2, 0]);
    }

    #[test]
    fn an_experiment_begins_only_if_its_rounds_fit() {
        let budget = Budget { until: Instant::now() + Duration::from_secs(100), rounds: 5, quick: true };
        assert!(budget.suffices(0, Duration::ZERO, 5));
        assert!(budget.suffices(1, Duration::from_secs(10), 4));
        assert!(!budget.suffices(1, Duration::from_secs(60), 4));
        assert!(!budget.is_up());
        let [one, half] = [1, 2].map(|shares| budget.until - budget.fair(shares));
        assert!(one.is_zero() && half <= Duration::from_secs(50) && half > Duration::ZERO, "{half:?}");
    }
}
