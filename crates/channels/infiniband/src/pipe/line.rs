//! The posting of work on a connection, and the memory that it writes from.

use super::layout::{Layout, WORD_BYTES};
use super::settings::Settings;
use crate::cache::Cache;
use crate::device::queue::SendQueue;
use crate::device::{Post, QueuePair, Refused};
use crate::rc::adapter::{Adapter, Limits, Operation, Remote, Work};
use crate::rc::id::Id;
use crate::rc::pinned::Pinned;
use std::sync::atomic::Ordering;
use verbena_channel::{Access, Peer};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The memory from which the peer's inbox is written.
#[derive(Debug)]
pub(super) struct Outbox {
    /// The ring as it lies at the peer, and words behind it.
    pub memory: Pinned,
    words_at: usize,
    words: usize,
    /// The number of the next word.
    next: usize,
}

impl Outbox {
    /// Makes the memory: one word for each piece of work that may be under way, so that the device
    /// may read a pointer late.
    pub(super) fn new<A: Adapter>(adapter: &mut A, layout: &Layout, work_max: u32) -> Result<Outbox, Fault> {
        let (words_at, words) = (layout.ring_bytes, work_max as usize + 1);
        let memory = Pinned::new(adapter, words_at + words * WORD_BYTES, Access::NONE)?;
        Ok(Outbox { memory, words_at, words, next: 0 })
    }

    /// Returns the next word, with this value in it.
    fn word(&mut self, value: u64) -> Region {
        let at = self.words_at + self.next * WORD_BYTES;
        self.memory.word(at).store(value.to_le(), Ordering::Relaxed);
        self.memory.region().part(at, WORD_BYTES)
    }
}

/// The posting of work on a connection.
pub(super) struct Line<'a, A: Adapter> {
    /// The device.
    pub adapter: &'a mut A,
    /// Registrations of the program's memory.
    pub cache: &'a mut Cache,
    /// The queue pair; none if the connection is broken, and then there is room for nothing.
    pub pair: Option<QueuePair>,
    /// The queue pair's send queue.
    pub queue: &'a mut SendQueue,
    /// The memory that is written from.
    pub outbox: &'a mut Outbox,
    /// The memory that the peer writes into.
    pub inbox: &'a Pinned,
    /// The peer.
    pub peer: Peer,
    /// The settings.
    pub settings: &'a Settings,
    /// The device's limits.
    pub limits: &'a Limits,
    /// True if all work is signalled, since this process is about to leave.
    pub leaving: bool,
}

impl<A: Adapter> Line<'_, A> {
    /// Writes a part of the outbox into the peer's memory; returns whether there was room.
    pub(super) fn write(&mut self, offset: usize, bytes: usize, to: Remote) -> Result<bool, Fault> {
        let local = self.outbox.memory.region().part(offset, bytes);
        self.write_region(local, to)
    }

    /// Writes this value into a word of the peer's; returns whether there was room.
    pub(super) fn write_word(&mut self, value: u64, to: Remote) -> Result<bool, Fault> {
        if self.pair.is_none() || !self.queue.has_room(1) {
            return Ok(false);
        }
        let local = self.outbox.word(value);
        let written = self.write_region(local, to)?;
        if written {
            self.outbox.next = (self.outbox.next + 1) % self.outbox.words;
        }
        Ok(written)
    }

    fn write_region(&mut self, local: Region, to: Remote) -> Result<bool, Fault> {
        let Some(pair) = self.pair.filter(|_| self.queue.has_room(1)) else { return Ok(false) };
        let (id, local_key) = (Id::Ring(self.peer).word(), self.outbox.memory.local_key());
        let signalled = self.leaving || self.queue.is_due();
        let inline = local.len() <= self.settings.inline_bytes_max.min(self.limits.inline_bytes_max);
        let work = Work { id, operation: Operation::Write(to), local, local_key };
        let mut descriptor = self.adapter.describe(&work);
        match self.adapter.post(pair, &mut descriptor, local.len(), Post { signalled, inline }) {
            Ok(()) => {
                self.queue.posted(signalled);
                Ok(true)
            }
            Err(Refused::Full) => Ok(false),
            Err(Refused::Broken(fault)) => Err(fault),
        }
    }

    /// Reads memory of the peer; returns whether there was room.
    pub(super) fn read(&mut self, local: Region, local_key: u32, from: Remote) -> Result<bool, Fault> {
        let Some(pair) = self.pair else { return Ok(false) };
        let (id, operation) = (Id::Memory(self.peer, 0).word(), Operation::Read(from));
        let mut descriptor = self.adapter.describe(&Work { id, operation, local, local_key });
        match self.adapter.post(pair, &mut descriptor, local.len(), Post { signalled: true, inline: false }) {
            Ok(()) => Ok(true),
            Err(Refused::Full) => Ok(false),
            Err(Refused::Broken(fault)) => Err(fault),
        }
    }

    /// Copies bytes of the pipe. The device is told, since a simulated one charges for the time.
    pub(super) fn copied(&mut self, bytes: usize) {
        self.adapter.copied(bytes);
    }
}
