//! The receiving side of a rendezvous.

use super::choice::{Way, choose};
use super::incoming::{Incoming, Step};
use super::parts::{Cut, Parts};
use super::stripe::Task;
use super::ways::NodeWay;
use super::{Piece, TransferNote};
use crate::Engine;
use crate::arrived::Offer;
use crate::control::{Control, MEMORY, Memory, WRITE, name_hash};
use crate::event::{Event, EventKind};
use crate::matching::MatchKey;
use crate::peer::Route;
use crate::request::{State, received};
use crate::slab::Id;
use crate::state::EngineState;
use crate::work::Ended;
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Access, End, Key, Landing, Peer, Transfer};
use verbena_memory::Region;

/// The way of one message, and whether the sender is to copy as well if it is read.
struct ChosenWay {
    way: Way,
    by_both: bool,
}

impl EngineState {
    /// Ties a posted receive to the message announced; the rendezvous is to begin.
    pub(crate) fn accept(&mut self, id: Id, peer: Peer, key: &MatchKey, offer: Offer, total: u64) {
        let request = self.requests.get_mut(id).expect("a receive");
        (request.peer, request.source, request.tag) = (peer, key.source, key.tag);
        let bytes = total.min(request.buffer.len() as u64);
        let incoming = self.incoming.insert(Incoming::new(offer, total, bytes));
        self.counts.rendezvous += 1;
        self.tell(Event {
            kind: EventKind::Rendezvous,
            peer,
            source: key.source,
            tag: key.tag,
            bytes: total,
        });
        self.set_state(id, State::Incoming(incoming));
    }

    /// Chooses the way of an announced message, received into one span of memory, by the costs;
    /// also returns whether it might as well go in the other direction.
    fn choose(&self, route: &Route, offer: &Offer, bytes: u64) -> (Way, bool) {
        let large = self.settings.large;
        let worth_it = bytes >= self.settings.memory_bytes_min(route) as u64;
        let known = |name| worth_it && self.is_by_memory_channel(route, name);
        let readable = large.reads() && offer.memory().is_some_and(|memory| known(memory.channel));
        let writable = large.writes() && offer.writes_by().is_some_and(known);
        let either = readable && writable && route.get.is_some() && route.put.is_some();
        (choose(route, readable, writable, bytes), either)
    }

    /// Chooses among the ways on a node, for a message that this side can read; `None` if they are
    /// not learnt.
    fn choose_on_node(&mut self, route: &Route, peer: Peer, place: Id, bytes: u64) -> Option<ChosenWay> {
        let clock = self.settings.learns(route)?;
        let estimate = self.settings.node_estimate(route);
        let ways = self.peers.get(peer)?.ways.get_or_insert_default();
        let learned = ways.choose(bytes, self.me < peer, estimate, &self.taught, clock());
        let incoming = self.incoming.get_mut(place)?;
        (incoming.learned, incoming.is_as_learned) = (Some(learned), true);
        let way = learned.way();
        let by_both = way == NodeWay::Both;
        Some(ChosenWay { way: if way == NodeWay::Packets { Way::Packets } else { Way::Read }, by_both })
    }

    /// Notes that a message goes this way, whatever was chosen.
    fn divert(&mut self, peer: Peer, id: Id, way: NodeWay) {
        let Some(clock) = self.settings.node_clock else { return };
        let Some((_, incoming)) = self.incoming_of(peer, id) else { return };
        let Some(learned) = incoming.learned.filter(|learned| learned.way() != way) else { return };
        incoming.is_as_learned = false;
        let ways = self.peers.get(peer).and_then(|state| state.ways.as_mut());
        let diverted = ways.map(|ways| ways.divert(learned, way, clock()));
        if let Some((_, incoming)) = self.incoming_of(peer, id) {
            incoming.learned = diverted;
        }
    }

    pub(super) fn incoming_of(&mut self, peer: Peer, id: Id) -> Option<(Id, &mut Incoming)> {
        let request = self.requests.get(id).filter(|r| r.peer == peer)?;
        let State::Incoming(incoming) = request.state else { return None };
        Some((incoming, self.incoming.get_mut(incoming)?))
    }

    /// A part of the message by packet.
    pub(crate) fn data(&mut self, peer: Peer, header: &Header, payload: &[u8]) -> Option<()> {
        let id = Id::of(header.context);
        let Some((_, incoming)) = self.incoming_of(peer, id) else { return Some(()) };
        let piece = Piece { offset: header.length, len: payload.len() as u64 };
        if !piece.is_within(incoming.bytes) || piece.len > incoming.awaited {
            return None;
        }
        incoming.awaited -= piece.len;
        let complete = incoming.awaited == 0;
        let request = self.requests.get(id).expect("found just now");
        request.buffer.copy_in(piece.offset as usize, payload);
        if complete {
            self.end_incoming(id);
        }
        Some(())
    }

    /// Says where a part of the message goes that is on its way by packet; `None` if nobody asked
    /// for it. The receive does not end before [`EngineState::landed`].
    pub(crate) fn landing(&mut self, peer: Peer, header: &Header, bytes: u64) -> Option<Landing> {
        let id = Id::of(header.context);
        let (place, incoming) = self.incoming_of(peer, id).filter(|_| header.kind == Kind::Data)?;
        let piece = Piece { offset: header.length, len: bytes };
        if !piece.is_within(incoming.bytes) || piece.len > incoming.awaited {
            return None;
        }
        let Some(region) = self.requests.get(id)?.buffer.region() else { return Some(Landing::Scattered) };
        self.incoming.get_mut(place)?.reads += 1;
        Some(Landing::Here(region.part(piece.offset as usize, piece.len as usize)))
    }

    /// Takes the end of a part that went straight to its place.
    pub(crate) fn landed(&mut self, peer: Peer, header: &Header, bytes: u64, whole: bool) {
        let id = Id::of(header.context);
        let Some((_, incoming)) = self.incoming_of(peer, id) else { return };
        incoming.reads -= 1;
        if !whole || self.is_broken(peer) {
            return self.advance(id);
        }
        self.counts.protocol_received += 1;
        let (_, incoming) = self.incoming_of(peer, id).expect("found just now");
        incoming.awaited -= bytes;
        if incoming.awaited == 0 {
            self.end_incoming(id);
        }
    }

    /// Asks the sender to stream a part.
    fn ask_for_data(&mut self, id: Id, piece: Piece) {
        let peer = self.requests.get(id).expect("a receive").peer;
        let (_, incoming) = self.incoming_of(peer, id).expect("a rendezvous");
        incoming.awaited = piece.len;
        incoming.missing = None;
        let control = Control::new(Kind::ClearToSend, incoming.offer.sender).length(piece.offset);
        let control = control.learnt(incoming.is_as_learned);
        self.post(peer, control.word(id.number()).word(piece.len));
    }

    /// The sender reports a part that it took.
    pub(crate) fn help_ended(&mut self, peer: Peer, id: Id, piece: Piece, in_place: bool) -> Option<()> {
        let Some((_, incoming)) = self.incoming_of(peer, id) else { return Some(()) };
        if incoming.is_pushed {
            return self.push_ended(peer, id, piece, in_place);
        }
        if !incoming.parts.report() || !piece.is_within(incoming.bytes) {
            return None;
        }
        if !in_place {
            incoming.redo.push(piece);
            self.counts.fallbacks += 1;
        }
        self.advance(id);
        Some(())
    }

    /// Takes the sender's report. What it could not write is read if it can be, else streamed.
    fn push_ended(&mut self, peer: Peer, id: Id, piece: Piece, in_place: bool) -> Option<()> {
        let route = self.peers.look(peer)?.route?;
        let (_, incoming) = self.incoming_of(peer, id)?;
        let whole = Piece { offset: 0, len: incoming.bytes };
        if !piece.is_within(incoming.bytes) || (in_place && piece != whole) {
            return None;
        }
        if in_place {
            self.end_incoming(id);
            return Some(());
        }
        incoming.is_pushed = false;
        let (exposed, memory) = (incoming.take_exposed(), incoming.offer.memory());
        self.work.conceal.extend(exposed.map(|(channel, key)| (channel, peer, key)));
        self.counts.fallbacks += 1;
        let readable = memory.is_some_and(|memory| self.is_by_memory_channel(&route, memory.channel));
        let piece_bytes = self.piece_bytes(&route);
        let (_, incoming) = self.incoming_of(peer, id)?;
        match readable && route.get.is_some() {
            true => incoming.redo.extend(piece.cut(piece_bytes)),
            false => incoming.missing = Some(piece),
        }
        self.advance(id);
        Some(())
    }

    /// A read in the background has ended.
    pub(crate) fn get_ended(&mut self, note: TransferNote, in_place: bool) {
        let Some(request) = self.requests.get(note.request) else { return };
        let peer = request.peer;
        let Some((_, incoming)) = self.incoming_of(peer, note.request) else { return };
        incoming.reads -= 1;
        self.get_counted(note, in_place);
        self.advance(note.request);
    }

    fn get_counted(&mut self, note: TransferNote, in_place: bool) {
        match in_place {
            true => self.tally[note.channel].get_bytes += note.piece.len,
            false => self.counts.fallbacks += 1,
        }
        let peer = self.requests.get(note.request).expect("a receive").peer;
        if let Some((_, incoming)) = self.incoming_of(peer, note.request) {
            incoming.read_ended(&note, in_place);
        }
    }

    /// After any change: does the next step.
    fn advance(&mut self, id: Id) {
        let Some(request) = self.requests.get(id) else { return };
        let peer = request.peer;
        let is_broken = self.is_broken(peer);
        let Some((place, incoming)) = self.incoming_of(peer, id) else { return };
        match incoming.next_step(is_broken) {
            Step::Fail => self.fail_incoming(id, place),
            Step::Read => {
                if !std::mem::replace(&mut incoming.listed, true) {
                    self.work.pull.push_back(id);
                }
            }
            Step::Stream(gap) => {
                self.divert(peer, id, NodeWay::Packets);
                self.ask_for_data(id, gap);
            }
            Step::Finish => self.finish(id),
            Step::Wait => {}
        }
    }

    /// Tells the sender that its buffer is free, and completes.
    fn finish(&mut self, id: Id) {
        let peer = self.requests.get(id).expect("a receive").peer;
        let (_, incoming) = self.incoming_of(peer, id).expect("a rendezvous");
        let control = Control::new(Kind::Finish, incoming.offer.sender).length(incoming.bytes);
        let control = control.learnt(incoming.is_as_learned);
        self.post(peer, control);
        self.end_incoming(id);
    }

    fn end_incoming(&mut self, id: Id) {
        let request = self.requests.get(id).expect("a receive");
        let (peer, source, tag) = (request.peer, request.source, request.tag);
        let room = request.buffer.len() as u64;
        let State::Incoming(place) = request.state else { unreachable!("only by rendezvous") };
        let total = self.drop_incoming(peer, place);
        self.complete(id, received(source, tag, total, room));
    }

    fn drop_incoming(&mut self, peer: Peer, place: Id) -> u64 {
        let mut incoming = self.incoming.remove(place).expect("a rendezvous");
        if let (Some(learned), Some(state)) = (incoming.learned, self.peers.get(peer)) {
            match (self.settings.node_clock, &mut state.ways) {
                (Some(clock), Some(ways)) => ways.end(learned, &mut self.taught, clock()),
                // Ways are not learnt any more: what was begun would stay under way.
                _ => state.ways = None,
            }
        }
        self.work.ended.extend(incoming.chosen.map(|(channel, choice)| (channel, Ended::Choice(choice))));
        self.work.conceal.extend(incoming.take_exposed().map(|(channel, key)| (channel, peer, key)));
        if let Some((channel, division)) = incoming.parts.division {
            let ended = Ended::Division(peer, division, incoming.parts.is_settled());
            self.work.ended.push((channel, ended));
        }
        incoming.total
    }

    /// The peer is broken: fails the receive once no read touches its buffer any more.
    pub(crate) fn fail_incoming(&mut self, id: Id, place: Id) {
        let peer = self.requests.get(id).expect("a receive").peer;
        if self.incoming.get(place).is_some_and(|incoming| incoming.reads == 0) {
            self.drop_incoming(peer, place);
            self.complete_broken(id);
        }
    }
}

impl Engine {
    /// Begins to move an announced message whose receive is there.
    pub(crate) fn begin(&mut self, id: Id) {
        let Some(request) = self.state.requests.get(id) else { return };
        let State::Incoming(place) = request.state else { return };
        let (peer, region) = (request.peer, request.buffer.region());
        let incoming = self.state.incoming.get_mut(place).expect("a rendezvous");
        let (bytes, rails) =
            (incoming.bytes, incoming.offer.rails.take().map_or(Vec::new(), |rails| rails.0));
        if bytes == 0 {
            return self.state.finish(id);
        }
        let Some(route) = self.route(peer) else {
            return self.state.fail_incoming(id, place);
        };
        let region = region.map(|region| region.part(0, bytes as usize));
        let way = region.map(|region| (self.choose_way(&route, peer, place, bytes), region));
        match way {
            Some((ChosenWay { way: Way::Read, by_both }, region)) => {
                let alone = self.read_by_rails(id, peer, &route, region, &rails).is_some()
                    || !self.invite(id, peer, &route, region, by_both);
                match alone {
                    true => {
                        self.state.counts.pulled += 1;
                        self.state.divert(peer, id, NodeWay::Alone);
                    }
                    false => self.state.counts.shared += 1,
                }
                self.state.advance(id);
            }
            Some((ChosenWay { way: Way::Write, .. }, region))
                if self.ask_to_write(id, peer, &route, region, &rails).is_some() =>
            {
                self.state.counts.written += 1;
            }
            _ => {
                self.state.counts.streamed += 1;
                self.state.ask_for_data(id, Piece { offset: 0, len: bytes });
            }
        }
    }

    /// Chooses how an announced message moves, by what was learnt of the ways on a node, or by its
    /// channel of both directions.
    fn choose_way(&mut self, route: &Route, peer: Peer, place: Id, bytes: u64) -> ChosenWay {
        let offer = &self.state.incoming.get(place).expect("a rendezvous").offer;
        let (way, either) = self.state.choose(route, offer, bytes);
        if way == Way::Read
            && let Some(chosen) = self.state.choose_on_node(route, peer, place, bytes)
        {
            return chosen;
        }
        let by_channel = route.memory.zip(way.direction()).filter(|_| either);
        let choice = by_channel.and_then(|(channel, estimate)| {
            let memory = self.channels[channel].remote_memory()?;
            Some((channel, memory.choose_direction(bytes, estimate)?))
        });
        let Some((_, learned)) = choice else { return ChosenWay { way, by_both: true } };
        self.state.incoming.get_mut(place).expect("a rendezvous").chosen = choice;
        ChosenWay { way: Way::of(learned.direction), by_both: true }
    }

    /// Shows the sender where to write the message, on all rails that it has offered. `None` if
    /// this side's memory cannot be shown.
    fn ask_to_write(
        &mut self,
        id: Id,
        peer: Peer,
        route: &Route,
        region: Region,
        offered: &[Memory],
    ) -> Option<()> {
        let channel = route.memory?;
        let Some(key) = self.expose(channel, peer, region, Access::WRITE) else {
            self.state.counts.fallbacks += 1;
            return None;
        };
        let memory = Memory { channel: name_hash(self.channels[channel].name()), key };
        let rails = self.join_rails(peer, route, region, offered);
        let rails: Vec<(usize, Key)> = rails.iter().map(|rail| (rail.channel, rail.mine)).collect();
        let named: Vec<Memory> = self.state.named(&rails).collect();
        self.state.counts.striped += u64::from(!rails.is_empty());
        let (_, incoming) = self.state.incoming_of(peer, id)?;
        (incoming.exposed, incoming.rails, incoming.is_pushed) = (Some((channel, key)), rails, true);
        incoming.parts = Parts::none(incoming.bytes);
        let control = Control::new(Kind::ClearToSend, incoming.offer.sender).word(id.number());
        let control = control.word(region.len() as u64).memory(&memory, MEMORY | WRITE);
        self.state.post_with(peer, control, named);
        Some(())
    }

    /// Cuts the message, and if it is worth two copiers shows the sender where it may write.
    /// Returns whether it did.
    fn invite(&mut self, id: Id, peer: Peer, route: &Route, region: Region, by_both: bool) -> bool {
        let piece_bytes = self.state.piece_bytes(route);
        let (_, incoming) = self.state.incoming_of(peer, id).expect("a rendezvous");
        incoming.parts = Parts::alone(Cut::for_one(incoming.bytes, piece_bytes));
        let settings = &self.state.settings;
        // If long messages go both ways, each side has one to read, better in its own cache.
        let one_way = self.state.outgoing.len() == 0;
        let may = by_both && settings.copy_by_both;
        let worth_it = may && one_way && region.len() >= settings.copy_by_both_bytes_min;
        worth_it && route.put.is_some() && self.divide(id, peer, route, region).is_some()
    }

    fn divide(&mut self, id: Id, peer: Peer, route: &Route, region: Region) -> Option<()> {
        let cut = Cut::for_both(region.len() as u64, self.state.settings.claim_bytes as u64);
        let channel = route.memory.filter(|_| cut.count() > 1)?;
        let division = self.channels[route.packets].sharing()?.divide(peer, cut.count())?;
        let Some(key) = self.expose(channel, peer, region, Access::WRITE) else {
            self.channels[route.packets].sharing()?.end_division(peer, division);
            return None;
        };
        let memory = Memory { channel: name_hash(self.channels[channel].name()), key };
        let (_, incoming) = self.state.incoming_of(peer, id)?;
        incoming.exposed = Some((channel, key));
        incoming.parts = Parts::divided(cut, route.packets, division);
        let control = Control::new(Kind::ClearToSend, incoming.offer.sender).length(cut.bytes);
        let control = control.word(id.number()).word(cut.part_bytes).word(division.0);
        let learnt = incoming.is_as_learned;
        self.state.post(peer, control.memory(&memory, MEMORY).learnt(learnt));
        Some(())
    }

    /// The next piece for this side.
    fn next_piece(&mut self, peer: Peer, id: Id) -> Option<Piece> {
        let (_, incoming) = self.state.incoming_of(peer, id)?;
        if let Some(piece) = incoming.redo.pop() {
            return Some(piece);
        }
        if let Some(piece) = incoming.parts.take_own() {
            return Some(piece);
        }
        let (channel, division) = incoming.parts.division?;
        match self.channels[channel].sharing()?.take_part(peer, division, End::Front) {
            Some(part) => incoming.parts.taken(part),
            None => {
                self.end_division(peer, id);
                None
            }
        }
    }

    /// Ends the division: from now on nobody takes parts.
    fn end_division(&mut self, peer: Peer, id: Id) {
        let Some((_, incoming)) = self.state.incoming_of(peer, id) else { return };
        if let Some((channel, division)) = incoming.parts.division {
            let sharing = self.channels[channel].sharing().expect("the channel that made it");
            incoming.parts.end(sharing.end_division(peer, division));
        }
    }

    /// Reads one piece, or starts several where they run in the background.
    pub(crate) fn pull(&mut self, id: Id) {
        let Some(request) = self.state.requests.get(id) else { return };
        let peer = request.peer;
        let Some((_, incoming)) = self.state.incoming_of(peer, id) else { return };
        incoming.listed = false;
        if incoming.must_end_division() {
            self.end_division(peer, id);
        }
        while self.pull_piece(peer, id) == Some(Transfer::Pending) {}
        self.state.advance(id);
    }

    /// Returns what is to be read now, if anything is.
    fn next_read(&mut self, peer: Peer, id: Id) -> Option<Task> {
        let (_, incoming) = self.state.incoming_of(peer, id)?;
        if !incoming.can_read() {
            return None;
        }
        if let Some(stripe) = &mut incoming.stripe {
            return stripe.take();
        }
        let Memory { channel, key } = incoming.offer.memory()?;
        // The peer may have been lost to that channel meanwhile: then the read fails.
        let channel = self.state.memory_channel(peer, channel)?;
        Some(Task { channel, key, piece: self.next_piece(peer, id)? })
    }

    fn pull_piece(&mut self, peer: Peer, id: Id) -> Option<Transfer> {
        let region = self.state.requests.get(id)?.buffer.region()?;
        let Task { channel, key, piece } = self.next_read(peer, id)?;
        self.state.incoming_of(peer, id)?.1.reads += 1;
        let note = TransferNote { request: id, piece, put: false, channel };
        let token = self.state.transfers.insert(note);
        let into = region.part(piece.offset as usize, piece.len as usize);
        let outcome = self.channels[channel]
            .remote_memory()
            .and_then(|memory| memory.get(peer, &key, piece.offset, into, token.number()).ok());
        if outcome != Some(Transfer::Pending) {
            self.state.transfers.remove(token);
            self.state.incoming_of(peer, id)?.1.reads -= 1;
            self.state.get_counted(note, outcome.is_some());
        }
        outcome
    }
}
