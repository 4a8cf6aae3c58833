//! The times when something is to be done for a peer though nothing arrives.
//!
//! Each peer knows the time under which it stands here; an entry with another time is stale, and
//! skipped. Times move later far more often than earlier, which costs nothing here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use verbena_channel::Peer;

/// The times, earliest first.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(u64, Peer)>>,
}

impl Timers {
    /// Notes a time for a peer.
    pub(super) fn add(&mut self, at_ns: u64, peer: Peer) {
        self.heap.push(Reverse((at_ns, peer)));
    }

    /// Takes the earliest entry that is due.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<(u64, Peer)> {
        let Reverse(first) = *self.heap.peek()?;
        (first.0 <= now_ns).then(|| {
            self.heap.pop();
            first
        })
    }

    /// Returns the earliest time, stale or not.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Returns the bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.heap.capacity() * size_of::<(u64, Peer)>()
    }
}
