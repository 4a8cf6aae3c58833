//! One way of doing things, by settings, and what was measured of it: candidates take turns, so that what disturbs the machine
//! disturbs all alike.

use super::campaign::Campaign;
use super::job::Launch;
use super::metric::Point;
use super::report::{Entry, Report};
use super::timing::Effort;
use anyhow::Result;
use std::time::Duration;

/// A setting without `VERBENA_`, and its value.
pub type Set = (String, String);

/// The candidate.
pub struct Candidate {
    /// Its name in tables and plots.
    pub name: String,
    /// The values, and the command that measures them.
    pub report: Report,
    campaign: Campaign,
}

impl Candidate {
    /// A candidate of which nothing was measured yet.
    ///
    /// # Errors
    /// This program's own path cannot be found.
    pub fn new(
        name: &str,
        settings: &[Set],
        points: &[Point],
        ranks: usize,
        launch: &Launch,
    ) -> Result<Candidate> {
        let mut launch = launch.clone();
        let named = settings.iter().map(|(name, value)| (format!("VERBENA_{name}"), value.clone()));
        launch.environment.extend(named);
        let report = Report::new(launch.command_line(ranks, points)?);
        // The workers know the effort from their command line; nothing here is measured without them.
        let effort = Effort { point: Duration::ZERO, repetitions: 0, window: 1 };
        let points = points.to_vec();
        let campaign = Campaign { launch: Some(launch), points, ranks: vec![ranks], rounds: 1, effort };
        let report = Report { entries: campaign.entries(), ..report };
        Ok(Candidate { name: name.into(), report, campaign })
    }

    /// Measures once more.
    ///
    /// # Errors
    /// The launcher cannot be started. A point that fails is noted in its entry.
    pub fn round(&mut self) -> Result<()> {
        self.campaign.run(&mut self.report, &mut |_| {})
    }

    /// What is known of a point.
    pub fn entry(&self, point: Point) -> Option<&Entry> {
        self.report.entries.iter().find(|entry| entry.point() == point)
    }

    /// The value of a point.
    pub fn value(&self, point: Point) -> Option<f64> {
        self.entry(point)?.value
    }

    /// Why points were not measured.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        let failed =
            |entry: &Entry| Some(format!("{}, {}: {}", self.name, entry.point(), entry.failure.as_ref()?));
        self.report.entries.iter().filter_map(failed).collect::<Vec<_>>().into_iter()
    }
}

/// A setting as candidates take it.
pub fn set(name: &str, value: impl ToString) -> Set {
    (name.into(), value.to_string())
}

/// A bar on a terminal, on one line that is overwritten.
pub struct Bar {
    done: usize,
    all: usize,
    terminal: bool,
}

impl Bar {
    /// A bar over so many steps.
    pub fn new(all: usize) -> Bar {
        Bar { done: 0, all, terminal: std::io::IsTerminal::is_terminal(&std::io::stderr()) }
    }

    /// A step begins.
    pub fn step(&mut self, what: &str) {
        const WIDTH: usize = 30;
        if self.terminal {
            let full = self.done * WIDTH / self.all.max(1);
            let what: String = what.chars().take(38).collect();
            eprint!(
                "\r\x1b[2K[{}{}] {}/{} {what}",
                "#".repeat(full),
                ".".repeat(WIDTH - full),
                self.done,
                self.all
            );
        }
        self.done += 1;
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.terminal {
            eprint!("\r\x1b[2K");
        }
    }
}
