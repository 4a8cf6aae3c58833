//! Errors of a process that looks for its job.

use crate::wire::WireError;
use std::fmt;
use thiserror::Error;
use verbena_fault::Fault;

/// An error of the start-up. Its text has four parts: what failed, on what, the likely cause, what
/// to do.
#[derive(Debug, Error)]
pub enum BootError {
    /// A variable set by a launcher (or by the user) does not have the form it must have.
    BadVariable {
        /// The variable's name.
        name: &'static str,
        /// The value of the variable.
        value: String,
        /// The form that it should have.
        expected: &'static str,
    },
    /// `mpiexec` started this process as a rank, but the line that it gave to it is closed.
    NoLine {
        /// `PMI_FD`.
        fd: i32,
        /// `PMI_RANK`.
        rank: u32,
        /// `PMI_SIZE`.
        size: u32,
        /// True if another socket has the number.
        other: bool,
    },
    /// The program closed the line to the launcher after the start.
    Closed {
        /// The PMI command under way.
        command: String,
        /// The number of the descriptor.
        fd: i32,
        /// True if the program has opened something else under this number.
        reused: bool,
    },
    /// The launcher's port (`PMI_PORT`) could not be reached.
    Connect {
        /// The variable that names the address, and the address.
        address: String,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// Reading from or writing to the launcher failed, or it closed the line.
    Lost {
        /// The PMI command under way.
        command: String,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// The launcher's text could not be read as PMI.
    Garbled {
        /// The PMI command under way.
        command: String,
        /// The fault in the text.
        source: WireError,
    },
    /// The launcher answered, but not what was asked.
    Unexpected {
        /// The PMI command under way.
        command: String,
        /// The answer that the protocol calls for.
        expected: String,
        /// The answer that came, shortened.
        got: String,
    },
    /// The launcher refused a command (`rc` was not 0).
    Refused {
        /// The PMI command under way.
        command: String,
        /// The launcher's words.
        reason: String,
    },
    /// The launcher's bytes could not be read as PMIx.
    NotPmix {
        /// The PMIx command under way.
        command: String,
        /// The fault in the bytes.
        why: String,
    },
    /// The PMIx server refused a command.
    RefusedByPmix {
        /// The PMIx command under way.
        command: String,
        /// The server's status.
        reason: String,
    },
    /// The PMIx server does not answer.
    Silent {
        /// The PMIx command under way.
        command: String,
        /// The time that was waited.
        seconds: f64,
    },
    /// The PMIx server speaks nothing that this client speaks.
    NoDialect {
        /// The variables that say so.
        told: String,
    },
    /// A business card that came back cannot be decoded.
    BadCard {
        /// The rank whose card it is.
        rank: u32,
        /// The fault in it.
        why: String,
    },
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault().fmt(f)
    }
}

/// The remedy where launcher and process do not speak the same PMI.
const OTHER_VERSION: &str =
    "set VERBENA_PMI=1 or VERBENA_PMI=2, or start the program with Verbena's own mpiexec";

impl BootError {
    /// The error in its four parts.
    pub fn fault(&self) -> Fault {
        match self {
            BootError::BadVariable { name, value, expected } => bad_variable(name, value, expected),
            BootError::NoLine { fd, rank, size, other } => {
                no_line(format!("rank {rank} of {size}, process {}", std::process::id()), *fd, *other)
            }
            BootError::Closed { command, fd, reused } => closed(command, *fd, *reused),
            BootError::Connect { address, source } => Fault::new(
                "Could not connect to the launcher.",
                format!("{address}: {source}"),
                "the launcher has ended, or this host cannot reach the launcher's host",
                "check that the launcher still runs and that no firewall lies between",
            ),
            BootError::Lost { command, source } => Fault::new(
                "Lost the line to the launcher.",
                format!("PMI command '{command}': {source}"),
                "the launcher has ended or was killed",
                "look at what the launcher itself reported and start the job again",
            ),
            BootError::Garbled { command, source } => Fault::new(
                "The launcher's answer is not PMI.",
                format!("PMI command '{command}': {source}"),
                "PMI_FD or PMI_PORT leads to something that is no PMI launcher, or speaks another version",
                OTHER_VERSION,
            ),
            BootError::Unexpected { command, expected, got } => Fault::new(
                "The launcher gave an unexpected answer.",
                format!("PMI command '{command}': expected {expected}, got '{got}'"),
                "the launcher speaks another version of PMI, or another program reads the same descriptor",
                OTHER_VERSION,
            ),
            BootError::Refused { command, reason } => Fault::new(
                "The launcher refused a command.",
                format!("PMI command '{command}': {reason}"),
                "the launcher's limits are exceeded, or it does not know the command",
                OTHER_VERSION,
            ),
            BootError::NotPmix { command, why } => Fault::new(
                "The launcher's answer is not PMIx.",
                format!("PMIx command '{command}': {why}"),
                "PMIX_SERVER_URI leads to something that is no PMIx server",
                OTHER_LAUNCHER,
            ),
            BootError::RefusedByPmix { command, reason } => Fault::new(
                "The launcher's PMIx server refused a command.",
                format!("PMIx command '{command}': {reason}"),
                "another process than the launcher's own rank speaks, or munge, of which the server wants a proof, \
                 does not run here",
                OTHER_LAUNCHER,
            ),
            BootError::Silent { command, seconds } => Fault::new(
                "The launcher's PMIx server does not answer.",
                format!("PMIx command '{command}', after {seconds} s"),
                "the server hangs, or PMIX_SERVER_URI leads to something else",
                OTHER_LAUNCHER,
            ),
            BootError::NoDialect { told } => Fault::new(
                "The launcher's PMIx server cannot be spoken to.",
                told.clone(),
                "it offers neither PMIx v3 nor v2.1 over TCP, or no security of native, munge and none",
                OTHER_LAUNCHER,
            ),
            BootError::BadCard { rank, why } => bad_card(*rank, why),
        }
    }
}

/// The remedy where a PMIx server is of no use.
const OTHER_LAUNCHER: &str =
    "start the program with Verbena's own mpiexec, or under Slurm with srun --mpi=pmi2";

fn bad_variable(name: &str, value: &str, expected: &str) -> Fault {
    Fault::new(
        "Could not understand an environment variable.",
        format!("{name}={value}, expected {expected}"),
        "the variable was set by hand, or left over from another launcher",
        format!("unset {name}, or start the program with mpiexec"),
    )
}

fn no_line(who: String, fd: i32, other: bool) -> Fault {
    let (now, cause, remedy) = if other {
        (
            "is another socket than mpiexec's",
            "the program closed descriptors of the library before MPI_Init and opened its own, or a launcher inside \
             a rank of mpiexec started it",
            "close only descriptors that the program has opened; for another launcher unset VERBENA_JOB and VERBENA_PMI_SOCKET",
        )
    } else {
        (
            "is closed",
            "the program closed descriptors of the library before MPI_Init (closefrom, close_range, a loop)",
            "close only descriptors that the program has opened, or call MPI_Init first",
        )
    };
    let what = "This rank has no line to mpiexec, so MPI cannot start.";
    Fault::new(what, format!("{who}: PMI_FD={fd} {now}"), cause, remedy)
}

fn closed(command: &str, fd: i32, reused: bool) -> Fault {
    let now = if reused { "is another file now" } else { "is closed" };
    Fault::new(
        "The program closed descriptors of the library.",
        format!("the line to the launcher, descriptor {fd}, {now}; PMI command '{command}'"),
        "a call that closes all descriptors after MPI_Init (closefrom, close_range, a daemon's start)",
        "close only descriptors that the program has opened",
    )
}

fn bad_card(rank: u32, why: &str) -> Fault {
    Fault::new(
        "A process's business card arrived damaged.",
        format!("card of rank {rank}: {why}"),
        "the launcher cut or changed the value, or ranks run different versions of Verbena",
        "make sure that every rank loads the same libmpi_abi.so",
    )
}
