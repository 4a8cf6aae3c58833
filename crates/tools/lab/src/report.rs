//! The results of a benchmark, as `--json` writes them and `cargo xtask peers` reads them.

use super::metric::{Metric, Point};
use super::timing::median;
use crate::mpi::Identity;
use crate::place;
use crate::witness::Witness;
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// Fewer samples than these say nothing about how far they are apart.
const SPREAD_SAMPLES_MIN: usize = 3;

/// The results of one `verbena bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The command line.
    pub command: String,
    /// Seconds since 1970 when it started.
    pub started_unix_s: u64,
    /// The processor's name, and how many processors this process may use.
    pub machine: String,
    /// The identity that the library reports; none if no rank came up.
    pub library: Option<Identity>,
    /// The points, in the order in which they were asked for.
    pub entries: Vec<Entry>,
}

/// A measured (or failed) point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The metric that was measured.
    pub metric: Metric,
    /// Size in bytes; 0 where the metric has none.
    pub bytes: usize,
    /// The number of ranks; 1 for floors, measured without MPI.
    pub ranks: usize,
    /// The unit of the values.
    pub unit: String,
    /// The median of the samples, or their mean over time ([`Entry::take_mean`]); none if the point
    /// failed.
    pub value: Option<f64>,
    /// The values of all repetitions and rounds.
    pub samples: Vec<f64>,
    /// The value of each job by itself, in the order of the rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// Iterations of the last repetition.
    pub iterations: u64,
    /// The reason why there is no value.
    pub failure: Option<String>,
}

/// The value of a point in one job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The median of the job's repetitions.
    pub value: f64,
    /// The circumstances, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

impl Entry {
    /// A point that nothing is known of yet.
    pub fn new(point: Point, ranks: usize) -> Entry {
        let unit = point.metric.unit().to_string();
        let Point { metric, bytes } = point;
        let (samples, jobs) = (Vec::new(), Vec::new());
        Entry { metric, bytes, ranks, unit, value: None, samples, jobs, iterations: 0, failure: None }
    }

    /// Returns the point that was measured.
    pub fn point(&self) -> Point {
        Point { metric: self.metric, bytes: self.bytes }
    }

    /// Adds the repetitions of one round; the value is the median of all.
    pub fn add(&mut self, samples: &[f64], iterations: u64) {
        self.add_seen(samples, iterations, None);
    }

    /// Adds the repetitions of one job, with its circumstances.
    pub fn add_seen(&mut self, samples: &[f64], iterations: u64, witness: Option<Witness>) {
        self.jobs.extend(median(samples).map(|value| Job { value, witness }));
        self.samples.extend_from_slice(samples);
        self.value = median(&self.samples);
        self.iterations = iterations;
    }

    /// Adds what an earlier run measured of the same point, job by job.
    pub fn take_up(&mut self, earlier: Entry) {
        let own = std::mem::replace(&mut self.jobs, earlier.jobs);
        self.jobs.extend(own);
        self.samples.extend(earlier.samples);
        self.value = median(&self.samples);
        self.iterations = earlier.iterations;
    }

    /// Replaces the value, the median of the repetitions, by the mean: all repetitions together,
    /// each as long as the others. Where packets are lost, a few recoveries take most of the time,
    /// and the median of short repetitions shows only those without a loss.
    pub fn take_mean(&mut self) {
        let mean = |values: &[f64]| {
            Some(values.iter().sum::<f64>() / values.len() as f64).filter(|mean| mean.is_finite())
        };
        self.value = match self.metric.is_speed() {
            true => {
                mean(&self.samples.iter().map(|speed| 1.0 / speed).collect::<Vec<_>>()).map(|time| 1.0 / time)
            }
            false => mean(&self.samples),
        };
    }

    /// Half the distance between the quartiles of the samples, in percent of the value; `None` if
    /// there are too few samples to say.
    pub fn spread_percent(&self) -> Option<f64> {
        let value = self.value.filter(|value| *value > 0.0 && self.samples.len() >= SPREAD_SAMPLES_MIN)?;
        let mut samples = self.samples.clone();
        samples.sort_by(f64::total_cmp);
        let quartile = |part: f64| {
            let place = part * (samples.len() - 1) as f64;
            let (below, above) = (samples[place.floor() as usize], samples[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Some((quartile(0.75) - quartile(0.25)) / 2.0 / value * 100.0)
    }

    /// Notes that a round failed; the measurements of earlier rounds stay.
    pub fn fail(&mut self, reason: &str) {
        self.failure = Some(reason.to_string());
    }
}

impl Report {
    /// A report without points of something that `command` measures, from now on and on this
    /// machine.
    pub fn new(command: String) -> Report {
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        Report {
            command,
            started_unix_s: started.map_or(0, |since| since.as_secs()),
            machine: place::machine(),
            library: None,
            entries: Vec::new(),
        }
    }

    /// Creates a report for the command that runs in this process.
    pub fn of_this_command() -> Report {
        Report::new(std::env::args().collect::<Vec<_>>().join(" "))
    }

    /// The entry of a point at a number of ranks.
    pub fn entry(&mut self, point: Point, ranks: usize) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.point() == point && entry.ranks == ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_taken_over_time() {
        let of = |point: &str, samples: &[f64]| {
            let mut entry = Entry::new(point.parse().expect("point"), 2);
            entry.add(samples, 1);
            entry.take_mean();
            entry.value
        };
        assert_eq!(of("latency:8", &[1.0, 1.0, 7.0]), Some(3.0));
        // One second and three for the same amount.
        assert_eq!(of("rate:8", &[1.0, 1.0 / 3.0]), Some(0.5));
        assert_eq!(of("latency:8", &[]), None);
    }

    #[test]
    fn rounds_are_pooled_and_a_failure_keeps_what_was_measured() {
        let mut entry = Entry::new("latency:8".parse().expect("point"), 2);
        entry.add(&[1.0, 3.0], 10);
        entry.add(&[2.0], 20);
        entry.fail("timed out");
        assert_eq!((entry.value, entry.iterations), (Some(2.0), 20));
        let jobs: Vec<f64> = entry.jobs.iter().map(|job| job.value).collect();
        assert_eq!(jobs, [2.0, 2.0]);
        let text = serde_json::to_string(&entry).expect("json");
        assert_eq!(serde_json::from_str::<Entry>(&text).expect("back"), entry);
    }
}
