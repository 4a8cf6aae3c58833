//! The words of a rank about itself while it waits, or when it is asked.

use serde::{Deserialize, Serialize};

/// The most messages of a queue that a snapshot names.
pub const MESSAGES_MAX: usize = 24;
/// The most ranges of processes that a snapshot names of a communicator.
pub const RANGES_MAX: usize = 64;

/// The low bits of a matching context, which say for what it is; 0: messages of the program.
const TRAFFIC: u64 = 3;

/// The state of a rank, as far as it matters to others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The waits of its threads that have lasted for more than a moment.
    pub waits: Vec<Wait>,
    /// The operations that a rank asks for without waiting, by `MPI_Test` or `MPI_Iprobe`, as it
    /// did when it was asked.
    pub polled: Option<Awaited>,
    /// Receives that wait for a message.
    pub posted: Queue,
    /// Sends that have not ended.
    pub sends: Queue,
    /// Messages that no receive asked for.
    pub arrived: Queue,
    /// The communicators.
    pub communicators: Vec<Communicator>,
    /// The locks of windows that it holds.
    pub locks: Vec<HeldLock>,
    /// The traffic over each channel.
    pub channels: Vec<Traffic>,
    /// The room for messages of one process that no receive asked for, in bytes:
    /// `VERBENA_UNEXPECTED_BYTES_MAX`.
    pub unexpected_bytes_max: u64,
}

/// A wait of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The MPI function; empty if it is not known.
    pub call: String,
    /// The time when it began, in milliseconds of the host's clock.
    pub began_ms: u64,
    /// The thing that it waits for.
    pub awaited: Awaited,
    /// The return addresses in the program, the innermost first.
    pub frames: Vec<u64>,
    /// The program's lines in Python, the innermost first.
    pub python: Vec<String>,
}

/// The thing that a wait is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Awaited {
    /// The end of all these.
    All(Vec<Operation>),
    /// The end of one of these.
    Any(Vec<Operation>),
    /// The end of a collective.
    Collective(Collective),
    /// A message that a probe asks for.
    Probe(Message),
    /// The lock of a window.
    Lock(AwaitedLock),
    /// These processes have to open or close an epoch of a window.
    Epoch {
        /// The window's name.
        window: String,
        /// The processes.
        processes: Vec<u32>,
    },
    /// These processes, or the devices between, have to carry out one-sided operations.
    OneSided {
        /// The window's name.
        window: String,
        /// The processes.
        processes: Vec<u32>,
    },
    /// Another job, as yet unknown, has to do this.
    OtherJob(String),
    /// Something else.
    Other,
}

/// A lock that is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedLock {
    /// The matching context of the window's communicator.
    pub context: u64,
    /// The window's name; empty if it has none.
    pub window: String,
    /// The process whose part of the window it is about.
    pub owner: u32,
    /// True for `MPI_LOCK_EXCLUSIVE`.
    pub exclusive: bool,
}

/// A lock that a process holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLock {
    /// The matching context of the window's communicator.
    pub context: u64,
    /// The process whose part of the window it is about.
    pub owner: u32,
    /// True for `MPI_LOCK_EXCLUSIVE`.
    pub exclusive: bool,
}

/// An operation that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// A send.
    Send(Message),
    /// A short send that waits for room at its receiver, as a long one waits for its receive.
    Held(Message),
    /// A receive.
    Receive(Message),
    /// A nonblocking collective.
    Collective(Collective),
    /// Something else.
    Other,
}

/// A message, or the pattern of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The matching context.
    pub context: u64,
    /// The process at the other end; `None` for any.
    pub process: Option<u32>,
    /// The tag; `None` for any.
    pub tag: Option<i32>,
    /// The length in bytes; of a receive, the room.
    pub bytes: u64,
}

impl Message {
    /// The communicator, as [`Communicator::context`] says it.
    pub fn communicator(&self) -> u64 {
        self.context & !TRAFFIC
    }

    /// Returns whether the program itself sends or receives the message.
    pub fn is_the_programs(&self) -> bool {
        self.context & TRAFFIC == 0
    }
}

/// A collective that a rank is in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Collective {
    /// The communicator, as [`Communicator::context`] says it.
    pub context: u64,
    /// The MPI function; empty if it is not known.
    pub call: String,
    /// The number among the collectives of the communicator, from 1 on.
    pub number: u32,
    /// True for nonblocking and persistent collectives, which are counted apart.
    pub nonblocking: bool,
}

/// Messages in a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Number of messages.
    pub total: u64,
    /// The first of them.
    pub first: Vec<Message>,
}

/// A communicator of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Communicator {
    /// The matching context of its messages, the same on all members.
    pub context: u64,
    /// The name; empty if it has none.
    pub name: String,
    /// The processes, as ranges with both ends; empty if they are too many to tell.
    pub members: Vec<(u32, u32)>,
    /// The number of blocking collectives that this rank has begun.
    pub blocking: u32,
    /// The number of nonblocking and persistent ones.
    pub nonblocking: u32,
}

impl Communicator {
    /// The ranges of these processes, in order of number; none if there are too many.
    pub fn ranges(processes: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
        let mut sorted: Vec<u32> = processes.into_iter().collect();
        sorted.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for process in sorted {
            match ranges.last_mut() {
                Some((_, last)) if *last == process || last.checked_add(1) == Some(process) => {
                    *last = process
                }
                _ => ranges.push((process, process)),
            }
        }
        if ranges.len() > RANGES_MAX { Vec::new() } else { ranges }
    }
}

/// The traffic over a channel since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// The channel's name.
    pub name: String,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Bytes sent: in packets, or written into memory of others.
    pub bytes_sent: u64,
    /// Bytes received: in packets, or read from memory of others.
    pub bytes_received: u64,
}

impl Snapshot {
    /// The snapshot as bytes.
    pub fn encode(&self) -> Vec<u8> {
        // Neither a write to memory nor these types can fail.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// Reads a snapshot; `None` if the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Snapshot> {
        postcard::from_bytes(bytes).ok()
    }

    /// The snapshot with so little of its queues and names that it fits into this many bytes.
    pub fn encode_within(mut self, bytes_max: usize) -> Vec<u8> {
        let mut bytes = self.encode();
        while bytes.len() > bytes_max && self.shorten() {
            bytes = self.encode();
        }
        if bytes.len() > bytes_max { Snapshot::default().encode() } else { bytes }
    }

    /// Leaves half of the lists away; returns whether there was anything.
    fn shorten(&mut self) -> bool {
        fn halve<T>(list: &mut Vec<T>) -> bool {
            let before = list.len();
            list.truncate(before / 2);
            list.len() < before
        }
        let mut shorter = halve(&mut self.communicators) | halve(&mut self.locks) | halve(&mut self.channels);
        for queue in [&mut self.posted, &mut self.sends, &mut self.arrived] {
            shorter |= halve(&mut queue.first);
        }
        for wait in &mut self.waits {
            shorter |= halve(&mut wait.frames) | halve(&mut wait.python);
        }
        for awaited in self.waits.iter_mut().map(|wait| &mut wait.awaited).chain(&mut self.polled) {
            if let Awaited::All(operations) | Awaited::Any(operations) = awaited
                && operations.len() > 1
            {
                shorter |= halve(operations);
            }
        }
        if !shorter { self.waits.pop().is_some() } else { true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(tag: i32) -> Message {
        Message { context: 8, process: Some(1), tag: Some(tag), bytes: 100 }
    }

    #[test]
    fn bytes_give_the_snapshot_back() {
        let wait = Wait {
            call: "MPI_Recv".into(),
            began_ms: 12,
            awaited: Awaited::All(vec![Operation::Receive(message(3))]),
            frames: vec![1, u64::MAX],
            python: vec!["a.py:3".into()],
        };
        let queue = Queue { total: 7, first: vec![message(4)] };
        let polled = Some(Awaited::Probe(message(5)));
        let snapshot = Snapshot { waits: vec![wait], polled, arrived: queue, ..Snapshot::default() };
        assert_eq!(Snapshot::decode(&snapshot.encode()), Some(snapshot));
    }

    #[test]
    fn torn_bytes_are_no_snapshot() {
        assert_eq!(Snapshot::decode(&[255; 20]), None);
        assert_eq!(Snapshot::decode(&[]), None);
    }

    #[test]
    fn a_snapshot_is_shortened_until_it_fits() {
        let queue = Queue { total: 1000, first: (0..1000).map(message).collect() };
        let snapshot = Snapshot { posted: queue, ..Snapshot::default() };
        let short = Snapshot::decode(&snapshot.encode_within(500)).expect("whole");
        assert_eq!(short.posted.total, 1000);
        assert!((1..1000).contains(&short.posted.first.len()));
    }

    #[test]
    fn processes_are_told_as_ranges() {
        assert_eq!(Communicator::ranges([3, 0, 1, 7, 2, 1]), [(0, 3), (7, 7)]);
        assert_eq!(Communicator::ranges((0..1000).map(|n| 2 * n)), []);
        assert_eq!(Communicator::ranges([u32::MAX, 0]), [(0, 0), (u32::MAX, u32::MAX)]);
    }

    #[test]
    fn a_context_tells_the_communicator_and_the_traffic() {
        assert!(message(1).is_the_programs());
        let of_collective = Message { context: 9, ..message(1) };
        assert_eq!((of_collective.communicator(), of_collective.is_the_programs()), (8, false));
    }
}
