//! A verbs device as all channels here use it: its words, its port, and what completes.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`options`] | the user's options |
//! | [`choose`] | which port and GID |
//! | [`survey`] | looking at all ports and opening the best that works; for `verbena info` too |
//! | `port` | the open port |
//! | `encoding` | addresses and endpoints as they travel |
//! | `completions` | completions in batches |
//! | `queue` | the account of a send queue: unsignalled work |
//! | `neighbors` | hosts whose Ethernet addresses are not known yet |
//! | `trouble` | asynchronous events |
//! | `clock` | a clock that is read in a few instructions |

pub mod choose;
pub(crate) mod clock;
pub(crate) mod completions;
pub(crate) mod encoding;
pub(crate) mod neighbors;
pub mod options;
pub(crate) mod port;
pub(crate) mod queue;
pub mod survey;
pub(crate) mod trouble;

use std::io::Error;
use verbena_fault::Fault;
use verbena_machine::random;
use verbena_memory::Region;
pub use verbena_verbs::GidEntry;

/// The destination of an adapter's datagrams: LID, queue pair number, Q_Key and GID, encoded by the
/// adapter; only adapters of the same sort read it. It travels in the process's card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub [u8; 32]);

/// One end of a future connection, as the other end needs it: queue pair number, first packet
/// number, GID, LID, path MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint(pub [u8; 32]);

/// A queue pair of this adapter, by its number on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuePair(pub u32);

/// Memory of this process that the device may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The memory.
    pub region: Region,
    /// The key by which local work names it.
    pub local_key: u32,
    /// The key by which a peer names it.
    pub remote_key: u32,
    /// The adapter's own number for it.
    pub handle: u32,
}

/// The manner in which work is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Post {
    /// The work ends as a completion. Unsignalled work ends as one only if it fails.
    pub signalled: bool,
    /// The device copies the bytes when they are posted (up to
    /// [`Limits::inline_bytes_max`](crate::rc::adapter::Limits::inline_bytes_max)), so the memory
    /// is free at once.
    pub inline: bool,
}

/// The reason why work was not posted; nothing was done.
#[derive(Debug)]
pub enum Refused {
    /// The queue is full: complete something first.
    Full,
    /// The queue pair or the device is unusable.
    Broken(Fault),
}

/// The reason why work failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The queue pair was in error before this work began; look for the first failure.
    Flushed,
    /// The peer did not acknowledge in time, after all retries: it died, or the path is cut.
    RetriesExhausted,
    /// The peer had no receive buffer, after all retries.
    ReceiverNotReady,
    /// The peer's device refused the access (key, bounds, rights, or unmapped memory).
    RemoteAccess,
    /// This device refused the access to this process's own memory.
    LocalAccess,
    /// Any other status, by the device's number.
    Other(u32),
}

/// The end of work, or of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number given to the work or to the receive buffer.
    pub id: u64,
    /// The queue pair; for a receive from a shared queue, the one through which the message came.
    pub pair: QueuePair,
    /// The bytes received (0 for other work), or why it failed.
    pub outcome: Result<u32, Failed>,
}

/// An event of the device that is no completion.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The device is gone or unusable: nothing completes any more.
    Device(Fault),
    /// The port is down; connections may time out.
    Port(Fault),
    /// One queue pair went into error.
    Pair(QueuePair, Fault),
    /// The shared receive queue holds fewer buffers than was asked for
    /// ([`Adapter::tell_below`](crate::rc::adapter::Adapter::tell_below)).
    FewReceives,
}

/// Makes a key of datagrams. The highest bit would mean a key that only the kernel may use.
///
/// # Errors
/// The kernel gives no random bits.
pub(crate) fn draw_q_key() -> Result<u32, Fault> {
    random::secret().map(|word| word as u32 >> 1)
}

/// Makes the number of a first packet, which nobody can foresee: so packets of an earlier life, or
/// of strangers, are not mistaken for ours.
///
/// # Errors
/// The kernel gives no random bits.
pub(crate) fn draw_psn() -> Result<u32, Fault> {
    random::secret().map(|word| word as u32 & 0x00ff_ffff)
}

pub(crate) fn unlike(what: &str) -> Fault {
    Fault::new(
        format!("{what} of a peer cannot be read"),
        "the channel rc",
        "the peer runs another version of Verbena",
        "run the same version on all hosts",
    )
}

pub(crate) fn unreadable(error: &Error) -> Fault {
    Fault::new(
        "how much memory may be locked cannot be read",
        "/proc/self/status, /proc/self/uid_map",
        error.to_string(),
        "mount /proc",
    )
}
