//! The channel's messages when something is broken: both ends, with device, port and GID.

use crate::device::Failed;
use verbena_channel::Peer;
use verbena_fault::Fault;

/// Both ends of a connection in words.
pub(crate) struct Ends {
    /// This process.
    pub me: Peer,
    /// This process's device, port and GID.
    pub place: String,
    /// The other process.
    pub peer: Peer,
    /// The other end: GID, port, queue pair; or that it is not known yet.
    pub other: String,
}

impl Ends {
    fn words(&self) -> String {
        format!(
            "the connection from rank {} ({}) to rank {} ({})",
            self.me, self.place, self.peer, self.other
        )
    }
}

/// Describes failed work on the connection; `port` is the last news of this end's port, if any.
pub(crate) fn work_failed(ends: &Ends, failed: Failed, port: Option<&Fault>) -> Fault {
    let rank = ends.peer;
    let heard = port.map_or(String::new(), |port| format!("{} ({}); else ", port.what, port.on));
    let (what, cause, remedy) = match failed {
        Failed::RetriesExhausted => (
            format!("rank {rank} does not acknowledge what is sent to it"),
            format!(
                "{heard}the process of rank {rank} ended, its node went down, or the path between the nodes is cut"
            ),
            "look for the end of that rank in the job's output; check cable and port (ibstat, rdma link)",
        ),
        Failed::ReceiverNotReady => (
            format!("rank {rank} has no receive buffer left"),
            "that process computed without calling MPI while its receive pool was empty, and the tries have an end"
                .into(),
            "set VERBENA_RC_RECEIVER_RETRIES to 7 (no end), or VERBENA_RC_POOL_RECEIVES higher",
        ),
        Failed::RemoteAccess => (
            format!("the device of rank {rank} refused access to its memory"),
            "the memory is no longer registered there: the program freed a buffer in use, or a defect".into(),
            "check that no buffer is freed before its operation completes",
        ),
        Failed::LocalAccess => (
            format!("the device refused access to this process's memory while sending to rank {rank}"),
            "the memory is no longer mapped: the program freed a buffer in use, or a defect".into(),
            "check that no buffer is freed before its operation completes",
        ),
        Failed::Flushed => (
            format!("the queue pair to rank {rank} is in error"),
            "the device or the kernel driver put it there; the kernel's log may say why".into(),
            "look at dmesg and rdma link on both nodes",
        ),
        Failed::Other(status) => (
            format!("work for rank {rank} failed with status {status} of the device"),
            "see the list of completion statuses in ibv_poll_cq(3)".into(),
            "look at dmesg and rdma link on both nodes",
        ),
    };
    Fault::new(what, ends.words(), cause, remedy)
}

/// Describes a peer that never answered.
pub(crate) fn no_answer(ends: &Ends, limit_ns: u64) -> Fault {
    let seconds = limit_ns as f64 / 1e9;
    Fault::new(
        format!("rank {} did not answer for {seconds} s when a connection was to be made", ends.peer),
        ends.words(),
        "that process computes without calling MPI, or ended, or datagrams do not reach its node",
        "raise VERBENA_RC_CONNECT_SECONDS_MAX (VERBENA_FAILOVER_SECONDS_MAX, where there are several channels to it) if it \
         computes so long; else check the port (ibstat, rdma link)",
    )
}

/// Describes a silence: neither the peer nor this process's own device has said anything for
/// `silent_ns`, though the peer was asked.
pub(crate) fn silent(ends: &Ends, silent_ns: u64, port: Option<&Fault>) -> Fault {
    let heard = port.map_or(String::new(), |port| format!("{} ({}); else ", port.what, port.on));
    Fault::new(
        format!("nothing was heard of rank {} for {:.1} s", ends.peer, silent_ns as f64 / 1e9),
        ends.words(),
        format!("{heard}the device no longer completes work: it was removed or reset, or its driver hangs"),
        "look at dmesg and rdma link on both nodes; VERBENA_RC_KEEPALIVE_SECONDS_MAX is the limit",
    )
}

/// Describes a connection that the peer has given back and makes anew.
pub(super) fn replaced(ends: &Ends) -> Fault {
    Fault::new(
        format!("rank {} has given its end of the connection back", ends.peer),
        ends.words(),
        "the other way between the two processes was lost just then",
        "nothing is to be done if the job goes on: the connection is made anew",
    )
}

/// Describes ends whose settings do not go together.
pub(crate) fn unlike(ends: &Ends, mine: usize, theirs: usize) -> Fault {
    Fault::new(
        format!(
            "ranks {} and {} have receive buffers of different size ({mine} and {theirs} bytes)",
            ends.me, ends.peer
        ),
        ends.words(),
        "VERBENA_RC_BUFFER_BYTES is not the same for all ranks",
        "give all ranks the same settings",
    )
}

/// Describes a packet that makes no sense: nothing that follows can be trusted.
pub(crate) fn nonsense(ends: &Ends, what: &str) -> Fault {
    Fault::new(
        format!("rank {} sent a packet that makes no sense: {what}", ends.peer),
        ends.words(),
        "memory of either process was overwritten, or a defect of Verbena",
        "check the program for writes out of bounds; if there are none, please report it",
    )
}

/// Adds both ends to something that the device refused.
pub(crate) fn refused(ends: &Ends, fault: Fault) -> Fault {
    Fault { on: format!("{}; {}", ends.words(), fault.on), ..fault }
}
