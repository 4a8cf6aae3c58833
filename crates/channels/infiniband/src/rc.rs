//! The channel `rc`: InfiniBand's Reliable Connection service (papers 1 and 2).
//!
//! Two processes that speak are joined by a queue pair, made at their first message. Packets go by
//! send and receive, through buffers posted in advance, which works for any number of peers. Or,
//! quicker, they go by RDMA write into a ring that the receiver polls, for the peers that the
//! receiver has in its polling set.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`adapter`] | the verbs device as the channel needs it |
//! | [`verbs`] | the real device, over libibverbs |
//! | [`open`](mod@open) | opening it on a real device |
//! | [`settings`] | the settings of one end |
//! | [`frame`] | the prefix of every packet on the wire |
//! | [`peers`] | the state of each peer |
//! | [`connect`] | connections on demand, by datagrams |
//! | [`send`] | sending, and which way a packet goes |
//! | [`receive`] | receive buffers and completions |
//! | [`shared_pool`] | how many buffers the queue for all connections has |
//! | [`control`] | packets between the channels themselves, and explicit credits |
//! | [`credit`] | credits for receive buffers |
//! | [`ring`] | one-way rings that the sender writes into |
//! | [`polling`] | the receiver's polling set, and taking packets from rings |
//! | [`direct_receive`] | the packet that a receive waits for, taken without polling |
//! | [`sleep`] | sleeping on completion events, though packets in rings make none |
//! | [`policy`] | the policies of the polling set |
//! | [`order`] | packet sequence numbers over both paths |
//! | [`elided_header`] | headers that are not sent, since they follow from the one before |
//! | [`pool`], [`pinned`] | registered memory and its buffers |
//! | [`id`] | the numbers that tell completions apart |
//! | [`uncredited`] | packets that are handed back when a connection breaks |
//! | [`eviction`] | giving connections back, and declining some |
//! | [`failure`], [`breaking`] | messages and actions when a connection breaks |
//! | [`keepalive`], [`pulse`] | whether silent peers are still there |
//! | [`memory`], [`moves`] | long messages, moved by RDMA |
//! | [`paths`] | rings or send and receive, learnt |
//!
//! This module never has a clock or a system call of its own. Both are the adapter's, so the
//! simulator drives this very code.

pub mod adapter;
mod breaking;
mod connect;
mod control;
mod credit;
mod direct_receive;
mod elided_header;
mod eviction;
pub(crate) mod failure;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
pub(crate) mod id;
pub(crate) mod keepalive;
mod memory;
mod moves;
mod open;
mod order;
mod paths;
mod peers;
pub(crate) mod pinned;
mod policy;
pub mod polling;
mod pool;
pub(crate) mod pulse;
mod receive;
pub(crate) mod ring;
mod send;
pub mod settings;
mod shared_pool;
mod short_reads;
mod sleep;
mod uncredited;
pub mod verbs;

use crate::device::Address;
use adapter::{Adapter, Limits};
use credit::Credits;
use keepalive::Pace;
pub use open::{RcOpening, open};
use peers::{Peers, Stage};
use polling::PollingSet;
use pool::{Pool, SendPool};
pub use ring::flags::{PRIMARY, SECONDARY};
pub use settings::Settings;
use shared_pool::SharedPool;
use std::collections::BTreeSet;
use std::os::fd::RawFd;
use std::time::Duration;
use verbena_channel::learner::Learner;
use verbena_channel::packet::{HEADER_BYTES, Header};
use verbena_channel::{
    Channel, Connection, Connections, Counts, Failover, Payload, Peer, PollCost, Reach, Receives,
    RemoteMemory, Report, SendError, Sink, Streams, look,
};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The channel over an adapter. Dropping the adapter must end its registrations and queue pairs.
pub struct RcChannel<A: Adapter> {
    // First, so that it is dropped before the memory that it may write to.
    adapter: A,
    name: &'static str,
    me: Peer,
    settings: Settings,
    limits: Limits,
    peers: Peers<A::Descriptor>,
    receives: Pool,
    /// The buffers of the queue for all connections, if there is one.
    pool: SharedPool,
    sends: SendPool<A::Descriptor>,
    set: PollingSet,
    /// The packet that was taken last, if its slots are not free yet.
    taken: Option<direct_receive::Taken>,
    memory: memory::Memory,
    /// The times that reading and writing took, if they are to decide.
    learner: Option<Box<Learner<2>>>,
    /// The times that packets took on either path, if they are to decide.
    paths: Option<Box<paths::Paths>>,
    /// The number of rings of ours that a peer has or is offered, and of peers' rings that we have.
    rings_in: usize,
    rings_out: usize,
    /// Peers that the program hinted at, in order.
    hinted: Vec<Peer>,
    /// The first reason why a ring could not be made.
    no_ring: Option<Fault>,
    /// The number of packets received since the last review of the polling set.
    heard: u32,
    /// The number of signalled packets that completed.
    completions: u64,
    /// Peers that have not answered yet.
    asking: Vec<Peer>,
    /// Peers to which the channel itself has something to send.
    duties: Vec<Peer>,
    /// Peers that broke, to be reported.
    broken: Vec<(Peer, Fault)>,
    /// Peers whose packets are kept, since another channel could take this one's place.
    wanted_back: BTreeSet<Peer>,
    /// The limit on connections, and what is left of those that were given back.
    past: eviction::Past,
    /// The last news of the port.
    port_trouble: Option<Fault>,
    /// The first reason why the shared pool could not have its size.
    pool_trouble: Option<Fault>,
    /// The timers: what is due, and when to look.
    pace: Pace,
    /// The number of polls, to do now and then what need not be done each time.
    rounds: u32,
    /// Set once the process is about to leave and must know what has arrived: all work is
    /// signalled.
    leaving: bool,
}

/// Estimated one-way time of a packet in nanoseconds, for the choice among channels.
const LATENCY_NS: u32 = 2000;
/// The completion queue is looked at every this many polls while packets come by rings; else each
/// time.
const COMPLETIONS_EVERY: u32 = 4;
/// Datagrams are looked at every this many polls, if nothing else has come, while nobody is waited
/// for.
const DATAGRAMS_EVERY: u32 = 16;

impl<A: Adapter> RcChannel<A> {
    /// Makes the channel of process `me` of `size` over this adapter. `cards` holds each process's
    /// address, `None` where it has no device.
    pub fn new(
        me: Peer,
        size: u32,
        adapter: A,
        cards: Vec<Option<Address>>,
        settings: Settings,
    ) -> RcChannel<A> {
        assert_eq!(cards.len(), size as usize, "a card for each process");
        let limits = adapter.limits();
        let mut settings = settings.sound();
        settings.cache_bytes_max = settings.cache_bytes_max.min(limits.register_bytes_max / 2);
        settings.shared_receives &= limits.shared_receives;
        settings.inline_bytes_max = settings.inline_bytes_max.min(limits.inline_bytes_max);
        RcChannel {
            receives: Pool::new(settings.buffer_bytes),
            pool: SharedPool::default(),
            sends: SendPool::new(settings.buffer_bytes, settings.send_buffers_max),
            adapter,
            name: "rc",
            me,
            limits,
            peers: Peers::new(cards),
            set: PollingSet::new(settings.order),
            taken: None,
            memory: memory::Memory::new(&settings),
            learner: (settings.learn && limits.mixes).then(Box::default),
            paths: (settings.path_series > 0).then(|| Box::new(paths::Paths::new(settings.path_series))),
            rings_in: 0,
            rings_out: 0,
            hinted: Vec::new(),
            no_ring: None,
            heard: 0,
            completions: 0,
            asking: Vec::new(),
            duties: Vec::new(),
            broken: Vec::new(),
            wanted_back: BTreeSet::new(),
            past: eviction::Past::new(),
            port_trouble: None,
            pool_trouble: None,
            pace: Pace::new(),
            rounds: 0,
            leaving: false,
            settings,
        }
    }

    /// Gives the channel another name, where there are several.
    pub fn named(self, name: &'static str) -> RcChannel<A> {
        RcChannel { name, ..self }
    }

    /// Returns the bytes of state for a peer that never spoke.
    pub const fn silent_peer_bytes() -> usize {
        Peers::<A::Descriptor>::silent_bytes()
    }

    /// Returns the bytes of registered memory and of state for the peers, all in all.
    pub fn bytes_held(&self) -> usize {
        self.receives.bytes() + self.sends.bytes() + self.peers.bytes()
    }

    /// Looks everywhere: rings first, since that costs least.
    #[inline]
    fn poll_all(&mut self, sink: &mut dyn Sink) -> usize {
        self.rounds = self.rounds.wrapping_add(1);
        self.pass_taken();
        let mut events = 0;
        if !self.peers.all_silent() {
            events = self.poll_rings(sink);
            // What came is answered before the queue is looked at, which costs as much as taking a
            // packet.
            if events == 0 || self.rounds.is_multiple_of(COMPLETIONS_EVERY) {
                events += self.poll_completions(sink);
            }
        }
        let busy = events > 0 || !self.rounds.is_multiple_of(DATAGRAMS_EVERY);
        let nothing = self.asking.is_empty() && self.duties.is_empty();
        let nothing = nothing && self.broken.is_empty() && self.memory.given_up.is_empty();
        if busy && nothing && self.heard < self.settings.review_every {
            return events;
        }
        events + self.poll_rarely(sink, !busy)
    }

    /// Does what need not be done at each poll.
    #[inline(never)]
    fn poll_rarely(&mut self, sink: &mut dyn Sink, idle: bool) -> usize {
        let mut events = 0;
        if idle || !self.asking.is_empty() {
            events += self.tend_connections();
        }
        if idle {
            self.memory.cache.tidy(&mut self.adapter);
        }
        if idle && self.pace.is_due() {
            self.look_at_clock();
        }
        if self.heard >= self.settings.review_every {
            self.review();
        }
        if !self.duties.is_empty() {
            self.do_duties();
        }
        if !self.broken.is_empty() {
            events += self.report_broken(sink);
        }
        if !self.memory.given_up.is_empty() {
            events += self.report_given_up(sink);
        }
        events
    }
}

impl<A: Adapter> Channel for RcChannel<A> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        self.peers.address(peer).filter(|_| peer != self.me)?;
        let packet_bytes_max = self.settings.packet_bytes_max();
        Some(Reach {
            packet_bytes_max,
            eager_bytes_max: self.settings.eager_bytes_max.min(packet_bytes_max),
            whole_bytes_max: 0,
            ordered: true,
            get: Some(self.settings.read),
            put: Some(self.settings.write),
            in_background: true,
            memory_bytes_min: self.settings.memory_bytes_min,
            latency_ns: LATENCY_NS,
        })
    }

    #[inline(always)]
    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        match self.peers.get(peer).map(|connection| &connection.stage) {
            Some(Stage::Up) => self.send_data(peer, header, payload),
            Some(Stage::Asking(_)) => Err(SendError::Full),
            Some(Stage::Broken(fault)) => Err(SendError::Broken(Fault::clone(fault))),
            None => self.first_packet(peer),
        }
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        self.poll_all(sink)
    }

    #[inline(always)]
    fn take_direct(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        self.take_expected(peer, header, into)
    }

    /// That of the completion queue: beside it the rings cost little (paper 3, 3.1.1).
    fn poll_cost(&self) -> Option<PollCost> {
        Some(PollCost { latency_ns: LATENCY_NS, empty_ns: self.adapter.look_ns()? })
    }

    fn arm(&mut self) -> Duration {
        self.pass_taken();
        self.rest()
    }

    fn disarm(&mut self) {
        self.look_everywhere();
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.adapter.descriptors()
    }

    fn report(&self) -> Report {
        let name = self.name;
        let device = format!("{name}: {}", self.adapter.place());
        let no_ring =
            self.no_ring.as_ref().map(|f| format!("{name}: some peer has no ring: {}: {}", f.what, f.cause));
        let small_pool = self.pool_trouble.as_ref().map(|f| {
            format!("{name}: the receive pool stays at {} buffers: {}: {}", self.pool.posted, f.what, f.cause)
        });
        let memory = self.memory_findings();
        let look = format!("{name}: {}", look::finding(self.adapter.look_ns()));
        let findings = [device, look].into_iter().chain(no_ring).chain(small_pool).chain([memory]).collect();
        Report { findings, absence: None }
    }

    fn counts(&self) -> Counts {
        let (registrations, polling_set) = (self.memory.cache.counts(), self.set.counts());
        let shared = if self.settings.shared_receives { polling_set.queue_packets } else { 0 };
        let (bytes, top_ups) = (self.receives.bytes() as u64, self.pool.top_ups);
        let receives = Receives { bytes, top_ups, shared };
        Counts { registrations, polling_set, receives, completions: self.completions, ..Counts::default() }
    }

    fn hint(&mut self, peers: &[Peer]) {
        self.take_hint(peers);
    }

    fn is_quiet(&mut self) -> bool {
        self.all_arrived()
    }

    fn connections(&mut self) -> Option<&mut dyn Connections> {
        Some(self)
    }

    fn failover(&mut self) -> Option<&mut dyn Failover> {
        Some(self)
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        Some(self)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        Some(self)
    }
}

impl<A: Adapter> Connections for RcChannel<A> {
    fn meet(&mut self, peer: Peer) {
        self.begin_beside(peer, false);
    }

    fn need(&mut self, peer: Peer) {
        self.begin_beside(peer, true);
    }

    fn connection(&self, peer: Peer) -> Connection {
        match self.peers.look(peer).map(|connection| &connection.stage) {
            Some(Stage::Up) => Connection::Up,
            Some(Stage::Asking(_)) => Connection::Making,
            Some(Stage::Broken(_)) | None => Connection::None,
        }
    }

    fn count(&self) -> usize {
        self.peers.connected()
    }

    fn limit(&mut self, most: usize) {
        self.past.most = most;
    }

    fn leave(&mut self, peer: Peer) {
        self.give_back_connection(peer);
    }

    fn rail_of(&self) -> &'static str {
        "rc"
    }
}

impl<A: Adapter> Failover for RcChannel<A> {
    fn keep_sent(&mut self, peer: Peer) -> bool {
        self.keep_packets(peer);
        true
    }

    fn undelivered(&mut self, peer: Peer) -> Vec<(Header, Vec<u8>)> {
        self.hand_back(peer)
    }

    fn abandon(&mut self, peer: Peer, fault: &Fault) {
        self.break_connection(peer, fault.clone());
    }
}

impl<A: Adapter> Streams for RcChannel<A> {
    fn hold(&mut self, peer: Peer) {
        if let Some(ring) = self.peers.get(peer).and_then(|connection| connection.ring_out.as_mut()) {
            ring.held = true;
        }
    }

    fn release(&mut self, peer: Peer) {
        if let Some(ring) = self.peers.get(peer).and_then(|connection| connection.ring_out.as_mut()) {
            ring.held = false;
            // What finds no room now is posted by later polls, and a break is reported by the next.
            let _ = self.post_ring(peer);
        }
    }

    fn stream_bytes_max(&mut self, peer: Peer) -> Option<usize> {
        let ring = self.peers.get(peer)?.ring_out.as_ref()?;
        Some(ring.body_bytes_max().min(self.settings.chunk_bytes + HEADER_BYTES) - HEADER_BYTES)
    }
}
