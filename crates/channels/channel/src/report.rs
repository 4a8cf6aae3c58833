//! Reports of a channel: for a user in words, and for tools as counts.

use verbena_fault::Fault;

/// A channel's report in words, for `verbena info` and faults.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The reason why the channel reaches nobody, if it could not be opened but the job may need
    /// it.
    pub absence: Option<Fault>,
    /// Findings about this machine and its peers, one a line: what was chosen and why.
    pub findings: Vec<String>,
}

/// Counts of what a channel did beside moving packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Registrations of the program's memory.
    pub registrations: Registrations,
    /// The number of messages that were dropped because they seemed to come from no process of this
    /// job.
    pub strange_messages: u64,
    /// The looks of a channel that polls the rings of some peers.
    pub polling_set: PollingSetCounts,
    /// Buffers for what other processes send.
    pub receives: Receives,
    /// Datagrams, of a channel that makes them reliable itself.
    pub datagrams: Datagrams,
    /// Completions of signalled packets, of a channel that signals one in several. Each stands for
    /// all that was posted before it on its connection.
    pub completions: u64,
    /// Cells in shared memory, by which long packets went.
    pub cells: CellCounts,
}

/// Counts of packets that a channel sends in cells of shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellCounts {
    /// Packets sent in a cell that this process had received last.
    pub hot: u64,
    /// Packets sent in another cell, written through the caches.
    pub cold: u64,
    /// Packets sent in another cell, written past the caches.
    pub non_temporal: u64,
    /// The number of times that no cell was free.
    pub none_free: u64,
    /// Cells taken back from processes that had ended.
    pub taken_back: u64,
}

/// Counts of a channel that polls the rings of some peers, and hears of all others by one queue
/// (paper 1, 3.3 and 4.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollingSetCounts {
    /// Rings that are polled now.
    pub rings: u64,
    /// Looks at a ring, each of one load.
    pub ring_looks: u64,
    /// The number of these that found nothing in a poll before a ring that had something.
    pub ring_misses: u64,
    /// Packets taken from rings.
    pub ring_packets: u64,
    /// Looks at the queue.
    pub queue_looks: u64,
    /// Packets that the queue told of.
    pub queue_packets: u64,
}

/// Counts of the buffers in which a channel's device puts what other processes send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receives {
    /// Bytes registered for them.
    pub bytes: u64,
    /// The number of times that more were posted since the device had told that few were left.
    pub top_ups: u64,
    /// Packets that came into buffers which all peers share.
    pub shared: u64,
}

/// Counts of the datagrams of a channel that makes them reliable itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagrams {
    /// Datagrams posted.
    pub sent: u64,
    /// The number of these that are fragments sent again.
    pub resent: u64,
    /// The number of these that are acknowledgements which found nothing to ride on.
    pub acks: u64,
    /// Fragments that had arrived before.
    pub doubles: u64,
    /// Datagrams that were garbled, or came from nobody of this job.
    pub garbled: u64,
    /// The number of those sent that carry a checksum.
    pub checksummed: u64,
    /// The number of those sent that went through the first sending queue pair.
    pub by_first_pair: u64,
}

/// Counts of registrations of the program's memory with a channel's device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registrations {
    /// Operations that found their memory registered.
    pub hits: u64,
    /// Operations for which it was registered.
    pub misses: u64,
    /// Registrations given up to make room for others.
    pub evicted: u64,
    /// Registrations given up because the program had given the memory back.
    pub invalidated: u64,
    /// Operations whose memory could not be registered and was copied.
    pub refused: u64,
    /// Registrations that exist now.
    pub entries: u64,
    /// Bytes registered.
    pub bytes: u64,
}
