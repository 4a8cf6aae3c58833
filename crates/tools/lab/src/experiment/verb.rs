//! The kinds of work requests that the bare device is measured with.

use serde::Serialize;

/// The kinds of work requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verb {
    /// An RDMA write into memory that the other side polls.
    Write,
    /// An RDMA read of the other side's memory.
    Read,
    /// A send, into a receive buffer that was posted before.
    Send,
    /// A send by datagrams, which may be lost.
    Datagram,
}

/// The longest datagram of the largest MTU there is; perftest leaves its prefix (GRH) out of the
/// size.
const DATAGRAM_BYTES_MAX: usize = 4096;

impl Verb {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Write => "ib_write",
            Verb::Read => "ib_read",
            Verb::Send => "ib_send",
            Verb::Datagram => "ib_send UD",
        }
    }

    /// Returns whether it loses messages where the wire does.
    pub fn is_datagram(self) -> bool {
        self == Verb::Datagram
    }

    /// Returns whether it can move this many bytes at once.
    pub fn takes(self, bytes: usize) -> bool {
        bytes > 0 && (!self.is_datagram() || bytes <= DATAGRAM_BYTES_MAX)
    }

    /// The beginning of the programs' names, and their options for the transport.
    pub(super) fn program(self) -> (&'static str, &'static str) {
        match self {
            Verb::Write => ("ib_write", ""),
            Verb::Read => ("ib_read", ""),
            Verb::Send => ("ib_send", ""),
            Verb::Datagram => ("ib_send", " -c UD"),
        }
    }
}
