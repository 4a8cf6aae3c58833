//! Failover: when a channel loses a peer, another channel takes its place (paper 4, 4.2: "after
//! several retransmission attempts over one BTL, the PML marks that BTL as failed, and begins using
//! a different BTL").
//!
//! Every packet between two processes has a number, whichever channel it goes by, and the receiver
//! takes each number once, in order. So the sender may send again, over another channel, whatever
//! it does not *know* to be taken: the lost channel hands that back
//! ([`Failover::undelivered`](verbena_channel::Failover::undelivered)), and doubles are dropped by
//! their numbers. An acknowledgement by the peer's device proves nothing, since nobody may look at
//! what the device took; credits do.
//!
//! The two ends may learn of a loss at different times, and one of them perhaps never: it may only
//! wait for credits that were lost on the way. So the end that finds out says so over the new
//! channel (`Moved`), before anything else. The other gives the channel up too, and sends again
//! what it is handed back. By then nothing that its device writes by that channel can reach its
//! memory any more. A channel that was lost once is not used again for that peer.
//!
//! Transfers of memory that the channel had under way fail, and the rendezvous goes another way, as
//! after any such failure. Announcements and answers are packets with numbers like all others.
//!
//! | packet | number | context | length | payload |
//! | --- | --- | --- | --- | --- |
//! | `Moved` | none | the lost channel's name, hashed | | |
//! | `Again` | none; the low bits are those of the packet | bytes of the whole | first byte | some bytes of a packet with its header |
//!
//! `Again` is for packets that are longer than the new channel's. "None" is a number that is never
//! expected: the highest bit is the opposite of that of the numbers around.

use crate::Engine;
use crate::control::name_hash;
use crate::event::{Event, EventKind};
use crate::fault;
use crate::peer::{Early, LostChannels, PeerState, Route, Waiting, choose_route};
use crate::state::EngineState;
use crate::work::{Lost, PeerEvent};
use verbena_channel::packet::{HEADER_BYTES, Header, Kind};
use verbena_channel::{CONTROL_BYTES_MAX, Peer};
use verbena_fault::Fault;
use verbena_wires::Wire;

/// Bytes of the longest packet, with its header, that comes in parts: more than that of any
/// channel.
const WHOLE_BYTES_MAX: u64 = 32 << 20;

/// The bit that tells numbers that are never expected.
const BESIDE: u32 = 1 << 31;

/// Returns whether the packet comes in its turn by its number.
#[inline]
pub(crate) fn has_number(header: &Header) -> bool {
    !matches!(header.kind, Kind::Moved | Kind::Again)
}

impl PeerState {
    /// Returns whether this channel has lost the peer.
    pub(crate) fn has_lost(&self, channel: usize) -> bool {
        self.losses.as_ref().is_some_and(|losses| losses.lost.iter().any(|lost| lost.channel == channel))
    }

    /// Counts what was sent so far for the channel that carried it.
    pub(crate) fn count_for(&mut self, counters: &mut crate::ChannelCounters) {
        let losses = self.losses.get_or_insert_default();
        counters.packets_sent += self.next - losses.counted.0;
        counters.bytes_sent += self.bytes_sent - losses.counted.1;
        losses.counted = (self.next, self.bytes_sent);
    }

    /// Queues the packets that a lost channel has handed back, before all that waits, in the order
    /// of their numbers, in parts where they are too long. Returns how many there were.
    pub(crate) fn send_again(&mut self, packets: Vec<(Header, Vec<u8>)>, bytes_max: usize) -> usize {
        let mut again: Vec<Early> = packets
            .into_iter()
            .filter(|(header, _)| header.kind != Kind::Moved)
            .map(|(header, payload)| Early { header, payload })
            .collect();
        let age = |packet: &Early| (self.next as u32).wrapping_sub(packet.header.sequence) % BESIDE;
        // Of the parts of a packet, which have its number, the first one comes first.
        again.sort_by_key(|packet| {
            (std::cmp::Reverse(age(packet)), packet.header.length * u64::from(!has_number(&packet.header)))
        });
        let count = again.len();
        let waiting = std::mem::take(&mut self.outbox);
        let is_notice =
            |item: &Waiting| matches!(item, Waiting::Again(packet) if packet.header.kind == Kind::Moved);
        self.outbox = again
            .into_iter()
            .flat_map(|packet| in_parts(packet, bytes_max))
            .chain(waiting.into_iter().filter(|item| !is_notice(item)).flat_map(|item| match item {
                Waiting::Again(packet) => in_parts(*packet, bytes_max),
                item => vec![item],
            }))
            .collect();
        count
    }

    /// Lets the peer know first of all which channels are given up.
    fn announce(&mut self, names: impl DoubleEndedIterator<Item = u32>) {
        let sequence = self.next as u32 ^ BESIDE;
        for name in names.rev() {
            let header = Header { context: name.into(), sequence, ..Header::new(Kind::Moved) };
            self.outbox.push_front(Waiting::Again(Box::new(Early { header, payload: Vec::new() })));
        }
    }
}

/// The packet as it goes over a channel whose packets have at most `bytes_max` bytes.
fn in_parts(packet: Early, bytes_max: usize) -> Vec<Waiting> {
    let again = |packet: Early| Waiting::Again(Box::new(packet));
    if packet.payload.len() <= bytes_max {
        return vec![again(packet)];
    }
    let whole: Vec<u8> = packet.header.emit().into_iter().chain(packet.payload).collect();
    let sequence = packet.header.sequence ^ BESIDE;
    let context = whole.len() as u64;
    let part = |(at, bytes): (usize, &[u8])| {
        let header =
            Header { sequence, context, length: (at * bytes_max) as u64, ..Header::new(Kind::Again) };
        again(Early { header, payload: bytes.to_vec() })
    };
    whole.chunks(bytes_max).enumerate().map(part).collect()
}

impl LostChannels {
    /// Takes a part of a packet; returns the whole when this was the last part. A part that was
    /// here before does no harm. `None` is also returned if the part makes no sense.
    fn take_part(&mut self, header: &Header, bytes: &[u8]) -> Option<Early> {
        let (number, here) = &mut self.partial;
        if *number != header.sequence || header.length == 0 {
            *number = header.sequence;
            here.clear();
        }
        let end = header.length.checked_add(bytes.len() as u64)?;
        if header.length != here.len() as u64 || end > header.context || header.context > WHOLE_BYTES_MAX {
            return None;
        }
        here.extend_from_slice(bytes);
        if (here.len() as u64) < header.context {
            return None;
        }
        let whole = std::mem::take(here);
        let (first, payload) = whole.split_first_chunk::<HEADER_BYTES>()?;
        Some(Early { header: Header::parse(first)?, payload: payload.to_vec() })
    }
}

impl EngineState {
    /// The peer has given a channel up.
    pub(crate) fn moved(&mut self, peer: Peer, header: &Header) {
        let Some(channel) = self.channel_named(peer, header.context as u32) else { return };
        let Some(state) = self.peers.open(peer) else { return };
        if !state.has_lost(channel) {
            state.losses.get_or_insert_default();
            let fault = fault::given_up(self.me, peer, self.tally[channel].name);
            self.work.peer_events.push_back(PeerEvent::Lost(peer, Lost { channel, fault }));
        }
    }

    /// A part of a packet; the whole of it, when it is there.
    pub(crate) fn part(&mut self, peer: Peer, header: &Header, payload: &[u8]) -> Option<Early> {
        self.peers.open(peer)?.losses.get_or_insert_default().take_part(header, payload)
    }
}

impl Engine {
    /// Sees to what happened to the ways to peers; returns whether anything did.
    pub(crate) fn see_to_ways(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.state.work.peer_events.pop_front() {
            any = true;
            match event {
                PeerEvent::Lost(peer, lost) => {
                    if let Some(failover) = self.channels[lost.channel].failover() {
                        failover.abandon(peer, &lost.fault);
                    }
                    self.replace(peer, lost);
                }
                PeerEvent::Leave(peer, channel, step) => self.leave_step(peer, channel, step),
                PeerEvent::Review => self.review_connections(),
                PeerEvent::Room(peer) => self.move_one_sided(peer),
                PeerEvent::Revoked(context) => self.pass_on_revoked(context),
            }
        }
        any
    }

    /// Replaces the channel for packets to this peer, which has refused one for this reason.
    #[cold]
    pub(crate) fn lose(&mut self, peer: Peer, fault: Fault) {
        let route = self.state.peers.look(peer).and_then(|state| state.route);
        if let Some(Route { packets, .. }) = route {
            self.replace(peer, Lost { channel: packets, fault });
        }
    }

    /// Chooses new routes to the peer, without the channel that has lost it.
    #[cold]
    fn replace(&mut self, peer: Peer, lost: Lost) {
        let Some(state) = self.state.peers.open(peer) else { return };
        let channel = lost.channel;
        if state.broken.is_some() || state.has_lost(channel) {
            return;
        }
        if state.is_leaving(channel) {
            return self.lost_while_leaving(peer, channel);
        }
        if state.usage.as_ref().is_some_and(|usage| usage.doubtful == Some(channel)) {
            return self.connect_anew(peer, channel);
        }
        self.stay_connected(peer);
        let Some(state) = self.state.peers.open(peer) else { return };
        state.losses.get_or_insert_default().lost.push(lost);
        let old = state.route;
        let carried = old.is_none_or(|route| route.packets == channel);
        let limits = self.state.settings.eager_limits();
        let mut choose = |chooses| {
            let is_out = |channel, wire: &mut _| state.is_out_of_question(channel, wire, peer, chooses);
            choose_route(&mut self.channels, peer, limits, &is_out)
        };
        // If there is no other way, one that needs a connection must do.
        let chooses = self.connections.is_some() && !self.state.homes.is_foreign(peer);
        let route = choose(chooses).or_else(|| choose(false));
        let kept = !carried || old.is_none() || state.kept;
        let Some(route) = route.filter(|_| kept) else {
            let fault = fault::all_lost(&state.losses.as_ref().expect("noted just now").lost, &self.channels);
            return self.state.break_peer(peer, fault);
        };
        let route = Route { spare: self.has_spare(peer, route.packets), ..route };
        match old {
            Some(old) if !carried => self.keep_packets(peer, channel, old, route),
            // Even if it has sent nothing yet: what the peer sent may be lost, though the device
            // here took it, and nobody else tells.
            _ => self.take_over(peer, channel, route),
        }
    }

    /// Returns whether any other channel than this one still reaches the peer with packets.
    pub(crate) fn has_spare(&mut self, peer: Peer, beside: usize) -> bool {
        let Some(state) = self.state.peers.look(peer) else { return false };
        let takes = |wire: &mut Wire| wire.reach(peer).is_some_and(|reach| reach.packet_bytes_max > 0);
        let mut others = self.channels.iter_mut().enumerate();
        others.any(|(channel, wire)| channel != beside && !state.has_lost(channel) && takes(wire))
    }

    /// Keeps the channel for packets: the peer is only lost to a channel for its memory. The peer
    /// must be told before anything else: what its device has not yet written by that channel must
    /// not come after the message that another rail has ended.
    fn keep_packets(&mut self, peer: Peer, lost: usize, old: Route, new: Route) {
        let name = name_hash(self.channels[lost].name());
        // It may have carried packets before it left that to another one.
        self.hand_on(peer, lost);
        let Some(state) = self.state.peers.get(peer) else { return };
        let Route { memory, rails, get, put, in_background, memory_bytes_min, .. } = new;
        let spare = new.spare;
        state.route = Some(Route { memory, rails, get, put, in_background, memory_bytes_min, spare, ..old });
        state.announce([name].into_iter());
        state.update_at_once();
        if let Some(failover) = self.channels[old.packets].failover().filter(|_| !spare) {
            failover.is_only_way(peer);
        }
        self.state.list_outbox(peer);
    }

    /// Sends again what the peer may not have taken from a channel that has lost it.
    pub(crate) fn hand_on(&mut self, peer: Peer, channel: usize) {
        let failover = self.channels[channel].failover();
        let packets = failover.map_or_else(Vec::new, |failover| failover.undelivered(peer));
        let bytes_max = self.shortest_packet(peer);
        if let Some(state) = self.state.peers.get(peer) {
            self.state.counts.sent_again += state.send_again(packets, bytes_max) as u64;
        }
    }

    /// Returns the packet length for what goes again: so short that no third channel has to cut the
    /// parts again.
    fn shortest_packet(&mut self, peer: Peer) -> usize {
        let longest = |wire: &mut Wire| Some(wire.reach(peer)?.packet_bytes_max).filter(|bytes| *bytes > 0);
        self.channels.iter_mut().filter_map(longest).min().unwrap_or(CONTROL_BYTES_MAX)
    }

    /// Lets the route take the place of the lost channel for packets.
    fn take_over(&mut self, peer: Peer, channel: usize, route: Route) {
        let names: Vec<u32> = self.channels.iter().map(|channel| name_hash(channel.name())).collect();
        let Some(state) = self.state.peers.get(peer) else { return };
        state.count_for(&mut self.state.tally[channel]);
        self.hand_on(peer, channel);
        let Some(state) = self.state.peers.get(peer) else { return };
        let lost: Vec<u32> =
            state.losses.iter().flat_map(|losses| &losses.lost).map(|lost| names[lost.channel]).collect();
        state.announce(lost.into_iter());
        let wire = &mut self.channels[route.packets];
        if let Some(connections) = wire.connections() {
            connections.need(peer);
        }
        state.take_route(peer, route, wire);
        self.state.counts.failovers += 1;
        self.state.tell(Event { kind: EventKind::Failover, peer, source: 0, tag: 0, bytes: 0 });
        self.state.list_outbox(peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peers;

    fn packet(sequence: u32, bytes: usize) -> (Header, Vec<u8>) {
        let payload = (0..bytes).map(|at| (at as u32).wrapping_add(sequence) as u8).collect();
        (Header { sequence, tag: 7, ..Header::new(Kind::Eager) }, payload)
    }

    /// Lists what waits for the peer.
    fn waiting(state: &PeerState) -> Vec<(Kind, u32)> {
        let kind = |item: &Waiting| match item {
            Waiting::Again(packet) => (packet.header.kind, packet.header.sequence % BESIDE),
            _ => unreachable!("nothing else waits"),
        };
        state.outbox.iter().map(kind).collect()
    }

    #[test]
    fn what_is_handed_back_goes_first_and_in_order() {
        let mut peers = Peers::new(1);
        let state = peers.open(0).expect("a peer");
        // Two more packets than numbers: they wrap round.
        state.next = (1 << 32) + 1;
        state.send_again(vec![packet(0, 5), packet(u32::MAX, 5), packet(u32::MAX - 1, 5)], 100);
        state.announce([1].into_iter());
        let first = (Kind::Moved, 1);
        let again = |sequence| (Kind::Eager, sequence % BESIDE);
        assert_eq!(waiting(state), [first, again(u32::MAX - 1), again(u32::MAX), again(0)]);
        // The new channel is lost too, and has taken the notice and the first one.
        state.outbox.drain(..2);
        state.send_again(vec![packet(u32::MAX - 1, 5), (Header::new(Kind::Moved), Vec::new())], 100);
        assert_eq!(waiting(state), [again(u32::MAX - 1), again(u32::MAX), again(0)]);
    }

    #[test]
    fn a_long_packet_goes_in_parts() {
        let (header, payload) = packet(9, 300);
        let parts = in_parts(Early { header, payload: payload.clone() }, 128);
        let parts: Vec<Early> = parts
            .into_iter()
            .map(|item| match item {
                Waiting::Again(packet) => *packet,
                _ => unreachable!("parts of a packet"),
            })
            .collect();
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part.payload.len() <= 128 && !has_number(&part.header)));
        assert!(parts.iter().all(|part| part.header.sequence != 9));
        // Some come twice, since the channel that brought them is lost too.
        let mut losses = LostChannels::default();
        let order = [0, 1, 1, 0, 1, 2];
        let whole = order.map(|at| losses.take_part(&parts[at].header, &parts[at].payload));
        let [.., Some(whole)] = whole else { panic!("the last part makes it whole") };
        assert_eq!((whole.header, whole.payload), (header, payload));
    }

    #[test]
    fn a_packet_in_parts_is_as_long_as_can_be_and_no_longer() {
        let part =
            |length: u64, context: u64| Header { sequence: 5, length, context, ..Header::new(Kind::Again) };
        let bytes = [0; 1000];
        let mut losses = LostChannels::default();
        for (length, context) in [(0, u64::MAX), (0, WHOLE_BYTES_MAX + 1), (0, 999), (u64::MAX, u64::MAX)] {
            assert!(losses.take_part(&part(length, context), &bytes).is_none());
            assert!(losses.partial.1.is_empty(), "{length} of {context}");
        }
        // The whole is said to be longer with each part.
        for at in 0..WHOLE_BYTES_MAX / 1000 + 10 {
            assert!(losses.take_part(&part(at * 1000, at * 1000 + 1001), &bytes).is_none());
        }
        assert!(losses.partial.1.len() as u64 <= WHOLE_BYTES_MAX);
    }
}
