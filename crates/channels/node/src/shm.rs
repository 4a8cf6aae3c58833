//! Shared memory: packets between processes on one node, through rings in anonymous memory.
//!
//! One segment serves all ranks of a job on a node ([`control`] is its layout). The lowest rank
//! makes it and hands its descriptor to the others ([`handover`]); it has no name, so nothing is
//! left behind when a job is killed, and `/dev/shm` may be small or full. The sender makes the ring
//! to a receiver at its first packet, without the receiver's help ([`outgoing`], [`incoming`]);
//! [`ring`] is the protocol. Messages from some kilobytes to 64 KiB go in cells, which change owner
//! ([`cells`]); the ring tells of them. Beside each ring stand words by which both ends divide the
//! copying of long messages ([`division`]). Windows have memory of their own ([`heap`]).
//!
//! A packet of up to 24 bytes takes one cache line. A process that waits sleeps at a bell
//! ([`verbena_waiting`]).

mod boards;
mod card;
mod cell_layout;
mod cells;
mod connect;
mod control;
mod division;
#[doc(hidden)]
pub mod fuzzing;
mod handover;
mod heap;
mod incoming;
mod mapped;
mod note;
mod outgoing;
mod ring;
mod segment;

pub use connect::{ShmOpening, open};
pub use verbena_machine::headroom;

use boards::NodeBoards;
use cells::Cells;
use connect::Memory;
use control::{Control, MappedRankWords};
use heap::NodeHeap;
use incoming::Inbox;
use mapped::MappedRing;
pub use outgoing::Lane;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;
use verbena_channel::heap::Heap;
use verbena_channel::packet::Header;
use verbena_channel::{
    Channel, Counts, Division, End, Payload, Peer, PollCost, Reach, Report, SendError, Shared, Sharing, Sink,
    look,
};
use verbena_fault::Fault;
use verbena_machine::cores::Load;
use verbena_memory::Region;
use verbena_waiting::bell::{self, Bell};
use verbena_waiting::sleeper::Sleeper;
use verbena_waiting::{MakeWaiter, SLEEP_MAX, Waiter};

/// The largest packet, if the rings allow it: small enough that sender and receiver copy at the
/// same time.
const PACKET_BYTES_MAX: usize = 16 << 10;

const LATENCY_NS: u32 = 150;

/// After this many times that the process was about to sleep, it looks whether the segment is
/// damaged: within a second where nothing moves.
const INSPECT_EVERY: u32 = 8;

/// The channel `shm` after start-up: the segment, this rank's incoming rings, and the way to each
/// peer.
#[derive(Debug)]
pub struct ShmChannel {
    control: Arc<Control>,
    /// The heap of the node, or why there is none.
    heap: Result<Arc<NodeHeap>, String>,
    /// This process's rank on the node.
    me: u32,
    /// The ranks of the node as processes of the job.
    peers: Vec<Peer>,
    /// For each of them, the way to it.
    links: Vec<Link>,
    inbox: Inbox,
    packet_bytes_max: usize,
    cells: Arc<Cells>,
    /// True if this process is not registered for the sleepers' barrier.
    fence_always: bool,
    load: Load,
    waiter: Arc<Sleeper<MappedRankWords>>,
    faults: Vec<(Peer, Fault)>,
    /// The time of a look that finds nothing, as measured when the channel was opened.
    empty_ns: Option<u32>,
    /// The number of times that the process was about to sleep.
    arms: u32,
}

/// The way to a process of the node.
#[derive(Debug)]
enum Link {
    /// This process itself.
    None,
    /// On this node; no packet was sent yet.
    Idle(u32),
    Open(Lane),
    /// Open, and the engine has the end.
    Lent(MappedRing),
    Broken(Box<Fault>),
}

impl ShmChannel {
    fn new(memory: Memory, me: u32, peers: Vec<Peer>, load: Load) -> ShmChannel {
        let words = MappedRankWords { control: memory.control.clone(), rank: me };
        let waiter = Arc::new(Sleeper::new(words, &load));
        ShmChannel::woken_by(waiter, bell::register().is_err(), memory, me, peers, load)
    }

    /// The channel of this process's engine of this number, which counts from 1: it reaches the
    /// same processes, and rings the same bells. `None` if they have no such engine. All of the
    /// node have it or none.
    pub fn beside(&self, number: u32) -> Option<ShmChannel> {
        let control = self.control.of_engine(number)?;
        let memory = Memory { control, heap: Err("the first engine has it".into()) };
        let (waiter, peers) = (self.waiter.clone(), self.peers.clone());
        Some(ShmChannel::woken_by(waiter, self.fence_always, memory, self.me, peers, self.load))
    }

    fn woken_by(
        waiter: Arc<Sleeper<MappedRankWords>>,
        fence_always: bool,
        memory: Memory,
        me: u32,
        peers: Vec<Peer>,
        load: Load,
    ) -> ShmChannel {
        let control = memory.control;
        let heap = memory.heap.map(|heap| NodeHeap::new(heap, &control, me, &peers, fence_always));
        // A rank without a core of its own sleeps often, and the barrier interrupts every core: 5
        // microseconds a sleep, against 10 nanoseconds for the fence of a sender.
        if fence_always || load.oversubscribed() {
            control.bell(me).ask_for_fences();
        }
        let link = |rank| if rank == me { Link::None } else { Link::Idle(rank) };
        let links = (0..peers.len() as u32).map(link).collect();
        let ring_bytes = 1 << control.measures().ring_log2;
        let packet_bytes_max = PACKET_BYTES_MAX.min(ring::payload_bytes_max(ring_bytes));
        // With fewer cores than ranks, a receiver that waits for a chunk holds up the sender.
        let cells = Arc::new(Cells::new(&control, me, !load.oversubscribed()));
        cells::introduce(&control, me);
        let (inbox, faults, arms) = (Inbox::new(&control, me, &cells), Vec::new(), 0);
        let empty_ns = inbox.look_ns();
        ShmChannel {
            control,
            heap: heap.map(Arc::new),
            me,
            peers,
            links,
            inbox,
            packet_bytes_max,
            cells,
            fence_always,
            load,
            waiter,
            faults,
            empty_ns,
            arms,
        }
    }

    /// Hands out the sending end towards `peer`, if there can be one: packets to that peer then go
    /// through it and no longer through [`Channel::send`].
    pub fn lend(&mut self, peer: Peer) -> Option<Lane> {
        let at = self.place(peer)?;
        if let Link::Idle(to) = self.links[at] {
            self.open(peer, to);
        }
        let link = self.links.get_mut(at).filter(|link| matches!(link, Link::Open(_)))?;
        let Link::Open(lane) = link else { return None };
        let ring = lane.ring();
        match std::mem::replace(link, Link::Lent(ring)) {
            Link::Open(lane) => Some(lane),
            _ => None,
        }
    }

    /// The place of a process among those of the node; `None` for one of another.
    fn place(&self, peer: Peer) -> Option<usize> {
        self.peers.binary_search(&peer).ok()
    }

    fn link(&self, peer: Peer) -> Option<&Link> {
        self.links.get(self.place(peer)?)
    }

    fn words(&self) -> MappedRankWords {
        MappedRankWords { control: self.control.clone(), rank: self.me }
    }

    /// The bell that the other ranks of the segment ring for this process.
    pub fn bell(&self) -> &Bell {
        self.control.bell(self.me)
    }

    /// Sends the first packet to a peer, or refuses one that cannot be sent.
    #[cold]
    fn send_first(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        let Some(&Link::Idle(to)) = self.link(peer) else {
            return Err(SendError::Broken(self.why_not(peer)));
        };
        self.open(peer, to);
        self.send(peer, header, payload)
    }

    /// Makes the ring to a peer; afterwards its link is open or broken.
    fn open(&mut self, peer: Peer, to: u32) {
        let made =
            Lane::make(&self.control, self.me, to, self.packet_bytes_max, &self.cells, self.fence_always);
        self.links[to as usize] = match made {
            Ok(lane) => Link::Open(lane),
            Err(e) => Link::Broken(Box::new(outgoing::no_ring(&self.control, peer, &e))),
        };
    }

    fn why_not(&self, peer: Peer) -> Fault {
        match self.link(peer) {
            Some(Link::Broken(fault)) => (**fault).clone(),
            _ => Fault {
                what: "a packet for a process that shares no memory with this one".into(),
                on: format!("process {peer}"),
                cause: "a channel was chosen that does not reach it: a defect of Verbena".into(),
                remedy: "please report it; VERBENA_CHANNELS chooses other channels meanwhile".into(),
            },
        }
    }

    /// Returns whether no ring has anything.
    #[inline(always)]
    pub fn is_silent(&self) -> bool {
        self.inbox.is_silent() && self.faults.is_empty()
    }

    /// Polls as [`Channel::poll`], for a sink whose type is known.
    #[inline]
    pub fn poll_into<S: Sink + ?Sized>(&mut self, sink: &mut S) -> usize {
        if self.inbox.is_behind() {
            self.inbox.adopt(&self.control, self.me, &self.peers, self.fence_always, &mut self.faults);
        }
        let packets = self.inbox.poll(sink, &mut self.faults);
        if !self.faults.is_empty() {
            self.report_broken(sink);
        }
        packets
    }

    /// Takes a packet of one line, as [`Channel::take_direct`].
    #[inline(always)]
    pub fn take_line(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        self.inbox.take_line(peer, header, into)
    }

    /// Looks for words of the segment that a program has written over. The next poll reports it.
    #[cold]
    fn inspect(&mut self) {
        if self.control.is_sound(self.me) {
            return self.inbox.inspect(&mut self.faults);
        }
        let others = (0..).zip(self.peers.iter().zip(&self.links)).filter(|&(rank, _)| rank != self.me);
        let whole = others.filter(|(_, (_, link))| !matches!(link, Link::Broken(_)));
        self.faults.extend(whole.map(|(_, (&peer, _))| (peer, *incoming::corrupt_segment(peer))));
    }

    #[cold]
    fn report_broken<S: Sink + ?Sized>(&mut self, sink: &mut S) {
        for (peer, fault) in std::mem::take(&mut self.faults) {
            if let Some(at) = self.place(peer) {
                self.links[at] = Link::Broken(Box::new(fault.clone()));
            }
            sink.broken(peer, fault);
        }
    }
}

impl Channel for ShmChannel {
    fn name(&self) -> &'static str {
        "shm"
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        match self.link(peer)? {
            Link::None | Link::Broken(_) => None,
            Link::Idle(_) | Link::Open(_) | Link::Lent(_) => Some(Reach {
                packet_bytes_max: self.packet_bytes_max,
                eager_bytes_max: self.packet_bytes_max,
                whole_bytes_max: self.cells.bytes_max(),
                ordered: true,
                get: None,
                put: None,
                in_background: false,
                memory_bytes_min: usize::MAX,
                latency_ns: LATENCY_NS,
            }),
        }
    }

    fn near(&self) -> Option<&[Peer]> {
        Some(&self.peers)
    }

    #[inline]
    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        let bytes_max = self.packet_bytes_max.max(self.cells.bytes_max());
        assert!(payload.len() <= bytes_max, "a packet of {} bytes", payload.len());
        let link = self.place(peer).and_then(|at| self.links.get_mut(at));
        match link {
            Some(Link::Open(lane)) => lane.send(header, payload).then_some(()).ok_or(SendError::Full),
            _ => self.send_first(peer, header, payload),
        }
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        self.poll_into(sink)
    }

    /// None without peers on the node: then latency is no reason to look here.
    fn poll_cost(&self) -> Option<PollCost> {
        let empty_ns = self.empty_ns.filter(|_| self.peers.len() > 1)?;
        Some(PollCost { latency_ns: LATENCY_NS, empty_ns })
    }

    fn shows(&self) -> bool {
        true
    }

    fn take_direct(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        self.inbox.take_direct(peer, header, into)
    }

    /// Every sender rings. A process that sleeps again and again may wait for what was overwritten.
    fn farewell(&mut self) -> bool {
        self.cells.leave();
        true
    }

    fn arm(&mut self) -> Duration {
        self.arms = self.arms.wrapping_add(1);
        if self.arms.is_multiple_of(INSPECT_EVERY) {
            self.inspect();
        }
        SLEEP_MAX
    }

    fn shared(&self) -> Shared {
        let (control, peers) = (self.control.clone(), self.peers.clone());
        let boards = Arc::new(NodeBoards { control, peers, fence_always: self.fence_always });
        let heap = self.heap.as_ref().ok().map(|heap| heap.clone() as Arc<dyn Heap>);
        let make_waiter = Arc::new(self.words());
        Shared {
            waiter: Some(self.waiter.clone()),
            make_waiter: Some(make_waiter),
            boards: Some(boards),
            neighbors: None,
            heap,
        }
    }

    fn report(&self) -> Report {
        let ring_bytes = 1usize << self.control.measures().ring_log2;
        let wake = if self.control.bell(self.me).wants_fences() { "fences by senders" } else { "membarrier" };
        let findings = vec![
            format!("{}", self.load),
            format!("rings of {ring_bytes} bytes, packets of up to {}", self.packet_bytes_max),
            format!("sleeping ranks are woken with {wake}"),
            look::finding(self.empty_ns),
            self.cells.finding(),
            match &self.heap {
                Ok(heap) => heap.finding(headroom::look()),
                Err(why) => format!("no heap for windows: {why}"),
            },
        ];
        Report { findings, absence: None }
    }

    fn counts(&self) -> Counts {
        Counts { cells: self.cells.counts(), ..Counts::default() }
    }

    fn sharing(&mut self) -> Option<&mut dyn Sharing> {
        Some(self)
    }
}

/// A process may need another waiter at its bell later, when it meets processes of another job.
impl MakeWaiter for MappedRankWords {
    fn make(&self, load: &Load, descriptors: Vec<RawFd>) -> std::io::Result<Arc<dyn Waiter>> {
        let waiter = Sleeper::new(self.clone(), load);
        waiter.watch(descriptors)?;
        Ok(Arc::new(waiter))
    }
}

impl Sharing for ShmChannel {
    /// With fewer cores than ranks, the sender's core has other work than to help.
    fn divide(&mut self, peer: Peer, parts: u32) -> Option<Division> {
        if self.load.oversubscribed() { None } else { self.inbox.divide(peer, parts) }
    }

    fn take_part(&mut self, peer: Peer, division: Division, from: End) -> Option<u32> {
        match (from, self.link(peer)?) {
            (End::Front, _) => self.inbox.take_part(peer, division),
            (End::Back, Link::Open(lane)) => division::take_part(&lane.ring(), division, from),
            (End::Back, Link::Lent(ring)) => division::take_part(ring, division, from),
            (End::Back, _) => None,
        }
    }

    fn end_division(&mut self, peer: Peer, division: Division) -> u32 {
        self.inbox.end_division(peer, division)
    }

    fn forget_division(&mut self, peer: Peer, division: Division) {
        self.inbox.forget_division(peer, division);
    }
}

#[cfg(test)]
mod tests;
