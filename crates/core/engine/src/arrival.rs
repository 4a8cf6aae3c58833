//! Takes in what arrives: packets in their order, and the ends of transfers.

use crate::arrived::{Arrived, Body, Offer};
use crate::control::{CANCELLED, Control, MEMORY, Memory, Reader, WRITE};
use crate::failover::has_number;
use crate::fault;
use crate::matching::MatchKey;
use crate::peer::Early;
use crate::request::{State, received, sent, unlike};
use crate::slab::Id;
use crate::state::EngineState;
use crate::work::{Gap, Lost, PeerEvent};
use verbena_channel::mark::Mark;
use verbena_channel::packet::{Header, Kind};
use verbena_channel::trace::{self, messages};
use verbena_channel::{Landing, Peer, Sink};
use verbena_fault::Fault;
use verbena_memory::Buffer;

/// Most packets of one peer that are held because one before them is missing.
const EARLY_MAX: usize = 4096;
/// This limit holds instead for a peer whose packets may go by several channels. A packet that is
/// sent again over a connection may take seconds, in which the other channels bring a whole long
/// message.
const EARLY_APART_MAX: usize = 1 << 20;

/// The engine as a channel sees it while it is polled.
pub(crate) struct Arrivals<'a> {
    pub state: &'a mut EngineState,
    /// The channel that is polled.
    pub channel: usize,
}

impl Arrivals<'_> {
    /// A packet of a peer that is new or broken, or one that is not next in turn.
    #[cold]
    fn unusual(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        let Some(state) = self.state.peers.open(peer) else { return };
        if state.broken.is_some() {
            return;
        }
        if !has_number(header) {
            return self.beside(peer, header, payload);
        }
        if header.sequence != state.expected() {
            return self.state.keep_early(peer, header, payload, self.channel);
        }
        state.hear(payload.len());
        state.heard_over = self.channel;
        self.state.dispatch(peer, header, payload);
        self.state.catch_up(peer);
    }

    /// A packet that has no turn.
    fn beside(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        if header.kind == Kind::Moved {
            self.state.moved(peer, header);
        } else if let Some(whole) = self.state.part(peer, header, payload) {
            self.packet(peer, &whole.header, &whole.payload);
        }
    }
}

impl Sink for Arrivals<'_> {
    #[inline(always)]
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        match self.state.peers.get(peer) {
            Some(state) if state.is_next(header.sequence) => {
                state.hear(payload.len());
                state.heard_over = self.channel;
                self.state.dispatch(peer, header, payload);
            }
            // With a copy, so that in the usual case the header need not be in memory.
            _ => self.unusual(peer, &{ *header }, payload),
        }
    }

    fn transferred(&mut self, token: u64, outcome: Result<(), Fault>) {
        self.state.transferred(token, outcome);
    }

    fn receive_for(&mut self, peer: Peer, header: &Header) -> Option<u64> {
        let state = self.state.peers.open(peer)?;
        let has_turn = state.broken.is_none() && state.early.is_empty();
        (has_turn && header.sequence == state.expected()).then(|| self.state.receive_for(header))?
    }

    /// Says where a packet goes whose turn it is; one that came early would have to be held.
    fn landing(&mut self, peer: Peer, header: &Header, bytes: u64) -> Landing {
        match self.state.peers.get(peer) {
            Some(state) if state.is_next(header.sequence) && state.broken.is_none() => {
                self.state.landing(peer, header, bytes).unwrap_or(Landing::Nowhere)
            }
            _ => Landing::Nowhere,
        }
    }

    fn landed(&mut self, peer: Peer, header: &Header, bytes: u64, whole: bool) {
        if let Some(state) = self.state.peers.get(peer).filter(|_| whole) {
            state.hear(bytes as usize);
            state.heard_over = self.channel;
        }
        self.state.landed(peer, header, bytes, whole);
    }

    /// Notes that a channel has lost the peer. The answer needs the channels (`failover.rs`).
    #[cold]
    fn broken(&mut self, peer: Peer, fault: Fault) {
        self.state.work.peer_events.push_back(PeerEvent::Lost(peer, Lost { channel: self.channel, fault }));
    }
}

impl EngineState {
    /// Keeps a packet whose turn has not come; drops a duplicate.
    #[cold]
    fn keep_early(&mut self, peer: Peer, header: &Header, payload: &[u8], channel: usize) {
        let state = self.peers.open(peer).expect("opened by the caller");
        let ahead = header.sequence.wrapping_sub(state.expected()) as i32;
        if ahead < 0 || state.early.contains_key(&header.sequence) {
            self.counts.duplicates += 1;
            return;
        }
        let (expected, held) = (state.expected(), state.early.len());
        if held >= if state.may_go_apart() { EARLY_APART_MAX } else { EARLY_MAX } {
            let fault = fault::gap_too_long(self.me, peer, expected, held);
            return self.break_peer(peer, fault);
        }
        let payload = self.pool.copy_of(payload);
        state.early.insert(header.sequence, Early { header: *header, payload });
        state.in_turn = false;
        self.work.gaps.push(Gap { peer, channel, expected, got: header.sequence });
    }

    /// Dispatches the packets whose turn has come now.
    #[cold]
    fn catch_up(&mut self, peer: Peer) {
        loop {
            let Some(state) = self.peers.get(peer) else { return };
            state.in_turn = state.early.is_empty() && state.broken.is_none();
            let Some(early) = state.early.remove(&state.expected()) else { return };
            state.hear(early.payload.len());
            self.note_turn(peer, &early.header);
            self.dispatch(peer, &early.header, &early.payload);
            self.pool.give_back(early.payload);
        }
    }

    /// Notes which receive gets a message that came before its turn, if messages are traced.
    fn note_turn(&mut self, peer: Peer, header: &Header) {
        if trace::is_on()
            && messages::is_message(header.kind)
            && let Some(receive) = self.receive_for(header)
        {
            messages::matched(peer, header.sequence, receive);
        }
    }

    /// Returns the number of the receive that waits for this message.
    fn receive_for(&mut self, header: &Header) -> Option<u64> {
        let index = self.requests.find_posted(&key_of(header))?;
        Some(Id { index, generation: self.requests.generation(index)? }.number())
    }

    #[inline(always)]
    fn dispatch(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        match header.kind {
            Kind::Eager => self.eager(peer, header, payload),
            _ => self.dispatch_control(peer, &{ *header }, payload),
        }
    }

    #[inline(never)]
    fn dispatch_control(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        if self.handle_control(peer, header, payload).is_none() {
            let fault = fault::malformed(self.me, peer, header, payload.len());
            self.break_peer(peer, fault);
        }
    }

    /// Handles all kinds but the most frequent; `None` if the packet makes no sense.
    fn handle_control(&mut self, peer: Peer, header: &Header, payload: &[u8]) -> Option<()> {
        self.counts.protocol_received += u64::from(header.kind != Kind::EagerSync);
        match header.kind {
            Kind::Eager => unreachable!("dispatched already"),
            Kind::EagerSync => self.eager_synchronous(peer, header, payload),
            Kind::RequestToSend => self.offered(peer, header, payload)?,
            Kind::Matched => self.matched(peer, header),
            Kind::ClearToSend => self.clear_to_send(peer, header, payload)?,
            Kind::Data => self.data(peer, header, payload)?,
            Kind::Finish => self.finished(peer, header),
            Kind::Copied => self.copied(peer, header, payload)?,
            Kind::Throttle => self.throttle(peer, header),
            Kind::Cancel => self.cancel_asked(peer, header),
            Kind::CancelAnswer => self.cancel_answered(peer, header),
            Kind::Leave => self.leave_told(peer, header)?,
            Kind::Revoke => self.revoke(header.context),
            // They come beside the others, never in turn.
            Kind::Moved | Kind::Again => return None,
        }
        Some(())
    }

    #[inline(always)]
    fn eager(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        let key = key_of(header);
        match self.requests.find_posted(&key) {
            Some(index) if header.mark == Mark::NONE => self.deliver(index, &key, payload),
            Some(index) => self.deliver_marked(index, &key, header.mark, payload),
            None => self.hold_whole(peer, &{ *header }, payload),
        }
    }

    #[inline(never)]
    fn hold_whole(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        let body = Body::Whole(self.pool.copy_of(payload));
        let Header { mark, sequence, .. } = *header;
        self.hold(key_of(header), Arrived { peer, sequence, bytes: payload.len() as u64, mark, body });
    }

    fn eager_synchronous(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        let key = key_of(header);
        match self.requests.find_posted(&key) {
            Some(index) => {
                self.deliver_marked(index, &key, header.mark, payload);
                self.post(peer, Control::new(Kind::Matched, header.length));
            }
            None => {
                let body = Body::Synchronous(self.pool.copy_of(payload), header.length);
                let Header { mark, sequence, .. } = *header;
                self.hold(key, Arrived { peer, sequence, bytes: payload.len() as u64, mark, body });
            }
        }
    }

    /// Like `deliver`, for a message with a mark, which is compared with the receive's.
    #[inline(never)]
    fn deliver_marked(&mut self, index: u32, key: &MatchKey, mark: Mark, payload: &[u8]) {
        let mine = self.requests.mark(index);
        if !mine.is_unlike(mark) {
            return self.deliver(index, key, payload);
        }
        let (id, _) = self.requests.unpost(index);
        self.complete(id, unlike(key.source, key.tag, mine, mark));
    }

    /// Copies a message that is here into the posted receive at `index`.
    #[inline(always)]
    fn deliver(&mut self, index: u32, key: &MatchKey, payload: &[u8]) {
        let (id, request) = self.requests.unpost(index);
        match &request.buffer {
            Buffer::Contiguous(region) if payload.len() <= region.len() => region.write(0, payload),
            _ => return self.deliver_truncated_or_scattered(id, key, payload),
        }
        (request.source, request.tag) = (key.source, key.tag);
        request.state = State::Received(payload.len() as u64);
        if request.forgotten {
            self.requests.remove(id);
        }
    }

    /// Like `deliver`, for a message that does not fit or goes to scattered memory.
    #[inline(never)]
    fn deliver_truncated_or_scattered(&mut self, id: Id, key: &MatchKey, payload: &[u8]) {
        let request = self.requests.get(id).expect("a posted receive");
        let room = request.buffer.len();
        request.buffer.copy_in(0, &payload[..payload.len().min(room)]);
        self.complete(id, received(key.source, key.tag, payload.len() as u64, room as u64));
    }

    fn offered(&mut self, peer: Peer, header: &Header, payload: &[u8]) -> Option<()> {
        let (key, offer) = (key_of(header), offer_in(header, payload)?);
        match self.requests.find_posted(&key) {
            Some(index) => {
                let (id, request) = self.requests.unpost(index);
                request.refuse_unlike(header.mark);
                self.accept(id, peer, &key, offer, header.length);
                self.work.begin.push_back(id);
            }
            None => {
                let (bytes, body) = (header.length, Body::Offer(offer));
                let Header { mark, sequence, .. } = *header;
                self.hold(key, Arrived { peer, sequence, bytes, mark, body });
            }
        }
        Some(())
    }

    /// A synchronous eager send was matched.
    fn matched(&mut self, peer: Peer, header: &Header) {
        let id = Id::of(header.context);
        let Some(request) = self.requests.get(id).filter(|r| r.peer == peer) else { return };
        if matches!(request.state, State::AwaitMatch) {
            let completion = sent(request.source, request.tag, request.buffer.len() as u64);
            self.complete(id, completion);
        }
    }

    fn throttle(&mut self, peer: Peer, header: &Header) {
        if let Some(state) = self.peers.get(peer) {
            state.throttled = header.flags != 0;
            state.update_eager();
        }
    }

    /// The peer would take a message back: possible while it is not matched.
    fn cancel_asked(&mut self, peer: Peer, header: &Header) {
        let sender = header.length;
        let its = |arrived: &Arrived| arrived.peer == peer && arrived.sender() == Some(sender);
        let node = self.unexpected.find_exact(&key_of(header), its);
        let arrived = node.map(|node| self.unexpected.remove(node));
        if let Some(Arrived { body: Body::Synchronous(data, _), .. }) = arrived {
            self.release(peer, data);
        }
        let flags = if node.is_some() { CANCELLED } else { 0 };
        self.post(peer, Control::new(Kind::CancelAnswer, sender).flags(flags));
    }
}

/// The memory that an announcement offers.
fn offer_in(header: &Header, payload: &[u8]) -> Option<Offer> {
    let mut reader = Reader(payload);
    let sender = reader.word()?;
    if header.flags & (MEMORY | WRITE) == 0 {
        return Some(Offer::new(sender, Memory::default(), Vec::new(), 0));
    }
    let (memory, rails) = (reader.memory()?, reader.all_memory()?);
    Some(Offer::new(sender, memory, rails, header.flags))
}

#[inline]
fn key_of(header: &Header) -> MatchKey {
    MatchKey { context: header.context, source: header.source, tag: header.tag }
}
