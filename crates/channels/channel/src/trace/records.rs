//! The traced messages, in memory and as a file of JSON.

use super::clock::{is_counter, monotonic_ns, ticks};
use super::one_sided::OneSided;
use crate::Peer;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

/// The way that a packet went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Through shared memory.
    Shm,
    /// Within the process.
    Loopback,
    /// Through RDMA writes into a ring that the receiver polls (paper 1, section 4).
    RdmaEager,
    /// Through send and receive with a completion queue (paper 1, section 3.1).
    SendReceive,
    /// Over a channel that is not known here.
    #[default]
    Other,
}

/// A message that was sent in one packet. Times are ticks of [`Log::tick_ns`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Sent {
    /// The receiving process.
    pub peer: Peer,
    /// The packet's number, counted for each pair of sender and receiver (wrapping).
    pub sequence: u32,
    /// Length of the message.
    pub bytes: u64,
    /// The way that it went.
    pub way: Way,
    /// The time at which the program called MPI.
    pub entered: u64,
    /// The time at which the engine got it.
    pub engine: u64,
    /// The time at which its posting began.
    pub posting: u64,
    /// The time at which its posting ended.
    pub posted: u64,
}

/// A message that was received in one packet. Times as in [`Sent`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Received {
    /// The sending process.
    pub peer: Peer,
    /// The packet's number, as in [`Sent`].
    pub sequence: u32,
    /// Length of the message.
    pub bytes: u64,
    /// The way that it came.
    pub way: Way,
    /// The time at which the look that found it began.
    pub looked: u64,
    /// The time at which it was found.
    pub seen: u64,
    /// The time at which the engine got it.
    pub handed: u64,
    /// The time at which the engine had delivered it.
    pub delivered: u64,
    /// The time at which the call during which it was delivered returned; 0 if it has not.
    pub left: u64,
    /// True if that call waits for a message (`MPI_Recv`, `MPI_Wait`).
    pub awaited: bool,
}

/// The trace of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Log {
    /// The process's number in the job.
    pub rank: Peer,
    /// The length of a tick of the clock.
    pub tick_ns: f64,
    /// The time of a reading of the clock: about this much of each component is due to the tracing.
    pub stamp_ns: f64,
    /// The number of messages and calls for which there was no room.
    pub dropped: u64,
    /// Messages sent, in order.
    pub sent: Vec<Sent>,
    /// Messages received, in order.
    pub received: Vec<Received>,
    /// One-sided calls, in order.
    #[serde(default)]
    pub one_sided: Vec<OneSided>,
}

/// Reads a file of one process's trace.
///
/// # Errors
/// If it cannot be read, or is no such file.
pub fn read(path: &Path) -> std::io::Result<Log> {
    Ok(serde_json::from_reader(BufReader::new(File::open(path)?))?)
}

/// Holds the records of this process.
pub(super) struct Recorder {
    log: Log,
    /// The monotonic clock and the clock of the stamps at the beginning.
    began: (u64, u64),
    records_max: usize,
    /// Received messages before this one have been stamped by the call's return.
    left: usize,
}

/// The number of readings of the clock by which its cost is found.
const READINGS: u32 = 1000;

impl Recorder {
    /// A recorder with room for this many messages each way, and for as many one-sided calls.
    pub(super) fn new(records_max: usize) -> Recorder {
        let began = (monotonic_ns(), ticks());
        (0..READINGS).for_each(|_| {
            std::hint::black_box(ticks());
        });
        let stamp_ns = (monotonic_ns() - began.0) as f64 / f64::from(READINGS);
        let (sent, received) = (Vec::with_capacity(records_max), Vec::with_capacity(records_max));
        // Most programs have none.
        let one_sided = Vec::new();
        let log = Log { rank: 0, tick_ns: 1.0, stamp_ns, dropped: 0, sent, received, one_sided };
        Recorder { log, began, records_max, left: 0 }
    }

    pub(super) fn sent(&mut self, record: Sent) {
        match self.log.sent.len() < self.records_max {
            true => self.log.sent.push(record),
            false => self.log.dropped += 1,
        }
    }

    pub(super) fn received(&mut self, record: Received) {
        match self.log.received.len() < self.records_max {
            true => self.log.received.push(record),
            false => self.log.dropped += 1,
        }
    }

    pub(super) fn one_sided(&mut self, record: OneSided) {
        match self.log.one_sided.len() < self.records_max {
            true => self.log.one_sided.push(record),
            false => self.log.dropped += 1,
        }
    }

    /// Notes that a call returns.
    pub(super) fn left(&mut self, left: u64, awaited: bool) {
        for record in &mut self.log.received[self.left..] {
            (record.left, record.awaited) = (left, awaited);
        }
        self.left = self.log.received.len();
    }

    pub(super) fn write(&mut self, path: &str, me: Peer) -> std::io::Result<()> {
        self.log.rank = me;
        if is_counter() {
            let (ns, counted) = (monotonic_ns() - self.began.0, ticks() - self.began.1);
            self.log.tick_ns = ns as f64 / counted as f64;
        }
        let mut file = BufWriter::new(File::create(path)?);
        serde_json::to_writer(&mut file, &self.log)?;
        file.flush()
    }
}
