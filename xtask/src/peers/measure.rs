//! The turn of one contender: `verbena bench` as a program of its own, and its JSON report.

use super::contender::{Contender, Setup};
use super::plan::{self, Part};
use super::report::Report;
use super::summary::{Conditions, Floor, Summary};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// The settings of a turn.
pub(crate) struct Turn<'a> {
    /// The `verbena` program.
    pub worker: &'a Path,
    /// Milliseconds a point.
    pub point_ms: u64,
    /// The longest that a point may take, in seconds.
    pub limit_s: f64,
}

/// Points that one start of a library measures: in the seconds that they take the distance of a
/// virtual machine's processors rarely changes.
const POINTS_AT_ONCE: usize = 10;

/// The time of a cache line during a turn, from what it was before and after; `None` if it changed.
fn settled(before_us: f64, after_us: f64) -> Option<f64> {
    (before_us.max(after_us) <= 2.0 * before_us.min(after_us)).then_some((before_us + after_us) / 2.0)
}

impl Turn<'_> {
    /// Measures the machine's own speed and returns the machine's name.
    ///
    /// # Errors
    /// The worker fails: then nothing else would work either.
    pub(crate) fn floor(&self, floor: &mut Floor) -> Result<String> {
        let mut command = Command::new(self.worker);
        command.arg("bench");
        let report = self.bench(plan::FLOOR, command)?;
        floor.add(&report.entries);
        Ok(report.machine)
    }

    /// Measures the time of a cache line from one processor to another, in microseconds.
    ///
    /// # Errors
    /// The worker fails.
    pub(crate) fn cache_line(&self) -> Result<f64> {
        let mut command = Command::new(self.worker);
        command.arg("bench");
        let report = self.bench(&[plan::CACHE_LINE], command)?;
        let value = report.entries.first().and_then(|entry| entry.value);
        value.with_context(|| format!("the point {} has no value", plan::CACHE_LINE))
    }

    /// Measures one contender under the conditions of one part; failures are noted in its cells.
    pub(crate) fn take(&self, contender: &Contender, part: &Part, summary: &mut Summary) {
        let under = part.under;
        let points = summary.wanted(contender.name, under, &part.points);
        if points.is_empty() {
            return;
        }
        let setup = match &contender.setup {
            Ok(setup) => setup,
            Err(reason) => return summary.fail_all(contender.name, under, &points, reason),
        };
        let mut before = self.cache_line().ok();
        for points in points.chunks(POINTS_AT_ONCE) {
            let report = self.bench(points, self.command(setup, under));
            let after = self.cache_line().ok();
            summary.cache_line_us.extend(after);
            match report {
                Ok(report) => {
                    let line_us = before.zip(after).and_then(|(before, after)| settled(before, after));
                    summary.add(contender.name, under.busy, line_us, &report);
                }
                Err(error) => summary.fail_all(contender.name, under, points, &format!("{error:#}")),
            }
            before = after;
        }
    }

    fn command(&self, setup: &Setup, under: Conditions) -> Command {
        let mut command = Command::new(self.worker);
        command.envs(setup.env.iter().copied());
        // A worker that runs under a launcher of another session must not be taken for a rank of
        // it.
        for (name, _) in std::env::vars_os() {
            if ["PMI_", "PMIX_", "OMPI_COMM_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix))
            {
                command.env_remove(name);
            }
        }
        let Conditions { ranks, busy } = under;
        command.arg("bench").arg("-n").arg(ranks.to_string()).arg("--busy").arg(busy.to_string());
        command.arg("--mpiexec").arg(&setup.mpiexec).arg("--library").arg(&setup.library);
        command.args(setup.launcher_args.iter().map(|option| format!("--launcher-arg={option}")));
        command
    }

    /// Runs `verbena bench` on the points. It exits with a failure when a point failed, but still
    /// reports.
    fn bench(&self, points: &[&str], mut command: Command) -> Result<Report> {
        command.args(["--json", "-", "--points"]).arg(points.join(","));
        command
            .arg("--point-ms")
            .arg(self.point_ms.to_string())
            .arg("--limit-s")
            .arg(self.limit_s.to_string());
        let output =
            command.stderr(Stdio::piped()).output().with_context(|| format!("cannot run {command:?}"))?;
        if output.stdout.is_empty() {
            bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        serde_json::from_slice(&output.stdout).with_context(|| format!("{command:?} wrote no report"))
    }
}
