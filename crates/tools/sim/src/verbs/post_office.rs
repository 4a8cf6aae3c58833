//! The datagram side of a rank's device: its sending queue pairs, receive buffers, and ends to
//! report.

use crate::Rank;
use std::collections::VecDeque;
use verbena_infiniband::ud::adapter::{Ended, Memory};

/// A datagram on a sending queue pair.
#[derive(Debug)]
pub(super) struct Outbound {
    pub to: Rank,
    pub from: Memory,
    pub inline: Option<Vec<u8>>,
    pub signalled: bool,
}

/// A sending queue pair.
#[derive(Debug, Default)]
pub(super) struct Sender {
    pub outbound: VecDeque<Outbound>,
    /// Posted, sent, and known to be done.
    pub posted: u64,
    pub sent: u64,
    pub done: u64,
    /// The device may start the next one of this pair.
    pub out_free_ns: u64,
    /// The time at which the last one posted is sent.
    pub last_ns: u64,
}

/// The datagram side of a rank's device.
#[derive(Debug, Default)]
pub(super) struct PostOffice {
    pub senders: Vec<Sender>,
    pub receives: VecDeque<(u32, Memory)>,
    /// The ends to report, with the datagrams of their queue pair that are done then.
    pub ended: VecDeque<(Ended, u64)>,
}

impl PostOffice {
    pub(super) fn has_unseen(&self) -> bool {
        !self.ended.is_empty()
    }

    pub(super) fn forget(&mut self) {
        self.ended.clear();
    }
}
