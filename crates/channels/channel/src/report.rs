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
