//! The polling set: the peers that have a ring here, and whose rings are looked at one by one
//! (paper 1, 3.3 and 4.7).
//!
//! The receiver decides who is in it. Everybody else goes by send and receive: one completion queue
//! tells of them whatever the number of peers. A look costs one load for each ring (paper 1, 6.5).

use super::RcChannel;
use super::adapter::Adapter;
use super::frame::{Frame, read_words};
use super::order::Turn;
use super::ring::incoming::Found;
use super::ring::incoming::Rest;
use super::settings::Order;
use std::sync::atomic::{AtomicU64, Ordering};
use verbena_channel::trace::{self, Way};
use verbena_channel::{Peer, PollingSetCounts, Sink};

/// The most packets taken from rings per poll.
const PACKETS_MAX: usize = 64;

/// The place to look for a ring's next packet.
#[derive(Clone, Copy, Debug)]
struct Watch {
    /// The address of a word in the ring.
    word: u64,
    /// The word's value while there is nothing.
    idle: u64,
}

impl Watch {
    #[inline]
    fn has_changed(&self) -> bool {
        // SAFETY: an aligned word in the memory of a ring, which lives as long as its watch
        // (`PollingSet::add`).
        let word = unsafe { AtomicU64::from_ptr(self.word as *mut u64) };
        word.load(Ordering::Relaxed) != self.idle
    }
}

/// The set, in the order in which it is polled.
#[derive(Debug)]
pub struct PollingSet {
    watches: Vec<Watch>,
    peers: Vec<Peer>,
    /// The order.
    pub order: Order,
    /// The place where a circle goes on.
    start: usize,
    /// The place that was asked for last.
    asked: usize,
    /// The counts of looks, and of what came.
    counts: PollingSetCounts,
}

impl PollingSet {
    /// Makes an empty set.
    pub fn new(order: Order) -> PollingSet {
        let (watches, peers, counts) = (Vec::new(), Vec::new(), PollingSetCounts::default());
        PollingSet { watches, peers, order, start: 0, asked: 0, counts }
    }

    /// Returns the number of rings that are polled.
    #[inline]
    pub fn len(&self) -> usize {
        self.watches.len()
    }

    /// Returns what was looked at so far, and what came.
    pub fn counts(&self) -> PollingSetCounts {
        PollingSetCounts { rings: self.len() as u64, ..self.counts }
    }

    /// Counts a packet that was taken from a ring.
    #[inline]
    pub fn count_packet(&mut self) {
        self.counts.ring_packets += 1;
    }

    /// Counts a look at the queue.
    #[inline]
    pub fn count_queue_look(&mut self) {
        self.counts.queue_looks += 1;
    }

    /// Counts a packet that the queue told of.
    #[inline]
    pub fn count_queue_packet(&mut self) {
        self.counts.queue_packets += 1;
    }

    /// Finds as [`PollingSet::find`] before the place `end`, and counts the looks. `in_vain` is the
    /// number of looks of this poll that found nothing so far.
    #[inline]
    fn find_counted(&mut self, at: usize, end: usize, in_vain: &mut u64) -> Option<usize> {
        let rest = self.watches.get(at..end.min(self.len()))?;
        let found = rest.iter().position(Watch::has_changed);
        let silent = found.unwrap_or(rest.len()) as u64;
        self.counts.ring_looks += silent + u64::from(found.is_some());
        *in_vain += silent;
        if found.is_some() {
            self.counts.ring_misses += std::mem::take(in_vain);
        }
        found.map(|found| at + found)
    }

    /// Returns the peers whose rings are polled.
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// Returns whether no ring is polled.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Takes a ring in, with the word to look at and its idle value. The ring's memory must live
    /// until it is removed.
    pub fn add(&mut self, peer: Peer, (word, idle): (u64, u64)) {
        self.watches.push(Watch { word, idle });
        self.peers.push(peer);
    }

    /// Takes a peer's ring out, if it is in.
    pub fn remove(&mut self, peer: Peer) {
        if let Some(at) = self.peers.iter().position(|other| *other == peer) {
            self.watches.remove(at);
            self.peers.remove(at);
        }
    }

    /// Finds the place of a peer's ring, if it is in; one that is asked for again is found at once.
    #[inline]
    pub fn place(&mut self, peer: Peer) -> Option<usize> {
        if self.peers.get(self.asked) != Some(&peer) {
            self.asked = self.peers.iter().position(|other| *other == peer)?;
        }
        Some(self.asked)
    }

    /// Returns whether something has changed in the ring at this place: one load.
    #[inline]
    pub fn has_changed(&self, at: usize) -> bool {
        self.watches[at].has_changed()
    }

    /// Finds the next ring from `at` on in which something has changed: one load for each.
    #[inline]
    pub fn find(&self, at: usize) -> Option<usize> {
        let rest = self.watches.get(at..)?;
        rest.iter().position(Watch::has_changed).map(|found| at + found)
    }

    /// Sorts by rank, the largest first.
    pub fn sort_by(&mut self, rank: impl Fn(Peer) -> u32) {
        let mut all: Vec<(Peer, Watch)> =
            self.peers.iter().copied().zip(self.watches.iter().copied()).collect();
        all.sort_by_key(|(peer, _)| std::cmp::Reverse(rank(*peer)));
        (self.peers, self.watches) = all.into_iter().unzip();
    }
}

impl<A: Adapter> RcChannel<A> {
    /// Takes packets from the rings of the polling set, in its order.
    #[inline]
    pub(super) fn poll_rings(&mut self, sink: &mut dyn Sink) -> usize {
        if self.set.order == Order::Circular {
            return self.poll_in_circle(sink);
        }
        self.poll_from((0, usize::MAX), PACKETS_MAX, &mut 0, sink)
    }

    /// Polls from where the last poll ended to the end, then from the front.
    fn poll_in_circle(&mut self, sink: &mut dyn Sink) -> usize {
        let (start, mut in_vain) = (self.set.start.min(self.set.len()), 0);
        let packets = self.poll_from((start, usize::MAX), PACKETS_MAX, &mut in_vain, sink);
        if packets >= PACKETS_MAX {
            return packets;
        }
        packets + self.poll_from((0, start), PACKETS_MAX - packets, &mut in_vain, sink)
    }

    /// Polls the rings at these places, from the first up to before the second, up to `packets_max`
    /// packets; `in_vain` looks of this poll found nothing so far.
    #[inline]
    fn poll_from(
        &mut self,
        (mut at, end): (usize, usize),
        packets_max: usize,
        in_vain: &mut u64,
        sink: &mut dyn Sink,
    ) -> usize {
        let mut packets = 0;
        while let Some(found) = self.set.find_counted(at, end, in_vain) {
            packets += self.drain(found, packets_max - packets, sink);
            self.set.start = found + 1;
            if packets >= packets_max {
                break;
            }
            at = found + 1;
        }
        packets
    }

    /// Takes the packets whose turn it is from the ring at this place.
    #[inline]
    fn drain(&mut self, at: usize, packets_max: usize, sink: &mut dyn Sink) -> usize {
        let peer = self.set.peers[at];
        let mut taken = 0;
        while taken < packets_max && self.take_from_ring(peer, sink) {
            taken += 1;
            if !self.watch_on(at, peer) {
                break;
            }
        }
        taken
    }

    /// Watches for the next packet of the ring at this place, from which one was taken. Returns
    /// whether it is there.
    #[inline]
    pub(super) fn watch_on(&mut self, at: usize, peer: Peer) -> bool {
        // The set may have changed by what was said in the packet.
        if self.set.peers.get(at) != Some(&peer) {
            return false;
        }
        let ring = self.peers.look(peer).and_then(|connection| connection.ring_in.as_ref());
        let Some((word, idle)) = ring.map(|ring| ring.watch()) else { return false };
        let watch = &mut self.set.watches[at];
        *watch = Watch { word, idle };
        watch.has_changed()
    }

    /// Takes up to `packets_max` packets from the peer's ring.
    #[inline]
    pub(super) fn drain_ring(&mut self, peer: Peer, packets_max: usize, sink: &mut dyn Sink) -> usize {
        for taken in 0..packets_max {
            if !self.take_from_ring(peer, sink) {
                return taken;
            }
        }
        packets_max
    }

    /// Takes the next packet from the peer's ring, if it is there and its turn has come.
    #[inline]
    fn take_from_ring(&mut self, peer: Peer, sink: &mut dyn Sink) -> bool {
        let Some(connection) = self.peers.get(peer) else { return false };
        let Some(ring) = &mut connection.ring_in else { return false };
        let (packet, span) = match ring.look() {
            Found::Nothing => return false,
            Found::Packet(packet, span) => (packet, span),
            Found::Nonsense => {
                self.nonsense(peer, "longer than the ring");
                return false;
            }
        };
        trace::seen(Way::RdmaEager);
        let Some(frame) = Frame::of_words(read_words(packet), connection.sequence.expected) else {
            self.nonsense(peer, "unknown kind");
            return false;
        };
        match connection.sequence.turn(frame.psn) {
            Turn::Now => {}
            // It stays in its slot while the other path is polled (paper 1, 4.5).
            Turn::Early => return false,
            Turn::Late => {
                self.nonsense(peer, "its number was there before");
                return false;
            }
        }
        self.set.count_packet();
        self.deliver(peer, &frame, packet, sink);
        self.free_ring(peer, span);
        if self.peers.look(peer).is_some_and(|connection| connection.sequence.has_waiting()) {
            self.catch_up(peer, sink);
        }
        true
    }

    /// Frees the slots of a packet that is processed (paper 1, 4.4).
    #[inline]
    pub(super) fn free_ring(&mut self, peer: Peer, span: u32) {
        let Some(connection) = self.peers.get(peer) else { return };
        let Some(ring) = &mut connection.ring_in else { return };
        ring.free(span);
        let rests = ring.rest != Rest::Awake;
        if ring.is_worth_telling() || (ring.owes_pointer() && self.post_tail_pointer(peer).is_none()) {
            self.enlist(peer);
        }
        if rests {
            self.heard_at_rest(peer);
        }
    }
}
