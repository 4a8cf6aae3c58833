//! The messages between `mpiexec` and its agent on another host. No I/O.
//!
//! The bytes go over the standard input and output of the launcher (`ssh` and its like), so no port
//! is opened, and the launcher's authentication and encryption hold. First each side sends one line
//! of text, which every version understands: `mpiexec` sends `verbena-mpiexec VERSION KEY JOB`, the
//! agent answers `verbena-agent VERSION KEY`. KEY is random and new for each job: it tells the
//! answer from whatever a login shell prints before. From then on both send frames: the length of
//! the payload (4 bytes, little-endian), the payload (postcard), a newline. The newline is for
//! launchers that pass on their input line by line.

use crate::binding::Binding;
use crate::load::Load;
use crate::plan::{Assignment, Exit, Part};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::rc::Rc;
use verbena_fault::Fault;

/// The version of this protocol. Raise it with every change of the types below.
pub const VERSION: u32 = 5;

/// The longest command that an agent accepts, in bytes: all cards of a large job fit.
pub const COMMAND_BYTES_MAX: usize = 1 << 30;
/// The longest report that `mpiexec` accepts, in bytes: the bytes read from a rank at once, or the
/// numbers of all ranks, fit.
pub const REPORT_BYTES_MAX: usize = 64 << 20;
/// The most that a login shell may print before the agent answers, in bytes.
pub const NOISE_BYTES_MAX: usize = 1 << 20;

const MPIEXEC: &str = "verbena-mpiexec";
const AGENT: &str = "verbena-agent";

/// A command to a host. The host of `mpiexec` gets the same ones, without a wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Start ranks.
    Start(Work),
    /// Send the same bytes to the PMI lines of these ranks.
    Mail {
        /// The ranks.
        ranks: Vec<u32>,
        /// The bytes.
        bytes: Rc<[u8]>,
    },
    /// Close the PMI line of a rank that does not speak PMI.
    HangUp(u32),
    /// Write bytes to the standard input of rank 0; without bytes, end it.
    Input(Vec<u8>),
    /// Send a signal to all ranks that run.
    Signal(i32),
    /// Stop or resume reading the ranks' output (0) or error output (1).
    Hold {
        /// The stream.
        stream: usize,
        /// True to stop, false to resume.
        held: bool,
    },
    /// Close this stream: it has no reader any more.
    Shut(usize),
    /// Tell the ranks' signs of life.
    Pulse,
    /// Ask the ranks what they wait for.
    Ask,
    /// Tell what they said.
    Look,
    /// Tell the ranks that this one has died, and that the job goes on.
    Bury(u32),
    /// Tell the ranks that all have left MPI, or are dead.
    Part,
    /// End leftovers, send the last of the output, and go: all ranks have ended everywhere.
    Finish,
}

/// A report from a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Report {
    /// A rank runs.
    Started {
        /// The rank.
        rank: u32,
        /// The rank's process id on its host.
        pid: i32,
    },
    /// A rank will run on these processors. Only if [`Binding::reported`] is set.
    Bound {
        /// The rank.
        rank: u32,
        /// The processors, for a person.
        text: String,
    },
    /// The host's ranks are bound so that its processors have this load.
    Loaded {
        /// The first rank of the host.
        rank: u32,
        /// The load that they are.
        load: Load,
    },
    /// Ranks do not run: the first one could not be started, the others were not tried.
    NotStarted {
        /// The ranks.
        ranks: Vec<u32>,
        /// The reason.
        why: SentFault,
    },
    /// A rank said something on its PMI line.
    Said {
        /// The rank.
        rank: u32,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A rank wrote something.
    Wrote {
        /// The rank.
        rank: u32,
        /// Standard output (0) or standard error (1).
        stream: usize,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A rank's output stream has ended.
    Closed {
        /// The rank.
        rank: u32,
        /// Standard output (0) or standard error (1).
        stream: usize,
    },
    /// A rank has ended. All its messages have been reported before.
    Ended {
        /// The rank.
        rank: u32,
        /// The way it ended.
        exit: Exit,
        /// True if it and all ranks that run on its host want to go on when others die.
        borne: bool,
    },
    /// A rank of the host has taken notice of deaths.
    Acknowledged {
        /// The first rank of the host.
        rank: u32,
        /// The dead ranks, of any host.
        dead: Vec<u32>,
    },
    /// A rank of the host does not want to go on without another one that has died, or cannot be
    /// told.
    Refused {
        /// The rank.
        rank: u32,
        /// The dead one, of any host.
        dead: u32,
    },
    /// A rank that is about to end left a core file.
    Core {
        /// The rank.
        rank: u32,
        /// The place of the file, for a person.
        text: String,
    },
    /// Rank 0 has taken its input.
    InputTaken {
        /// True if it takes more.
        open: bool,
    },
    /// The signs of life of a host's ranks.
    Pulse {
        /// The first of these ranks.
        rank: u32,
        /// A number that changes whenever one of them gets further.
        digest: u64,
        /// The number of them that wait in MPI.
        waiting: u32,
    },
    /// A rank crashed, or an error of an MPI call ends it. That is reported next.
    Crashed {
        /// The rank.
        rank: u32,
        /// The places of the program, the innermost first.
        places: Vec<verbena_hang::Place>,
    },
    /// A rank's doings.
    Seen(Box<verbena_hang::Rank>),
    /// Nothing is left on the host.
    Done,
}

impl Report {
    /// Returns whether an agent with the ranks `own` (in order) can report this: each host reports
    /// only on its own ranks.
    pub fn is_credible(&self, own: &[u32]) -> bool {
        let is_own = |rank: &u32| own.binary_search(rank).is_ok();
        match self {
            Report::NotStarted { ranks, .. } => !ranks.is_empty() && ranks.iter().all(is_own),
            Report::Ended { rank, exit, .. } => is_own(rank) && exit.is_possible(),
            Report::Started { rank, .. } | Report::Said { rank, .. } => is_own(rank),
            Report::Loaded { rank, .. } => is_own(rank),
            Report::Pulse { rank, .. } | Report::Crashed { rank, .. } => is_own(rank),
            Report::Acknowledged { rank, .. } | Report::Refused { rank, .. } => is_own(rank),
            Report::Seen(rank) => is_own(&rank.number),
            Report::Bound { rank, text } | Report::Core { rank, text } => {
                is_own(rank) && !text.contains(char::is_control)
            }
            Report::Wrote { rank, stream, .. } | Report::Closed { rank, stream } => {
                is_own(rank) && *stream < 2
            }
            Report::InputTaken { .. } => is_own(&0),
            Report::Done => true,
        }
    }
}

/// A [`Fault`] on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentFault {
    what: String,
    on: String,
    cause: String,
    remedy: String,
}

impl From<Fault> for SentFault {
    fn from(Fault { what, on, cause, remedy }: Fault) -> SentFault {
        SentFault { what, on, cause, remedy }
    }
}

impl From<SentFault> for Fault {
    fn from(SentFault { what, on, cause, remedy }: SentFault) -> Fault {
        Fault { what, on, cause, remedy }
    }
}

/// The ranks that one host starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// The job's name.
    pub job: String,
    /// The number of ranks of the whole job.
    pub size: u32,
    /// The programs.
    pub parts: Vec<Part>,
    /// The ranks of this host, in order.
    pub assignments: Vec<Assignment>,
    /// Variables that all programs get before their own.
    pub environment: Vec<(OsString, OsString)>,
    /// The standard input of rank 0, if it is on this host.
    pub stdin: Stdin,
    /// The processors that the ranks are bound to.
    pub binding: Binding,
    /// The ranks of other jobs that the host's processors are for.
    pub others: Load,
    /// The processes for which there is room, at least the number of ranks (`MPI_UNIVERSE_SIZE`).
    pub universe_size: u32,
    /// The port of the program that this job was started for.
    pub parent: Option<String>,
    /// The ranks that wait for a debugger before they run their program.
    pub held: Vec<u32>,
}

/// The standard input of rank 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdin {
    /// The standard input of the process that starts it.
    Inherited,
    /// A pipe, filled by [`Command::Input`].
    Piped,
}

/// A random word that only `mpiexec` and the agents of one job know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// Makes the key from these random bytes.
    pub fn new(random: [u8; 16]) -> Key {
        Key(random)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The first line, sent by `mpiexec`.
pub fn opening(key: &Key, job: &str) -> String {
    format!("{MPIEXEC} {VERSION} {key} {job}\n")
}

/// The opening as the agent reads it.
#[derive(Debug, PartialEq, Eq)]
pub struct Opening<'a> {
    /// The version that `mpiexec` speaks.
    pub version: u32,
    /// The key to give back.
    pub key: &'a str,
    /// The job's name.
    pub job: &'a str,
}

/// Reads an opening; `None` if the line is none.
pub fn read_opening(line: &str) -> Option<Opening<'_>> {
    let mut words = line.split_whitespace();
    let named = words.next() == Some(MPIEXEC);
    let version = words.next()?.parse().ok()?;
    let (key, job) = (words.next()?, words.next().unwrap_or(""));
    named.then_some(Opening { version, key, job })
}

/// The line that the agent answers.
pub fn answer(key: &str) -> String {
    format!("{AGENT} {VERSION} {key}\n")
}

/// Finds the agent's answer: the version that it speaks, and the range of its line.
pub fn find_answer(bytes: &[u8], key: &Key) -> Option<(u32, std::ops::Range<usize>)> {
    let tail = format!(" {key}\n");
    let end = bytes.windows(tail.len()).position(|window| window == tail.as_bytes())?;
    let head = bytes[..end].windows(AGENT.len()).rposition(|window| window == AGENT.as_bytes())?;
    let version = std::str::from_utf8(&bytes[head + AGENT.len()..end]).ok()?;
    Some((version.trim().parse().ok()?, head..end + tail.len()))
}

/// Messages on their way out.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// Adds a message.
    pub fn push(&mut self, message: &impl Serialize) {
        let start = self.bytes.len();
        self.bytes.extend([0; 4]);
        // Neither a write to memory nor the types of this module can fail.
        self.bytes = postcard::to_extend(message, std::mem::take(&mut self.bytes)).unwrap_or_default();
        let length = (self.bytes.len() - start - 4) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.bytes.push(b'\n');
    }

    /// Adds bytes without a frame: the first line.
    pub fn push_line(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
    }

    /// The bytes that wait to be sent.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Drops the first `count` bytes, which have been sent.
    pub fn consume(&mut self, count: usize) {
        self.sent += count;
        if self.sent * 2 >= self.bytes.len() {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

/// Messages on their way in.
#[derive(Debug)]
pub struct Frames {
    bytes: Vec<u8>,
    taken: usize,
    length_max: usize,
}

impl Frames {
    /// Accepts messages of at most this length, in bytes.
    pub fn of_at_most(length_max: usize) -> Frames {
        Frames { bytes: Vec::new(), taken: 0, length_max }
    }

    /// Adds bytes as they arrive.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.taken));
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next message, if it is whole.
    ///
    /// # Errors
    /// A text that says why these bytes are no such message.
    pub fn pop<T: DeserializeOwned>(&mut self) -> Result<Option<T>, String> {
        let Some((length, rest)) = self.bytes[self.taken..].split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > self.length_max {
            return Err(format!("a message of {length} bytes"));
        }
        let Some((payload, rest)) = rest.split_at_checked(length) else { return Ok(None) };
        match rest.first() {
            None => return Ok(None),
            Some(b'\n') => {}
            Some(byte) => return Err(format!("byte {byte} where a message should end")),
        }
        let message = postcard::from_bytes(payload).map_err(|error| error.to_string())?;
        self.taken += 4 + length + 1;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests;
