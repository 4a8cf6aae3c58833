//! The measurements of one variant.

use super::between::Between;
use super::device;
use super::variant::{How, Variant};
use super::verb::Verb;
use crate::campaign::Campaign;
use crate::metric::{Metric, Point};
use crate::report::{Entry, Report};
use crate::timing::Effort;
use anyhow::Result;

/// A variant of an experiment, with its measurements.
pub struct Series {
    /// The variant itself.
    pub variant: Variant,
    /// The command that measures it, and the values.
    pub report: Report,
    /// The campaigns, one for each number of ranks.
    campaigns: Vec<Campaign>,
}

impl Series {
    /// Returns a variant without measurements: of these points, at these numbers of ranks, with
    /// this many messages in flight in the window tests.
    ///
    /// # Errors
    /// Our own launcher or library cannot be found, or there are no nodes for it.
    pub fn new(
        points: &[Point],
        ranks: &[usize],
        window: usize,
        variant: Variant,
        between: &Between,
    ) -> Result<Series> {
        let effort = Effort { window, ..between.effort };
        let points = suitable(points, &variant.how);
        let all = Campaign { launch: None, points, ranks: ranks.to_vec(), rounds: 1, effort };
        let entries = all.entries();
        let mut campaigns = Vec::new();
        for (ranks, points) in by_ranks(&entries) {
            let launch = between.launch(&variant.how, ranks, window)?;
            campaigns.push(Campaign { launch, points, ranks: vec![ranks], rounds: 1, effort });
        }
        let report = Report::new(command(&campaigns, &variant.how, between)?);
        Ok(Series { variant, report: Report { entries, ..report }, campaigns })
    }

    /// Measures once more.
    ///
    /// # Errors
    /// Our own launcher cannot be started. A point that fails is noted in its entry.
    pub fn round(&mut self, between: &Between) -> Result<()> {
        match self.variant.how {
            How::Device(verb) => {
                self.device_round(verb, between);
                Ok(())
            }
            How::Ours(..) => self.ranks_round(),
            // Another library that cannot be started leaves its own cells empty, and no others.
            How::Peer(..) => {
                if let Err(error) = self.ranks_round() {
                    self.report.entries.iter_mut().for_each(|entry| entry.fail(&format!("{error:#}")));
                }
                Ok(())
            }
        }
    }

    /// Measures one round for each number of ranks. A campaign measures everything in its report,
    /// so each one gets only the entries of its own number of ranks.
    fn ranks_round(&mut self) -> Result<()> {
        for campaign in &self.campaigns {
            let own = |entry: &&Entry| campaign.ranks.contains(&entry.ranks);
            let entries = self.report.entries.iter().filter(own).cloned().collect();
            let mut part = Report { entries, ..self.report.clone() };
            let outcome = campaign.run(&mut part, &mut |_| {});
            self.report.library = part.library;
            for measured in part.entries {
                if let Some(entry) = self.report.entry(measured.point(), measured.ranks) {
                    *entry = measured;
                }
            }
            outcome?;
        }
        Ok(())
    }

    fn device_round(&mut self, verb: Verb, between: &Between) {
        let Some(effort) = self.campaigns.first().map(|campaign| campaign.effort) else { return };
        for entry in self.report.entries.iter_mut().filter(|entry| entry.failure.is_none()) {
            let point = entry.point();
            // As many runs as ours has repetitions: each one is quick or slow, by where the kernel
            // puts its work.
            let runs = (0..effort.repetitions)
                .map(|_| device::measure(verb, between, point, effort.window, between.limit));
            match runs.collect::<Result<Vec<f64>>>() {
                Ok(values) => entry.add(&values, 1),
                Err(error) => entry.fail(&format!("{error:#}")),
            }
        }
    }

    /// The value of a point, if it was measured; with the fewest ranks if with several.
    pub fn value(&self, point: Point) -> Option<f64> {
        self.entry(point)?.value
    }

    /// Returns the entry of a point; with the fewest ranks if there are several.
    pub fn entry(&self, point: Point) -> Option<&Entry> {
        self.report.entries.iter().find(|entry| entry.point() == point)
    }

    /// Returns the entry of a point with this many ranks.
    pub fn entry_of(&self, point: Point, ranks: usize) -> Option<&Entry> {
        self.report.entries.iter().find(|entry| entry.point() == point && entry.ranks == ranks)
    }

    /// Returns why points were not measured; each reason once.
    pub fn failures(&self) -> Vec<&str> {
        let mut reasons: Vec<&str> =
            self.report.entries.iter().filter_map(|entry| entry.failure.as_deref()).collect();
        reasons.dedup();
        reasons
    }
}

/// The points of each number of ranks: a job of its own, since its ranks lie on the nodes in
/// another way.
fn by_ranks(entries: &[Entry]) -> Vec<(usize, Vec<Point>)> {
    let mut groups: Vec<(usize, Vec<Point>)> = Vec::new();
    for entry in entries {
        match groups.iter_mut().find(|(ranks, _)| *ranks == entry.ranks) {
            Some((_, points)) => points.push(entry.point()),
            None => groups.push((entry.ranks, vec![entry.point()])),
        }
    }
    groups
}

/// The points that suit a variant.
fn suitable(points: &[Point], how: &How) -> Vec<Point> {
    let suits = |point: &Point| match how {
        // perftest has no message that waits for nothing but its latency or its bandwidth.
        How::Device(verb) => {
            matches!(point.metric, Metric::Latency | Metric::Bandwidth) && verb.takes(point.bytes)
        }
        _ => true,
    };
    points.iter().copied().filter(suits).collect()
}

/// The commands that measure a variant; several are joined as a shell has them.
fn command(campaigns: &[Campaign], how: &How, between: &Between) -> Result<String> {
    let one = |campaign: &Campaign| match (how, &campaign.launch) {
        (How::Device(verb), _) => {
            let point = campaign.points.first();
            Ok(point
                .map_or(String::new(), |&point| verb.command_line(between, point, campaign.effort.window)))
        }
        (_, Some(launch)) => launch.command_line(campaign.ranks[0], &campaign.points),
        (_, None) => Ok(String::new()),
    };
    Ok(campaigns.iter().map(one).collect::<Result<Vec<_>>>()?.join("; "))
}
