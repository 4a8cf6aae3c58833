//! The result file of this report's own measurements, in the form that every comparison writes. It
//! is written again after each experiment.

use super::job_table::JobTable;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use verbena_lab::experiment::Measured;
use verbena_lab::experiment::series::Series;
use verbena_lab::report::Report;
use verbena_sim::figures::Table;

/// The measurements so far, and the file.
pub(super) struct Record {
    path: PathBuf,
    /// The versions and commits of this program and of the library that it measures.
    build: String,
    experiments: Vec<Value>,
    skipped: Vec<Value>,
}

impl Record {
    /// An empty one.
    pub(super) fn new(path: PathBuf) -> Record {
        Record { path, build: build(), experiments: Vec::new(), skipped: Vec::new() }
    }

    /// Adds a table, whose columns are series.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn table(&mut self, experiment: &str, metric: &str, unit: &str, table: &Table) -> Result<()> {
        let rows = table.rows.iter().map(|row| json!({"name": row.name, "values": row.values}));
        self.put(
            experiment,
            json!({"experiment": experiment, "title": table.title, "metric": metric, "unit": unit, "columns": table.columns,
                   "rows": rows.collect::<Vec<_>>(), "machine": ""}),
        )
    }

    /// Adds a table that was measured job by job, in place of what it had.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn jobs(
        &mut self,
        experiment: &str,
        metric: &str,
        unit: &str,
        table: &JobTable,
    ) -> Result<()> {
        let machine = verbena_lab::place::machine();
        self.put(experiment, table.json(experiment, metric, unit, &machine))
    }

    /// Adds a table of plays of the simulator, in place of what it had.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn plays(
        &mut self,
        experiment: &str,
        metric: &str,
        unit: &str,
        table: &JobTable,
    ) -> Result<()> {
        self.put(experiment, table.json(experiment, metric, unit, ""))
    }

    /// Adds the measured part of an experiment, in place of the entries it had.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn measured(&mut self, measured: &Measured) -> Result<()> {
        let of = |series: &Series| (series.variant.name.clone(), series.report.clone());
        self.reports(measured.experiment.name, measured.series.iter().map(of))
    }

    /// Adds an experiment from reports by name.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn reports(
        &mut self,
        experiment: &str,
        all: impl Iterator<Item = (String, Report)>,
    ) -> Result<()> {
        let series: Vec<Value> =
            all.map(|(name, report)| json!({"variant": name, "report": report})).collect();
        self.put(experiment, json!({"experiment": experiment, "series": series}))
    }

    /// Notes why an experiment was not measured.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn skip(&mut self, experiment: &str, reason: &str) -> Result<()> {
        self.skipped.push(json!({"skipped": experiment, "reason": reason}));
        self.write()
    }

    fn put(&mut self, experiment: &str, value: Value) -> Result<()> {
        match self.experiments.iter_mut().find(|other| other["experiment"] == experiment) {
            Some(other) => *other = value,
            None => self.experiments.push(value),
        }
        self.write()
    }

    /// Returns all of it.
    pub(super) fn document(&self) -> Value {
        let Report { command, started_unix_s, machine, .. } = Report::of_this_command();
        json!({"command": command, "written_unix_s": started_unix_s, "machine": machine,
               "build": self.build, "experiments": self.experiments, "skipped": self.skipped})
    }

    fn write(&self) -> Result<()> {
        let beside = self.path.with_extension("part");
        let text = serde_json::to_string_pretty(&self.document())?;
        std::fs::write(&beside, text)
            .and_then(|()| std::fs::rename(&beside, &self.path))
            .with_context(|| format!("cannot write the result to {}", self.path.display()))
    }
}

/// The versions and commits of this program, which holds the simulator, and of the installation.
fn build() -> String {
    let library = verbena_lab::place::build().unwrap_or_else(|| "a library of an unknown commit".into());
    format!("{library}, by verbena-papers {}", env!("VERSION_AND_COMMIT"))
}

/// A path as a record's: whole, since ranks may start in another folder.
///
/// # Errors
/// The folder cannot be made.
pub(super) fn folder(out: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    Ok(out.canonicalize()?)
}
