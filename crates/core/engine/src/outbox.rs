//! Sends packets: to the channel at once if it has room, else through the peer's outbox, in order.

use crate::Engine;
use crate::control::fitting_bytes;
use crate::counters::ChannelCounters;
use crate::fault;
use crate::peer::{Early, PeerState, Route, Waiting, choose_route};
use verbena_channel::packet::Header;
use verbena_channel::{Payload, Peer, SendError};
use verbena_fault::Fault;
use verbena_wires::{Lane, Wire};

/// Waiting packets of one peer that are sent per call of progress.
const FLUSH_MAX: usize = 64;

/// The channel's answer to a packet.
pub(crate) enum HandOver {
    Taken,
    Full,
    Broken(Fault),
}

/// Numbers a packet and gives it to the peer's channel. The peer must have a route.
pub(crate) fn hand_over(
    channels: &mut [Wire],
    tally: &mut [ChannelCounters],
    state: &mut PeerState,
    peer: Peer,
    header: Header,
    payload: Payload<'_>,
) -> HandOver {
    hand_over_inlined(channels, tally, state, peer, header, payload)
}

/// Like [`hand_over`], inlined where that is worth its code: what is known of header and payload
/// there is not asked again.
#[inline(always)]
pub(crate) fn hand_over_inlined(
    channels: &mut [Wire],
    tally: &mut [ChannelCounters],
    state: &mut PeerState,
    peer: Peer,
    mut header: Header,
    payload: Payload<'_>,
) -> HandOver {
    let channel = state.route.as_ref().expect("a route").packets;
    header.sequence = state.next as u32;
    let bytes = payload.len() as u64;
    let answer = match &mut state.lane {
        Some(lane) => lane.send(&header, payload).then_some(()).ok_or(SendError::Full),
        None => channels[channel].send(peer, &header, payload),
    };
    match answer {
        Ok(()) => {
            state.next += 1;
            state.bytes_sent += bytes;
            HandOver::Taken
        }
        Err(SendError::Full) => {
            tally[channel].full += 1;
            HandOver::Full
        }
        Err(SendError::Broken(fault)) => HandOver::Broken(fault),
    }
}

/// Gives a packet that has its number, or none, to the peer's channel.
#[cold]
fn hand_over_numbered(wire: &mut Wire, lane: &mut Option<Lane>, peer: Peer, packet: &Early) -> HandOver {
    let payload = Payload::Bytes(&packet.payload);
    let answer = match lane {
        Some(lane) => lane.send(&packet.header, payload).then_some(()).ok_or(SendError::Full),
        None => wire.send(peer, &packet.header, payload),
    };
    match answer {
        Ok(()) => HandOver::Taken,
        Err(SendError::Full) => HandOver::Full,
        Err(SendError::Broken(fault)) => HandOver::Broken(fault),
    }
}

impl Engine {
    /// Returns the route to the peer, found at the first use. `None` if there is none or the peer
    /// is broken; the peer's state then holds the reason, unless the job has no such process.
    pub(crate) fn route(&mut self, peer: Peer) -> Option<Route> {
        let state = self.state.peers.open(peer)?;
        if state.route.is_some() || state.broken.is_some() {
            return state.route.filter(|_| state.broken.is_none());
        }
        let limits = self.state.settings.eager_limits();
        let chooses = self.connections.is_some() && !self.state.homes.is_foreign(peer);
        let is_out = |channel, wire: &mut _| state.is_out_of_question(channel, wire, peer, chooses);
        let Some(route) = choose_route(&mut self.channels, peer, limits, &is_out) else {
            let fault = fault::unreachable(self.state.me, peer, &self.channels);
            self.state.break_peer(peer, fault);
            return None;
        };
        // Also one that has no connection yet.
        let route = Route { spare: self.has_spare(peer, route.packets), ..route };
        let state = self.state.peers.get(peer)?;
        state.take_route(peer, route, &mut self.channels[route.packets]);
        if chooses {
            self.met(peer);
        }
        Some(route)
    }

    /// Sends what waits, for every peer; returns whether anything was taken. No peer is left out: a
    /// caller that finds that nothing moves may sleep until a channel has room again.
    pub(crate) fn flush(&mut self) -> bool {
        let mut taken = false;
        for _ in 0..self.state.work.outboxes.len() {
            let Some(peer) = self.state.work.outboxes.pop_front() else { break };
            taken |= self.flush_peer(peer);
            let state = self.state.peers.open(peer).expect("a listed peer");
            state.listed = !state.outbox.is_empty();
            if state.listed {
                self.state.work.outboxes.push_back(peer);
            }
        }
        taken
    }

    /// Sends what waits for this peer now, so that the answer to a command leaves with the command.
    pub(crate) fn answer(&mut self, peer: Peer) {
        if self.state.peers.get(peer).is_some_and(|state| !state.outbox.is_empty()) {
            self.flush_peer(peer);
        }
    }

    /// Sends what waits for this peer while the channel takes it, up to a bound.
    fn flush_peer(&mut self, peer: Peer) -> bool {
        if self.route(peer).is_none() {
            return false;
        }
        for sent in 0..FLUSH_MAX {
            let Some(state) = self.state.peers.get(peer) else { return false };
            let outcome = match state.outbox.front() {
                None => return sent > 0,
                Some(Waiting::Message(id)) => {
                    let id = *id;
                    self.transmit(id)
                }
                Some(Waiting::Again(packet)) => {
                    let channel = state.route.as_ref().expect("a route").packets;
                    let outcome =
                        hand_over_numbered(&mut self.channels[channel], &mut state.lane, peer, packet);
                    self.state.tally[channel].full += u64::from(matches!(outcome, HandOver::Full));
                    outcome
                }
                Some(Waiting::Keyed(packet)) => {
                    let Early { header, payload } = (**packet).clone();
                    let room = state.route.as_ref().expect("a route").packet_bytes_max;
                    let payload = Payload::Bytes(&payload[..fitting_bytes(payload.len(), room)]);
                    let outcome =
                        hand_over(&mut self.channels, &mut self.state.tally, state, peer, header, payload);
                    self.state.counts.protocol_sent += u64::from(matches!(outcome, HandOver::Taken));
                    outcome
                }
                Some(Waiting::Control(control)) => {
                    let control = *control;
                    let payload = Payload::Bytes(control.payload());
                    let outcome = hand_over(
                        &mut self.channels,
                        &mut self.state.tally,
                        state,
                        peer,
                        control.header,
                        payload,
                    );
                    self.state.counts.protocol_sent += u64::from(matches!(outcome, HandOver::Taken));
                    outcome
                }
            };
            match outcome {
                HandOver::Taken => {
                    if let Some(state) = self.state.peers.get(peer) {
                        state.outbox.pop_front();
                        state.update_at_once();
                    }
                }
                HandOver::Full => return sent > 0,
                HandOver::Broken(fault) => {
                    self.lose(peer, fault);
                    return true;
                }
            }
        }
        true
    }
}
