//! The facts that the system tells of a process, in `/proc`.

use crate::sys;
use verbena_hang::RunState;

/// Milliseconds of a tick of the system's accounts: 100 ticks a second on Linux, whatever its own
/// clock.
const TICK_MS: u64 = 10;

/// The facts about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessFacts {
    /// The state.
    pub state: RunState,
    /// The processor time that all its threads have used, in milliseconds.
    pub processor_ms: u64,
    /// The memory that it uses, in bytes.
    pub memory_bytes: u64,
}

impl ProcessFacts {
    /// The facts about this process; `None` if there is none.
    pub fn of(pid: i32) -> Option<ProcessFacts> {
        ProcessFacts::read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads the line of `/proc/PID/stat`. The name in it may hold anything.
    fn read(line: &str) -> Option<ProcessFacts> {
        let (_, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(ProcessFacts {
            state: RunState::of_letter(fields.first()?.chars().next()?),
            processor_ms: (number(11)? + number(12)?) * TICK_MS,
            memory_bytes: number(21)? * sys::page_bytes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_name() {
        let line =
            "7 (a) R (b) T 1 7 7 0 -1 4194304 100 0 0 0 12 3 0 0 20 0 1 0 5 1000 25 18446744073709551615";
        let facts = ProcessFacts::read(line).expect("facts");
        let expected = ProcessFacts {
            state: RunState::Stopped,
            processor_ms: 150,
            memory_bytes: 25 * sys::page_bytes(),
        };
        assert_eq!(facts, expected);
        assert_eq!(ProcessFacts::read("7 (torn"), None);
    }

    #[test]
    fn this_process_has_facts() {
        let facts = ProcessFacts::of(std::process::id() as i32).expect("facts");
        assert!(facts.memory_bytes > 0 && facts.state != RunState::Stopped);
        assert_eq!(ProcessFacts::of(-1), None);
    }
}
