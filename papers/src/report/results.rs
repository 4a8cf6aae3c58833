//! Result files: what `verbena bench` and the comparisons write with `--json`, read into one list
//! of series.
//!
//! All of them hold reports (`entries`), each beside the name of what was measured (`variant` or
//! `name`), some below the name of an `experiment`; the simulator's figures are tables (`columns`
//! and `rows`). Nothing else is relied on, so that results of later comparisons can be read too.
//! The experiment's name begins with the word of the command, as in `rc latency`.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use verbena_lab::metric::parse_size;
use verbena_lab::report::Job;

/// All series of all files, in the order in which they were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Results {
    /// The series.
    pub series: Vec<Series>,
    /// Experiments that were not run, and why.
    pub skipped: Vec<(String, String)>,
    /// The experiments of each file, by the first word of their names, and the versions and commits
    /// of what was measured.
    pub builds: Vec<String>,
}

/// The measurements of one variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    /// The experiment.
    pub experiment: String,
    /// The name in the experiment.
    pub name: String,
    /// The command that measured it.
    pub command: String,
    /// The machine; empty for the simulator.
    pub machine: String,
    /// The values.
    pub points: Vec<Measured>,
}

/// A value, or why there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    /// The metric.
    pub metric: String,
    /// The unit.
    pub unit: String,
    /// The place on the axis, for people.
    pub label: String,
    /// The place as a number, if it is one.
    pub x: Option<f64>,
    /// Ranks; 0 where there are none.
    pub ranks: usize,
    /// The value: the median of the samples.
    pub value: Option<f64>,
    /// The value of each job; empty where nothing is measured job by job.
    pub jobs: Vec<Job>,
    /// The reason why there is no value.
    pub failure: Option<String>,
}

impl Measured {
    /// Returns whether another one was measured at the same place.
    pub(super) fn is_at(&self, other: &Measured) -> bool {
        (&self.metric, self.x, self.ranks, &self.label) == (&other.metric, other.x, other.ranks, &other.label)
    }
}

impl Series {
    /// Returns what this series has at the place of another's value.
    pub(super) fn same(&self, place: &Measured) -> Option<&Measured> {
        self.points.iter().find(|point| point.is_at(place))
    }
}

impl Results {
    /// Adds what a file holds.
    ///
    /// # Errors
    /// It cannot be read, is no JSON, or holds neither a report nor a table.
    pub(super) fn add_file(&mut self, path: &Path) -> Result<()> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let value: Value =
            serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?;
        let before = self.series.len();
        self.add(&value);
        anyhow::ensure!(
            self.series.len() > before || !self.skipped.is_empty(),
            "nothing to report in {}\n  likely cause: it was not written with `--json` by `verbena bench` or `verbena-papers`\n  what to do: \
             give --add such a file",
            path.display()
        );
        Ok(())
    }

    /// Adds the contents of a document.
    pub(super) fn add(&mut self, document: &Value) {
        let command = document["command"].as_str().unwrap_or("").to_string();
        let word = comparison(&command).to_string();
        let machine = document["machine"].as_str().unwrap_or("").to_string();
        let scope = Scope { experiment: word.clone(), prefix: word, name: String::new(), command, machine };
        let known = self.series.len();
        walk(document, &scope, &mut self.series);
        let words = self.series[known..].iter().filter_map(|series| series.experiment.split(' ').next());
        let words: BTreeSet<&str> = words.collect();
        let build = document["build"].as_str().unwrap_or("a build of an unknown commit");
        self.builds.push(format!("{}: {build}", words.into_iter().collect::<Vec<_>>().join(", ")));
        for skipped in document["skipped"].as_array().into_iter().flatten() {
            let text = |key: &str| skipped[key].as_str().unwrap_or("").to_string();
            self.skipped.push((text("skipped"), text("reason")));
        }
    }

    /// The series of an experiment that have a metric; of several with one name the last, since it
    /// was given last.
    pub(super) fn of<'a>(&'a self, experiment: &str, metric: &str) -> Vec<&'a Series> {
        let mut found: Vec<&Series> = Vec::new();
        for series in self.series.iter().filter(|series| series.experiment == experiment) {
            if !series.points.iter().any(|p| (metric.is_empty() || p.metric == metric) && p.value.is_some()) {
                continue;
            }
            match found.iter_mut().find(|other| other.name == series.name) {
                Some(other) => *other = series,
                None => found.push(series),
            }
        }
        found
    }
}

/// The comparison that a command ran: its second word; none for this report's own measurements and
/// those of `cargo xtask papers`, which are named in full.
fn comparison(command: &str) -> &str {
    match command.split_whitespace().nth(1) {
        Some("report" | "xtask") | None => "",
        Some(word) => word,
    }
}

/// The facts that stand above a value.
#[derive(Clone)]
struct Scope {
    prefix: String,
    experiment: String,
    name: String,
    command: String,
    machine: String,
}

fn walk(value: &Value, scope: &Scope, out: &mut Vec<Series>) {
    match value {
        Value::Array(all) => all.iter().for_each(|each| walk(each, scope, out)),
        Value::Object(fields) => {
            let scope = narrowed(value, scope);
            if value["entries"].is_array() {
                out.push(report(value, &scope));
            } else if value["columns"].is_array() && value["rows"].is_array() {
                out.extend(table(value, &scope));
            } else {
                fields.values().for_each(|each| walk(each, &scope, out));
            }
        }
        _ => {}
    }
}

fn narrowed(value: &Value, above: &Scope) -> Scope {
    let text = |key: &str| value[key].as_str().map(str::to_string);
    let experiment = text("experiment").map(|name| match above.prefix.as_str() {
        "" => name,
        prefix => format!("{prefix} {name}"),
    });
    Scope {
        experiment: experiment.unwrap_or_else(|| above.experiment.clone()),
        name: text("variant").or_else(|| text("name")).unwrap_or_else(|| above.name.clone()),
        command: text("command")
            .filter(|command| !command.is_empty())
            .unwrap_or_else(|| above.command.clone()),
        machine: text("machine").unwrap_or_else(|| above.machine.clone()),
        prefix: above.prefix.clone(),
    }
}

fn report(value: &Value, scope: &Scope) -> Series {
    let entry = |entry: &Value| Measured {
        metric: entry["metric"].as_str().unwrap_or("").into(),
        unit: entry["unit"].as_str().unwrap_or("").into(),
        label: entry["label"].as_str().map_or_else(|| size_label(entry), str::to_string),
        x: entry["bytes"].as_f64(),
        ranks: entry["ranks"].as_u64().unwrap_or(0) as usize,
        value: entry["value"].as_f64(),
        jobs: jobs(&entry["jobs"]),
        failure: entry["failure"].as_str().map(str::to_string),
    };
    let points = value["entries"].as_array().map_or_else(Vec::new, |all| all.iter().map(entry).collect());
    Series {
        experiment: scope.experiment.clone(),
        name: scope.name.clone(),
        command: scope.command.clone(),
        machine: scope.machine.clone(),
        points,
    }
}

/// The jobs of an entry; none in a file that does not tell them apart.
fn jobs(value: &Value) -> Vec<Job> {
    serde_json::from_value(value.clone()).unwrap_or_default()
}

fn size_label(entry: &Value) -> String {
    let bytes = entry["bytes"].as_u64().unwrap_or(0) as usize;
    let ranks = entry["ranks"].as_u64().unwrap_or(0);
    match bytes {
        0 => format!("{ranks} ranks"),
        bytes => verbena_lab::metric::format_size(bytes),
    }
}

/// A series for each column but the first, which names the rows.
fn table(value: &Value, scope: &Scope) -> Vec<Series> {
    let text = |value: &Value| value.as_str().unwrap_or("").to_string();
    let columns: Vec<String> = value["columns"].as_array().into_iter().flatten().map(text).collect();
    let rows: Vec<&Value> = value["rows"].as_array().into_iter().flatten().collect();
    let (metric, unit) = (text(&value["metric"]), text(&value["unit"]));
    let point = |row: &Value, column: usize| Measured {
        metric: metric.clone(),
        unit: unit.clone(),
        label: text(&row["name"]),
        x: number(row["name"].as_str().unwrap_or("")),
        ranks: value["ranks"].as_u64().unwrap_or(0) as usize,
        value: row["values"][column].as_f64(),
        jobs: jobs(&row["jobs"][column]),
        failure: None,
    };
    let series = |(column, name): (usize, &String)| Series {
        experiment: scope.experiment.clone(),
        name: name.clone(),
        command: scope.command.clone(),
        machine: scope.machine.clone(),
        points: rows.iter().map(|row| point(row, column)).collect(),
    };
    columns.iter().skip(1).enumerate().map(series).collect()
}

/// A row's name as a number: `64 B`, `1 KiB`, `128`, `50:1`.
fn number(name: &str) -> Option<f64> {
    let plain = name.strip_suffix(":1").unwrap_or(name).replace(' ', "");
    parse_size(&plain).ok().map(|size| size as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(bytes: u64, value: f64) -> Value {
        json!({"metric": "latency", "bytes": bytes, "ranks": 2, "unit": "us", "value": value, "samples": [value], "iterations": 1, "failure": null})
    }

    #[test]
    fn files_of_the_comparisons_are_read() {
        let mut results = Results::default();
        results.add(&json!({"command": "release/verbena-papers rc latency --rounds 2", "machine": "QEMU",
            "experiments": [{"experiment": "latency", "title": "t", "series": [
                {"variant": "RDMA eager", "report": {"command": "mpiexec ...", "machine": "QEMU", "entries": [entry(8, 2.5)]}}]}],
            "goals": [{"what": "w", "ratio": 1.0}]}));
        results.add(&json!({"command": "verbena-papers polling", "machine": "m",
            "variants": [{"variant": "50:1", "report": {"entries": [entry(8, 1.0)]}}]}));
        results.add(&json!({"command": "verbena-papers threshold", "machine": "m",
            "candidates": [{"name": "shm", "report": {"entries": [entry(8, 1.0)]}}]}));
        let names: Vec<(&str, &str)> =
            results.series.iter().map(|series| (series.experiment.as_str(), series.name.as_str())).collect();
        assert_eq!(names, [("rc latency", "RDMA eager"), ("polling", "50:1"), ("threshold", "shm")]);
        let first = &results.series[0];
        assert_eq!((first.command.as_str(), first.points[0].value), ("mpiexec ...", Some(2.5)));
        assert_eq!(first.points[0].label, "8 B");
    }

    /// `cargo xtask papers --instructions` writes such a file.
    #[test]
    fn counted_instructions_are_named_in_full() {
        let mut results = Results::default();
        results.add(&json!({"command": "cargo xtask papers --instructions", "machine": "",
            "experiments": [{"experiment": "counted instructions", "columns": ["call", "RDMA eager"],
                "metric": "instructions", "rows": [{"name": "send", "values": [9.0]}]}]}));
        assert_eq!(results.series[0].experiment, "counted instructions");
    }

    #[test]
    fn jobs_are_told_apart() {
        let mut results = Results::default();
        let of_job = |value: f64| json!({"value": value});
        let mut measured = entry(8, 1.5);
        measured["jobs"] = json!([of_job(1.0), of_job(2.0)]);
        results
            .add(&json!({"command": "c", "variants": [{"variant": "v", "report": {"entries": [measured]}}]}));
        results.add(&json!({"command": "c", "experiments": [{"experiment": "npb", "columns": ["p", "a"],
            "rows": [{"name": "is", "values": [3.0], "jobs": [[of_job(3.0), of_job(4.0)]]}]}]}));
        let values = |at: usize| -> Vec<f64> {
            results.series[at].points[0].jobs.iter().map(|job| job.value).collect()
        };
        assert_eq!((values(0), values(1)), (vec![1.0, 2.0], vec![3.0, 4.0]));
        assert!(results.series[0].points[0].is_at(&results.series[0].points[0]));
        assert_eq!(results.series[0].same(&results.series[1].points[0]), None);
    }

    #[test]
    fn a_column_of_a_table_is_a_series() {
        let mut results = Results::default();
        results.add(&json!({"command": "verbena-papers report", "experiments": [{"experiment": "sim small", "metric": "m",
            "columns": ["size", "a", "b"], "unit": "us",
            "rows": [{"name": "4 B", "values": [1.0, 2.0]}, {"name": "1 KiB", "values": [3.0, 4.0]}]}]}));
        assert_eq!(results.series.len(), 2);
        assert_eq!(results.series[1].points[1].value, Some(4.0));
        assert_eq!(results.series[1].points[1].x, Some(1024.0));
        assert_eq!((number("50:1"), number("dynamic")), (Some(50.0), None));
    }
}
