//! Runs of `tests/programs/anything.c`: random messages and collectives by a seed, which check
//! themselves.

use crate::{job, top};
use std::fmt;
use std::path::Path;

/// The channels of the runs: the default choice, shared memory in one copy or two, the network's.
pub const CHANNELS: [&str; 4] = ["default", "loopback,shm", "loopback,shm,cma", "loopback,ofi"];

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The seed of the messages.
    pub seed: u64,
    /// The number of ranks.
    pub ranks: u32,
    /// An entry of [`CHANNELS`].
    pub channels: String,
}

impl Run {
    /// The run of a seed, which decides the rest as well.
    pub fn of_seed(seed: u64) -> Run {
        let ranks = 2 + (seed % 3) as u32;
        Run { seed, ranks, channels: CHANNELS[(seed / 3) as usize % CHANNELS.len()].into() }
    }

    /// The run of a line, as it is displayed.
    pub fn parse(line: &str) -> Option<Run> {
        let mut words = line.split_whitespace();
        let run = Run {
            seed: words.next()?.parse().ok()?,
            ranks: words.next()?.parse().ok()?,
            channels: words.next()?.into(),
        };
        words.next().is_none().then_some(run)
    }

    /// The runs that failed once: the lines of `tests/programs/anything.seeds`.
    ///
    /// # Panics
    /// If a line is none.
    pub fn kept() -> Vec<Run> {
        let text =
            std::fs::read_to_string(top().join("tests/programs/anything.seeds")).expect("anything.seeds");
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
        let lines = lines.filter(|line| !line.is_empty());
        lines.map(|line| Run::parse(line).unwrap_or_else(|| panic!("anything.seeds: {line}"))).collect()
    }

    /// Runs the program, which [`program`](crate::program) built, on the stage with these
    /// variables.
    ///
    /// # Errors
    /// It failed or hung: what it wrote.
    pub fn try_out(&self, program: &Path, variables: &[(&str, &str)]) -> Result<(), String> {
        let mut job = job(self.ranks, program).arg(self.seed.to_string());
        if self.channels != CHANNELS[0] {
            job = job.env("VERBENA_CHANNELS", &self.channels);
        }
        let job = variables.iter().fold(job, |job, (name, value)| job.env(name, value));
        let ended = job.run();
        let is_whole =
            ended.code == 0 && ended.stdout.contains(&format!("anything: ok with {} ranks", self.ranks));
        if is_whole { Ok(()) } else { Err(format!("{ended:?}")) }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.seed, self.ranks, self.channels)
    }
}
