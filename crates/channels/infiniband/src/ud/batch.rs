//! The batch of datagrams that is being gathered: all are posted to one queue pair at once, since
//! telling the device costs as much for several as for one.

use super::adapter::{BATCH_MAX, Datagram, Memory};
use crate::device::Post;

/// The datagrams of one peer, in order, with the buffers that they lie in.
#[derive(Debug, Default)]
pub(super) struct Batch {
    queue: usize,
    most: usize,
    datagrams: Vec<Datagram>,
    buffers: Vec<u32>,
}

impl Batch {
    /// Begins a new one, for this queue pair with `places` free places.
    #[inline]
    pub(super) fn begin(&mut self, queue: usize, places: usize) {
        (self.queue, self.most) = (queue, places.min(BATCH_MAX));
        self.datagrams.clear();
        self.buffers.clear();
    }

    /// Adds a datagram, which is the first bytes of this buffer.
    #[inline]
    pub(super) fn push(&mut self, buffer: u32, from: Memory, inline: bool) {
        self.datagrams.push(Datagram { from, how: Post { signalled: false, inline } });
        self.buffers.push(buffer);
    }

    /// Returns how many more may be added.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.most - self.datagrams.len()
    }

    /// Returns how many there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// Returns the queue pair.
    #[inline]
    pub(super) fn queue(&self) -> usize {
        self.queue
    }

    /// Returns the datagrams. The last one makes a completion if `signalled`.
    #[inline]
    pub(super) fn datagrams(&mut self, signalled: bool) -> &[Datagram] {
        if let Some(last) = self.datagrams.last_mut() {
            last.how.signalled = signalled;
        }
        &self.datagrams
    }

    /// Returns each one's buffer, and how it was posted.
    #[inline]
    pub(super) fn posts(&self) -> impl Iterator<Item = (u32, Post)> {
        self.buffers.iter().copied().zip(self.datagrams.iter().map(|datagram| datagram.how))
    }
}
