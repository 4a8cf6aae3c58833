//! The traced messages, in memory and as a file of JSON.

use super::calls::{Call, Object, Queues};
use super::clock::{Moment, is_counter, machine, monotonic_ns, since_1970_ns, ticks};
use super::messages::{Arrival, Departure};
use super::one_sided::OneSided;
use crate::Peer;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
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
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    /// The process's number in the job.
    pub rank: Peer,
    /// Tells the job from others, which may have left files of the same name; empty if unknown.
    #[serde(default)]
    pub job: String,
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
    /// The name of the host.
    #[serde(default)]
    pub host: String,
    /// Tells one start of a machine from every other: processes with the same one have one
    /// monotonic clock.
    #[serde(default)]
    pub machine: String,
    /// The time at which the call began that started MPI, and at which the trace was written.
    #[serde(default)]
    pub times: [u64; 2],
    /// The first of these in nanoseconds since 1970, by the host's own clock.
    #[serde(default)]
    pub began_ns: u64,
    /// Calls of MPI, in the order in which they ended.
    #[serde(default)]
    pub calls: Vec<Call>,
    /// The communicators, windows and files that calls were about.
    #[serde(default)]
    pub objects: Vec<Object>,
    /// Messages that left, in order.
    #[serde(default)]
    pub departures: Vec<Departure>,
    /// Messages that came, in order.
    #[serde(default)]
    pub arrivals: Vec<Arrival>,
    /// The matching queues, whenever their lengths had changed.
    #[serde(default)]
    pub queues: Vec<Queues>,
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
    /// The place in the log of each object, by its handle.
    objects: HashMap<u64, u32>,
    /// The places in the log of the messages that no receive has been given to, by sender and
    /// number.
    held: HashMap<(Peer, u32), usize>,
    /// The places in the log of the messages that receives were given, by the receive's number.
    given: HashMap<u64, usize>,
}

/// The number of readings of the clock by which its cost is found.
const READINGS: u32 = 1000;

impl Recorder {
    /// A recorder for a process of the job with this number. It has room for this many messages
    /// each way, and for as many calls.
    pub(super) fn new(records_max: usize, job: u128) -> Recorder {
        let began = (monotonic_ns(), ticks());
        (0..READINGS).for_each(|_| {
            std::hint::black_box(ticks());
        });
        let stamp_ns = (monotonic_ns() - began.0) as f64 / f64::from(READINGS);
        let (sent, received) = (Vec::with_capacity(records_max), Vec::with_capacity(records_max));
        let (calls, departures, arrivals) = (
            Vec::with_capacity(records_max),
            Vec::with_capacity(records_max),
            Vec::with_capacity(records_max),
        );
        let log = Log {
            job: format!("{job:032x}"),
            tick_ns: 1.0,
            stamp_ns,
            sent,
            received,
            calls,
            departures,
            arrivals,
            times: [ticks(), 0],
            began_ns: since_1970_ns(),
            ..Log::default()
        };
        let (objects, held, given) = (HashMap::new(), HashMap::new(), HashMap::new());
        Recorder { log, began, records_max, left: 0, objects, held, given }
    }

    /// Lets the trace begin at this moment, if it began later.
    pub(super) fn begin_at(&mut self, moment: Moment) {
        if moment.ticks() < self.log.times[0] {
            self.log.times[0] = moment.ticks();
            let earlier_ns = self.began.0.saturating_sub(moment.monotonic_ns);
            self.log.began_ns = self.log.began_ns.saturating_sub(earlier_ns);
        }
    }

    pub(super) fn sent(&mut self, record: Sent) {
        keep(&mut self.log.sent, record, self.records_max, &mut self.log.dropped);
    }

    pub(super) fn received(&mut self, record: Received) {
        keep(&mut self.log.received, record, self.records_max, &mut self.log.dropped);
    }

    pub(super) fn one_sided(&mut self, record: OneSided) {
        keep(&mut self.log.one_sided, record, self.records_max, &mut self.log.dropped);
    }

    pub(super) fn call(&mut self, record: Call) {
        keep(&mut self.log.calls, record, self.records_max, &mut self.log.dropped);
    }

    /// Returns the place in the log of an object, which may have got another name.
    pub(super) fn object(&mut self, object: Object) -> u32 {
        let next = self.log.objects.len() as u32;
        let place = *self.objects.entry(object.handle).or_insert(next);
        match self.log.objects.get_mut(place as usize) {
            Some(known) => *known = object,
            None => self.log.objects.push(object),
        }
        place
    }

    /// Notes the queues, if they have changed.
    pub(super) fn queues(&mut self, queues: Queues) {
        let last = self.log.queues.last().copied().unwrap_or_default();
        if (Queues { at: last.at, ..queues }) != last {
            keep(&mut self.log.queues, queues, self.records_max, &mut self.log.dropped);
        }
    }

    pub(super) fn departed(&mut self, record: Departure) {
        keep(&mut self.log.departures, record, self.records_max, &mut self.log.dropped);
    }

    /// Records a message that came. One that is sent again, after a channel was lost, is known.
    pub(super) fn arrived(&mut self, record: Arrival, receive: Option<u64>) {
        let (key, place) = ((record.peer, record.sequence), self.log.arrivals.len());
        if self.held.contains_key(&key) {
            return;
        }
        if keep(&mut self.log.arrivals, record, self.records_max, &mut self.log.dropped) {
            match receive {
                Some(receive) => _ = self.given.insert(receive, place),
                None => _ = self.held.insert(key, place),
            }
        }
    }

    /// Notes that a held message was given to a receive.
    pub(super) fn matched(&mut self, key: (Peer, u32), receive: u64) {
        if let Some(place) = self.held.remove(&key) {
            self.given.insert(receive, place);
        }
    }

    /// Notes that a held message was taken.
    pub(super) fn taken(&mut self, key: (Peer, u32), at: u64, thread: u32) {
        if let Some(place) = self.held.remove(&key) {
            let arrival = &mut self.log.arrivals[place];
            (arrival.taken, arrival.thread) = (at, thread);
        }
    }

    /// Notes that the completion of a request was taken. Those of sends are no news.
    pub(super) fn completed(&mut self, request: u64, at: u64, thread: u32) {
        if let Some(place) = self.given.remove(&request) {
            let arrival = &mut self.log.arrivals[place];
            (arrival.taken, arrival.thread) = (at, thread);
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
        (self.log.host, self.log.machine) = machine();
        self.log.times[1] = ticks();
        if is_counter() {
            let (ns, counted) = (monotonic_ns() - self.began.0, ticks() - self.began.1);
            self.log.tick_ns = ns as f64 / counted as f64;
        }
        let mut file = BufWriter::new(File::create(path)?);
        serde_json::to_writer(&mut file, &self.log)?;
        file.flush()
    }
}

/// Appends a record if there is room; counts it if not. Returns whether there was.
fn keep<T>(records: &mut Vec<T>, record: T, records_max: usize, dropped: &mut u64) -> bool {
    let has_room = records.len() < records_max;
    match has_room {
        true => records.push(record),
        false => *dropped += 1,
    }
    has_room
}
