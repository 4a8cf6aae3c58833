//! The channel `pipe`: paper 2's RDMA Channel, for comparison with `rc`.
//!
//! MPICH2 put its message passing on an interface of five functions, two of which move data: `put`
//! writes into a byte pipe, `get` reads from it, both return how many bytes they moved, and the
//! caller tries again with the rest (paper 2, 3.2). The paper's question is whether so small an
//! interface costs speed. So [`RdmaChannel`] is that interface, [`Pipes`] are the paper's designs
//! of it ([`Design`]), and [`PipeChannel`] brings the engine's packets through it, in order,
//! however long they are: it has no remote memory to offer. The same engine over `rc` reads and
//! writes memory after the match, as the paper's CH3 design does.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`rdma_channel`] | the interface: five functions |
//! | [`settings`] | the designs, and the settings of one end |
//! | [`layout`] | the memory of a pipe, its chunks, and special packets |
//! | `sources` | the list of buffers that `put` is given |
//! | `outgoing`, `bytes_out` | the sender's end: in chunks; and with pointers |
//! | `incoming`, `bytes_in` | the receiver's end, alike |
//! | `pull` | memory that is read in place of bytes of the pipe |
//! | `line` | posting work on a connection, and the memory that it writes from |
//! | `connection` | a connection: both directions, and its queue pair |
//! | `pipes` | the five functions over all connections |
//! | `meeting` | connections on demand, by datagrams |
//! | `tending` | completions, silent peers, and what breaks |
//! | `writer`, `reader` | packets of the engine as bytes of the pipe |
//! | [`open`](mod@open) | opening it on a real device |
//!
//! What differs from the paper, and why:
//!
//! - A message above the eager limit is announced first, as in the CH3 of MPICH2 above the paper's
//!   channel for messages above its own limit. The limit lies just below the length from which
//!   `put` is zero-copy, so that `get` always has the receive's own memory to read into.
//! - Of a packet up to the eager limit that finds room for a part of it, the rest is copied and put
//!   later by the channel, since the engine may forget a packet that was taken. Only a long packet
//!   is put again and again by the engine, as in the paper.
//! - The tail flag is the one of `rc` (two values), which the paper's section 4.3 allows.
//!
//! It is opened only where `VERBENA_CHANNELS` names it. This module has no clock and makes no
//! system call: both are the adapter's, so the simulator drives this very code.

mod bytes_in;
mod bytes_out;
mod connection;
#[doc(hidden)]
pub mod fuzzing;
mod incoming;
pub mod layout;
mod line;
mod meeting;
mod open;
mod outgoing;
mod pipes;
mod pull;
pub mod rdma_channel;
mod reader;
pub mod settings;
mod sources;
mod tending;
mod writer;

use crate::cache::watch::Watch;
use crate::rc::adapter::Adapter;
pub use open::{PipeOpening, open};
pub use pipes::Pipes;
pub use rdma_channel::RdmaChannel;
use reader::Reader;
pub use settings::{Design, Settings};
use verbena_channel::packet::Header;
use verbena_channel::{Channel, Counts, Payload, Peer, PollCost, Reach, Report, SendError, Sink, Streams};
use writer::Begun;

/// The estimated one-way time of a packet in nanoseconds: above that of `rc`, so that the engine
/// prefers that where both are open.
const LATENCY_NS: u32 = 3000;

/// The channel over an adapter: the engine's packets as bytes of pipes.
pub struct PipeChannel<A: Adapter> {
    // First, so that the device stops before the memory goes that it may write to.
    pipes: Pipes<A>,
    /// For each peer the packet of which a part was put, if there is one.
    begun: Vec<Option<Begun>>,
    /// For each peer the packet that is being read, once something came.
    readers: Vec<Option<Box<Reader>>>,
}

impl<A: Adapter> PipeChannel<A> {
    /// Makes the channel over these pipes.
    pub fn new(pipes: Pipes<A>) -> PipeChannel<A> {
        let peers = pipes.peers();
        PipeChannel {
            pipes,
            begun: (0..peers).map(|_| None).collect(),
            readers: (0..peers).map(|_| None).collect(),
        }
    }

    /// Keeps registrations of the program's memory beyond their operation, as long as the watch has
    /// nothing to tell of it. To be called before the first message.
    pub fn keep_registrations(&mut self, watch: Box<dyn Watch>) {
        self.pipes.keep_registrations(watch);
    }

    /// Returns the bytes of registered memory that the connections hold.
    pub fn bytes_held(&self) -> usize {
        self.pipes.bytes_held()
    }
}

impl<A: Adapter> Channel for PipeChannel<A> {
    fn name(&self) -> &'static str {
        "pipe"
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        self.pipes.knows(peer).then(|| {
            let settings = self.pipes.settings();
            Reach {
                packet_bytes_max: settings.packet_bytes_max(),
                eager_bytes_max: settings.packet_bytes_max(),
                whole_bytes_max: 0,
                ordered: true,
                get: None,
                put: None,
                in_background: true,
                memory_bytes_min: usize::MAX,
                latency_ns: LATENCY_NS,
            }
        })
    }

    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        self.write_packet(peer, header, payload)
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        let events = self.read_all(sink) + self.pipes.manage();
        self.put_rests();
        events + self.report_broken(sink)
    }

    /// That of the completion queue, which each round looks at (paper 3, 3.1.1).
    fn poll_cost(&self) -> Option<PollCost> {
        Some(PollCost { latency_ns: LATENCY_NS, empty_ns: self.pipes.look_ns()? })
    }

    fn is_quiet(&mut self) -> bool {
        self.has_put_all() && self.pipes.finalize()
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        Some(self)
    }

    fn report(&self) -> Report {
        Report { findings: self.pipes.findings(), absence: None }
    }

    fn counts(&self) -> Counts {
        Counts { registrations: self.pipes.registrations(), ..Counts::default() }
    }
}

impl<A: Adapter> Streams for PipeChannel<A> {
    /// Does nothing: the design says when what is copied is transferred.
    fn hold(&mut self, _peer: Peer) {}

    fn release(&mut self, _peer: Peer) {}

    /// The longest packet of a stream: a whole message.
    fn stream_bytes_max(&mut self, _peer: Peer) -> Option<usize> {
        Some(isize::MAX as usize)
    }

    fn is_begun(&self, peer: Peer) -> bool {
        matches!(self.begun.get(peer as usize), Some(Some(Begun::Long(_))))
    }
}
