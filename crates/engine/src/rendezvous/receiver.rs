//! The receiving side of a rendezvous.

use super::{GRANTS_MAX, Piece, TRANSFERS_MAX, TransferNote};
use crate::Engine;
use crate::core::Core;
use crate::event::{Event, EventKind};
use crate::matching::MatchKey;
use crate::peer::Route;
use crate::request::{State, received};
use crate::slab::Id;
use crate::unexpected::Offer;
use crate::wire::{Control, GRANT, Memory, name_hash};
use verbena_channel::memory::Region;
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Key, Peer, Transfer};

/// A long message on its way here.
#[derive(Debug)]
pub(crate) struct Incoming {
    offer: Offer,
    /// The message's length.
    total: u64,
    /// What of it fits, and is moved.
    bytes: u64,
    /// Bytes of `Data` still to come, once that was asked for.
    awaited: u64,
    /// Own memory that the sender was shown, with its channel.
    exposed: Option<(usize, Key)>,
    /// Everything before it was taken by this side.
    front: u64,
    /// Everything from here on was granted to the sender.
    back: u64,
    /// Pieces that the sender could not write: this side takes them.
    redo: Vec<Piece>,
    /// The span to be streamed, since reading failed.
    missing: Option<Piece>,
    /// Grants without report.
    grants: u32,
    /// Reads under way.
    reads: u32,
    /// The sender could not write: no more grants.
    helpless: bool,
    /// Whether it is on the list of work.
    listed: bool,
}

impl Incoming {
    fn new(offer: Offer, total: u64, bytes: u64) -> Incoming {
        Incoming {
            offer,
            total,
            bytes,
            awaited: 0,
            exposed: None,
            front: 0,
            back: bytes,
            redo: Vec::new(),
            missing: None,
            grants: 0,
            reads: 0,
            helpless: false,
            listed: false,
        }
    }

    /// Whether this side reads (else the sender streams).
    fn is_pulling(&self) -> bool {
        self.awaited == 0
    }

    /// Whether there is a piece to read now.
    fn can_read(&self) -> bool {
        let left = !self.redo.is_empty() || self.front < self.back;
        self.is_pulling() && self.missing.is_none() && left && self.reads < TRANSFERS_MAX
    }

    fn next_piece(&mut self, piece_bytes: u64) -> Option<Piece> {
        if let Some(piece) = self.redo.pop() {
            return Some(piece);
        }
        let len = piece_bytes.min(self.back - self.front);
        let piece = Piece { offset: self.front, len };
        self.front += len;
        (len > 0).then_some(piece)
    }

    /// A piece from the back for the sender, if enough is left that both have something to do.
    fn grant(&mut self, piece_bytes: u64) -> Option<Piece> {
        let left = self.back - self.front;
        let free = self.grants < GRANTS_MAX as u32 && !self.helpless && self.missing.is_none();
        if !self.is_pulling() || !free || left < 2 * piece_bytes {
            return None;
        }
        self.back -= piece_bytes;
        self.grants += 1;
        Some(Piece { offset: self.back, len: piece_bytes })
    }

    fn read_failed(&mut self, piece: Piece) {
        self.missing = Some(self.missing.map_or(piece, |missing| missing.union(piece)));
    }

    /// All that is not in place, given that something is missing.
    fn gap(&self, missing: Piece) -> Piece {
        let untaken = Piece { offset: self.front, len: self.back - self.front };
        let untaken = (untaken.len > 0).then_some(untaken);
        self.redo.iter().copied().chain(untaken).fold(missing, Piece::union)
    }
}

impl Core {
    /// Ties a posted receive to the message announced; the rendezvous is to begin.
    pub fn accept(&mut self, id: Id, peer: Peer, key: &MatchKey, offer: Offer, total: u64) {
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

    fn incoming_of(&mut self, peer: Peer, id: Id) -> Option<(Id, &mut Incoming)> {
        let request = self.requests.get(id).filter(|r| r.peer == peer)?;
        let State::Incoming(incoming) = request.state else { return None };
        Some((incoming, self.incoming.get_mut(incoming)?))
    }

    /// A part of the message by packet.
    pub fn data(&mut self, peer: Peer, header: &Header, payload: &[u8]) -> Option<()> {
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

    /// Asks the sender to stream a part.
    fn ask_for_data(&mut self, id: Id, piece: Piece) {
        let peer = self.requests.get(id).expect("a receive").peer;
        let (_, incoming) = self.incoming_of(peer, id).expect("a rendezvous");
        incoming.awaited = piece.len;
        incoming.missing = None;
        let control = Control::new(Kind::ClearToSend, incoming.offer.sender).length(piece.offset);
        self.post(peer, control.word(id.number()).word(piece.len));
    }

    /// The sender would help: grants what is left for it.
    pub fn help_wanted(&mut self, peer: Peer, id: Id) {
        for _ in 0..GRANTS_MAX {
            self.grant_one(peer, id);
        }
    }

    fn grant_one(&mut self, peer: Peer, id: Id) {
        let piece_bytes = self.settings.claim_bytes as u64;
        let Some((_, incoming)) = self.incoming_of(peer, id) else { return };
        let sender = incoming.offer.sender;
        if let Some(piece) = incoming.grant(piece_bytes) {
            let control = Control::new(Kind::Claim, sender).flags(GRANT).length(piece.offset);
            self.post(peer, control.word(piece.len));
        }
    }

    /// The sender reports a granted piece.
    pub fn help_ended(&mut self, peer: Peer, id: Id, piece: Piece, in_place: bool) -> Option<()> {
        let Some((_, incoming)) = self.incoming_of(peer, id) else { return Some(()) };
        if incoming.grants == 0 || !piece.is_within(incoming.bytes) {
            return None;
        }
        incoming.grants -= 1;
        if in_place {
            self.grant_one(peer, id);
        } else {
            incoming.helpless = true;
            incoming.redo.push(piece);
            self.counts.fallbacks += 1;
        }
        self.advance(id);
        Some(())
    }

    /// A read in the background has ended.
    pub fn get_ended(&mut self, note: TransferNote, in_place: bool) {
        let Some(request) = self.requests.get(note.request) else { return };
        let peer = request.peer;
        let Some((_, incoming)) = self.incoming_of(peer, note.request) else { return };
        incoming.reads -= 1;
        self.get_counted(note, in_place);
        self.advance(note.request);
    }

    fn get_counted(&mut self, note: TransferNote, in_place: bool) {
        if in_place {
            self.tally[note.channel].get_bytes += note.piece.len;
            return;
        }
        self.counts.fallbacks += 1;
        let peer = self.requests.get(note.request).expect("a receive").peer;
        if let Some((_, incoming)) = self.incoming_of(peer, note.request) {
            incoming.read_failed(note.piece);
        }
    }

    /// After any change: reads on, turns to streaming, ends, or waits.
    fn advance(&mut self, id: Id) {
        let Some(request) = self.requests.get(id) else { return };
        let peer = request.peer;
        let broken = self.is_broken(peer);
        let Some((place, incoming)) = self.incoming_of(peer, id) else { return };
        if broken && incoming.reads == 0 {
            return self.fail_incoming(id, place);
        }
        if incoming.can_read() && !broken {
            if !std::mem::replace(&mut incoming.listed, true) {
                self.work.pull.push_back(id);
            }
            return;
        }
        let is_still = incoming.reads == 0 && incoming.grants == 0 && incoming.is_pulling();
        match incoming.missing {
            Some(missing) if is_still => {
                let gap = incoming.gap(missing);
                self.ask_for_data(id, gap);
            }
            None if is_still => self.finish(id),
            _ => {}
        }
    }

    /// Tells the sender that its buffer is free, and completes.
    fn finish(&mut self, id: Id) {
        let peer = self.requests.get(id).expect("a receive").peer;
        let (_, incoming) = self.incoming_of(peer, id).expect("a rendezvous");
        let control = Control::new(Kind::Finish, incoming.offer.sender).length(incoming.bytes);
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
        let incoming = self.incoming.remove(place).expect("a rendezvous");
        if let Some((channel, key)) = incoming.exposed {
            self.work.conceal.push((channel, peer, key));
        }
        incoming.total
    }

    /// The peer is broken: fails the receive once no read touches its buffer any more.
    pub fn fail_incoming(&mut self, id: Id, place: Id) {
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
        let Some(request) = self.core.requests.get(id) else { return };
        let State::Incoming(place) = request.state else { return };
        let (peer, region) = (request.peer, request.buffer.region());
        let incoming = self.core.incoming.get(place).expect("a rendezvous");
        let (bytes, memory) = (incoming.bytes, incoming.offer.memory);
        if bytes == 0 {
            return self.core.finish(id);
        }
        let Some(route) = self.route(peer) else {
            return self.core.fail_incoming(id, place);
        };
        match region.zip(memory).filter(|(_, memory)| self.can_pull(&route, memory, bytes)) {
            Some((region, _)) => {
                match self.invite(id, peer, &route, region.part(0, bytes as usize)) {
                    true => self.core.counts.shared += 1,
                    false => self.core.counts.pulled += 1,
                }
                self.core.advance(id);
            }
            None => {
                self.core.counts.streamed += 1;
                self.core.ask_for_data(id, Piece { offset: 0, len: bytes });
            }
        }
    }

    fn can_pull(&self, route: &Route, memory: &Memory, bytes: u64) -> bool {
        let known = route.memory.is_some_and(|c| name_hash(self.channels[c].name()) == memory.channel);
        known && route.get && bytes >= route.memory_bytes_min as u64
    }

    /// Shows the sender where it may write, if the message is worth two copiers. Returns whether it did.
    fn invite(&mut self, id: Id, peer: Peer, route: &Route, region: Region) -> bool {
        let settings = &self.core.settings;
        if !settings.copy_by_both || !route.put || region.len() < 2 * settings.claim_bytes {
            return false;
        }
        let channel = route.memory.expect("can be pulled");
        let Some(key) = self.channels[channel].expose(peer, region) else { return false };
        let memory = Memory { channel: name_hash(self.channels[channel].name()), key };
        let (_, incoming) = self.core.incoming_of(peer, id).expect("a rendezvous");
        incoming.exposed = Some((channel, key));
        let control = Control::new(Kind::ClearToSend, incoming.offer.sender);
        self.core.post(peer, control.word(id.number()).word(region.len() as u64).memory(Some(&memory)));
        true
    }

    /// Reads one piece, or starts several where they run in the background.
    pub(crate) fn pull(&mut self, id: Id) {
        let Some(request) = self.core.requests.get(id) else { return };
        let peer = request.peer;
        let Some((_, incoming)) = self.core.incoming_of(peer, id) else { return };
        incoming.listed = false;
        while self.pull_piece(peer, id) == Some(Transfer::Pending) {}
        self.core.advance(id);
    }

    fn pull_piece(&mut self, peer: Peer, id: Id) -> Option<Transfer> {
        let piece_bytes = self.core.settings.claim_bytes as u64;
        let region = self.core.requests.get(id)?.buffer.region()?;
        let channel = self.core.peers.get(peer)?.route?.memory?;
        let (_, incoming) = self.core.incoming_of(peer, id)?;
        if !incoming.can_read() {
            return None;
        }
        let key = incoming.offer.memory?.key;
        let piece = incoming.next_piece(piece_bytes)?;
        incoming.reads += 1;
        let note = TransferNote { request: id, piece, put: false, channel };
        let token = self.core.transfers.insert(note);
        let into = region.part(piece.offset as usize, piece.len as usize);
        let outcome = self.channels[channel].get(peer, &key, piece.offset, into, token.number());
        if !matches!(outcome, Ok(Transfer::Pending)) {
            self.core.transfers.remove(token);
            self.core.incoming_of(peer, id)?.1.reads -= 1;
            self.core.get_counted(note, outcome.is_ok());
        }
        outcome.ok()
    }
}
