//! The plan of a job: which programs run, as which ranks, with what of our environment, and how a
//! process can end. The command line makes it, and everything else of the launcher works by it.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// One program and how many ranks of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The number of ranks.
    pub count: u32,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables to set, in order.
    pub environment: Vec<(OsString, OsString)>,
    /// Where to run.
    pub directory: Option<OsString>,
}

/// A rank and what it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Its number in the job.
    pub rank: u32,
    /// The number of its part of the command line.
    pub part: u32,
}

/// Which variables go to other hosts, besides those whose name begins with `VERBENA_`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exports {
    /// All but those that describe this host and this session.
    pub all: bool,
    /// These.
    pub names: Vec<OsString>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    /// Whether a process can end so.
    pub fn is_possible(self) -> bool {
        match self {
            Exit::Code(code) => (0..256).contains(&code),
            Exit::Signal(signal) => (1..=64).contains(&signal),
        }
    }
}
