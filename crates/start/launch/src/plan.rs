//! The plan of a job: which programs run as which ranks, with which part of our environment, and
//! how a process can end. The command line makes it; the rest of the launcher carries it out.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// One program and its number of ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The number of ranks.
    pub count: u32,
    /// The program.
    pub program: OsString,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// Variables to set, in order.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory to run in.
    pub directory: Option<OsString>,
    /// Directories to look for the program in, before those of `PATH`.
    pub path: Option<OsString>,
}

/// A rank and what it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// The rank's number in the job.
    pub rank: u32,
    /// The number of its part of the command line.
    pub part: u32,
}

/// The variables that go to other hosts, besides `LD_LIBRARY_PATH` and those whose name begins with
/// `VERBENA_`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exports {
    /// All but those that describe this host and this session.
    pub all: bool,
    /// The names of more variables.
    pub names: Vec<OsString>,
}

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// The process exited with this code.
    Code(i32),
    /// This signal killed the process.
    Signal(i32),
}

impl Exit {
    /// Returns whether a process can end this way.
    pub fn is_possible(self) -> bool {
        match self {
            Exit::Code(code) => (0..256).contains(&code),
            Exit::Signal(signal) => (1..=64).contains(&signal),
        }
    }
}
