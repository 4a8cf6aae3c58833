//! A whole benchmark: which points at which number of ranks, round by round, into a [`Report`].

use super::floor;
use super::job::{End, Launch};
use super::metric::{Family, Metric, Point};
use super::report::{Entry, Report};
use super::room;
use super::timing::Effort;
use super::worker::Line;
use anyhow::Result;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The settings of a campaign: the points, and how they are measured.
#[derive(Debug)]
pub struct Campaign {
    /// The way to start workers; none if nothing needs them.
    pub launch: Option<Launch>,
    /// The points.
    pub points: Vec<Point>,
    /// Numbers of ranks for the collectives and the start-up; pairs are measured at two.
    pub ranks: Vec<usize>,
    /// The number of times that the whole is repeated.
    pub rounds: usize,
    /// The effort for a point.
    pub effort: Effort,
}

impl Campaign {
    /// The empty entries of the report: each point at each number of ranks that suits it.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |point: &Point| match point.metric.family() {
            _ if point.metric.has_ranks() => {
                self.ranks.iter().map(|&ranks| Entry::new(*point, ranks)).collect()
            }
            Family::Floor => vec![Entry::new(*point, 1)],
            _ => vec![Entry::new(*point, 2)],
        };
        self.points.iter().flat_map(entry).collect()
    }

    /// Runs all rounds; `told` hears what is being measured.
    ///
    /// # Errors
    /// A launcher cannot be started. A point that fails is noted in its entry.
    pub fn run(&self, report: &mut Report, told: &mut dyn FnMut(&str)) -> Result<()> {
        self.refuse(report);
        for round in 1..=self.rounds {
            told(&format!("round {round} of {}", self.rounds));
            self.floor(report, told);
            if let Some(launch) = &self.launch {
                self.startup(launch, report, told)?;
                let jobs: BTreeSet<Job> = report.entries.iter().filter_map(Job::of).collect();
                for job in jobs {
                    workers(launch, report, job, told)?;
                }
            }
        }
        Ok(())
    }

    /// Notes in their entries which points this machine has no room for; they are not measured.
    fn refuse(&self, report: &mut Report) {
        let available = room::available();
        for entry in &mut report.entries {
            if let Err(fault) = room::check(entry.point(), entry.ranks, available) {
                entry.fail(&fault.to_string());
            }
        }
    }

    fn floor(&self, report: &mut Report, told: &mut dyn FnMut(&str)) {
        let floor = |entry: &&mut Entry| entry.metric.family() == Family::Floor && entry.failure.is_none();
        for entry in report.entries.iter_mut().filter(floor) {
            match floor::run(entry.point(), entry.ranks, self.effort) {
                Ok((samples, iterations)) => entry.add(&samples, iterations),
                Err(error) => entry.fail(&format!("{error:#}")),
            }
            told(&format!("{}, {} ranks", entry.point(), entry.ranks));
        }
    }

    /// Times the launcher around workers that only initialise, meet in a barrier and end.
    fn startup(&self, launch: &Launch, report: &mut Report, told: &mut dyn FnMut(&str)) -> Result<()> {
        for entry in report.entries.iter_mut().filter(|e| e.metric == Metric::Startup) {
            told(&format!("startup, {} ranks", entry.ranks));
            let start = Instant::now();
            match launch.run(entry.ranks, &[], &mut |_| {})? {
                End::Finished => entry.add(&[start.elapsed().as_secs_f64() * 1e3], 1),
                end => entry.fail(&describe(&end)),
            }
        }
        Ok(())
    }
}

/// The properties that all points of one job of workers share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    ranks: usize,
    kind: Kind,
}

/// The reason why some points have a job of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A point that can follow another in one job.
    Plain,
    /// A point under `MPI_THREAD_MULTIPLE`, which costs the other points time.
    Threads,
    /// A point before which no ranks may have spoken to each other.
    Fresh,
}

impl Job {
    /// The job for an entry, if workers measure it.
    fn of(entry: &Entry) -> Option<Job> {
        let family = entry.metric.family();
        let kind = match family {
            Family::Startup | Family::Floor => return None,
            Family::Threads => Kind::Threads,
            Family::Everyone => Kind::Fresh,
            _ => Kind::Plain,
        };
        Some(Job { ranks: entry.ranks, kind })
    }
}

/// Measures the points of one kind of job, in as many jobs as it takes: one, if nothing fails.
fn workers(launch: &Launch, report: &mut Report, job: Job, told: &mut dyn FnMut(&str)) -> Result<()> {
    let ranks = job.ranks;
    let of_job = |entry: &&Entry| Job::of(entry) == Some(job);
    // A point that failed before is not tried again: it would take its whole time limit in each
    // round.
    let untried = |entry: &&Entry| entry.failure.is_none();
    let mut left: Vec<Point> =
        report.entries.iter().filter(of_job).filter(untried).map(Entry::point).collect();
    while !left.is_empty() {
        let (mut done, mut up) = (0, false);
        let mut on_line = |line: Line| {
            up = true;
            done += usize::from(!matches!(line, Line::Library(_)));
            note(report, ranks, line, told);
        };
        let end = launch.run(ranks, &left, &mut on_line)?;
        left.drain(..done.min(left.len()));
        if left.is_empty() {
            break;
        }
        let reason = describe(&end);
        // A job that never came up fails as a whole; otherwise only the point that it was
        // measuring.
        let lost = if up { 1 } else { left.len() };
        for point in left.drain(..lost) {
            told(&format!("{point}, {ranks} ranks: {reason}"));
            if let Some(entry) = report.entry(point, ranks) {
                entry.fail(&reason);
            }
        }
    }
    Ok(())
}

/// Enters one line of a worker into the report.
fn note(report: &mut Report, ranks: usize, line: Line, told: &mut dyn FnMut(&str)) {
    match line {
        Line::Library(identity) => report.library = Some(identity),
        Line::Point { point, samples, iterations, witness } => {
            told(&format!("{point}, {ranks} ranks"));
            if let Some(entry) = report.entry(point, ranks) {
                entry.add_seen(&samples, iterations, witness);
            }
        }
        Line::Failed { point, reason } => {
            if let Some(entry) = report.entry(point, ranks) {
                entry.fail(&reason);
            }
        }
    }
}

fn describe(end: &End) -> String {
    match end {
        End::Finished => "the job ended without this point".into(),
        End::Died(words) => format!("the job died: {words}"),
        End::TimedOut(limit) => format!("timed out after {}", seconds(*limit)),
    }
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(script: &str, points: &[&str]) -> (Campaign, Report) {
        let launch = Launch {
            mpiexec: "/bin/sh".into(),
            launcher_args: vec!["-c".into(), script.into()],
            library: "/none".into(),
            point_ms: 1,
            repetitions: 1,
            window: 64,
            environment: Vec::new(),
            unwritten: false,
            of_ranks: Vec::new(),
            limit: Duration::from_millis(200),
        };
        let points = points.iter().map(|point| point.parse().expect("point")).collect();
        let effort = Effort { point: Duration::from_millis(2), repetitions: 1, window: 64 };
        let campaign = Campaign { launch: Some(launch), points, ranks: vec![2, 4], rounds: 1, effort };
        let entries = campaign.entries();
        let report = Report {
            command: String::new(),
            started_unix_s: 0,
            machine: String::new(),
            library: None,
            entries,
        };
        (campaign, report)
    }

    #[test]
    fn pairs_stay_at_two_ranks_and_collectives_take_all() {
        let (_, report) = campaign("", &["latency:8", "barrier", "copy:4096"]);
        let ranks: Vec<usize> = report.entries.iter().map(|entry| entry.ranks).collect();
        assert_eq!(ranks, [2, 2, 4, 1]);
    }

    #[test]
    fn a_point_that_hangs_costs_only_itself() {
        // The first job announces itself and hangs; the second, whose points lack the first,
        // answers.
        let script = r#"case "$*" in
            *barrier,bcast*) echo '{"line":"library","name":"L","standard":[5,0],"abi":"standard"}'; exec sleep 60;;
            *) echo '{"line":"point","point":{"metric":"bcast","bytes":8},"samples":[2.5],"iterations":3}';;
        esac"#;
        let (mut campaign, mut report) = campaign(script, &["barrier", "bcast:8"]);
        campaign.ranks = vec![2];
        report.entries = campaign.entries();
        campaign.run(&mut report, &mut |_| {}).expect("runs");
        assert!(report.entries[0].failure.as_deref().is_some_and(|text| text.starts_with("timed out")));
        assert_eq!(report.entries[1].value, Some(2.5));
    }

    #[test]
    fn a_point_without_room_is_not_measured_and_the_others_are() {
        let (mut campaign, mut report) = campaign("", &["polling_set:1000000000", "polling_set:2"]);
        campaign.launch = None;
        campaign.run(&mut report, &mut |_| {}).expect("runs");
        let [refused, measured] = &report.entries[..] else { panic!("two points") };
        let reason = refused.failure.as_deref().expect("refused");
        assert!(reason.contains("too much memory") && refused.samples.is_empty(), "{reason}");
        assert!(measured.value.is_some_and(|value| value > 0.0));
    }

    #[test]
    fn a_job_that_never_comes_up_fails_as_a_whole() {
        let (campaign, mut report) = campaign("echo broken >&2; exit 1", &["barrier", "bcast:8"]);
        campaign.run(&mut report, &mut |_| {}).expect("runs");
        assert!(
            report.entries.iter().all(|e| e.failure.as_deref().is_some_and(|text| text.contains("broken")))
        );
    }
}
