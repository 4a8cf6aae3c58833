//! Sending: at once where the channel takes the whole message, else by request.

use crate::control::{Control, MEMORY, MEMORY_BYTES, Memory, WRITE, name_hash};
use crate::fault;
use crate::outbox::{HandOver, hand_over, hand_over_inlined};
use crate::peer::Waiting;
use crate::rendezvous::Outgoing;
use crate::request::{Request, State, not_done, sent};
use crate::slab::Id;
use crate::state::EngineState;
use crate::{Engine, Failure, Mode, Posted, SendRequest};
use verbena_channel::mark::Mark;
use verbena_channel::packet::{Header, Kind};
use verbena_channel::trace;
use verbena_channel::{Access, Key, Payload, Peer};
use verbena_memory::{Buffer, Region};
use verbena_wires::Lane;

/// The longest message in bytes that [`Engine::try_send_line`] takes.
pub const LINE_BYTES_MAX: usize = Lane::LINE_BYTES_MAX;

impl Engine {
    /// The hot path: a short message that the channel takes needs no request.
    #[inline]
    pub(crate) fn send_now(&mut self, send: &SendRequest) -> bool {
        trace::in_engine();
        if send.mode != Mode::Standard {
            return false;
        }
        match &send.buffer {
            Buffer::Contiguous(region) => {
                let ends = (send.source, send.tag);
                self.try_send_marked(send.peer, send.context, ends, send.mark, *region)
            }
            Buffer::Strided(_) => self.send_strided(send),
        }
    }

    /// Sends `region` from rank `source` under `tag` in standard mode if the peer's channel takes
    /// it at once. `false` says that nothing happened. Nothing is allocated, and nothing asked
    /// twice.
    #[inline(always)]
    pub fn try_send_region(&mut self, peer: Peer, context: u64, ends: (i32, i32), region: Region) -> bool {
        self.try_send_marked(peer, context, ends, Mark::NONE, region)
    }

    #[inline(always)]
    fn try_send_marked(
        &mut self,
        peer: Peer,
        context: u64,
        (source, tag): (i32, i32),
        mark: Mark,
        region: Region,
    ) -> bool {
        let bytes = region.len();
        let Some(state) = self.state.peers.get(peer) else { return false };
        if bytes as i64 > state.at_once {
            return false;
        }
        let Some(lane) = &mut state.lane else {
            return self.send_without_lane(peer, context, (source, tag), mark, region);
        };
        let length = bytes as u64;
        let sequence = state.next as u32;
        let header = Header { context, source, tag, mark, length, sequence, ..Header::new(Kind::Eager) };
        // Counted before the packets and apart from them: together the compiler makes worse code.
        state.bytes_sent += length;
        let taken = lane.send_region(header, region, state.heard as u32);
        if taken {
            state.next += 1;
        } else {
            state.bytes_sent -= length;
        }
        taken
    }

    /// Like [`Engine::try_send_region`], for a message that goes in one line of shared memory:
    /// nothing is called, so nothing need be saved. `false` also says that it does not.
    #[inline(always)]
    pub fn try_send_line(
        &mut self,
        peer: Peer,
        context: u64,
        (source, tag): (i32, i32),
        region: Region,
    ) -> bool {
        let length = region.len() as u64;
        let Some(state) = self.state.peers.get(peer) else { return false };
        if length as i64 > state.at_once {
            return false;
        }
        let Some(lane) = &mut state.lane else { return false };
        let header =
            Header { context, source, tag, length, sequence: state.next as u32, ..Header::new(Kind::Eager) };
        if !lane.has_line(region.len()) {
            return false;
        }
        // Counted before, as in `try_send_region`.
        state.bytes_sent += length;
        let taken = lane.send_line(header, region);
        debug_assert!(taken, "the lane has a line");
        state.next += 1;
        taken
    }

    #[inline(never)]
    fn send_without_lane(
        &mut self,
        peer: Peer,
        context: u64,
        (source, tag): (i32, i32),
        mark: Mark,
        region: Region,
    ) -> bool {
        let length = region.len() as u64;
        let header = Header { context, source, tag, mark, length, ..Header::new(Kind::Eager) };
        let Some(state) = self.state.peers.get(peer) else { return false };
        let payload = Payload::Region(region);
        let outcome =
            hand_over_inlined(&mut self.channels, &mut self.state.tally, state, peer, header, payload);
        matches!(outcome, HandOver::Taken)
    }

    #[inline(never)]
    fn send_strided(&mut self, send: &SendRequest) -> bool {
        let bytes = send.buffer.len();
        let Some(state) = self.state.peers.get(send.peer) else { return false };
        if bytes as i64 > state.at_once {
            return false;
        }
        let header = Header {
            context: send.context,
            source: send.source,
            tag: send.tag,
            mark: send.mark,
            length: bytes as u64,
            ..Header::new(Kind::Eager)
        };
        let payload = Payload::Buffer { buffer: &send.buffer, offset: 0, len: bytes };
        let outcome = hand_over(&mut self.channels, &mut self.state.tally, state, send.peer, header, payload);
        matches!(outcome, HandOver::Taken)
    }

    /// Sends in every other case.
    #[cold]
    pub(crate) fn send_by_request(&mut self, send: SendRequest) -> Posted {
        if self.route(send.peer).is_none() {
            let failure = self.state.failure_to(send.peer);
            return Posted::Done(not_done(send.source, send.tag, Some(failure)));
        }
        if self.state.any_broken && self.state.is_revoked(send.context, send.tag) {
            return Posted::Done(not_done(send.source, send.tag, Some(Failure::Revoked)));
        }
        let id = self.state.add(Request {
            peer: send.peer,
            context: send.context,
            source: send.source,
            tag: send.tag,
            buffer: send.buffer,
            synchronous: send.mode == Mode::Synchronous,
            cancelling: false,
            forgotten: false,
            mark: send.mark,
            unlike: Mark::NONE,
            state: State::Queued,
        });
        self.transmit_or_queue(send.peer, id);
        self.posted(id)
    }

    fn transmit_or_queue(&mut self, peer: Peer, id: Id) {
        let waits = self.state.peers.get(peer).is_some_and(|state| !state.outbox.is_empty());
        let outcome = if waits { HandOver::Full } else { self.transmit(id) };
        match outcome {
            HandOver::Taken => {}
            HandOver::Full => self.state.enqueue(peer, Waiting::Message(id)),
            HandOver::Broken(fault) => {
                self.state.enqueue(peer, Waiting::Message(id));
                self.lose(peer, fault);
            }
        }
    }

    /// Sends the first packet of a message: all of it, or its announcement.
    pub(crate) fn transmit(&mut self, id: Id) -> HandOver {
        let request = self.state.requests.get(id).expect("a queued send");
        let peer = request.peer;
        let state = self.state.peers.get(peer).expect("a peer with a route");
        let bytes = request.buffer.len();
        if state.is_eager(bytes, request.buffer.region().is_none()) {
            return self.transmit_eager(peer, id);
        }
        if bytes as i64 <= state.whole_now {
            match self.transmit_eager(peer, id) {
                // No room for so long a packet, and nobody tells when there is.
                HandOver::Full => {}
                outcome => return outcome,
            }
        }
        self.announce(peer, id)
    }

    fn transmit_eager(&mut self, peer: Peer, id: Id) -> HandOver {
        let request = self.state.requests.get(id).expect("a queued send");
        let state = self.state.peers.get(peer).expect("a peer with a route");
        let len = request.buffer.len();
        let (kind, length) = match request.synchronous {
            true => (Kind::EagerSync, id.number()),
            false => (Kind::Eager, len as u64),
        };
        let header = Header { kind, length, ..match_header(request) };
        let payload = Payload::Buffer { buffer: &request.buffer, offset: 0, len };
        let outcome = hand_over(&mut self.channels, &mut self.state.tally, state, peer, header, payload);
        if matches!(outcome, HandOver::Taken) {
            match request.synchronous {
                true => self.state.set_state(id, State::AwaitMatch),
                false => {
                    let completion = sent(header.source, header.tag, len as u64);
                    self.state.complete(id, completion);
                }
            }
        }
        outcome
    }

    fn announce(&mut self, peer: Peer, id: Id) -> HandOver {
        let offered = self.offer_memory(peer, id);
        let request = self.state.requests.get(id).expect("a queued send");
        let state = self.state.peers.get(peer).expect("a peer with a route");
        let mut control = Control::new(Kind::RequestToSend, 0).word(id.number());
        let mut long = Vec::new();
        if let Some(Offered { memory, named, flags, .. }) = &offered {
            control = control.memory(memory, *flags);
            if !named.is_empty() {
                long = control.payload_with(named.iter().copied());
            }
        }
        let (exposed, rails) = offered.map_or((None, Vec::new()), |offered| (offered.exposed, offered.rails));
        let length = request.buffer.len() as u64;
        let flags = control.header.flags;
        let header = Header { kind: Kind::RequestToSend, flags, length, ..match_header(request) };
        let payload = Payload::Bytes(if long.is_empty() { control.payload() } else { &long });
        let outcome = hand_over(&mut self.channels, &mut self.state.tally, state, peer, header, payload);
        if matches!(outcome, HandOver::Taken) {
            self.state.counts.announced += 1;
            self.state.counts.protocol_sent += 1;
            let outgoing = self.state.outgoing.insert(Outgoing::new(exposed, rails));
            self.state.set_state(id, State::Offered(outgoing));
        } else {
            for (channel, key) in exposed.into_iter().chain(rails) {
                self.conceal(channel, peer, &key);
            }
        }
        outcome
    }

    /// Lets the receiver read the message where it lies, and says whether this side can write it,
    /// if a channel can and it is worth it; on several rails, if there are.
    fn offer_memory(&mut self, peer: Peer, id: Id) -> Option<Offered> {
        let large = self.state.settings.large;
        let route = self.state.peers.get(peer)?.route?;
        let region = self.state.requests.get(id)?.buffer.region()?;
        let bytes_min = self.state.settings.memory_bytes_min(&route);
        let channel = route.memory.filter(|_| region.len() >= bytes_min)?;
        let write = if large.writes() && route.put.is_some() { WRITE } else { 0 };
        let rails = match large.reads() || write != 0 {
            true => self.show_on_rails(peer, &route, region, ANNOUNCEMENT_BYTES),
            false => Vec::new(),
        };
        // Only the peer knows whether it can read here. For several rails it is registered in any
        // case.
        let is_shown = large.reads() || !rails.is_empty();
        let key = if is_shown { self.expose(channel, peer, region, Access::READ) } else { None };
        let flags = write | if key.is_some() && large.reads() { MEMORY } else { 0 };
        let name = name_hash(self.channels[channel].name());
        let memory = Memory { channel: name, key: key.unwrap_or_default() };
        let (exposed, named) = (key.map(|key| (channel, key)), self.state.named(&rails).collect());
        if flags == 0 {
            rails.iter().for_each(|(channel, key)| self.conceal(*channel, peer, key));
            return None;
        }
        Some(Offered { memory, exposed, rails, named, flags })
    }
}

/// Bytes of an announcement before memory on further rails.
const ANNOUNCEMENT_BYTES: usize = 8 + MEMORY_BYTES;

/// The memory that an announcement names.
struct Offered {
    memory: Memory,
    /// The memory where the message can be read, on this side.
    exposed: Option<(usize, Key)>,
    /// The memory on further rails, in the form that the receiver needs.
    rails: Vec<(usize, Key)>,
    named: Vec<Memory>,
    flags: u8,
}

impl EngineState {
    /// Returns why nothing can be sent to this process.
    fn failure_to(&self, peer: Peer) -> Failure {
        if peer < self.size {
            return self.failure_of(peer);
        }
        Failure::Channel(peer, Box::new(fault::no_such_process(self.me, peer, self.size)))
    }
}

fn match_header(request: &Request) -> Header {
    let Request { context, source, tag, mark, .. } = *request;
    Header { context, source, tag, mark, ..Header::new(Kind::Eager) }
}
