//! A connection: the pipes in both directions, their memory, and the queue pair under them.

use super::bytes_in::BytesIn;
use super::bytes_out::BytesOut;
use super::incoming::ChunksIn;
use super::layout::Layout;
use super::line::{Line, Outbox};
use super::outgoing::ChunksOut;
use super::settings::{Design, Settings};
use crate::cache::Cache;
use crate::device::queue::SendQueue;
use crate::device::{Endpoint, QueuePair};
use crate::hello::Asking;
use crate::rc::adapter::{Adapter, Limits, Remote};
use crate::rc::pinned::Pinned;
use crate::rc::pulse::Pulse;
use verbena_channel::{Access, Payload};
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
        let (pair, mine) = adapter.open_pair(false)?;
        let (inbox, outbox) = match boxes(adapter, &Layout::of(settings), limits) {
            Ok(boxes) => boxes,
            Err(fault) => {
                adapter.close_pair(pair);
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

/// Makes the memory of a connection.
fn boxes<A: Adapter>(adapter: &mut A, layout: &Layout, limits: &Limits) -> Result<(Pinned, Outbox), Fault> {
    let inbox = Pinned::new(adapter, layout.inbox_bytes(), Access::WRITE)?;
    match Outbox::new(adapter, layout, limits.work_max) {
        Ok(outbox) => Ok((inbox, outbox)),
        Err(fault) => {
            inbox.release(adapter);
            Err(fault)
        }
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
