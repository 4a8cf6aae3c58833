//! The channel `ud`: InfiniBand's Unreliable Datagram service (paper 4), made reliable here.
//!
//! One queue pair receives from everyone, into a static pool of buffers, and several send in turn,
//! to anyone. Nothing is set up between two processes, and the needs of a process hardly grow with
//! their number. A packet is a group of fragments of one datagram each; [`crate::reliable`] sees to
//! it that each group arrives once.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`adapter`] | the verbs device as the channel needs it |
//! | [`verbs`] | the real device, over libibverbs |
//! | [`open`](mod@open) | opening it on a real device |
//! | [`settings`] | the settings of one end |
//! | [`card`] | the card by which the others know a process |
//! | [`frame`] | the prefix of every datagram |
//! | [`header`] | the head of a packet |
//! | [`peers`] | the state of each peer |
//! | [`one_fragment`] | the shortest way of sending a short packet |
//! | [`send`] | packets into fragments, and fragments to the queue pairs |
//! | [`receive`] | the receive pool, and the datagrams that come in it |
//! | [`direct_receive`] | the shortest way of a packet that is waited for |
//! | [`batch`] | the datagrams that are posted at once |
//! | [`buffers`] | send buffers |
//! | [`queues`] | the sending queue pairs in turn, and the timer for local completion |
//! | [`timers`] | the times when something is to be done for a peer |
//! | [`farewell`] | leaving |
//! | [`failure`] | messages and actions when a peer is given up |
//!
//! This module never has a clock or a system call of its own. Both are the adapter's, so the
//! simulator drives this very code.

pub mod adapter;
mod batch;
mod buffers;
pub mod card;
mod direct_receive;
mod failure;
mod farewell;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod header;
mod one_fragment;
mod open;
mod peers;
mod queues;
mod receive;
mod send;
pub mod settings;
mod timers;
pub mod verbs;

use crate::reliable::{Piece, Verdict};
use adapter::{Datagrams, Ended, Limits, Memory};
use batch::Batch;
use buffers::Buffers;
use card::Card;
pub use open::{UdOpening, is_wanted, open};
use peers::Peers;
use queues::Queues;
pub use settings::Settings;
use std::os::fd::RawFd;
use std::time::Duration;
use timers::Timers;
use verbena_channel::packet::{HEADER_BYTES, Header};
use verbena_channel::{
    Channel, Counts, Failover, Payload, Peer, PollCost, Reach, Receives, Report, SendError, Sink, look,
};
use verbena_fault::Fault;
use verbena_memory::Region;
use verbena_waiting::{NAP, SLEEP_MAX};

/// The channel over an adapter.
pub struct UdChannel<A: Datagrams> {
    // First, so that it is dropped before the memory that it may write to.
    adapter: A,
    me: Peer,
    settings: Settings,
    limits: Limits,
    peers: Peers,
    /// The receive buffers, side by side, and how many there are.
    pool: Memory,
    receives: usize,
    buffers: Buffers,
    queues: Queues,
    batch: Batch,
    /// A scratch list of fragments that nobody acknowledges. Empty between calls.
    bare: Vec<Piece>,
    timers: Timers,
    /// Peers to which something is to be sent as soon as a queue pair has room.
    stalled: Vec<Peer>,
    /// True if a packet that nobody acknowledges waits until the way to its peer is known; no event
    /// tells of that.
    asks_way: bool,
    /// Peers with an unread acknowledgement.
    unread: Vec<Peer>,
    /// Peers that were given up, to be reported.
    broken: Vec<(Peer, Fault)>,
    /// The reason why the device is of no use any more.
    device_fault: Option<Fault>,
    /// The last news of the port.
    port_trouble: Option<Fault>,
    /// A scratch list of buffers on their way back. Empty between calls.
    done: Vec<u32>,
    /// The end that was looked at but not handled.
    waiting: Option<Ended>,
    /// Set when the owner is about to sleep, or does.
    armed: bool,
    /// Receive buffers to be posted anew.
    emptied: Vec<u32>,
    counts: verbena_channel::Datagrams,
    /// The number of polls, to do now and then what need not be done each time.
    rounds: u32,
}

/// Estimated one-way time of a packet in nanoseconds, for the choice among channels: more than
/// `rc`.
const LATENCY_NS: u32 = 3000;
/// Work that can wait is done every this many polls: while packets come with each, the timers; else
/// a look for queue pairs that complete nothing.
const TENDED_EVERY: u32 = 8;
/// The adapter is asked for trouble every this many polls.
const TROUBLE_EVERY: u32 = 1 << 14;

impl<A: Datagrams> UdChannel<A> {
    /// Makes the card of a process with this adapter and these settings.
    pub fn card(adapter: &A, settings: &Settings) -> Card {
        let limits = adapter.limits();
        Card {
            address: adapter.address(),
            datagram_bytes_max: limits.datagram_bytes_max as u32,
            receives: settings.receives(limits.datagram_bytes_max, limits.receives_max) as u32,
        }
    }

    /// Makes the channel of process `me` over this adapter. `cards` holds each process's, `None`
    /// where it has no device.
    ///
    /// # Errors
    /// The receive pool cannot be registered or posted.
    pub fn new(
        me: Peer,
        adapter: A,
        cards: Vec<Option<Card>>,
        settings: Settings,
    ) -> Result<UdChannel<A>, Fault> {
        let limits = adapter.limits();
        let mut settings = settings.sound();
        settings.inline_bytes_max = settings.inline_bytes_max.min(limits.inline_bytes_max);
        // One sender alone shall not fill anybody's pool.
        let least = cards.iter().flatten().map(|card| card.receives).min().unwrap_or(u32::MAX);
        settings.rules.window_max = settings.rules.window_max.min(least / 2);
        settings.rules = settings.rules.sound();
        let long = settings.long_buffers(limits.datagram_bytes_max);
        let mut ud = UdChannel {
            buffers: Buffers::new(settings.short_buffers_max, limits.datagram_bytes_max, long),
            queues: Queues::new(
                limits.senders,
                limits.work_max,
                settings.signal_every,
                settings.local_ns_max,
            ),
            receives: settings.receives(limits.datagram_bytes_max, limits.receives_max),
            pool: Memory { region: verbena_memory::Region::EMPTY, key: 0 },
            adapter,
            me,
            settings,
            limits,
            peers: Peers::new(cards),
            batch: Batch::default(),
            bare: Vec::new(),
            timers: Timers::default(),
            stalled: Vec::new(),
            asks_way: false,
            unread: Vec::new(),
            broken: Vec::new(),
            device_fault: None,
            port_trouble: None,
            done: Vec::new(),
            waiting: None,
            armed: false,
            emptied: Vec::new(),
            counts: verbena_channel::Datagrams::default(),
            rounds: 0,
        };
        ud.pool = Self::allocate_pool(&mut ud.adapter, ud.receives)?;
        ud.post_pool()?;
        Ok(ud)
    }

    /// Returns the bytes of state for a peer that never spoke.
    pub const fn silent_peer_bytes() -> usize {
        Peers::silent_bytes()
    }

    /// Returns the bytes of registered memory and of state for the peers, all in all.
    pub fn bytes_held(&self) -> usize {
        self.pool.region.len()
            + self.buffers.bytes()
            + self.peers.bytes()
            + self.timers.bytes()
            + self.queues.bytes()
    }

    /// Notes the peer's next timer, if it is earlier than what is noted.
    #[inline]
    fn arm(&mut self, peer: Peer) {
        let Some(partner) = self.peers.get(peer) else { return };
        let due_ns = partner.due_ns();
        if due_ns < partner.timer_ns {
            partner.timer_ns = due_ns;
            self.timers.add(due_ns, peer);
        }
    }

    /// Returns whether anything may be due though nothing arrived; queue pairs that complete
    /// nothing are looked for in turn only.
    #[inline]
    fn has_to_tend(&self, is_turn: bool) -> bool {
        !(self.stalled.is_empty() && self.broken.is_empty())
            || (is_turn && self.queues.is_awaited())
            || self.timers.next_ns().is_some_and(|at_ns| at_ns <= self.adapter.now_ns())
    }

    /// Does what is due though nothing arrived.
    fn tend(&mut self, sink: &mut dyn Sink) -> usize {
        let now_ns = self.adapter.now_ns();
        self.queues.look(now_ns);
        if self.queues.all_fail() && self.device_fault.is_none() {
            self.no_queue();
        }
        for peer in std::mem::take(&mut self.stalled) {
            if let Some(partner) = self.peers.get(peer) {
                partner.stalled = false;
                self.pump(peer, now_ns);
            }
        }
        let mut due = 0;
        while let Some((at_ns, peer)) = self.timers.take_due(now_ns) {
            let Some(partner) = self.peers.get(peer) else { continue };
            if partner.timer_ns == at_ns {
                partner.timer_ns = crate::reliable::NEVER;
                self.due(peer, now_ns);
                due += 1;
            }
        }
        due + if self.broken.is_empty() { 0 } else { self.report_broken(sink) }
    }

    /// Handles a peer's timer that is over.
    fn due(&mut self, peer: Peer, now_ns: u64) {
        let Some(partner) = self.peers.get(peer) else { return };
        if partner.broken.is_some() {
            return;
        }
        match partner.link.outgoing.timed_out(&self.settings.rules, partner.spare, now_ns) {
            Verdict::Wait => {}
            Verdict::Again => self.pump(peer, now_ns),
            Verdict::GiveUp => {
                self.look_for_trouble();
                let fault = self.silent(peer);
                return self.break_off(peer, fault);
            }
        }
        self.acknowledge(peer, now_ns);
        self.farewell_due(peer, now_ns);
        self.arm(peer);
    }

    /// Notes whether another channel reaches the peer.
    fn set_spare(&mut self, peer: Peer, spare: bool) {
        let (bytes_max, rules) = (self.limits.datagram_bytes_max, self.settings.rules);
        if let Some(partner) = self.peers.meet(peer, bytes_max, &rules) {
            partner.spare = spare;
        }
    }

    /// Returns whether everything sent is acknowledged, and everything received is.
    fn all_arrived(&mut self) -> bool {
        let open =
            |(_, partner): (Peer, &peers::Partner)| partner.broken.is_none() && !partner.link.is_quiet();
        self.broken.is_empty() && !self.peers.iter().any(open)
    }
}

impl<A: Datagrams> Channel for UdChannel<A> {
    fn name(&self) -> &'static str {
        "ud"
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        let card = self.peers.card(peer).filter(|_| peer != self.me)?;
        let datagram = self.limits.datagram_bytes_max.min(card.datagram_bytes_max as usize);
        let fragment = usize::from(peers::fragment_bytes(datagram));
        let packet_bytes_max = fragment * self.settings.fragments(fragment) - HEADER_BYTES;
        Some(Reach {
            packet_bytes_max,
            eager_bytes_max: self.settings.eager_bytes_max.min(packet_bytes_max),
            whole_bytes_max: 0,
            ordered: false,
            get: None,
            put: None,
            in_background: false,
            memory_bytes_min: usize::MAX,
            latency_ns: LATENCY_NS,
        })
    }

    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        self.send_packet(peer, header, &payload)
    }

    fn take_direct(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        self.take_expected(peer, header, into)
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        let mut events = self.poll_completions(sink);
        self.rounds = self.rounds.wrapping_add(1);
        let is_turn = self.rounds.is_multiple_of(TENDED_EVERY);
        // What came is answered before anything that can wait is done.
        if events > 0 && !is_turn {
            return events;
        }
        self.repost();
        self.read_acks();
        if self.has_to_tend(is_turn) {
            events += self.tend(sink);
        }
        if self.rounds.is_multiple_of(TROUBLE_EVERY) {
            self.look_for_trouble();
        }
        events
    }

    fn poll_cost(&self) -> Option<PollCost> {
        Some(PollCost { latency_ns: LATENCY_NS, empty_ns: self.adapter.look_ns()? })
    }

    /// Arms events for what arrives; timers must be looked at in time, and what waits for the way
    /// to a peer before long.
    fn arm(&mut self) -> Duration {
        self.repost();
        self.read_acks();
        self.look_for_trouble();
        self.armed = true;
        let busy =
            self.asks_way || self.waiting.is_some() || !(self.stalled.is_empty() && self.broken.is_empty());
        let longest = if self.adapter.arm() && !busy { SLEEP_MAX } else { NAP };
        let Some(at_ns) = self.timers.next_ns() else { return longest };
        longest.min(Duration::from_nanos(at_ns.saturating_sub(self.adapter.now_ns())))
    }

    fn disarm(&mut self) {
        self.armed = false;
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.adapter.descriptors()
    }

    fn is_quiet(&mut self) -> bool {
        self.all_arrived()
    }

    fn farewell(&mut self) -> bool {
        self.say_farewell()
    }

    fn report(&self) -> Report {
        let reliability = match (self.settings.reliable, self.settings.checksum) {
            (true, true) => "made reliable, with checksums",
            (true, false) => "made reliable",
            (false, _) => "not reliable: what is lost stays lost",
        };
        let place = self.adapter.place();
        let Limits { datagram_bytes_max, senders, .. } = self.limits;
        let pool = format!(
            "ud: {place}, {senders} sending queue pairs, {} receive buffers of {datagram_bytes_max} bytes, {reliability}",
            self.receives
        );
        let findings = vec![pool, format!("ud: {}", look::finding(self.adapter.look_ns()))];
        Report { findings, absence: None }
    }

    fn counts(&self) -> Counts {
        let receives = Receives { bytes: self.pool.region.len() as u64, ..Receives::default() };
        let checksummed = if self.settings.checksum { self.counts.sent } else { 0 };
        let by_first_pair = self.queues.by_first();
        let datagrams = verbena_channel::Datagrams { checksummed, by_first_pair, ..self.counts };
        Counts { receives, datagrams, ..Counts::default() }
    }

    fn failover(&mut self) -> Option<&mut dyn Failover> {
        Some(self)
    }
}

impl<A: Datagrams> Failover for UdChannel<A> {
    /// Returns whether packets are kept: with reliability each stays in its buffers until it is
    /// acknowledged.
    fn keep_sent(&mut self, peer: Peer) -> bool {
        self.set_spare(peer, true);
        self.settings.reliable
    }

    fn is_only_way(&mut self, peer: Peer) {
        self.set_spare(peer, false);
    }

    fn undelivered(&mut self, peer: Peer) -> Vec<(Header, Vec<u8>)> {
        let broken = self.peers.get(peer).and_then(|partner| partner.broken.as_mut());
        broken.map_or_else(Vec::new, |broken| std::mem::take(&mut broken.undelivered))
    }

    fn abandon(&mut self, peer: Peer, fault: &Fault) {
        self.break_off(peer, fault.clone());
    }
}
