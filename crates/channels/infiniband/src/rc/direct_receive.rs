//! The shortest way of a message through a ring. A receive waits for just the packet that is next
//! in the ring, and it goes straight to that receive's memory
//! ([`Channel::take_direct`](verbena_channel::Channel::take_direct)). Rare cases are left to
//! polling.

use super::RcChannel;
use super::adapter::Adapter;
use super::frame::{Frame, Kind, read_words};
use super::order::Turn;
use super::ring::incoming::Found;
use super::ring::incoming::Rest;
use verbena_channel::Peer;
use verbena_channel::packet::{HEADER_BYTES, Header};
use verbena_memory::Region;

/// The number of looks for the packet in a row, each of one load. A round of progress takes as long
/// as hundreds of these, and what comes during it is found late and goes the longer way.
const LOOKS: u32 = 200;

/// A packet that was taken, while its slots are still in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    peer: Peer,
    /// The ring's place in the polling set.
    at: usize,
    span: u32,
}

impl<A: Adapter> RcChannel<A> {
    /// Takes the packet that is next in the peer's ring, if its turn has come, it is this one and
    /// it fits. Returns the length of its payload.
    #[inline(always)]
    pub(super) fn take_expected(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        self.pass_taken();
        let connection = self.peers.get(peer)?;
        let ring = connection.ring_in.as_deref()?;
        let at = self.set.place(peer)?;
        // Polling says what is to be said to somebody, and looks for completions.
        if !self.duties.is_empty() || connection.queue.is_filling() {
            return None;
        }
        if connection.sequence.has_waiting() || ring.rest != Rest::Awake {
            return None;
        }
        // Whatever can be known before the packet is there is found out first.
        let words = header.words();
        let follows = connection.last_in.precedes(words);
        if !(0..LOOKS).any(|_| self.set.has_changed(at)) {
            return None;
        }
        let Found::Packet(packet, span) = ring.look() else { return None };
        let frame = Frame::of_words(read_words(packet), connection.sequence.expected)?;
        if connection.sequence.turn(frame.psn) != Turn::Now {
            return None;
        }
        let body = packet.part(frame.prefix_bytes(), frame.body_bytes as usize);
        let (is_it, payload) = match frame.kind {
            Kind::WithoutHeader | Kind::ShortPrefix => (follows, body),
            Kind::Data => {
                let payload = body.part(HEADER_BYTES, body.len().checked_sub(HEADER_BYTES)?);
                (header.is_in(&body.load(0)), payload)
            }
            _ => return None,
        };
        if !is_it || payload.len() > into.len() {
            return None;
        }
        if !connection.hear(&frame) {
            return None; // polling says so
        }
        into.put(0, payload);
        connection.last_in.set(words);
        self.heard += 1;
        self.set.count_packet();
        // The program goes on first: its answer may be waited for.
        self.taken = Some(Taken { peer, at, span });
        Some(payload.len())
    }

    /// Frees the slots of the packet that was taken last, and looks for the next one behind them.
    #[inline]
    pub(super) fn pass_taken(&mut self) {
        if let Some(Taken { peer, at, span }) = self.taken.take() {
            self.free_ring(peer, span);
            self.watch_on(at, peer);
        }
    }
}
