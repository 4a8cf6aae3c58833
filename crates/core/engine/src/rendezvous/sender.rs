//! The sending side of a rendezvous.

use super::outgoing::{Outgoing, Target, WRITES_MAX};
use super::parts::Cut;
use super::ways::NodeWay;
use super::{Piece, STREAM_PACKETS_MAX, TransferNote};
use crate::Engine;
use crate::control::{Control, DONE, FAILED, LEARNT, MEMORY, Memory, Reader, WRITE, name_hash};
use crate::outbox::{HandOver, hand_over};
use crate::peer::Route;
use crate::request::{State, sent};
use crate::slab::Id;
use crate::state::EngineState;
use crate::{Completion, Failure, Large};
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Division, End, Payload, Peer, Transfer};

impl EngineState {
    pub(super) fn outgoing_of(&mut self, peer: Peer, id: Id) -> Option<(Id, &mut Outgoing)> {
        let request = self.requests.get(id).filter(|r| r.peer == peer)?;
        let State::Offered(outgoing) = request.state else { return None };
        Some((outgoing, self.outgoing.get_mut(outgoing)?))
    }

    /// The receiver is ready for data, or for the sender's writes, or invites to help.
    pub(crate) fn clear_to_send(&mut self, peer: Peer, header: &Header, payload: &[u8]) -> Option<()> {
        let mut reader = Reader(payload);
        let (receiver, bytes) = (reader.word()?, reader.word()?);
        let id = Id::of(header.context);
        let shown = header.flags & MEMORY != 0;
        let learnt = header.flags & LEARNT != 0;
        if shown && header.flags & WRITE == 0 {
            let cut = Cut { bytes: header.length, part_bytes: bytes };
            let (division, memory) = (Division(reader.word()?), reader.memory()?);
            let channel = self.memory_channel(peer, memory.channel)?;
            let target = Target { channel, key: memory.key, cut, division };
            if let Some((_, outgoing)) = self.outgoing_of(peer, id) {
                outgoing.way = learnt.then_some(NodeWay::Both);
            }
            return self.invited(peer, id, receiver, &memory, target);
        }
        let piece = Piece { offset: header.length, len: bytes };
        let Some(request) = self.requests.get(id) else { return Some(()) };
        let within = piece.is_within(request.buffer.len() as u64);
        let push = match shown {
            true => Some(self.push_of(peer, id, piece, &reader.memory()?, &reader.all_memory()?)?),
            false => None,
        };
        let Some((_, outgoing)) = self.outgoing_of(peer, id) else { return Some(()) };
        if !within || outgoing.stream.is_some() || outgoing.push.is_some() {
            return None;
        }
        outgoing.receiver = receiver;
        (outgoing.push, outgoing.stream) =
            if shown { (push.map(Box::new), None) } else { (None, Some(piece)) };
        outgoing.way = (learnt && !shown).then_some(NodeWay::Packets);
        self.list_push(peer, id);
        Some(())
    }

    /// Returns whether this side's memory of the message is shown on this further rail.
    pub(super) fn is_shown_on(&self, id: Id, channel: usize) -> bool {
        let outgoing = match self.requests.get(id).map(|request| &request.state) {
            Some(State::Offered(place)) => self.outgoing.get(*place),
            _ => None,
        };
        outgoing.is_some_and(|outgoing| outgoing.rails.iter().any(|(rail, _)| *rail == channel))
    }

    /// The channel with this hashed name, by which memory is moved with the peer: the one in use,
    /// or an earlier one.
    pub(super) fn memory_channel(&self, peer: Peer, name: u32) -> Option<usize> {
        let used = self.peers.look(peer).and_then(|state| state.route?.memory);
        used.filter(|channel| name_hash(self.tally[*channel].name) == name)
            .or_else(|| self.channel_named(peer, name))
    }

    /// The channel whose hashed name the peer has sent.
    pub(crate) fn channel_named(&self, peer: Peer, name: u32) -> Option<usize> {
        let home = self.homes.of_peer(peer);
        let mut all = self.tally.iter().enumerate();
        let found = all.find(|(at, it)| name_hash(it.name) == name && self.homes.of_channel(*at) == home);
        found.map(|(channel, _)| channel)
    }

    /// Returns whether the name is that of the channel that moves memory here.
    pub(super) fn is_by_memory_channel(&self, route: &Route, name: u32) -> bool {
        route.memory.is_some_and(|channel| name_hash(self.tally[channel].name) == name)
    }

    /// The longest piece to be moved at a time, in bytes.
    pub(super) fn piece_bytes(&self, route: &Route) -> u64 {
        if route.in_background { u64::MAX } else { self.settings.claim_bytes as u64 }
    }

    /// Follows an invitation if this side can write there.
    fn invited(&mut self, peer: Peer, id: Id, receiver: u64, memory: &Memory, target: Target) -> Option<()> {
        let Some(request) = self.requests.get(id) else { return Some(()) };
        let (bytes, contiguous) = (request.buffer.len() as u64, request.buffer.region().is_some());
        if target.cut.part_bytes == 0 || target.cut.bytes > bytes {
            return None;
        }
        let route = self.peers.get(peer).and_then(|state| state.route);
        let can = route
            .is_some_and(|route| self.is_by_memory_channel(&route, memory.channel) && route.put.is_some());
        let Some((_, outgoing)) = self.outgoing_of(peer, id) else { return Some(()) };
        outgoing.receiver = receiver;
        if contiguous && can {
            outgoing.target = Some(target);
            self.list_push(peer, id);
        }
        Some(())
    }

    pub(super) fn list_push(&mut self, peer: Peer, id: Id) {
        if let Some((_, outgoing)) = self.outgoing_of(peer, id)
            && !std::mem::replace(&mut outgoing.listed, true)
        {
            self.work.push.push_back(id);
        }
    }

    /// The receiver has all.
    pub(crate) fn finished(&mut self, peer: Peer, header: &Header) {
        let id = Id::of(header.context);
        if let Some((place, outgoing)) = self.outgoing_of(peer, id) {
            let learnt = header.flags & LEARNT != 0;
            outgoing.way = learnt.then(|| outgoing.way.unwrap_or(NodeWay::Alone));
            self.end_sent(id, place);
        }
    }

    pub(super) fn end_sent(&mut self, id: Id, place: Id) {
        let request = self.requests.get(id).expect("a send");
        let completion = sent(request.source, request.tag, request.buffer.len() as u64);
        self.end_outgoing(id, place, completion);
    }

    /// Ends the exposure and completes.
    pub(crate) fn end_outgoing(&mut self, id: Id, place: Id, completion: Completion) {
        let request = self.requests.get(id).expect("a send");
        let (peer, bytes) = (request.peer, request.buffer.len() as u64);
        let outgoing = self.outgoing.remove(place).expect("a rendezvous");
        if let Some(ways) = self.peers.get(peer).and_then(|state| state.ways.as_mut()) {
            ways.sent(outgoing.way, bytes);
        }
        let exposed = outgoing.exposed.into_iter().chain(outgoing.rails);
        self.work.conceal.extend(exposed.map(|(channel, key)| (channel, peer, key)));
        self.complete(id, completion);
    }

    /// The peer is broken: fails the send once no write reads its buffer any more.
    pub(crate) fn fail_outgoing(&mut self, id: Id, place: Id) {
        if self.outgoing.get(place).is_none_or(|outgoing| outgoing.writes > 0) {
            return;
        }
        let request = self.requests.get(id).expect("a send");
        let failure: Failure = self.failure_of(request.peer);
        let completion = crate::request::not_done(request.source, request.tag, Some(failure));
        self.end_outgoing(id, place, completion);
    }

    /// A write in the background has ended.
    pub(crate) fn put_ended(&mut self, note: TransferNote, in_place: bool) {
        let Some(request) = self.requests.get(note.request) else { return };
        let peer = request.peer;
        let Some((place, outgoing)) = self.outgoing_of(peer, note.request) else { return };
        outgoing.writes -= 1;
        let whole = outgoing.push.is_some();
        if self.is_broken(peer) {
            return self.fail_outgoing(note.request, place);
        }
        match whole {
            true => self.pushed(peer, note, in_place),
            false => self.report(peer, note, in_place),
        }
        self.list_push(peer, note.request);
    }

    fn report(&mut self, peer: Peer, note: TransferNote, in_place: bool) {
        if in_place {
            self.tally[note.channel].put_bytes += note.piece.len;
        }
        let Some((_, outgoing)) = self.outgoing_of(peer, note.request) else { return };
        if !in_place {
            // It would fail again: the receiver reads what is left.
            outgoing.target = None;
        }
        let control = Control::new(Kind::Copied, outgoing.receiver).length(note.piece.offset);
        self.post(peer, control.flags(if in_place { DONE } else { FAILED }).word(note.piece.len));
    }
}

impl Engine {
    /// Writes one part of the receiver's copy, if that may be now, and streams some packets;
    /// returns whether anything moved.
    pub(crate) fn push(&mut self, id: Id, may_help: bool) -> bool {
        let Some(request) = self.state.requests.get(id) else { return false };
        let peer = request.peer;
        let Some((_, outgoing)) = self.state.outgoing_of(peer, id) else { return false };
        outgoing.listed = false;
        let wrote = self.push_whole(peer, id) | (may_help && self.push_piece(peer, id).is_some());
        let streamed = self.stream(peer, id);
        if self.state.outgoing_of(peer, id).is_some_and(|(_, outgoing)| outgoing.has_work()) {
            self.state.list_push(peer, id);
        }
        wrote || streamed
    }

    fn push_piece(&mut self, peer: Peer, id: Id) -> Option<()> {
        let region = self.state.requests.get(id)?.buffer.region()?;
        let (_, outgoing) = self.state.outgoing_of(peer, id)?;
        let target = outgoing.target.filter(|_| outgoing.writes < WRITES_MAX)?;
        let channel = target.channel;
        let packets = self.state.peers.get(peer)?.route?.packets;
        let sharing = self.channels[packets].sharing();
        let part = sharing.and_then(|sharing| sharing.take_part(peer, target.division, End::Back));
        let piece = part.and_then(|part| target.cut.part(part));
        let (_, outgoing) = self.state.outgoing_of(peer, id)?;
        let Some(piece) = piece else {
            outgoing.target = None;
            return None;
        };
        outgoing.writes += 1;
        let note = TransferNote { request: id, piece, put: true, channel };
        let token = self.state.transfers.insert(note);
        let from = region.part(piece.offset as usize, piece.len as usize);
        let outcome = self.channels[channel]
            .remote_memory()
            .and_then(|memory| memory.put(peer, &target.key, piece.offset, from, token.number()).ok());
        if outcome != Some(Transfer::Pending) {
            self.state.transfers.remove(token);
            self.state.outgoing_of(peer, id)?.1.writes -= 1;
            self.state.report(peer, note, outcome.is_some());
        }
        Some(())
    }

    /// Sends data packets while the channel takes them, up to a bound; or copies as many as it has
    /// room for, before any is transferred.
    fn stream(&mut self, peer: Peer, id: Id) -> bool {
        if self.state.settings.large != Large::Copy {
            return self.stream_some(peer, id);
        }
        let Some(Route { packets, .. }) = self.state.peers.get(peer).and_then(|state| state.route) else {
            return false;
        };
        if let Some(streams) = self.channels[packets].streams() {
            streams.hold(peer);
        }
        let mut moved = false;
        while self.stream_some(peer, id) {
            moved = true;
        }
        if let Some(streams) = self.channels[packets].streams() {
            streams.release(peer);
        }
        moved
    }

    fn stream_some(&mut self, peer: Peer, id: Id) -> bool {
        for packet in 0..STREAM_PACKETS_MAX {
            match self.stream_packet(peer, id) {
                Some((HandOver::Taken, false)) => {}
                // Room for longer ones is likely to come soon.
                Some((HandOver::Taken, true)) => return true,
                Some((HandOver::Full, _)) | None => return packet > 0,
                Some((HandOver::Broken(fault), _)) => {
                    self.lose(peer, fault);
                    return true;
                }
            }
        }
        true
    }

    /// Sends one packet of data; also returns whether it is shorter than it might be, for want of
    /// room.
    fn stream_packet(&mut self, peer: Peer, id: Id) -> Option<(HandOver, bool)> {
        let (place, outgoing) = self.state.outgoing_of(peer, id)?;
        let (piece, receiver) = (outgoing.stream?, outgoing.receiver);
        let state = self.state.peers.get(peer)?;
        let route = state.route?;
        let streams = self.channels[route.packets].streams();
        let (is_begun, longer) =
            streams.map_or((false, None), |s| (s.is_begun(peer), s.stream_bytes_max(peer)));
        // Control packets that wait go first, unless they wait for this very packet.
        if !state.outbox.is_empty() && !is_begun {
            return Some((HandOver::Full, false));
        }
        let settings = &self.state.settings;
        let limit = |bytes: usize| piece.len.min(bytes.min(settings.chunk_bytes_max) as u64);
        let room = limit(longer.unwrap_or(0).max(route.packet_bytes_max));
        // A longer one, if the channel has room for it just now.
        let whole = if settings.large == Large::Auto { limit(route.whole_bytes_max) } else { 0 };
        let header = Header { context: receiver, length: piece.offset, ..Header::new(Kind::Data) };
        let buffer = &self.state.requests.get(id)?.buffer;
        let mut send = |len: u64| {
            let payload = Payload::Buffer { buffer, offset: piece.offset as usize, len: len as usize };
            hand_over(&mut self.channels, &mut self.state.tally, state, peer, header, payload)
        };
        let (mut len, mut outcome) = (room.max(whole), HandOver::Full);
        if whole > room {
            outcome = send(whole);
        }
        let is_short = whole > room && matches!(outcome, HandOver::Full);
        if whole <= room || is_short {
            len = room;
            outcome = send(room);
        }
        if matches!(outcome, HandOver::Taken) {
            self.state.counts.protocol_sent += 1;
            let rest = Piece { offset: piece.offset + len, len: piece.len - len };
            self.state.outgoing.get_mut(place)?.stream = (rest.len > 0).then_some(rest);
            if rest.len == 0 {
                self.state.end_sent(id, place);
            }
        }
        Some((outcome, is_short))
    }
}
