//! Buffers of one size for the send/receive path, registered in advance (paper 1, 3.1).
//!
//! The pool grows by pieces of memory as connections come, each registered once, and never shrinks.
//! A buffer is named by its number, which also stands in the [`Id`](super::id::Id) of the work on
//! it.

use super::adapter::{Adapter, Operation, Work};
use super::id::Id;
use super::pinned::Pinned;
use verbena_channel::{Access, Peer};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The memory registered at a time, in bytes, at least one buffer.
const PIECE_BYTES: usize = 64 << 10;

/// The end of a list of buffers.
pub(super) const NONE: u32 = u32::MAX;

/// The peer of a buffer that is held for nobody.
const NOBODY: Peer = Peer::MAX;

/// One buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    /// The buffer's memory.
    pub region: Region,
    /// The key of the registration.
    pub local_key: u32,
    /// The peer that it serves at the moment.
    pub peer: Peer,
    /// The next one in the list that it is in, or [`NONE`].
    pub next: u32,
}

/// The buffers.
#[derive(Debug)]
pub(super) struct Pool {
    buffer_bytes: usize,
    pieces: Vec<Pinned>,
    buffers: Vec<Buffer>,
    /// The first free one.
    free: u32,
}

impl Pool {
    /// Makes an empty pool of buffers of this size.
    pub(super) fn new(buffer_bytes: usize) -> Pool {
        Pool { buffer_bytes, pieces: Vec::new(), buffers: Vec::new(), free: NONE }
    }

    /// Returns the number of buffers, free or not.
    pub(super) fn len(&self) -> usize {
        self.buffers.len()
    }

    /// Returns the bytes of registered memory.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.region().len()).sum()
    }

    /// Returns the buffer.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &Buffer {
        &self.buffers[number as usize]
    }

    /// Returns the buffer, to note something in it.
    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut Buffer {
        &mut self.buffers[number as usize]
    }

    /// Takes a free buffer, if there is one.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u32> {
        let number = self.free;
        let buffer = self.buffers.get(number as usize)?;
        self.free = buffer.next;
        Some(number)
    }

    /// Gives a buffer back.
    #[inline]
    pub(super) fn give_back(&mut self, number: u32) {
        let buffer = &mut self.buffers[number as usize];
        (buffer.next, buffer.peer) = (self.free, NOBODY);
        self.free = number;
    }

    /// Gives back all that serve this peer, which nobody else will.
    pub(super) fn give_back_all_of(&mut self, peer: Peer) {
        for number in 0..self.len() as u32 {
            if self.get(number).peer == peer {
                self.give_back(number);
            }
        }
    }

    /// Takes a free buffer; the pool grows if it has none.
    ///
    /// # Errors
    /// If memory cannot be registered.
    pub(super) fn take_or_grow<A: Adapter>(&mut self, adapter: &mut A) -> Result<u32, Fault> {
        if self.free == NONE {
            self.grow(adapter)?;
        }
        Ok(self.take().expect("grown just now"))
    }

    /// Adds a piece of memory.
    ///
    /// # Errors
    /// As [`Pool::take_or_grow`].
    pub(super) fn grow<A: Adapter>(&mut self, adapter: &mut A) -> Result<(), Fault> {
        let count = (PIECE_BYTES / self.buffer_bytes).max(1);
        let piece = Pinned::new(adapter, count * self.buffer_bytes, Access::NONE)?;
        for at in (0..count).rev() {
            let region = piece.region().part(at * self.buffer_bytes, self.buffer_bytes);
            self.buffers.push(Buffer { region, local_key: piece.local_key(), peer: NOBODY, next: NONE });
            self.give_back(self.buffers.len() as u32 - 1);
        }
        self.pieces.push(piece);
        Ok(())
    }
}

/// The buffers from which packets are sent by send and receive, each with its descriptor, which is
/// filled once.
#[derive(Debug)]
pub(super) struct SendPool<D> {
    pool: Pool,
    descriptors: Vec<D>,
    buffers_max: usize,
}

impl<D> SendPool<D> {
    /// Makes an empty pool that grows up to `buffers_max` buffers.
    pub(super) fn new(buffer_bytes: usize, buffers_max: usize) -> SendPool<D> {
        SendPool { pool: Pool::new(buffer_bytes), descriptors: Vec::new(), buffers_max }
    }

    /// Returns a free buffer and its memory; `None` if all are under way.
    ///
    /// # Errors
    /// If memory cannot be registered.
    #[inline]
    pub(super) fn take<A: Adapter<Descriptor = D>>(&mut self, adapter: &mut A) -> Result<Option<u32>, Fault> {
        match self.pool.take() {
            None if self.pool.len() < self.buffers_max => {
                self.grow(adapter)?;
                Ok(self.pool.take())
            }
            taken => Ok(taken),
        }
    }

    #[cold]
    fn grow<A: Adapter<Descriptor = D>>(&mut self, adapter: &mut A) -> Result<(), Fault> {
        self.pool.grow(adapter)?;
        for number in self.descriptors.len()..self.pool.len() {
            let Buffer { region: local, local_key, .. } = *self.pool.get(number as u32);
            let id = Id::Send(number as u32).word();
            self.descriptors.push(adapter.describe(&Work {
                id,
                operation: Operation::Send,
                local,
                local_key,
            }));
        }
        Ok(())
    }

    /// Returns the buffer's memory.
    #[inline]
    pub(super) fn region(&self, number: u32) -> Region {
        self.pool.get(number).region
    }

    /// Returns the buffer's descriptor, to post it for this peer. If it is `held`, a completion
    /// will give the buffer back.
    #[inline]
    pub(super) fn hold(&mut self, number: u32, peer: Peer, held: bool) -> &mut D {
        self.pool.get_mut(number).peer = if held { peer } else { NOBODY };
        &mut self.descriptors[number as usize]
    }

    /// Returns the peer that the buffer is held for.
    #[inline]
    pub(super) fn holder(&self, number: u32) -> Option<Peer> {
        Some(self.pool.get(number).peer).filter(|peer| *peer != NOBODY)
    }

    /// Gives a buffer back.
    #[inline]
    pub(super) fn give_back(&mut self, number: u32) {
        self.pool.give_back(number);
    }

    /// Gives back all that are held for this peer: nothing of them completes any more.
    pub(super) fn give_back_all_of(&mut self, peer: Peer) {
        self.pool.give_back_all_of(peer);
    }

    /// Returns the bytes of registered memory.
    pub(super) fn bytes(&self) -> usize {
        self.pool.bytes()
    }
}
