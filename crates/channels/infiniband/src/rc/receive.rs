//! The send/receive path, receiving: buffers posted in advance, and completions.

use super::RcChannel;
use super::adapter::Adapter;
use super::failure;
use super::frame::{Frame, Kind, read_words};
use super::id::Id;
use super::order::Turn;
use crate::device::{Completion, Failed, QueuePair, Refused};
use verbena_channel::packet::{HEADER_BYTES, Header};
use verbena_channel::trace::{self, Way};
use verbena_channel::{Peer, Sink};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The most completions handled per poll.
const COMPLETIONS_MAX: usize = 64;

impl<A: Adapter> RcChannel<A> {
    /// Posts the receive buffers of a new connection; returns for how many packets its peer has
    /// credits. Those of the shared pool serve all. If there are fewer than credits, since the pool
    /// has its size or the device takes no more, the device itself holds a sender back (it retries
    /// when the receiver is not ready).
    ///
    /// # Errors
    /// If memory cannot be registered, or the device is broken.
    pub(super) fn post_receives(&mut self, pair: QueuePair, peer: Peer) -> Result<u16, Fault> {
        let credits = u32::from(self.settings.credits).min(self.limits.receives_max) as u16;
        if self.settings.shared_receives {
            return self.widen_pool(credits).map(|()| credits);
        }
        for _ in 0..credits {
            let buffer = self.receives.take_or_grow(&mut self.adapter)?;
            self.receives.get_mut(buffer).peer = peer;
            match self.post_own(pair, buffer) {
                Ok(()) => {}
                Err(Refused::Full) => {
                    self.receives.give_back(buffer);
                    break;
                }
                Err(Refused::Broken(fault)) => return Err(fault),
            }
        }
        Ok(credits)
    }

    fn post_own(&mut self, pair: QueuePair, buffer: u32) -> Result<(), Refused> {
        let place = self.receives.get(buffer);
        self.adapter.post_receive(Some(pair), Id::Receive(buffer).word(), place.region, place.local_key)
    }

    /// Takes completions from the queue: packets that arrived, and work that was done or failed.
    pub(super) fn poll_completions(&mut self, sink: &mut dyn Sink) -> usize {
        let (mut handled, mut packets) = (0, 0);
        while handled < COMPLETIONS_MAX {
            trace::looking(Way::SendReceive);
            self.set.count_queue_look();
            let Some(completion) = self.adapter.poll() else { break };
            trace::seen(Way::SendReceive);
            handled += 1;
            match Id::of_word(completion.id) {
                Some(Id::Receive(buffer)) => {
                    packets += 1;
                    self.received(buffer, &completion, sink);
                }
                Some(Id::Send(buffer)) => self.sent(buffer, &completion),
                Some(Id::Ring(peer)) => self.done(peer, &completion),
                Some(Id::Memory(peer, number)) => self.memory_done(peer, number, &completion, sink),
                None => debug_assert!(false, "a completion of work that was never posted"),
            }
        }
        if self.pool.may_be_low(packets) {
            self.look_for_trouble();
        }
        handled
    }

    /// Takes in that a signalled piece of work of this peer is done, or any has failed.
    pub(super) fn done(&mut self, peer: Peer, completion: &Completion) {
        let Some(connection) = self.peers.get(peer) else { return };
        if connection.pair != Some(completion.pair) {
            return; // broken meanwhile
        }
        match completion.outcome {
            Ok(_) => {
                connection.queue.completed();
                self.completions += 1;
            }
            Err(failed) => self.work_failed(peer, failed),
        }
    }

    fn sent(&mut self, buffer: u32, completion: &Completion) {
        if let Err(failed) = completion.outcome {
            // The buffer may be anyone's again, if the work was unsignalled.
            return self.pair_failed(completion.pair, failed);
        }
        let Some(peer) = self.sends.holder(buffer) else { return };
        if self.peers.look(peer).is_some_and(|connection| connection.pair == Some(completion.pair)) {
            self.sends.give_back(buffer);
            self.done(peer, completion);
        }
    }

    #[cold]
    fn pair_failed(&mut self, pair: QueuePair, failed: Failed) {
        if let Some(peer) = self.owner_of(pair) {
            self.work_failed(peer, failed);
        }
    }

    /// Takes in what came into a receive buffer.
    fn received(&mut self, buffer: u32, completion: &Completion, sink: &mut dyn Sink) {
        if self.settings.shared_receives {
            self.pool.posted -= 1;
        }
        let bytes = match completion.outcome {
            Ok(bytes) => bytes as usize,
            Err(failed) => {
                self.give_back_received(buffer);
                return self.pair_failed(completion.pair, failed);
            }
        };
        match self.frame_of(buffer, bytes, completion.pair) {
            Some((peer, frame)) => self.arrived(peer, frame.psn, buffer, sink),
            None => {
                self.repost(completion.pair, buffer);
                // Otherwise it is what a peer sent before it was given up.
                if let Some(peer) = self.owner_of(completion.pair) {
                    self.nonsense(peer, "torn, or sent in another's name");
                }
            }
        }
    }

    /// Returns the sender and prefix of what lies in a receive buffer, if they make sense.
    fn frame_of(&self, buffer: u32, bytes: usize, pair: QueuePair) -> Option<(Peer, Frame)> {
        let region = self.receives.get(buffer).region;
        let frame = Frame::of_words(read_words(region), 0)?;
        let known = self.peers.look(frame.first)?.pair == Some(pair);
        (known && bytes == frame.bytes() && frame.kind != Kind::ShortPrefix).then_some((frame.first, frame))
    }

    /// Delivers the packet in a receive buffer if its turn has come; otherwise it waits there while
    /// the peer's ring is polled.
    fn arrived(&mut self, peer: Peer, psn: u32, buffer: u32, sink: &mut dyn Sink) {
        self.is_ready(peer);
        let connection = self.peers.get(peer).expect("a known sender");
        match connection.sequence.turn(psn) {
            Turn::Now => self.deliver_buffer(peer, buffer, sink),
            Turn::Early => {
                connection.sequence.keep(buffer, &mut self.receives);
                // Another buffer takes the place of one that waits: what it waits for may come by
                // a buffer too.
                self.refill_pool();
            }
            Turn::Late => self.nonsense(peer, "its number was there before"),
        }
        if self.peers.look(peer).is_some_and(|connection| connection.sequence.has_waiting()) {
            self.catch_up(peer, sink);
        }
    }

    /// Delivers the packets that wait in receive buffers and whose turn has come.
    pub(super) fn catch_up(&mut self, peer: Peer, sink: &mut dyn Sink) {
        loop {
            let Some(connection) = self.peers.get(peer) else { return };
            let Some(buffer) = connection.sequence.waiting() else { return };
            let words = read_words(self.receives.get(buffer).region);
            let psn = Frame::of_words(words, 0).expect("looked at before").psn;
            if connection.sequence.turn(psn) != Turn::Now {
                return;
            }
            connection.sequence.release(&self.receives);
            self.deliver_buffer(peer, buffer, sink);
        }
    }

    /// Delivers the packet in a receive buffer, and posts the buffer anew.
    fn deliver_buffer(&mut self, peer: Peer, buffer: u32, sink: &mut dyn Sink) {
        let region = self.receives.get(buffer).region;
        let Some(frame) = Frame::of_words(read_words(region), 0) else {
            return self.nonsense(peer, "unknown kind");
        };
        self.set.count_queue_packet();
        self.deliver(peer, &frame, region, sink);
        let Some(connection) = self.peers.get(peer) else { return };
        let Some(pair) = connection.pair else { return self.give_back_received(buffer) };
        if !connection.receives.owe() {
            self.repost(pair, buffer);
            return self.nonsense(peer, "it had no credit for it");
        }
        let (worth, ringless) = (connection.receives.is_worth_telling(), connection.ring_in.is_none());
        if worth {
            self.enlist(peer);
        }
        if ringless {
            self.consider(peer);
        }
        self.repost(pair, buffer);
    }

    #[inline]
    fn repost(&mut self, pair: QueuePair, buffer: u32) {
        let posted = match self.settings.shared_receives {
            true if self.pool.lacks() => self.post_shared(buffer),
            // Another one lies in its place, since it had to wait for its turn.
            true => Err(Refused::Full),
            false => self.post_own(pair, buffer),
        };
        // A place has just become free, so only a broken queue refuses; that is heard of by itself.
        if posted.is_err() {
            self.receives.give_back(buffer);
        }
    }

    /// Gives a buffer back that serves no connection now; the shared pool stays as large.
    #[cold]
    fn give_back_received(&mut self, buffer: u32) {
        self.receives.give_back(buffer);
        self.refill_pool();
    }

    /// Takes the packet whose turn it is out of the memory where it lies.
    #[inline]
    pub(super) fn deliver(&mut self, peer: Peer, frame: &Frame, packet: Region, sink: &mut dyn Sink) {
        let Some(connection) = self.peers.get(peer) else { return };
        if !connection.hear(frame) {
            return self.nonsense(peer, "it carries more credits than were taken");
        }
        self.heard += 1;
        let body = packet.part(frame.prefix_bytes(), frame.body_bytes as usize);
        // SAFETY: the packet is whole, and the peer writes there again only when it was freed.
        let bytes = unsafe { body.bytes() };
        let found = match frame.kind {
            Kind::WithoutHeader | Kind::ShortPrefix => {
                connection.last_in.next(bytes.len()).map(|header| (header, bytes))
            }
            Kind::Data => whole(bytes).inspect(|(header, _)| connection.last_in.set(header.words())),
            kind => return self.control(peer, kind, body),
        };
        match found {
            Some((header, payload)) => sink.packet(peer, &header, payload),
            None => self.nonsense(peer, "a torn header"),
        }
    }

    #[cold]
    pub(super) fn nonsense(&mut self, peer: Peer, what: &str) {
        let fault = failure::nonsense(&self.ends(peer), what);
        self.break_connection(peer, fault);
    }
}

/// Splits a packet of the engine: header and payload.
#[inline]
fn whole(body: &[u8]) -> Option<(Header, &[u8])> {
    let (header, payload) = body.split_first_chunk::<HEADER_BYTES>()?;
    Some((Header::parse(header)?, payload))
}
