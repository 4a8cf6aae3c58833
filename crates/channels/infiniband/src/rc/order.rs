//! The order of packets over both paths (paper 1, 4.5).
//!
//! Every packet of `rc` has a packet sequence number (PSN), whichever way it goes, and the receiver
//! keeps the expected one (ESN) for each peer. A packet that comes early stays where it is, in its
//! ring slot or receive buffer, while the other path is polled, until its number is the expected
//! one.

use super::pool::{NONE, Pool};

/// The first packet's number: chosen so that the numbers wrap round in every job and every test,
/// not only in long ones.
const FIRST: u32 = 0u32.wrapping_sub(100);

/// The relation of a packet's number to the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The packet is next.
    Now,
    /// One or more before it come by the other path.
    Early,
    /// The packet was there before. The service loses and doubles nothing, so this is a defect.
    Late,
}

/// The two directions of a pair, and the packets in receive buffers that are early.
#[derive(Debug)]
pub(super) struct Sequence {
    /// Number of the next packet sent.
    pub next: u32,
    /// Number of the next packet to be received (ESN).
    pub expected: u32,
    /// The first early one in a receive buffer; the buffers form a list, in order, since their path
    /// keeps the order.
    first: u32,
    last: u32,
}

impl Sequence {
    /// Begins before the first packet.
    pub(super) fn new() -> Sequence {
        Sequence { next: FIRST, expected: FIRST, first: NONE, last: NONE }
    }

    /// Returns the number of the next packet sent.
    #[inline]
    pub(super) fn number(&mut self) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }

    /// Returns how a packet with this number stands.
    #[inline]
    pub(super) fn turn(&self, psn: u32) -> Turn {
        match psn.wrapping_sub(self.expected) as i32 {
            0 => Turn::Now,
            1.. => Turn::Early,
            _ => Turn::Late,
        }
    }

    /// Returns whether packets wait in receive buffers.
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        self.first != NONE
    }

    /// Lets a packet wait in its receive buffer.
    pub(super) fn keep(&mut self, buffer: u32, pool: &mut Pool) {
        pool.get_mut(buffer).next = NONE;
        match self.last {
            NONE => self.first = buffer,
            last => pool.get_mut(last).next = buffer,
        }
        self.last = buffer;
    }

    /// Returns the receive buffer of the oldest packet that waits.
    pub(super) fn waiting(&self) -> Option<u32> {
        Some(self.first).filter(|first| *first != NONE)
    }

    /// Releases the oldest packet that waits.
    pub(super) fn release(&mut self, pool: &Pool) {
        self.first = pool.get(self.first).next;
        if self.first == NONE {
            self.last = NONE;
        }
    }
}
