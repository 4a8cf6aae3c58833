//! The rows of a run on the bare device, and the result file.

use crate::place;
use crate::timing::{Samples, median};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// The subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Half a round trip of a message (paper 1, figures 1, 4 and 7).
    Latency,
    /// The time from a post to its completion.
    Completed,
    /// Bytes a time of a stream (paper 2, figure 15).
    Bandwidth,
    /// The processor's time in the call that posts.
    Post,
    /// A look at a completion queue, by the connections on it (paper 1, figure 3).
    Look,
    /// Registering memory, and ending that.
    Registration,
    /// Opening, connecting and closing a queue pair.
    Pair,
    /// Making a receive queue that several pairs share, and posting buffers to it or to a pair's
    /// own.
    Receive,
    /// Copies by the processor.
    Copy,
}

impl Subject {
    /// Every subject, in the order of the tables.
    pub const ALL: [Subject; 9] = [
        Subject::Latency,
        Subject::Completed,
        Subject::Bandwidth,
        Subject::Post,
        Subject::Look,
        Subject::Registration,
        Subject::Pair,
        Subject::Receive,
        Subject::Copy,
    ];

    /// Returns the word for a command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Subject::Latency => "latency",
            Subject::Completed => "completed",
            Subject::Bandwidth => "bandwidth",
            Subject::Post => "post",
            Subject::Look => "look",
            Subject::Registration => "registration",
            Subject::Pair => "pair",
            Subject::Receive => "receive",
            Subject::Copy => "copy",
        }
    }

    /// Returns the line above its table.
    pub fn title(self) -> &'static str {
        match self {
            Subject::Latency => "Half a round trip (paper 1, figures 1, 4 and 7)",
            Subject::Completed => "From a post to its completion",
            Subject::Bandwidth => "Bandwidth of a stream (paper 2, figure 15)",
            Subject::Post => "Time in the call that posts",
            Subject::Look => "A look at a completion queue (paper 1, figure 3)",
            Subject::Registration => "Registered memory (paper 2, section 5; paper 5)",
            Subject::Pair => "A queue pair (paper 4, section 2)",
            Subject::Receive => "Receive queues (paper 4, section 2)",
            Subject::Copy => "Copies by the processor (paper 2, section 4.4)",
        }
    }

    /// Returns the unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Subject::Bandwidth | Subject::Copy => "MB/s",
            Subject::Look => "ns",
            _ => "us",
        }
    }

    /// Returns the name of what a row's `at` counts; none where it counts nothing.
    pub fn axis(self) -> Option<&'static str> {
        match self {
            Subject::Look => Some("connections"),
            Subject::Pair | Subject::Receive => None,
            _ => Some("size"),
        }
    }
}

/// One value, measured several times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The subject.
    pub subject: Subject,
    /// The variant: an operation, or a way of sending.
    pub variant: String,
    /// Bytes, or connections for looks; 0 where there is nothing to count.
    pub at: usize,
    /// The unit of the values.
    pub unit: String,
    /// The median of the samples.
    pub value: f64,
    /// The values of the repetitions.
    pub samples: Vec<f64>,
    /// Operations in a repetition.
    pub iterations: u64,
    /// Bytes, immediate values, completions or objects that were compared and right.
    pub checked: u64,
}

impl Row {
    /// Makes a row of times in seconds an operation. `bytes` are those of an operation, for a
    /// bandwidth.
    pub(super) fn new(
        subject: Subject,
        variant: impl Into<String>,
        at: usize,
        times: &Samples,
        checked: u64,
    ) -> Row {
        let value = |seconds: &f64| match subject.unit() {
            "MB/s" => at as f64 / seconds / 1e6,
            "ns" => seconds * 1e9,
            _ => seconds * 1e6,
        };
        let samples: Vec<f64> = times.seconds.iter().map(value).collect();
        Row {
            subject,
            variant: variant.into(),
            at,
            unit: subject.unit().into(),
            value: median(&samples).unwrap_or(f64::NAN),
            samples,
            iterations: times.iterations,
            checked,
        }
    }
}

/// All that one run measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The command line.
    pub command: String,
    /// Seconds since 1970 when it started.
    pub started_unix_s: u64,
    /// The processor's name, and how many processors this process may use.
    pub machine: String,
    /// The device, port and address of each rank.
    pub places: Vec<String>,
    /// The rows, in the order in which they were measured.
    pub rows: Vec<Row>,
}

impl Outcome {
    /// Creates an empty one for the command that runs in this process.
    pub(super) fn of_this_command() -> Outcome {
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        Outcome {
            command: std::env::args().collect::<Vec<_>>().join(" "),
            started_unix_s: started.map_or(0, |since| since.as_secs()),
            machine: place::machine(),
            places: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Returns a row, if it was measured.
    pub fn row(&self, subject: Subject, variant: &str, at: usize) -> Option<&Row> {
        self.rows.iter().find(|row| row.subject == subject && row.variant == variant && row.at == at)
    }

    /// Returns the value of a row, if it was measured.
    pub fn value(&self, subject: Subject, variant: &str, at: usize) -> Option<f64> {
        self.row(subject, variant, at).map(|row| row.value)
    }

    /// Returns the variants of a subject, in the order in which they were measured.
    pub fn variants(&self, subject: Subject) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| row.subject == subject) {
            if !names.contains(&row.variant.as_str()) {
                names.push(&row.variant);
            }
        }
        names
    }

    /// Returns the places on a subject's axis at which something was measured, in ascending order.
    pub fn places_of(&self, subject: Subject) -> Vec<usize> {
        let mut all: Vec<usize> =
            self.rows.iter().filter(|row| row.subject == subject).map(|row| row.at).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(seconds: &[f64]) -> Samples {
        Samples { seconds: seconds.to_vec(), iterations: 7 }
    }

    #[test]
    fn values_are_in_the_units_of_their_subjects() {
        let row = |subject, at| Row::new(subject, "write", at, &samples(&[3e-6, 1e-6, 2e-6]), 1).value;
        assert!((row(Subject::Latency, 8) - 2.0).abs() < 1e-9);
        assert!((row(Subject::Look, 64) - 2000.0).abs() < 1e-6);
        assert!((row(Subject::Bandwidth, 1000) - 500.0).abs() < 1e-6);
    }

    #[test]
    fn a_result_file_is_read_as_it_was_written() {
        let row = Row::new(Subject::Look, "empty", 64, &samples(&[1e-7]), 3);
        let outcome = Outcome { rows: vec![row], ..Outcome::of_this_command() };
        let text = serde_json::to_string(&outcome).expect("json");
        let back: Outcome = serde_json::from_str(&text).expect("back");
        assert_eq!(back, outcome);
        assert_eq!((back.variants(Subject::Look), back.places_of(Subject::Look)), (vec!["empty"], vec![64]));
        assert!(
            back.value(Subject::Look, "empty", 64).is_some() && back.row(Subject::Look, "full", 64).is_none()
        );
    }
}
