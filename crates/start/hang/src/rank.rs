//! The facts that the launcher of a rank knows.

use crate::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

/// The stage of a rank's life, as its launcher sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// The rank has not called `MPI_Init`.
    Fresh,
    /// The rank waits in `MPI_Init` for all others.
    Starting,
    /// The rank is between `MPI_Init` and `MPI_Finalize`.
    Initialised,
    /// The rank has left MPI.
    Finalised,
    /// The process has ended.
    Ended,
}

/// The state of a process, as the system tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// The process uses a processor, or is ready to.
    Running,
    /// The process waits in a system call.
    Sleeping,
    /// A signal (SIGSTOP, SIGTSTP) has stopped it.
    Stopped,
    /// A debugger holds it.
    Traced,
    /// Not known.
    Unknown,
}

impl RunState {
    /// Reads the state's letter in `/proc/PID/stat`.
    pub fn of_letter(letter: char) -> RunState {
        match letter {
            'R' => RunState::Running,
            'S' | 'D' | 'I' => RunState::Sleeping,
            'T' => RunState::Stopped,
            't' => RunState::Traced,
            _ => RunState::Unknown,
        }
    }
}

/// A place in the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The function, or the module if no function is known.
    pub function: String,
    /// The source file, and the line in it.
    pub line: Option<(String, u32)>,
}

/// A rank, as its launcher sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rank {
    /// The number in the job.
    pub number: u32,
    /// The host.
    pub host: String,
    /// The process id there.
    pub pid: i32,
    /// The stage.
    pub stage: Stage,
    /// The state of the process.
    pub state: RunState,
    /// The share of a processor that it used lately, in percent.
    pub processor_percent: Option<u32>,
    /// The memory that it uses, in bytes.
    pub memory_bytes: u64,
    /// The number of waits that it has begun, of those that took longer than a look.
    pub beats: u64,
    /// The host's clock when it was looked at, in milliseconds.
    pub now_ms: u64,
    /// The words of the rank about itself; `None` if it says nothing.
    pub snapshot: Option<Snapshot>,
    /// True if the snapshot is from after the last question.
    pub is_answered: bool,
    /// The system call in which it slept when it was asked, outside of waits in MPI: "nanosleep",
    /// "read of FILE"; empty if it is not known in which. `None` if it did not sleep so.
    pub asleep_in: Option<String>,
    /// The program's places of each of its waits, the innermost first.
    pub places: Vec<Vec<Place>>,
    /// The lines in Python of a rank that does not wait in MPI, the innermost first; those of a
    /// wait are in the snapshot.
    pub python: Vec<String>,
}

impl Rank {
    /// The MPI function in which the rank was when it was asked, outside of waits there.
    pub fn call(&self) -> Option<&str> {
        let function = self.places.first()?.first()?.function.as_str();
        let call = function.strip_prefix('P').unwrap_or(function);
        call.starts_with("MPI_").then_some(call)
    }

    /// The MPI function by which the rank polls, if it was in one when it was asked.
    pub fn polls(&self) -> Option<&str> {
        const POLLS: [&str; 4] = ["MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status"];
        self.call().filter(|call| POLLS.iter().any(|poll| call.starts_with(poll)))
    }

    /// A rank of which nothing is known but where it is.
    pub fn new(number: u32, host: &str, pid: i32) -> Rank {
        Rank {
            number,
            host: host.into(),
            pid,
            stage: Stage::Fresh,
            state: RunState::Unknown,
            processor_percent: None,
            memory_bytes: 0,
            beats: 0,
            now_ms: 0,
            snapshot: None,
            is_answered: false,
            asleep_in: None,
            places: Vec::new(),
            python: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_the_system_are_understood() {
        let states = ['R', 'S', 'D', 'T', 't', 'Z'].map(RunState::of_letter);
        use RunState::*;
        assert_eq!(states, [Running, Sleeping, Sleeping, Stopped, Traced, Unknown]);
    }
}
