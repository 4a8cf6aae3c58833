//! The state of one peer, made at the first message from or to it.

use crate::ChannelCounters;
use crate::control::Control;
use crate::rendezvous::{NodeWays, Speeds};
use crate::slab::Id;
use crate::work::Lost;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Cost, Peer, Reach};
use verbena_fault::Fault;
use verbena_memory::vacant::{Vacant, vacant};
use verbena_wires::{Lane, Wire};

/// The record of the channels that have lost a peer.
#[derive(Debug, Default)]
pub(crate) struct LostChannels {
    /// The lost channels, in the order of their loss.
    pub lost: Vec<Lost>,
    /// Packets and bytes that were counted for earlier channels.
    pub counted: (u64, u64),
    /// The packet that comes in parts just now: its number and the bytes that are here.
    pub partial: (u32, Vec<u8>),
}

/// The traffic with one peer, and whether its connection is being given back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Packets exchanged until the last review.
    pub seen: u64,
    /// Packets exchanged recently: those of earlier reviews count half as much with each.
    pub score: u64,
    /// The channel on which its connection is being given back.
    pub leaving: Option<usize>,
    /// The peer has asked for that as well.
    pub both: bool,
    /// This end has agreed to that, so the peer may have given it back.
    pub agreed: bool,
    /// The channel whose connection this end kept after that, since the other way was lost: the
    /// peer may have given it back nevertheless.
    pub doubtful: Option<usize>,
    /// Reviews until it may be asked for something again.
    pub patience: u32,
}

/// The ways to a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// The channel for packets (index in the engine's list).
    pub packets: usize,
    /// True if another one could take its place.
    pub spare: bool,
    /// The largest packet payload in bytes.
    pub packet_bytes_max: usize,
    /// The largest message in bytes that is sent at once.
    pub eager_bytes_max: usize,
    /// The limit for messages in scattered memory, which no other process can read.
    pub eager_scattered_bytes_max: usize,
    /// The largest message in bytes that goes at once where the channel has room for it just now.
    pub whole_bytes_max: usize,
    /// Estimated time of a smallest packet, one way, in nanoseconds.
    pub latency_ns: u32,
    /// The channel for memory, if any offers it.
    pub memory: Option<usize>,
    /// The others that are rails beside it: long messages may be striped over all of them.
    pub rails: Rails,
    /// The cost of reading on the memory channel.
    pub get: Option<Cost>,
    /// The cost of writing there.
    pub put: Option<Cost>,
    /// True if it moves whole messages in the background.
    pub in_background: bool,
    /// The length from which moving memory is worth it.
    pub memory_bytes_min: usize,
}

/// A set of channels, by their places in the engine's list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rails(u64);

impl Rails {
    /// The rails at these places; only the first 64 count.
    pub(crate) fn of(channels: impl Iterator<Item = usize>) -> Rails {
        Rails(channels.filter(|channel| *channel < 64).fold(0, |set, channel| set | 1 << channel))
    }

    pub(crate) fn contains(self, channel: usize) -> bool {
        channel < 64 && self.0 >> channel & 1 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..64).filter(move |channel| self.contains(*channel))
    }
}

/// Something that waits for room in the channel.
#[derive(Clone, Debug)]
pub(crate) enum Waiting {
    /// A send's first packet; the request knows the rest.
    Message(Id),
    /// A control packet.
    Control(Control),
    /// A control packet that ends with keys for several rails; those that do not fit are left out.
    Keyed(Box<Early>),
    /// A packet that has its number already, or none: from a channel that was lost, or about that.
    Again(Box<Early>),
}

/// A packet that came before its turn, or is to be sent again.
#[derive(Clone, Debug)]
pub(crate) struct Early {
    pub header: Header,
    pub payload: Vec<u8>,
}

/// The state of one peer.
pub(crate) struct PeerState {
    /// The longest message to be sent eagerly now; -1 if the peer is not ready (no route yet, or
    /// broken).
    pub eager_now: i64,
    /// The longest message to be tried as a whole now, though the channel may have no room for one
    /// longer than `eager_now`; it is announced then.
    pub whole_now: i64,
    /// Like `whole_now`, but also -1 while anything waits for room, so that the hot path needs one
    /// comparison.
    pub at_once: i64,
    /// The sending end towards it, if its channel lends that.
    pub lane: Option<Lane>,
    pub route: Option<Route>,
    /// Packets given to its channel; the low half is the sequence number of the next one.
    pub next: u64,
    /// Bytes of their payloads.
    pub bytes_sent: u64,
    /// Packets from the peer that were taken in turn; the low half is the sequence number of the
    /// next one.
    pub heard: u64,
    /// Bytes of their payloads.
    pub bytes_heard: u64,
    /// Packets that wait for room, in order.
    pub outbox: VecDeque<Waiting>,
    /// True if it is on the list of peers with something waiting.
    pub listed: bool,
    /// True if its packets come as they should: none is kept in `early`, and it is not broken.
    pub in_turn: bool,
    /// The channel over which its last packet came.
    pub heard_over: usize,
    /// Packets that came too early, by sequence number.
    pub early: BTreeMap<u32, Early>,
    /// Bytes of its unexpected messages that are held here.
    pub held_bytes: usize,
    /// True if the peer was asked to send by rendezvous only.
    pub throttling: bool,
    /// True if the peer asked for rendezvous only.
    pub throttled: bool,
    /// The reason why it cannot be reached any more.
    pub broken: Option<Box<Fault>>,
    /// True if its channel keeps what it may have to hand back.
    pub kept: bool,
    /// The channels that were lost on the way, if any.
    pub losses: Option<Box<LostChannels>>,
    /// The speeds of its rails, once a message was striped.
    pub speeds: Option<Arc<Speeds>>,
    /// The ways of its long messages, where they are learnt, once one came.
    pub ways: Option<Box<NodeWays>>,
    /// The peer's traffic, on which the choice of a connection rests, where there is that choice.
    pub usage: Option<Box<Usage>>,
}

impl PeerState {
    /// Returns whether packets of this peer may go by more than one channel: they move with use, or
    /// after a fault.
    pub(crate) fn may_go_apart(&self) -> bool {
        self.usage.is_some() || self.losses.is_some()
    }

    fn new() -> PeerState {
        PeerState {
            eager_now: -1,
            whole_now: -1,
            at_once: -1,
            lane: None,
            route: None,
            next: 0,
            bytes_sent: 0,
            heard: 0,
            bytes_heard: 0,
            outbox: VecDeque::new(),
            listed: false,
            in_turn: true,
            heard_over: 0,
            early: BTreeMap::new(),
            held_bytes: 0,
            throttling: false,
            throttled: false,
            broken: None,
            kept: false,
            losses: None,
            speeds: None,
            ways: None,
            usage: None,
        }
    }

    /// Sequence number of the next packet from it.
    #[inline(always)]
    pub(crate) fn expected(&self) -> u32 {
        self.heard as u32
    }

    /// Returns whether this packet is the one whose turn it is, with nothing kept behind it.
    #[inline]
    pub(crate) fn is_next(&self, sequence: u32) -> bool {
        sequence == self.expected() && self.in_turn
    }

    /// Counts the packet whose turn it was.
    #[inline(always)]
    pub(crate) fn hear(&mut self, payload_bytes: usize) {
        self.heard += 1;
        self.bytes_heard += payload_bytes as u64;
    }

    /// Adds its packets to the counters of the channels that carried them.
    pub(crate) fn count_in(&self, tally: &mut [ChannelCounters]) {
        if let Some(over) = tally.get_mut(self.heard_over) {
            over.packets_received += self.heard;
            over.bytes_received += self.bytes_heard;
        }
        if let Some(route) = &self.route {
            let (packets, bytes) = self.losses.as_ref().map_or((0, 0), |losses| losses.counted);
            tally[route.packets].packets_sent += self.next - packets;
            tally[route.packets].bytes_sent += self.bytes_sent - bytes;
        }
    }

    /// Sets `eager_now` from what is known. Under the throttle empty messages still go at once:
    /// only their header is held.
    pub(crate) fn update_eager(&mut self) {
        self.eager_now = match (&self.route, &self.broken) {
            (Some(_), None) if self.throttled => 0,
            (Some(route), None) => route.eager_bytes_max as i64,
            _ => -1,
        };
        self.whole_now = match &self.route {
            Some(route) if self.eager_now > 0 => self.eager_now.max(route.whole_bytes_max as i64),
            _ => self.eager_now,
        };
        self.update_at_once();
    }

    /// Packets go this way from now on, over `wire`, its channel for them.
    pub(crate) fn take_route(&mut self, peer: Peer, route: Route, wire: &mut Wire) {
        (self.route, self.lane) = (Some(route), wire.lend(peer));
        self.kept = match wire.failover().filter(|_| self.lane.is_none()) {
            Some(failover) if route.spare => failover.keep_sent(peer),
            Some(failover) => {
                failover.is_only_way(peer);
                false
            }
            None => false,
        };
        self.update_eager();
    }

    /// Returns whether anything waits that the peer has to get before this process leaves.
    pub(crate) fn has_to_send(&self) -> bool {
        let is_notice =
            |item: &Waiting| matches!(item, Waiting::Again(packet) if packet.header.kind == Kind::Moved);
        !self.outbox.iter().all(is_notice)
    }

    /// Sets `at_once`, after the outbox changed too.
    #[inline]
    pub(crate) fn update_at_once(&mut self) {
        self.at_once = if self.outbox.is_empty() { self.whole_now } else { -1 };
    }

    /// Returns whether a message of this length would go at once if the peer had not asked for
    /// rendezvous only.
    pub(crate) fn holds_back(&self, bytes: usize) -> bool {
        let would_go = |route: &Route| bytes <= route.eager_bytes_max.max(route.whole_bytes_max);
        self.throttled && bytes > 0 && self.route.as_ref().is_some_and(would_go)
    }

    /// Returns whether a message of this length goes at once now. The peer has a route and is not
    /// broken.
    pub(crate) fn is_eager(&self, bytes: usize, scattered: bool) -> bool {
        match &self.route {
            Some(route) if scattered && !self.throttled => bytes <= route.eager_scattered_bytes_max,
            _ => bytes as i64 <= self.eager_now,
        }
    }
}

/// All peers: the state is made when they are met. Until the first is, they take no memory; then a
/// pointer each, of which those take memory that lie beside one of a peer that was met.
pub(crate) struct Peers {
    slots: Vacant<PeerState>,
    size: u32,
}

impl Peers {
    pub(crate) fn new(size: u32) -> Peers {
        Peers { slots: Vacant::default(), size }
    }

    /// Allows numbers below this one.
    pub(crate) fn grow(&mut self, size: u32) {
        self.size = self.size.max(size);
    }

    /// Forgets a peer, so that it is as if it was never met.
    pub(crate) fn remove(&mut self, peer: Peer) -> Option<Box<PeerState>> {
        self.slots.get_mut(peer as usize)?.take()
    }

    /// The peer, if it was met.
    #[inline]
    pub(crate) fn get(&mut self, peer: Peer) -> Option<&mut PeerState> {
        self.slots.get_mut(peer as usize)?.as_deref_mut()
    }

    /// Every peer that was met.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &PeerState> {
        self.slots.iter().filter_map(Option::as_deref)
    }

    /// Returns the peers that were met, with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (Peer, &PeerState)> {
        (0..).zip(self.slots.iter()).filter_map(|(peer, slot)| Some((peer, slot.as_deref()?)))
    }

    /// Like [`Peers::get`], to look only.
    pub(crate) fn look(&self, peer: Peer) -> Option<&PeerState> {
        self.slots.get(peer as usize)?.as_deref()
    }

    /// The peer, made now if it is new; `None` if the job has no such process.
    #[inline]
    pub(crate) fn open(&mut self, peer: Peer) -> Option<&mut PeerState> {
        let at = peer as usize;
        if self.slots.get(at).is_none_or(Option::is_none) {
            self.make(peer)?;
        }
        self.slots[at].as_deref_mut()
    }

    #[cold]
    fn make(&mut self, peer: Peer) -> Option<()> {
        if peer >= self.size {
            return None;
        }
        if self.slots.len() <= peer as usize {
            let mut met = std::mem::replace(&mut self.slots, vacant(self.size as usize));
            self.slots.iter_mut().zip(met.iter_mut()).for_each(|(slot, state)| {
                if state.is_some() {
                    *slot = state.take();
                }
            });
        }
        self.slots[peer as usize] = Some(Box::new(PeerState::new()));
        Some(())
    }
}

/// Chooses the channels for `peer` by their reach: packets go over the quickest that moves packets,
/// memory over the quickest that moves memory. The settings bound the messages that go at once, and
/// those that do where there is room. `None` if no channel takes packets to it. `is_out` names
/// channels that must not be used.
pub(crate) fn choose_route(
    channels: &mut [Wire],
    peer: Peer,
    (eager_bytes_max, whole_bytes_max): (usize, usize),
    is_out: &dyn Fn(usize, &mut Wire) -> bool,
) -> Option<Route> {
    let reaches: Vec<(usize, Reach)> = channels
        .iter_mut()
        .enumerate()
        .filter_map(|(channel, wire)| (!is_out(channel, wire)).then_some((channel, wire)))
        .filter_map(|(channel, wire)| Some((channel, wire.reach(peer)?)))
        .collect();
    // `min_by_key` takes the first of equals, which keeps the order of preference.
    let quickest = |wanted: &dyn Fn(&Reach) -> bool| {
        reaches.iter().filter(|(_, reach)| wanted(reach)).min_by_key(|(_, reach)| reach.latency_ns).copied()
    };
    let (packets, reach) = quickest(&|reach| reach.packet_bytes_max > 0)?;
    let memory = quickest(&|reach| reach.get.is_some() && reach.put.is_some())
        .or_else(|| quickest(&|reach| reach.get.is_some() || reach.put.is_some()));
    let mut rail_of = |channel: usize| channels[channel].connections().map(|rail| rail.rail_of());
    let main = memory.and_then(|(channel, _)| Some((channel, rail_of(channel)?)));
    let others = reaches.iter().map(|(channel, _)| *channel);
    let rails = Rails::of(others.filter(|channel| {
        main.is_some_and(|(main, name)| main != *channel && rail_of(*channel) == Some(name))
    }));
    let channel_max = reach.eager_bytes_max.min(reach.packet_bytes_max);
    // A channel that does both has chosen its limit itself.
    let other = memory.filter(|(channel, reach)| reach.get.is_some() && *channel != packets);
    let readable_from = other.map(|(_, reach)| reach.memory_bytes_min);
    let contiguous_max = match readable_from {
        Some(bytes) if eager_bytes_max == usize::MAX => channel_max.min(bytes.saturating_sub(1)),
        _ => channel_max.min(eager_bytes_max),
    };
    Some(Route {
        packets,
        spare: reaches.iter().any(|(channel, reach)| *channel != packets && reach.packet_bytes_max > 0),
        packet_bytes_max: reach.packet_bytes_max,
        eager_bytes_max: contiguous_max,
        eager_scattered_bytes_max: channel_max.min(eager_bytes_max),
        memory: memory.map(|(channel, _)| channel),
        rails,
        whole_bytes_max: reach.whole_bytes_max.min(whole_bytes_max),
        latency_ns: reach.latency_ns,
        get: memory.and_then(|(_, reach)| reach.get),
        put: memory.and_then(|(_, reach)| reach.put),
        in_background: memory.is_some_and(|(_, reach)| reach.in_background),
        memory_bytes_min: memory.map_or(0, |(_, reach)| reach.memory_bytes_min),
    })
}
