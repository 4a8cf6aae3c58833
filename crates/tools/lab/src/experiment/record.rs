//! The result file: written again after each experiment of each round, so that a run that is cut
//! off keeps what it has, and taken up by a later run that goes on with it.

use super::measured::Measured;
use super::series::Series;
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::Path;

/// Writes all that is known to the file: whole or not at all, whenever this program is ended.
///
/// # Errors
/// The file, or the one beside it that takes its place, cannot be written.
pub fn write(path: &Path, all: &[Measured], note: Option<&str>, model: Option<Value>) -> Result<()> {
    let text = serde_json::to_string_pretty(&document(all, note, model))?;
    let beside = path.with_extension("part");
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, path))
        .with_context(|| format!("cannot write the result to {}", path.display()))
}

fn document(all: &[Measured], note: Option<&str>, model: Option<Value>) -> Value {
    let Report { command, started_unix_s, machine, .. } = Report::of_this_command();
    let experiments: Vec<Value> = all.iter().map(of_experiment).collect();
    let goals: Vec<_> = all.iter().flat_map(Measured::goals).collect();
    json!({"command": command, "written_unix_s": started_unix_s, "machine": machine, "note": note,
           "experiments": experiments, "goals": goals, "model": model})
}

fn of_experiment(measured: &Measured) -> Value {
    let experiment = &measured.experiment;
    let axis = experiment.axis.map(|axis| axis.name);
    let series = |series: &Series| json!({"variant": series.variant.name, "at": series.variant.at, "report": series.report});
    json!({"experiment": experiment.name, "title": experiment.title, "axis": axis,
           "series": measured.series.iter().map(series).collect::<Vec<_>>()})
}

/// Takes up what an earlier run wrote to the file, if there is one: this run's rounds add to its
/// samples. A point that failed there is tried again.
///
/// # Errors
/// The file cannot be read, or holds something else measured under the same name.
pub fn take_up(path: &Path, all: &mut [Measured], note: Option<&str>) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let earlier: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is no result", path.display()))?;
    ensure!(
        earlier["note"].as_str() == note,
        "{} holds what was measured under other circumstances: its note is {}",
        path.display(),
        earlier["note"]
    );
    for measured in all {
        let named = |value: &Value, key: &str, name: &str| value[key].as_str() == Some(name);
        let of_name = |value: &&Value| named(value, "experiment", measured.experiment.name);
        let Some(found) = earlier["experiments"].as_array().and_then(|all| all.iter().find(of_name)) else {
            continue;
        };
        for series in &mut measured.series {
            let of_variant = |value: &&Value| named(value, "variant", &series.variant.name);
            let Some(found) = found["series"].as_array().and_then(|all| all.iter().find(of_variant)) else {
                continue;
            };
            let earlier: Report = serde_json::from_value(found["report"].clone())?;
            add(&mut series.report, earlier)
                .with_context(|| format!("cannot go on with {}", path.display()))?;
        }
    }
    Ok(())
}

/// Takes the samples of an earlier report of the same measurement.
fn add(report: &mut Report, earlier: Report) -> Result<()> {
    ensure!(
        report.command == earlier.command,
        "there it was measured by `{}`, now it is `{}`",
        earlier.command,
        report.command
    );
    for entry in earlier.entries {
        if let Some(own) = report.entry(entry.point(), entry.ranks) {
            own.take_up(entry);
        }
    }
    report.library = earlier.library;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Entry;

    fn report(command: &str, samples: &[f64]) -> Report {
        let mut entry = Entry::new("latency:8".parse().expect("point"), 2);
        entry.add(samples, 10);
        Report { entries: vec![entry], ..Report::new(command.into()) }
    }

    #[test]
    fn rounds_of_two_runs_are_pooled() {
        let mut now = report("a", &[]);
        add(&mut now, report("a", &[3.0, 1.0])).expect("the same measurement");
        now.entries[0].add(&[2.0, 5.0, 4.0], 10);
        assert_eq!(now.entries[0].value, Some(3.0));
    }

    #[test]
    fn another_measurement_is_refused() {
        let refused = add(&mut report("a", &[]), report("b", &[1.0])).expect_err("another command");
        assert!(refused.to_string().contains('b'));
    }
}
