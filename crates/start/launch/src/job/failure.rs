//! The reasons why jobs end early, and their exit codes.

use std::time::Duration;
use verbena_fault::Fault;

/// The exit code of a program that wrote where nobody reads, as shells have it.
pub(super) const BROKEN_PIPE: i32 = 128 + libc::SIGPIPE;
/// The exit code when a program cannot be started, as shells have it.
const CANNOT_START: i32 = 127;

/// The reason why a job was ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A signal killed a rank.
    Killed {
        /// The rank.
        rank: u32,
        /// The signal.
        signal: i32,
    },
    /// A rank died while the others wanted to go on, and none of them took notice.
    Unnoticed {
        /// The rank.
        rank: u32,
        /// The signal that killed it; `None`: it was lost with its host.
        signal: Option<i32>,
    },
    /// A rank called `MPI_Abort`.
    Aborted {
        /// The rank.
        rank: u32,
        /// The exit code.
        code: i32,
    },
    /// An error ended a rank, by the error handler of what it was about.
    Erroneous {
        /// The rank.
        rank: u32,
        /// The exit code.
        code: i32,
        /// The MPI function.
        call: String,
    },
    /// A rank exited with a code other than 0, before `MPI_Finalize` or without MPI.
    Failed {
        /// The rank.
        rank: u32,
        /// The exit code.
        code: i32,
    },
    /// A rank exited with code 0 after `MPI_Init` and before `MPI_Finalize`.
    NotFinalised {
        /// The rank.
        rank: u32,
    },
    /// A rank has ended while others wait for it.
    Absent {
        /// The rank.
        rank: u32,
        /// True if it never called `MPI_Init`.
        fresh: bool,
    },
    /// A rank sent its launcher something that is not PMI.
    Garbled {
        /// The rank.
        rank: u32,
        /// The error in its message.
        error: String,
    },
    /// Ranks could not be started.
    NotStarted(Fault),
    /// The connection to a host is lost, or to the program that the job was started for.
    Lost(Fault),
    /// A rank wrote more than the reader of our output was ready to read.
    NoReader {
        /// The rank.
        rank: u32,
    },
    /// Our output cannot be written.
    Unwritable(Fault),
    /// The time given with `--timeout` is over.
    TimedOut {
        /// The limit.
        after: Duration,
        /// The number of ranks that still ran.
        running: u32,
    },
}

/// The reason why the ranks' output cannot be passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// The reader has gone.
    NoReader,
    /// The operating system refuses it, for this reason.
    Refused(Fault),
}

impl Failure {
    /// The job's exit code.
    pub fn code(&self) -> i32 {
        match self {
            Failure::Killed { signal, .. } | Failure::Unnoticed { signal: Some(signal), .. } => 128 + signal,
            Failure::NoReader { .. } => BROKEN_PIPE,
            Failure::Unwritable(_) => 1,
            Failure::Aborted { code, .. } | Failure::Erroneous { code, .. } => verbena_boot::exit_byte(*code),
            Failure::Failed { code, .. } => *code,
            Failure::NotFinalised { .. } | Failure::Absent { .. } | Failure::Garbled { .. } => 1,
            Failure::Lost(_) | Failure::Unnoticed { signal: None, .. } => 1,
            Failure::NotStarted(_) => CANNOT_START,
            Failure::TimedOut { .. } => 124,
        }
    }

    /// Returns whether no later news can be its cause.
    pub(super) fn is_certain(&self) -> bool {
        self.order() == 0 || matches!(self, Failure::TimedOut { .. })
    }

    /// The order of failures seen at once: the lowest is the cause, the others are its effects. A
    /// rank that is killed makes its peers abort or fail, never the other way round.
    pub(super) fn order(&self) -> u8 {
        match self {
            Failure::Killed { .. } | Failure::NotStarted(_) | Failure::Lost(_) => 0,
            Failure::Unnoticed { .. } => 0,
            Failure::NoReader { .. } | Failure::Unwritable(_) => 0,
            Failure::Aborted { .. } | Failure::Erroneous { .. } => 1,
            Failure::Garbled { .. } => 2,
            Failure::Failed { .. } => 3,
            Failure::NotFinalised { .. } => 4,
            Failure::Absent { .. } => 5,
            Failure::TimedOut { .. } => 6,
        }
    }
}
