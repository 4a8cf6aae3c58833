//! The bare device by `verbena bench verbs`, run after run, as papers 1 and 2 measured it below
//! their libraries. Every other run is the twin of the one before it.

use super::job_table::JobTable;
use super::measure::Budget;
use super::noise::again;
use super::predicted;
use super::record::Record;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use verbena_lab::experiment::between::Between;

/// The subjects of the program's rows that the papers have, with the unit of their values.
const SUBJECTS: [(&str, &str, &str); 3] = [
    ("latency", "verbs latency", "us"),
    ("bandwidth", "verbs bandwidth", "MB/s"),
    ("look", "verbs look", "ns"),
];

/// Runs the program between the first two nodes.
///
/// # Errors
/// The file cannot be written. A program that is not there or fails is noted.
pub(super) fn run(between: &Between, budget: &Budget, folder: &Path, record: &mut Record) -> Result<()> {
    let outcome = if between.has_nodes() {
        rounds(between, budget, folder, record)
    } else {
        Err(anyhow::anyhow!(super::measure::NO_NODES))
    };
    let Err(error) = outcome else { return Ok(()) };
    let reason = format!("{error:#}");
    let all = SUBJECTS.iter().map(|(_, experiment, _)| *experiment).chain(predicted::EXPERIMENTS);
    all.into_iter().try_for_each(|experiment| record.skip(experiment, &reason))
}

fn rounds(between: &Between, budget: &Budget, folder: &Path, record: &mut Record) -> Result<()> {
    let program = beside("verbena")?;
    let file = folder.join(format!("verbs-{}.json", std::process::id()));
    let mut tables = SUBJECTS.map(|(subject, ..)| JobTable::new(&format!("Bare verbs: {subject}"), "at"));
    let start = Instant::now();
    let mut last = String::new();
    for round in 0..budget.rounds {
        ensure!(
            budget.suffices(round, start.elapsed(), budget.rounds - round),
            "the time for this run was up"
        );
        eprintln!("verbs, round {} of {}", round + 1, budget.rounds);
        let turns = if round % 2 == 0 { [false, true] } else { [true, false] };
        for is_twin in turns {
            let text = once(&program, between, budget.quick, &file)?;
            for ((subject, ..), table) in SUBJECTS.iter().zip(&mut tables) {
                enter(&text, subject, is_twin, table)?;
            }
            last = text;
        }
        for ((_, experiment, unit), table) in SUBJECTS.iter().zip(&tables) {
            record.jobs(experiment, "", unit, table)?;
        }
    }
    predicted::run(&last, record)
}

/// A program of the installation that this one belongs to.
fn beside(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find this program's own path")?;
    let path = own.with_file_name(name);
    ensure!(path.exists(), "there is no {}", path.display());
    Ok(path)
}

fn once(program: &Path, between: &Between, quick: bool, file: &Path) -> Result<String> {
    let mut command = Command::new(program);
    let hosts = between.nodes[..2].join(",");
    command.args(["bench", "verbs", "--launcher-arg=-hosts"]).arg(format!("--launcher-arg={hosts}"));
    command.args(["--point-ms", &between.effort.point.as_millis().to_string(), "--json"]).arg(file);
    command.args(quick.then_some("--quick"));
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let words = said.split_whitespace().take(40).collect::<Vec<_>>().join(" ");
    ensure!(output.status.success(), "verbena bench verbs: {}: {words}", output.status);
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    std::fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
    Ok(text)
}

/// Enters the rows of a subject as one job.
fn enter(text: &str, subject: &str, is_twin: bool, table: &mut JobTable) -> Result<()> {
    let outcome: Value = serde_json::from_str(text).context("verbena bench verbs wrote no JSON")?;
    let rows = outcome["rows"].as_array().context("verbena bench verbs wrote no rows")?;
    for row in rows.iter().filter(|row| row["subject"] == subject) {
        let (Some(variant), Some(value)) = (row["variant"].as_str(), row["value"].as_f64()) else { continue };
        let column = if is_twin { again(variant) } else { variant.to_string() };
        table.add(&row["at"].as_u64().unwrap_or(0).to_string(), &column, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::results::Results;
    use serde_json::json;

    #[test]
    fn rows_of_a_run_are_a_job_and_every_other_run_is_a_twin() {
        let row = |subject: &str, variant: &str, value: f64| json!({"subject": subject, "variant": variant, "at": 8, "value": value});
        let text = json!({"rows": [row("latency", "write", 9.0), row("look", "empty", 200.0)]}).to_string();
        let mut table = JobTable::new("t", "at");
        [false, true, false]
            .iter()
            .for_each(|is_twin| enter(&text, "latency", *is_twin, &mut table).expect("rows"));
        let mut results = Results::default();
        results.add(&json!({"command": "verbena-papers report", "experiments": [table.json("verbs latency", "", "us", "m")]}));
        let of = |at: usize| (results.series[at].name.as_str(), results.series[at].points[0].jobs.len());
        assert_eq!((of(0), of(1), results.series.len()), (("write", 2), ("write again", 1), 2));
        assert_eq!(results.series[0].points[0].x, Some(8.0));
        assert!(enter("no", "latency", false, &mut table).is_err());
    }
}
