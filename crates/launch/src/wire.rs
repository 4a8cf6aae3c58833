//! What `mpiexec` and its agent on another host say to each other. No I/O.
//!
//! The bytes go over the standard input and output of the launcher (`ssh` and its like), so no port
//! is opened and the launcher's own authentication and encryption hold. First each side says one
//! line of text, which every version understands: `mpiexec` says `verbena-mpiexec VERSION KEY JOB`,
//! the agent answers `verbena-agent VERSION KEY`. KEY is random and new for each job: by it the
//! answer is told from whatever a login shell prints before. From then on both send frames: the
//! length of the payload (4 bytes, little-endian), the payload (postcard), a newline. The newline
//! is for launchers that pass on what they get line by line.

use crate::plan::{Assignment, Exit, Part};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::rc::Rc;
use verbena_fault::Fault;

/// The version of this protocol. Raise it with every change of the types below.
pub const VERSION: u32 = 1;

/// The longest command that an agent believes, in bytes: all cards of a large job fit.
pub const COMMAND_BYTES_MAX: usize = 1 << 30;
/// The longest report that `mpiexec` believes, in bytes: what was read of a rank at once, or the
/// numbers of all ranks.
pub const REPORT_BYTES_MAX: usize = 64 << 20;
/// The most that a login shell may print before the agent answers, in bytes.
pub const NOISE_BYTES_MAX: usize = 1 << 20;

const MPIEXEC: &str = "verbena-mpiexec";
const AGENT: &str = "verbena-agent";

/// What a host is told. The one on which `mpiexec` runs is told the same, without a wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Start ranks.
    Start(Work),
    /// Bytes for the PMI lines of these ranks, the same for each.
    Mail {
        /// To whom.
        ranks: Vec<u32>,
        /// What.
        bytes: Rc<[u8]>,
    },
    /// Close a rank's PMI line: it speaks no PMI.
    HangUp(u32),
    /// Bytes for the standard input of rank 0; none: its end.
    Input(Vec<u8>),
    /// Send a signal to all ranks that run.
    Signal(i32),
    /// Whether to stop reading the ranks' output (0) or error output (1) for a while.
    Hold {
        /// Which stream.
        stream: usize,
        /// Whether it is held.
        held: bool,
    },
    /// Nobody reads this stream any more.
    Shut(usize),
    /// All ranks have ended everywhere: end what they left, send the last of the output, and go.
    Finish,
}

/// What a host tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Report {
    /// A rank runs.
    Started {
        /// Which one.
        rank: u32,
        /// Its process id there.
        pid: i32,
    },
    /// Ranks do not run: the first could not be started, the others were not tried.
    NotStarted {
        /// Which ones.
        ranks: Vec<u32>,
        /// SentFault.
        why: SentFault,
    },
    /// A rank said something on its PMI line.
    Said {
        /// Which one.
        rank: u32,
        /// What.
        bytes: Vec<u8>,
    },
    /// A rank wrote something.
    Wrote {
        /// Which one.
        rank: u32,
        /// On standard output (0) or standard error (1).
        stream: usize,
        /// What.
        bytes: Vec<u8>,
    },
    /// A rank's output stream has ended.
    Closed {
        /// Which one.
        rank: u32,
        /// Standard output (0) or standard error (1).
        stream: usize,
    },
    /// A rank has ended. All that it said has been told before.
    Ended {
        /// Which one.
        rank: u32,
        /// How.
        exit: Exit,
    },
    /// Rank 0 has taken the input, and takes more, or not.
    InputTaken {
        /// Whether it takes more.
        open: bool,
    },
    /// Nothing is left there.
    Done,
}

impl Report {
    /// Whether an agent can truly say this that has the ranks `own` (in order): each host tells of
    /// its own only.
    pub fn is_credible(&self, own: &[u32]) -> bool {
        let is_own = |rank: &u32| own.binary_search(rank).is_ok();
        match self {
            Report::NotStarted { ranks, .. } => !ranks.is_empty() && ranks.iter().all(is_own),
            Report::Ended { rank, exit } => is_own(rank) && exit.is_possible(),
            Report::Started { rank, .. } | Report::Said { rank, .. } => is_own(rank),
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
    /// What standard input rank 0 gets if it is here.
    pub stdin: Stdin,
}

/// The standard input of rank 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdin {
    /// That of the process which starts it.
    Inherited,
    /// A pipe, filled by [`Command::Input`].
    Piped,
}

/// A random word that only `mpiexec` and the agents of one job know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// The key of these random bytes.
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

/// The line with which `mpiexec` begins.
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

/// Reads an opening; `None` if it is none.
pub fn read_opening(line: &str) -> Option<Opening<'_>> {
    let mut words = line.split_whitespace();
    let named = words.next() == Some(MPIEXEC);
    let version = words.next()?.parse().ok()?;
    let (key, job) = (words.next()?, words.next().unwrap_or(""));
    named.then_some(Opening { version, key, job })
}

/// The line with which the agent answers.
pub fn answer(key: &str) -> String {
    format!("{AGENT} {VERSION} {key}\n")
}

/// Looks for the agent's answer: the version that it speaks, where its line begins and where it
/// ends.
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
        // Writing to memory cannot fail, and neither can the types of this module.
        self.bytes = postcard::to_extend(message, std::mem::take(&mut self.bytes)).unwrap_or_default();
        let length = (self.bytes.len() - start - 4) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.bytes.push(b'\n');
    }

    /// Adds bytes that are no frame: the first line.
    pub fn push_line(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
    }

    /// What waits.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// The first `count` bytes have been sent.
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
    /// Messages of at most this length, in bytes.
    pub fn of_at_most(length_max: usize) -> Frames {
        Frames { bytes: Vec::new(), taken: 0, length_max }
    }

    /// Adds bytes as they come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.taken));
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, if it is whole.
    ///
    /// # Errors
    /// What comes is no such message: words that say so.
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
