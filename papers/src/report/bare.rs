//! The bare device by the program of `verbena bench verbs`, job after job, as papers 1 and 2
//! measured it below their libraries. In a round the program runs twice, and the second job is the
//! twin of the first; each round has the program's rows in another order. One job before has the
//! rows of all subjects: the model is calibrated by it.

use super::job_table::JobTable;
use super::measure::{Budget, ROUNDS_MORE, disturbed};
use super::noise::again;
use super::predicted;
use super::record::Record;
use anyhow::{Result, ensure};
use std::time::Instant;
use verbena_lab::experiment::between::Between;
use verbena_lab::place;
use verbena_lab::timing::median;
use verbena_lab::verbs::command::Run;
use verbena_lab::verbs::outcome::{Outcome, Row, Subject};

/// The subjects of the program's rows that the papers have, with the unit of their values.
const SUBJECTS: [(Subject, &str, &str); 3] = [
    (Subject::Latency, "verbs latency", "us"),
    (Subject::Bandwidth, "verbs bandwidth", "MB/s"),
    (Subject::Look, "verbs look", "ns"),
];

/// Runs the program between the first two nodes.
///
/// # Errors
/// The file cannot be written. A program that fails is noted.
pub(super) fn run(between: &Between, budget: &Budget, record: &mut Record) -> Result<()> {
    let outcome = if between.has_nodes() {
        rounds(between, budget, record)
    } else {
        Err(anyhow::anyhow!(super::measure::NO_NODES))
    };
    let Err(error) = outcome else { return Ok(()) };
    let reason = format!("{error:#}");
    let all = SUBJECTS.iter().map(|(_, experiment, _)| *experiment).chain(predicted::EXPERIMENTS);
    all.into_iter().try_for_each(|experiment| record.skip(experiment, &reason))
}

fn rounds(between: &Between, budget: &Budget, record: &mut Record) -> Result<()> {
    let mut tables = SUBJECTS.map(|(subject, ..)| JobTable::new(subject.title(), "at"));
    let mut jobs = vec![once(between, budget.quick, &[], 0)?];
    let subjects = SUBJECTS.map(|(subject, ..)| subject);
    let start = Instant::now();
    for round in 0..budget.rounds + ROUNDS_MORE {
        let left = budget.rounds.saturating_sub(round).max(1);
        if !budget.suffices(round, start.elapsed(), left) {
            ensure!(round >= budget.rounds, "the time for this run was up");
            break;
        }
        eprintln!("verbs, round {} of {}", round + 1, budget.rounds);
        let turns = if round % 2 == 0 { [false, true] } else { [true, false] };
        for is_twin in turns {
            let job = once(between, budget.quick, &subjects, round)?;
            for ((subject, ..), table) in SUBJECTS.iter().zip(&mut tables) {
                enter(&job, *subject, is_twin, table);
            }
            jobs.push(job);
        }
        for ((_, experiment, unit), table) in SUBJECTS.iter().zip(&tables) {
            record.jobs(experiment, "", unit, table)?;
        }
        let lacking = || SUBJECTS.iter().any(|(_, experiment, _)| disturbed(experiment, "", record) > 0);
        if round + 1 >= budget.rounds && !lacking() {
            break;
        }
    }
    eprintln!("verbs: {:.0} s", start.elapsed().as_secs_f64());
    predicted::run(&pooled(&jobs), record)
}

/// Runs one job about these subjects, or all; `turn` gives the order of its rows.
fn once(between: &Between, quick: bool, only: &[Subject], turn: usize) -> Result<Outcome> {
    let run = Run {
        mpiexec: place::mpiexec()?,
        launcher_args: vec!["-hosts".into(), between.nodes[..2].join(",")],
        environment: Vec::new(),
        point_ms: between.effort.point.as_millis() as u64,
        repetitions: between.effort.repetitions,
        quick,
        only: only.to_vec(),
        turn,
        limit: between.limit,
    };
    run.measure(&mut |_| {})
}

/// Enters the rows of a subject as one job.
fn enter(job: &Outcome, subject: Subject, is_twin: bool, table: &mut JobTable) {
    for row in job.rows.iter().filter(|row| row.subject == subject) {
        let column = if is_twin { again(&row.variant) } else { row.variant.clone() };
        table.add(&row.at.to_string(), &column, row.value);
    }
}

/// Returns the jobs as one: each row has the samples of all, and the median of their values.
fn pooled(jobs: &[Outcome]) -> Outcome {
    let Some(first) = jobs.first() else { return Outcome::default() };
    let rows = first.rows.iter().map(|row| {
        let same: Vec<&Row> =
            jobs.iter().filter_map(|job| job.row(row.subject, &row.variant, row.at)).collect();
        let values: Vec<f64> = same.iter().map(|row| row.value).collect();
        let samples = same.iter().flat_map(|row| row.samples.iter().copied()).collect();
        Row { value: median(&values).unwrap_or(row.value), samples, ..row.clone() }
    });
    Outcome { rows: rows.collect(), ..first.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::results::Results;
    use serde_json::json;

    fn job(value: f64) -> Outcome {
        let row = |subject: Subject, variant: &str| Row {
            subject,
            variant: variant.into(),
            at: 8,
            unit: subject.unit().into(),
            value,
            samples: vec![value],
            iterations: 1,
            checked: 8,
        };
        Outcome {
            rows: vec![row(Subject::Latency, "write"), row(Subject::Look, "empty")],
            ..Outcome::default()
        }
    }

    #[test]
    fn rows_of_a_run_are_a_job_and_every_other_run_is_a_twin() {
        let mut table = JobTable::new("t", "at");
        [false, true, false]
            .iter()
            .for_each(|is_twin| enter(&job(9.0), Subject::Latency, *is_twin, &mut table));
        let mut results = Results::default();
        results.add(&json!({"command": "verbena-papers report", "experiments": [table.json("verbs latency", "", "us", "m")]}));
        let of = |at: usize| (results.series[at].name.as_str(), results.series[at].points[0].jobs.len());
        assert_eq!((of(0), of(1), results.series.len()), (("write", 2), ("write again", 1), 2));
        assert_eq!(results.series[0].points[0].x, Some(8.0));
    }

    #[test]
    fn the_model_is_calibrated_by_the_median_of_the_jobs() {
        let one = pooled(&[job(9.0), job(1.0), job(2.0)]);
        let row = one.row(Subject::Latency, "write", 8).expect("the row");
        assert_eq!((row.value, &row.samples[..], one.rows.len()), (2.0, &[9.0, 1.0, 2.0][..], 2));
        assert!(pooled(&[]).rows.is_empty());
    }
}
