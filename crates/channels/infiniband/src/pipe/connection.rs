//! A connection: the pipes in both directions, their memory, and the queue pair under them.

use super::bytes_in::BytesIn;
use super::bytes_out::BytesOut;
use super::incoming::ChunksIn;
use super::layout::{Layout, WORD_BYTES};
use super::outgoing::ChunksOut;
use super::settings::{Design, Settings};
use crate::cache::Cache;
use crate::device::queue::SendQueue;
use crate::device::{Endpoint, Post, QueuePair, Refused};
use crate::hello::Asking;
use crate::rc::adapter::{Adapter, Limits, Operation, Remote, Work};
use crate::rc::id::Id;
use crate::rc::pulse::Pulse;
use crate::rc::pinned::Pinned;
use std::sync::atomic::Ordering;
use verbena_channel::{Access, Payload, Peer};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The progress of a connection.
#[derive(Debug)]
pub(super) enum Stage {
    /// The other side has not said yet that it is ready.
    Asking(Asking),
    /// Both sides are ready.
    Up,
    /// The connection broke, or was never made.
    Broken(Box<Fault>),
}

/// A connection, or a future one.
#[derive(Debug)]
pub(super) struct Connection {
    /// The queue pair on this side; none any more once it is broken.
    pub pair: Option<QueuePair>,
    /// The stage that it has reached.
    pub stage: Stage,
    /// Our end, as the peer needs it.
    pub mine: Endpoint,
    /// The peer's end, once it is known.
    pub theirs: Option<Endpoint>,
    /// The queue pair's send queue.
    pub queue: SendQueue,
    /// The peer's last signs of life.
    pub pulse: Pulse,
    /// The memory that the peer writes into.
    pub inbox: Pinned,
    /// The memory from which the peer's is written.
    pub outbox: Outbox,
    /// The pipes, once the peer's memory is known.
    pub pipes: Option<Ends>,
}

/// Both pipes of a connection, by design.
#[derive(Debug)]
pub(super) enum Ends {
    /// Bytes, with pointers.
    Bytes(BytesOut, BytesIn),
    /// Chunks.
    Chunks(ChunksOut, ChunksIn),
}

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
    fn new<A: Adapter>(adapter: &mut A, layout: &Layout, work_max: u32) -> Result<Outbox, Fault> {
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
    /// Its send queue.
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

impl Connection {
    /// Makes a connection with a new queue pair, and memory for both pipes.
    ///
    /// # Errors
    /// If the device gives no queue pair, or the memory cannot be registered.
    pub(super) fn new<A: Adapter>(
        adapter: &mut A,
        settings: &Settings,
        limits: &Limits,
        asking: Asking,
    ) -> Result<Connection, Fault> {
        let layout = Layout::of(settings);
        let inbox = Pinned::new(adapter, layout.inbox_bytes(), Access::WRITE)?;
        let made = Outbox::new(adapter, &layout, limits.work_max)
            .and_then(|outbox| adapter.open_pair(false).map(|pair| (outbox, pair)));
        let (outbox, (pair, mine)) = match made {
            Ok(made) => made,
            Err(fault) => {
                inbox.release(adapter);
                return Err(fault);
            }
        };
        Ok(Connection {
            pair: Some(pair),
            stage: Stage::Asking(asking),
            mine,
            theirs: None,
            queue: SendQueue::new(limits.work_max, settings.signal_every),
            pulse: Pulse::default(),
            inbox,
            outbox,
            pipes: None,
        })
    }

    /// Notes the peer's memory: the pipes are there.
    pub(super) fn lay_pipes(&mut self, layout: Layout, to: Remote) {
        self.pipes = Some(match layout.design {
            Design::Basic => Ends::Bytes(BytesOut::new(layout, to), BytesIn::new(layout, to)),
            _ => Ends::Chunks(ChunksOut::new(layout, to), ChunksIn::new(layout)),
        });
    }

    /// Returns the bytes of registered memory.
    pub(super) fn bytes(&self) -> usize {
        self.inbox.region().len() + self.outbox.memory.region().len()
    }

    /// Returns whether packets can be put.
    pub(super) fn is_up(&self) -> bool {
        matches!(self.stage, Stage::Up)
    }

    /// Returns counts that change when the peer, or its device, says anything.
    pub(super) fn signs(&self) -> (u32, u32) {
        (self.pipes.as_ref().map_or(0, Ends::taken) as u32, self.queue.done())
    }

    /// Returns whether everything that was put has arrived, and nothing is owed to the peer.
    pub(super) fn is_quiet(&self) -> bool {
        self.queue.is_idle() && self.pipes.as_ref().is_none_or(Ends::is_quiet)
    }
}

impl Ends {
    /// Puts bytes into the pipe to the peer; see [`super::RdmaChannel::put`].
    pub(super) fn put<A: Adapter>(
        &mut self,
        line: &mut Line<'_, A>,
        from: &[Payload<'_>],
    ) -> Result<usize, Fault> {
        match self {
            Ends::Bytes(out, _) => out.put(line, from),
            Ends::Chunks(out, incoming) => {
                let before = out.filled();
                let moved = out.put(line, incoming.tail(), from)?;
                if out.filled() != before {
                    incoming.told();
                }
                Ok(moved)
            }
        }
    }

    /// Gets bytes from the pipe of the peer; see [`super::RdmaChannel::get`].
    pub(super) fn get<A: Adapter>(&mut self, line: &mut Line<'_, A>, into: Region) -> Result<usize, Fault> {
        match self {
            Ends::Bytes(out, incoming) => {
                out.hear_tail(line.inbox);
                incoming.get(line, into)
            }
            Ends::Chunks(out, incoming) => incoming.get(line, out, into),
        }
    }

    /// Posts what was put and found no room in the send queue.
    pub(super) fn pump<A: Adapter>(&mut self, line: &mut Line<'_, A>) -> Result<(), Fault> {
        match self {
            Ends::Bytes(out, _) => out.post(line),
            Ends::Chunks(out, _) => out.post(line),
        }
    }

    /// Takes in that a piece of memory was read.
    pub(super) fn read_done(&mut self) {
        if let Ends::Chunks(_, incoming) = self {
            incoming.read_done();
        }
    }

    /// Lets go of registrations of the program's memory: the queue pair is closed.
    pub(super) fn let_go<A: Adapter>(&mut self, cache: &mut Cache, adapter: &mut A) {
        if let Ends::Chunks(out, incoming) = self {
            out.let_go(cache, adapter);
            incoming.let_go(cache, adapter);
        }
    }

    fn taken(&self) -> u64 {
        match self {
            Ends::Bytes(out, incoming) => incoming.tail() + out.taken(),
            Ends::Chunks(out, incoming) => incoming.tail() + out.taken(),
        }
    }

    fn is_quiet(&self) -> bool {
        match self {
            Ends::Bytes(out, _) => out.is_posted(),
            Ends::Chunks(out, incoming) => out.is_quiet() && !incoming.owes_done(),
        }
    }
}
