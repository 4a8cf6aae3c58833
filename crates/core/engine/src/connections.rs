//! Chooses which peers have a connection, where each can be reached with one and without (paper 4,
//! 2.2 and 6: connections cost memory and time, and few of them are used much).
//!
//! A channel that needs a connection for each peer is quicker, one that needs none is smaller. So
//! every peer is first reached without, and those with which most packets are exchanged get a
//! connection, up to a number ([`Settings::connected_peers_max`](crate::Settings)). When these are
//! used up, the least used connection is given back for a peer with much more traffic.
//!
//! A peer moves between the two channels without a fault: all packets between two processes share
//! one sequence of numbers, so both channels may have some under way, and the receiver takes them
//! in order. A connection is made beside the traffic ([`Connections::meet`]); when it is up,
//! packets go over it from then on.
//!
//! Giving one back takes four words, which go by the other channel, in order with all else:
//!
//! | word | from | it means |
//! | --- | --- | --- |
//! | `Ask` | the end that wants to | I send nothing more over it; when you take this, you have taken all of mine |
//! | `Agree` | the other | neither do I |
//! | `Refuse` | the other | some long message still needs it |
//! | `Done` | the end that asked | I have taken all of yours too, and give it back now |
//!
//! An end with a long message under way, or without another way to the peer, does not ask, and
//! refuses. If the connection breaks meanwhile, because the other end is gone already or by a
//! fault, what it hands back is sent again, and doubles are dropped by their numbers.

use crate::Engine;
use crate::control::{Control, name_hash};
use crate::peer::{PeerState, Route, Usage, choose_route};
use crate::request::State;
use crate::state::EngineState;
use crate::work::{Leave, PeerEvent};
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Connection, Connections, Peer, Reach};
use verbena_wires::Wire;

/// A peer must have exchanged this many packets to get a connection.
const BUSY_MIN: u64 = 4;
/// A peer must have exchanged this many times the packets of another to take its place: changes
/// cost packets and time.
const REPLACE_FACTOR: u64 = 2;
/// The way without a connection may be at most this many times slower, or it is not considered.
const SLOWER_MAX: u32 = 4;
/// Packets until the first review; then twice as many each time, up to the setting, so that early
/// connections are used soon.
const EVERY_FIRST: u32 = 16;
/// Reviews to skip after a connection was refused, or could not be given back, before the next try.
const PATIENCE: u32 = 16;
/// This many polls that find nothing count as one packet, so that reviews go on while nothing
/// comes.
const EMPTY_POLLS: u32 = 64;

/// State of the choice that concerns all peers together.
#[derive(Debug)]
pub(crate) struct ConnectionChoice {
    /// The channel with connections that is used for packets.
    channel: usize,
    /// Packets since the last review, and empty polls.
    packets: u32,
    polls: u32,
    /// Packets until the next review, and between later ones.
    due: u32,
    every: u32,
    /// The owner is about to leave: connections stay as they are.
    is_closing: bool,
}

impl ConnectionChoice {
    /// Counts a poll; whether it is time for a review.
    #[inline]
    pub(crate) fn is_due(&mut self, events: usize) -> bool {
        self.polls += 1;
        self.packets += events as u32;
        if self.polls.is_multiple_of(EMPTY_POLLS) {
            self.packets += 1;
        }
        let due = self.packets >= self.due && !self.is_closing;
        if due {
            (self.packets, self.polls, self.due) = (0, 0, self.due.saturating_mul(2).min(self.every));
        }
        due
    }
}

impl PeerState {
    /// Returns whether a channel has lost the peer, or would need a connection that there is not;
    /// the latter only if the engine `chooses` who has one.
    pub(crate) fn is_out_of_question(
        &self,
        channel: usize,
        wire: &mut Wire,
        peer: Peer,
        chooses: bool,
    ) -> bool {
        let mut is_apart = || wire.connections().is_some_and(|all| all.connection(peer) != Connection::Up);
        self.has_lost(channel) || chooses && (is_apart() || self.is_leaving(channel))
    }

    /// Returns whether the peer's connection on this channel is being given back.
    pub(crate) fn is_leaving(&self, channel: usize) -> bool {
        self.usage.as_ref().is_some_and(|usage| usage.leaving == Some(channel))
    }

    fn review(&mut self) {
        let exchanged = self.next + self.heard;
        let usage = self.usage.get_or_insert_default();
        usage.score = usage.score / 2 + (exchanged - usage.seen);
        (usage.seen, usage.patience) = (exchanged, usage.patience.saturating_sub(1));
    }

    fn score(&self) -> u64 {
        self.usage.as_ref().map_or(0, |usage| usage.score)
    }

    /// Returns whether the peer may be asked for something.
    fn is_ready(&self) -> bool {
        self.broken.is_none()
            && self.usage.as_ref().is_none_or(|usage| usage.patience == 0 && usage.leaving.is_none())
    }
}

impl EngineState {
    /// A word about giving back a connection; `None` if it makes no sense.
    pub(crate) fn leave_told(&mut self, peer: Peer, header: &Header) -> Option<()> {
        let channel = self.channel_named(peer, header.context as u32)?;
        self.work.peer_events.push_back(PeerEvent::Leave(peer, channel, Leave::of(header.flags)?));
        Some(())
    }

    /// Returns whether a long message is under way with this peer, or a one-sided operation on its
    /// memory.
    pub(crate) fn has_rendezvous(&self, peer: Peer) -> bool {
        let is_long = |state: &State| matches!(state, State::Offered(_) | State::Incoming(_));
        self.one_sided.is_busy_with(peer)
            || self.requests.iter().any(|(_, request)| request.peer == peer && is_long(&request.state))
    }

    fn say(&mut self, peer: Peer, channel: usize, step: Leave) {
        let name = name_hash(self.tally[channel].name);
        self.post(peer, Control::new(Kind::Leave, name.into()).flags(step as u8));
    }
}

impl Engine {
    /// Finds out whether every peer that a channel with connections reaches can be reached without
    /// as well, and tells that channel how many there may be.
    pub(crate) fn limit_connections(&mut self) {
        let needs = |wire: &mut Wire| wire.connections().is_some();
        let Some(channel) = self.channels.iter_mut().position(needs) else { return };
        let others = (0..self.state.size).filter(|peer| *peer != self.state.me);
        let with: Vec<Peer> = others.filter(|peer| self.channels[channel].reach(*peer).is_some()).collect();
        let Some(reach) = with.first().and_then(|peer| self.channels[channel].reach(*peer)) else { return };
        let latency_ns_max = reach.latency_ns.saturating_mul(SLOWER_MAX);
        let takes = |reach: Reach| reach.packet_bytes_max > 0 && reach.latency_ns <= latency_ns_max;
        // Only networks are behind it; the first look at what is before it may try something for
        // real.
        let mut free = |peer: &Peer| {
            let mut behind = self.channels[channel + 1..].iter_mut();
            behind.any(|wire| !needs(wire) && wire.reach(*peer).is_some_and(takes))
        };
        if !with.iter().all(&mut free) {
            return;
        }
        let (most, every) =
            (self.state.settings.connected_peers_max, self.state.settings.connections_review_every);
        self.channels.iter_mut().filter_map(|wire| wire.connections()).for_each(|all| all.limit(most));
        let due = EVERY_FIRST.min(every);
        self.connections =
            Some(ConnectionChoice { channel, packets: 0, polls: 0, due, every, is_closing: false });
    }

    /// The connections of a channel that was chosen for having them.
    fn connections(&mut self, channel: usize) -> &mut dyn Connections {
        self.channels[channel].connections().expect("a channel with connections")
    }

    /// Returns whether some connection is being given back just now. No more are given back from
    /// now on: the owner is about to leave.
    pub(crate) fn is_leaving_any(&mut self) -> bool {
        let Some(choice) = &mut self.connections else { return false };
        choice.is_closing = true;
        let leaves = |state: &PeerState| {
            state.broken.is_none() && state.usage.as_ref().is_some_and(|usage| usage.leaving.is_some())
        };
        self.state.peers.iter().any(leaves)
    }

    /// Moves packets to connections that are up by now, and sees that the busiest peers have one.
    #[cold]
    pub(crate) fn review_connections(&mut self) {
        let Some(ConnectionChoice { channel, .. }) = self.connections else { return };
        let me = self.state.me;
        let peers: Vec<Peer> =
            self.state.peers.numbered().map(|(peer, _)| peer).filter(|peer| *peer != me).collect();
        let mut outside: Vec<(u64, Peer)> = Vec::new();
        let mut inside: Vec<(u64, Peer)> = Vec::new();
        for peer in peers {
            let Some(state) = self.state.peers.get(peer) else { continue };
            state.review();
            let entry = (state.score(), peer);
            let may = state.is_ready() && !state.has_lost(channel);
            let has_route = state.route.is_some();
            match self.connections(channel).connection(peer) {
                Connection::Up if has_route => {
                    self.move_to_best(peer);
                    inside.extend(Some(entry).filter(|_| may));
                }
                Connection::None if may && self.is_worth_connecting(peer) => outside.push(entry),
                _ => {}
            }
        }
        outside.sort_unstable_by_key(|(score, peer)| (std::cmp::Reverse(*score), *peer));
        self.connect_busiest(channel, &outside, inside.into_iter().min());
    }

    /// Notes that the way to a new peer was chosen: while there is room for everyone, everyone gets
    /// a connection.
    pub(crate) fn met(&mut self, peer: Peer) {
        let Some(ConnectionChoice { channel, is_closing: false, .. }) = self.connections else { return };
        if self.state.homes.is_foreign(peer) {
            return;
        }
        let has_room = self.connections(channel).count() < self.state.settings.connected_peers_max;
        if has_room && self.is_quicker_with_connection(peer) {
            self.connections(channel).meet(peer);
        }
    }

    /// Returns whether the peer is busy, and goes over a channel that is slower than the one with
    /// connections.
    fn is_worth_connecting(&mut self, peer: Peer) -> bool {
        let is_busy = self.state.peers.look(peer).is_some_and(|state| state.score() >= BUSY_MIN);
        is_busy && self.is_quicker_with_connection(peer)
    }

    fn is_quicker_with_connection(&mut self, peer: Peer) -> bool {
        let Some(ConnectionChoice { channel, .. }) = self.connections else { return false };
        let reach = self.channels[channel].reach(peer);
        let route = self.state.peers.look(peer).and_then(|state| state.route);
        reach.zip(route).is_some_and(|(reach, route)| reach.latency_ns < route.latency_ns)
    }

    fn connect_busiest(&mut self, channel: usize, outside: &[(u64, Peer)], least: Option<(u64, Peer)>) {
        let most = self.state.settings.connected_peers_max;
        for (score, peer) in outside {
            if self.connections(channel).count() < most {
                self.connections(channel).meet(*peer);
                self.be_patient(*peer);
            } else {
                if let Some((least, victim)) = least
                    && *score > REPLACE_FACTOR * least
                {
                    self.ask_to_leave(victim, channel);
                }
                return;
            }
        }
    }

    fn be_patient(&mut self, peer: Peer) {
        if let Some(state) = self.state.peers.get(peer) {
            state.usage.get_or_insert_default().patience = PATIENCE;
        }
    }

    /// Lets packets go from now on by the quickest of the channels that are there.
    fn move_to_best(&mut self, peer: Peer) {
        let Some(state) = self.state.peers.get(peer) else { return };
        let Some(old) = state.route else { return };
        let limits = self.state.settings.eager_limits();
        let is_out = |channel, wire: &mut _| state.is_out_of_question(channel, wire, peer, true);
        let Some(route) = choose_route(&mut self.channels, peer, limits, &is_out) else { return };
        let route = Route { spare: self.has_spare(peer, route.packets), ..route };
        let Some(state) = self.state.peers.get(peer) else { return };
        if route.packets == old.packets {
            state.route = Some(route);
            return state.update_eager();
        }
        state.count_for(&mut self.state.tally[old.packets]);
        state.take_route(peer, route, &mut self.channels[route.packets]);
        self.state.counts.moves += 1;
    }

    fn ask_to_leave(&mut self, peer: Peer, channel: usize) {
        self.be_patient(peer);
        if self.needs_connection(peer, channel) {
            return;
        }
        self.stop_using(peer, channel);
        self.state.say(peer, channel, Leave::Ask);
    }

    /// Stops using the peer's connection.
    fn stop_using(&mut self, peer: Peer, channel: usize) {
        if let Some(state) = self.state.peers.get(peer) {
            state.usage.get_or_insert_default().leaving = Some(channel);
        }
        self.move_to_best(peer);
    }

    /// The peer said something about giving back its connection.
    #[cold]
    pub(crate) fn leave_step(&mut self, peer: Peer, channel: usize, step: Leave) {
        let Some(state) = self.state.peers.get(peer).filter(|state| state.broken.is_none()) else { return };
        let is_leaving = state.is_leaving(channel);
        let both = state.usage.as_ref().is_some_and(|usage| usage.both);
        match step {
            // Both have asked: each agrees, and no more needs to be said.
            Leave::Ask if is_leaving => {
                let usage = state.usage.get_or_insert_default();
                (usage.both, usage.agreed) = (true, true);
                self.state.say(peer, channel, Leave::Agree);
            }
            Leave::Ask if self.needs_connection(peer, channel) => {
                self.state.say(peer, channel, Leave::Refuse);
            }
            Leave::Ask => {
                self.stop_using(peer, channel);
                if let Some(state) = self.state.peers.get(peer) {
                    state.usage.get_or_insert_default().agreed = true;
                }
                self.state.say(peer, channel, Leave::Agree);
            }
            Leave::Agree if is_leaving => {
                if !both {
                    self.state.say(peer, channel, Leave::Done);
                }
                self.leave(peer, channel);
            }
            Leave::Done if is_leaving => self.leave(peer, channel),
            Leave::Refuse if is_leaving => {
                self.stop_leaving(peer);
                self.move_to_best(peer);
            }
            // None of our processes says that.
            Leave::Agree | Leave::Done | Leave::Refuse => {}
        }
    }

    /// Returns whether the connection with the peer cannot be given back now.
    fn needs_connection(&mut self, peer: Peer, channel: usize) -> bool {
        self.connections.is_none() || self.state.has_rendezvous(peer) || !self.has_spare(peer, channel)
    }

    /// Ends the giving back of a connection, since another way to the peer is lost.
    pub(crate) fn stay_connected(&mut self, peer: Peer) {
        let usage = self.state.peers.look(peer).and_then(|state| state.usage.as_deref());
        let Some(Usage { leaving: Some(channel), agreed, .. }) = usage.copied() else { return };
        self.stop_leaving(peer);
        if let Some(state) = self.state.peers.get(peer).filter(|_| agreed) {
            state.usage.get_or_insert_default().doubtful = Some(channel);
        }
    }

    /// Makes a new connection in place of one that the peer had given back after all. What it may
    /// not have taken is sent again.
    #[cold]
    pub(crate) fn connect_anew(&mut self, peer: Peer, channel: usize) {
        self.hand_on(peer, channel);
        self.drop_connection(peer, channel);
        let Some(state) = self.state.peers.get(peer) else { return };
        state.usage.get_or_insert_default().doubtful = None;
        let Some(route) = state.route.filter(|route| route.packets == channel) else { return };
        let wire = &mut self.channels[channel];
        if let Some(connections) = wire.connections() {
            connections.need(peer);
        }
        state.take_route(peer, route, wire);
        self.state.list_outbox(peer);
    }

    fn stop_leaving(&mut self, peer: Peer) {
        if let Some(state) = self.state.peers.get(peer) {
            let usage = state.usage.get_or_insert_default();
            (usage.leaving, usage.both, usage.agreed) = (None, false, false);
        }
        self.be_patient(peer);
    }

    /// Gives the connection back, with those of the rails beside it.
    fn leave(&mut self, peer: Peer, channel: usize) {
        self.drop_connection(peer, channel);
        self.stop_leaving(peer);
        self.state.counts.left += 1;
        self.move_to_best(peer);
    }

    fn drop_connection(&mut self, peer: Peer, channel: usize) {
        let name = self.connections(channel).rail_of();
        let all = self.channels.iter_mut().filter_map(|wire| wire.connections());
        all.filter(|rail| rail.rail_of() == name).for_each(|rail| rail.leave(peer));
    }

    /// Handles a connection that broke while it was being given back: the other end was quicker, or
    /// there is a fault. What may not have been taken is sent again.
    #[cold]
    pub(crate) fn lost_while_leaving(&mut self, peer: Peer, channel: usize) {
        self.hand_on(peer, channel);
        // Another one may be needed yet, if the other way is lost.
        self.drop_connection(peer, channel);
        let Some(state) = self.state.peers.get(peer) else { return };
        state.update_at_once();
        self.state.list_outbox(peer);
    }
}
