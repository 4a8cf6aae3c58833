//! Sending: the choice of a packet's way, and the send/receive path.

use super::RcChannel;
use super::adapter::Adapter;
use super::failure;
use super::frame::{DATA_BYTES, Frame, Kind, PREFIX_BYTES, SHORT_UNDER_WAY_MAX, write_words};
use super::paths::Path;
use super::peers::Connection;
use super::ring::POINTER_BYTES;
use super::ring::outgoing::{Manner, Placed};
use crate::device::{Post, Refused};
use verbena_channel::packet::{HEADER_BYTES, Header};
use verbena_channel::trace::{self, Way};
use verbena_channel::{Payload, Peer, SendError};
use verbena_memory::Region;

/// Returns the bytes of a packet of the engine behind the prefix.
#[inline]
fn body_bytes(kind: Kind, payload: &Payload<'_>) -> usize {
    payload.len() + if kind == Kind::Data { HEADER_BYTES } else { 0 }
}

/// Writes a whole packet to the front of the memory.
#[inline(always)]
fn write_packet(into: Region, frame: &Frame, header: Option<[u64; 4]>, payload: &Payload<'_>) {
    let [first, second] = frame.words();
    let at = match (frame.kind, header) {
        (Kind::ShortPrefix, _) => {
            write_words(into, [frame.short_word()]);
            frame.prefix_bytes()
        }
        (Kind::Data, Some([a, b, c, d])) => {
            write_words(into, [first, second, a, b, c, d]);
            DATA_BYTES
        }
        _ => {
            write_words(into, [first, second]);
            PREFIX_BYTES
        }
    };
    match payload {
        Payload::Bytes(bytes) => into.write(at, bytes),
        Payload::Region(region) => into.put(at, *region),
        Payload::Buffer { buffer, offset, len } => {
            buffer.pack(*offset, into.part(at, *len));
        }
    }
}

impl<A: Adapter> RcChannel<A> {
    /// Begins the connection of a pair that speaks for the first time; the packet has to wait for
    /// it.
    #[cold]
    pub(super) fn first_packet(&mut self, peer: Peer) -> Result<(), SendError> {
        match self.begin(peer, false) {
            Ok(()) => Err(SendError::Full),
            Err(fault) => Err(SendError::Broken(self.refuse_connection(peer, fault))),
        }
    }

    /// Sends a packet of the engine over a connection that is up: by the ring if it has room, else
    /// by send and receive (paper 1, 4.4); a packet of a stream by the path that is learnt to be
    /// the cheaper one.
    #[inline(always)]
    pub(super) fn send_data(
        &mut self,
        peer: Peer,
        header: &Header,
        payload: Payload<'_>,
    ) -> Result<(), SendError> {
        let sent = match self.send_by_ring(peer, header, &payload) {
            Some(answer) => answer,
            None => {
                let last = self.peers.look(peer).map(|connection| connection.last_out).unwrap_or_default();
                let kind = last.kind_of(header.words(), payload.len());
                self.send_by_buffer(peer, kind, Some(header), payload, false)
            }
        };
        if let (Err(SendError::Full), Some(paths)) = (&sent, &mut self.paths) {
            paths.full();
        }
        sent
    }

    /// Sends a packet by RDMA write, if the peer gave us a ring, it has room, and that is the
    /// packet's path; else returns `None`.
    #[inline(always)]
    fn send_by_ring(
        &mut self,
        peer: Peer,
        header: &Header,
        payload: &Payload<'_>,
    ) -> Option<Result<(), SendError>> {
        let connection = self.peers.get(peer)?;
        let (ring, pair) = (connection.ring_out.as_deref_mut()?, connection.pair?);
        let words = header.words();
        let kind = connection.last_out.kind_of(words, payload.len());
        let mut frame = Frame {
            first: 0,
            kind,
            body_bytes: body_bytes(kind, payload) as u32,
            psn: connection.sequence.next,
            ring_credits: connection.ring_in.as_ref().map_or(0, |ring| ring.owed),
            receive_credits: connection.receives.owed,
        };
        if ring.slots() + connection.receives.total() <= SHORT_UNDER_WAY_MAX {
            frame.shorten();
        }
        let fit = ring.fit(frame.bytes())?;
        // Only a packet that fits both paths has a choice.
        if let Some(paths) = &mut self.paths
            && !ring.held
            && frame.bytes() <= self.settings.buffer_bytes
            && paths.next(self.heard, || self.adapter.now_ns()) == Path::Buffer
        {
            return None;
        }
        if !ring.has_room(fit) || !(ring.held || ring.is_posted() && connection.queue.has_room(2)) {
            return None;
        }
        if ring.peer_may_rest() && !(connection.receives.may_send() && connection.queue.has_room(3)) {
            return Some(Err(SendError::Full));
        }
        let place = ring.place(fit);
        frame.first = ring.flag(place);
        write_packet(place, &frame, Some(words), payload);
        let packet = Placed { fit, place, flag: frame.first, header: words };
        let posted = if ring.held {
            ring.put(packet);
            Ok(())
        } else {
            trace::posting(Way::RdmaEager);
            let manner =
                Manner { pair, inline_bytes_max: self.settings.inline_bytes_max, signalled: self.leaving };
            let (adapter, queue) = (&mut self.adapter, &mut connection.queue);
            let posted = ring.put_and_post(packet, adapter, queue, manner);
            trace::posted();
            posted
        };
        connection.sequence.number();
        connection.receives.hand_back();
        if let Some(ring) = &mut connection.ring_in {
            ring.owed = 0;
        }
        connection.last_out.set(words);
        match posted {
            _ if ring.held => {}
            Ok(()) if ring.peer_rests() => _ = self.ring_bell(peer),
            Ok(()) => {}
            // The queue has room, so this fails only if the connection does; what the device
            // refuses nevertheless is in its place and posted later. On a broken connection it is
            // taken too: it is among what is handed back, and must not come a second time under
            // another number.
            Err(refused) => self.not_posted(peer, refused),
        }
        Some(Ok(()))
    }

    /// Posts what is in the ring's slots and was not posted yet; `None` if something remains.
    pub(super) fn post_ring(&mut self, peer: Peer) -> Option<()> {
        let Some(connection) = self.peers.get(peer) else { return Some(()) };
        let (Some(ring), Some(pair)) = (&mut connection.ring_out, connection.pair) else { return Some(()) };
        let inline_bytes_max = self.settings.inline_bytes_max;
        let manner = Manner { pair, inline_bytes_max, signalled: self.leaving };
        match ring.post(&mut self.adapter, &mut connection.queue, manner) {
            Ok(()) => {
                if ring.peer_rests() {
                    self.ring_bell(peer);
                }
                Some(())
            }
            Err(refused) => {
                self.not_posted(peer, refused);
                None
            }
        }
    }

    /// Arranges that what was not posted of the ring's slots is posted later, if the connection is
    /// not broken.
    #[cold]
    fn not_posted(&mut self, peer: Peer, refused: Refused) {
        self.enlist(peer);
        self.refused(peer, refused);
    }

    /// Writes the tail pointer of the peer's ring back to it, if it has moved (paper 2, 4.2);
    /// `None` if there is no room now.
    pub(super) fn post_tail_pointer(&mut self, peer: Peer) -> Option<()> {
        let connection = self.peers.get(peer)?;
        let (Some(ring), Some(pair)) = (&mut connection.ring_in, connection.pair) else { return Some(()) };
        if !ring.owes_pointer() {
            return Some(());
        }
        if !connection.queue.has_room(1) {
            return None;
        }
        let inline = POINTER_BYTES <= self.settings.inline_bytes_max;
        let signalled = self.leaving || connection.queue.is_due();
        let descriptor = ring.pointer()?;
        match self.adapter.post(pair, descriptor, POINTER_BYTES, Post { signalled, inline }) {
            Ok(()) => {
                connection.queue.posted(signalled);
                ring.pointer_posted();
                Some(())
            }
            Err(refused) => {
                self.refused(peer, refused);
                None
            }
        }
    }

    /// Sends a packet by send and receive (paper 1, 3.1); those of the engine have a header.
    pub(super) fn send_by_buffer(
        &mut self,
        peer: Peer,
        kind: Kind,
        header: Option<&Header>,
        payload: Payload<'_>,
        signalled: bool,
    ) -> Result<(), SendError> {
        let Some(connection) = self.peers.get(peer) else { return Err(SendError::Full) };
        let body = body_bytes(kind, &payload);
        let bytes = PREFIX_BYTES + body;
        let room = connection.receives.may_send() && connection.queue.has_room(1);
        let (Some(pair), true) = (connection.pair, room && bytes <= self.settings.buffer_bytes) else {
            return Err(SendError::Full);
        };
        let buffer = match self.sends.take(&mut self.adapter) {
            Ok(Some(buffer)) => buffer,
            Ok(None) => return Err(SendError::Full),
            Err(fault) => return Err(self.refused(peer, Refused::Broken(fault))),
        };
        let frame = connection.next_frame(self.me, kind, body);
        write_packet(self.sends.region(buffer), &frame, header.map(Header::words), &payload);
        let inline = bytes <= self.settings.inline_bytes_max;
        let signalled = !inline || signalled || self.leaving || connection.queue.is_due();
        let descriptor = self.sends.hold(buffer, peer, signalled);
        trace::posting(Way::SendReceive);
        let posted = self.adapter.post(pair, descriptor, bytes, Post { signalled, inline });
        trace::posted();
        if posted.is_err() || !signalled {
            self.sends.give_back(buffer);
        }
        match posted {
            Ok(()) => {
                connection.queue.posted(signalled);
                if let Some(header) = header {
                    connection.last_out.set(header.words());
                }
                if let Some(packets) = &mut connection.uncredited {
                    packets.keep(header, &payload, connection.receives.out().into());
                }
                Ok(())
            }
            Err(refused) => {
                connection.take_back(&frame);
                Err(self.refused(peer, refused))
            }
        }
    }

    /// Handles a packet that the device did not take.
    #[cold]
    pub(super) fn refused(&mut self, peer: Peer, refused: Refused) -> SendError {
        match refused {
            Refused::Full => SendError::Full,
            Refused::Broken(fault) => {
                let fault = failure::refused(&self.ends(peer), fault);
                self.break_connection(peer, fault.clone());
                SendError::Broken(fault)
            }
        }
    }
}

impl<D> Connection<D> {
    /// Makes the prefix of the next packet by send and receive, with the credits that it carries,
    /// all of it accounted for.
    #[inline]
    fn next_frame(&mut self, me: Peer, kind: Kind, body: usize) -> Frame {
        let receive_credits = self.receives.spend();
        let ring_credits = self.ring_in.as_mut().map_or(0, |ring| std::mem::take(&mut ring.owed));
        let psn = self.sequence.number();
        Frame { first: me, kind, body_bytes: body as u32, psn, ring_credits, receive_credits }
    }

    /// Takes back the last packet, with this prefix, which was not sent.
    #[cold]
    fn take_back(&mut self, frame: &Frame) {
        self.sequence.next = self.sequence.next.wrapping_sub(1);
        self.receives.unspend(frame.receive_credits);
        if let Some(ring) = &mut self.ring_in {
            ring.owed += frame.ring_credits;
        }
    }
}
