//! The talk between the channels about rings, and explicit credits.
//!
//! The receiver decides who gets a ring (paper 1, 4.7), and the two agree in packets of the
//! send/receive path:
//!
//! ```text
//! receiver                          sender
//!    Offer (address, key, layout) →
//!                                 ← Accept (place of the tail pointer), or Decline
//!        ... writes into the ring ←
//!    Withdraw                     →
//!                                 ← Withdrawn: after all that was written
//!    Closed                       →  after all tail pointers
//! ```
//!
//! Packets are taken in the order of their numbers. So a side that reads `Withdrawn` has taken all
//! from the ring, and the memory can go. A peer to which there is something to say stands in a
//! list, which every poll goes through; what finds no room now is tried again at the next one.

use super::RcChannel;
use super::adapter::{Adapter, Remote};
use super::frame::Kind;
use super::peers::Connection;
use super::ring::Geometry;
use super::ring::incoming::{Incoming, Stage as InStage};
use super::ring::outgoing::{Outgoing, Stage as OutStage};
use super::settings::Notify;
use verbena_channel::{Payload, Peer};
use verbena_memory::Region;

/// Bytes of an offer: address, key, slots, bytes of a slot, longest span, sort of notice.
const OFFER_BYTES: usize = 28;
/// Bytes of an acceptance: address and key of the tail pointer.
const ACCEPT_BYTES: usize = 12;

pub(super) fn offer_bytes(remote: Remote, geometry: &Geometry) -> [u8; OFFER_BYTES] {
    let notify = u32::from(geometry.notify == Notify::Pointer);
    let mut out = [0; OFFER_BYTES];
    out[..8].copy_from_slice(&remote.address.to_le_bytes());
    let rest = [remote.key, geometry.slots, geometry.slot_bytes, geometry.span_max, notify];
    for (part, word) in out[8..].chunks_exact_mut(4).zip(rest) {
        part.copy_from_slice(&word.to_le_bytes());
    }
    out
}

pub(super) fn parse_offer(body: &[u8]) -> Option<(Remote, Geometry)> {
    let remote = parse_remote(body)?;
    let word = |at: usize| Some(u32::from_le_bytes(*body.get(at..)?.first_chunk()?));
    let notify = if word(24)? == 0 { Notify::Piggyback } else { Notify::Pointer };
    let geometry = Geometry { slots: word(12)?, slot_bytes: word(16)?, span_max: word(20)?, notify };
    let fits = geometry.is_sound() && remote.address.checked_add(geometry.bytes() as u64).is_some();
    fits.then_some((remote, geometry))
}

pub(super) fn remote_bytes(remote: Remote) -> [u8; ACCEPT_BYTES] {
    let mut out = [0; ACCEPT_BYTES];
    out[..8].copy_from_slice(&remote.address.to_le_bytes());
    out[8..].copy_from_slice(&remote.key.to_le_bytes());
    out
}

pub(super) fn parse_remote(body: &[u8]) -> Option<Remote> {
    let address = u64::from_le_bytes(*body.first_chunk()?);
    Some(Remote { address, key: u32::from_le_bytes(*body.get(8..)?.first_chunk()?) })
}

impl<A: Adapter> RcChannel<A> {
    /// Puts a peer on the list.
    #[inline]
    pub(super) fn enlist(&mut self, peer: Peer) {
        let connection = self.peers.get(peer).expect("a peer with a connection");
        if !connection.listed {
            connection.listed = true;
            self.duties.push(peer);
        }
    }

    /// Notes that there is news about rings for the peer.
    pub(super) fn tell_rings(&mut self, peer: Peer) {
        self.peers.get(peer).expect("a peer with a connection").news.rings = true;
        self.enlist(peer);
    }

    /// Does what can be done now for the peers of the list.
    pub(super) fn do_duties(&mut self) {
        for at in (0..self.duties.len()).rev() {
            let peer = self.duties[at];
            if self.do_duty(peer).is_some() {
                self.duties.swap_remove(at);
                if let Some(connection) = self.peers.get(peer) {
                    connection.listed = false;
                }
            }
        }
    }

    /// Says to this peer what is to be said; `None` if something is left.
    fn do_duty(&mut self, peer: Peer) -> Option<()> {
        let Some(connection) = self.peers.get(peer).filter(|connection| connection.is_up()) else {
            return Some(());
        };
        let news = connection.news;
        if connection.ring_out.as_ref().is_some_and(|ring| !ring.is_posted() && !ring.held) {
            self.post_ring(peer)?;
        }
        if news.closed {
            self.say(peer, Kind::Closed, &[], false)?;
            self.peers.get(peer)?.news.closed = false;
        }
        if news.bell {
            self.ring_bell(peer)?;
        }
        if news.decline {
            self.say(peer, Kind::Decline, &[], false)?;
            self.peers.get(peer)?.news.decline = false;
        }
        if news.rings {
            self.say_rings(peer)?;
        }
        self.post_tail_pointer(peer)?;
        let connection = self.peers.get(peer)?;
        // Whatever went that way since has carried the credits (paper 1, 4.4).
        let ring_worth = connection.ring_in.as_ref().is_some_and(|ring| ring.is_worth_telling());
        if connection.receives.is_worth_telling() || ring_worth {
            self.say(peer, Kind::Credits, &[], false)?;
        }
        self.post_stuck_moves(peer)?;
        self.free_retired(peer)
    }

    /// Says what the stages of the rings ask for.
    fn say_rings(&mut self, peer: Peer) -> Option<()> {
        let connection = self.peers.get(peer)?;
        if let Some(ring) = connection.ring_out.as_deref() {
            match ring.stage {
                OutStage::Accepting => {
                    let body = remote_bytes(ring.tail());
                    self.say(peer, Kind::Accept, &body, false)?;
                    self.set_out_stage(peer, OutStage::Open);
                }
                OutStage::Closing if !ring.is_posted() => return None,
                OutStage::Closing => {
                    self.say(peer, Kind::Withdrawn, &[], true)?;
                    self.set_out_stage(peer, OutStage::Closed);
                }
                OutStage::Open | OutStage::Closed => {}
            }
        }
        self.say_ring_in(peer)?;
        self.peers.get(peer)?.news.rings = false;
        Some(())
    }

    fn say_ring_in(&mut self, peer: Peer) -> Option<()> {
        let connection = self.peers.get(peer)?;
        let Some(ring) = connection.ring_in.as_deref().filter(|ring| !ring.told) else { return Some(()) };
        match ring.stage {
            InStage::Offered => {
                let body = offer_bytes(ring.remote(), ring.geometry());
                self.say(peer, Kind::Offer, &body, false)?;
            }
            InStage::Withdrawing => self.say(peer, Kind::Withdraw, &[], false)?,
            InStage::Open => {}
        }
        self.peers.get(peer)?.ring_in.as_mut()?.told = true;
        Some(())
    }

    fn set_out_stage(&mut self, peer: Peer, stage: OutStage) {
        if let Some(ring) = self.peers.get(peer).and_then(|connection| connection.ring_out.as_mut()) {
            ring.stage = stage;
        }
    }

    /// Sends a packet of the channel's own; `None` if there is no room for it now. A broken
    /// connection takes nothing more, and that is reported separately.
    fn say(&mut self, peer: Peer, kind: Kind, body: &[u8], signalled: bool) -> Option<()> {
        let sent = self.send_by_buffer(peer, kind, None, Payload::Bytes(body), signalled);
        sent.is_ok().then_some(())
    }

    /// Takes in a packet of the peer's channel.
    #[cold]
    pub(super) fn control(&mut self, peer: Peer, kind: Kind, body: Region) {
        let sensible = match kind {
            Kind::Credits => Some(()),
            Kind::Offer => self.offered(peer, &body.to_vec()),
            Kind::Accept => self.accepted(peer, &body.to_vec()),
            Kind::Decline => self.declined(peer),
            Kind::Withdraw => self.withdraw_asked(peer),
            Kind::Withdrawn => self.withdrawn(peer),
            Kind::Closed => self.closed(peer),
            Kind::Data | Kind::WithoutHeader | Kind::ShortPrefix => None,
        };
        if sensible.is_none() {
            self.nonsense(peer, "it does not go with what was agreed about rings");
        }
    }

    /// Takes the ring that the peer offers, if there is memory for this end of it, and it asks for
    /// no more than it may.
    fn offered(&mut self, peer: Peer, body: &[u8]) -> Option<()> {
        let (remote, geometry) = parse_offer(body)?;
        if self.peers.get(peer)?.ring_out.is_some() {
            return None;
        }
        let is_welcome = self.rings_out < self.settings.sender_rings_max
            && geometry.bytes() <= Geometry::bytes_max(&self.settings);
        let made = match is_welcome {
            true => Outgoing::new(&mut self.adapter, geometry, remote, peer).ok(),
            false => None,
        };
        let connection = self.peers.get(peer)?;
        connection.news.decline = made.is_none();
        self.rings_out += usize::from(made.is_some());
        connection.ring_out = made.map(Box::new);
        self.tell_rings(peer);
        Some(())
    }

    /// Notes that the peer will use our ring; `None` if that makes no sense.
    fn accepted(&mut self, peer: Peer, body: &[u8]) -> Option<()> {
        let remote = parse_remote(body)?;
        let connection = self.peers.get(peer)?;
        let ring = connection.ring_in.as_mut().filter(|ring| ring.stage == InStage::Offered)?;
        remote.address.checked_add(ring.geometry().bytes() as u64)?;
        ring.set_tail(&mut self.adapter, remote, peer);
        ring.stage = InStage::Open;
        self.set.add(peer, ring.watch());
        Some(())
    }

    /// Notes that the peer will not use our ring; `None` if that makes no sense.
    fn declined(&mut self, peer: Peer) -> Option<()> {
        let connection = self.peers.get(peer)?;
        let ring = connection.ring_in.take_if(|ring| ring.stage == InStage::Offered)?;
        connection.ringless = true;
        self.retire_in(peer, *ring);
        Some(())
    }

    /// Gives back the ring that the peer takes back.
    fn withdraw_asked(&mut self, peer: Peer) -> Option<()> {
        let ring = self.peers.get(peer)?.ring_out.as_mut()?;
        // Only a ring that was accepted is taken back.
        if ring.stage != OutStage::Open {
            return None;
        }
        ring.stage = OutStage::Closing;
        self.tell_rings(peer);
        Some(())
    }

    /// Ends our ring: the peer has written into it for the last time, and all that has been taken.
    fn withdrawn(&mut self, peer: Peer) -> Option<()> {
        let connection = self.peers.get(peer)?;
        let ring = connection.ring_in.take_if(|ring| ring.stage == InStage::Withdrawing)?;
        self.set.remove(peer);
        connection.news.closed = true;
        self.enlist(peer);
        self.retire_in(peer, *ring);
        Some(())
    }

    /// Notes that the peer has written its tail pointer for the last time; `None` if that makes no
    /// sense.
    fn closed(&mut self, peer: Peer) -> Option<()> {
        let connection = self.peers.get(peer)?;
        let ring = connection.ring_out.take_if(|ring| ring.stage == OutStage::Closed)?;
        connection.retired.push((connection.queue.mark(), ring.into_memory()));
        self.rings_out -= 1;
        self.enlist(peer);
        Some(())
    }

    /// Lets go of the memory of our own ring when no work of ours uses it any more.
    fn retire_in(&mut self, peer: Peer, ring: Incoming<A::Descriptor>) {
        self.rings_in -= 1;
        if let Some(connection) = self.peers.get(peer) {
            connection.retired.push((connection.queue.mark(), ring.into_memory()));
            self.enlist(peer);
        }
        self.fill_set();
    }

    /// Frees memory that is used no more; `None` if some is left.
    fn free_retired(&mut self, peer: Peer) -> Option<()> {
        let connection = self.peers.get(peer)?;
        while let Some(at) = connection.retired.iter().position(|(mark, _)| connection.queue.is_done(*mark)) {
            connection.retired.swap_remove(at).1.release(&mut self.adapter);
        }
        if connection.retired.is_empty() {
            return Some(());
        }
        if connection.queue.is_unheard() {
            self.say(peer, Kind::Credits, &[], true)?;
        }
        None
    }

    /// Returns whether everything that was sent has arrived. From the first call on all work is
    /// signalled, so that this can be known; something signalled follows what went unsignalled
    /// before.
    pub(super) fn all_arrived(&mut self) -> bool {
        if !std::mem::replace(&mut self.leaving, true) {
            self.make_room_for_farewells();
        }
        let unheard: Vec<Peer> = (self.peers.iter())
            .filter(|(_, connection)| {
                connection.is_up() && (connection.queue.is_unheard() || connection.must_bid_farewell())
            })
            .map(|(peer, _)| peer)
            .collect();
        for peer in unheard {
            // If there is no room, it is tried again, since the caller asks again.
            let owes = self.peers.look(peer).is_some_and(Connection::must_bid_farewell);
            let said = owes && self.say(peer, Kind::Credits, &[], true).is_some();
            let Some(connection) = self.peers.get(peer) else { continue };
            connection.bidden |= said;
            // A write of no bytes needs neither credit nor buffer, which may never come back from a
            // process that hangs or is through, and ends after all before it.
            if !said && connection.queue.is_unheard() {
                self.ask_for_life(peer);
            }
        }
        let quiet = self.peers.iter().all(|(_, connection)| !connection.is_up() || connection.is_quiet());
        if !quiet {
            // On a device that is gone nothing ends by itself.
            self.look_for_trouble();
        }
        quiet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry =
        Geometry { slots: 32, slot_bytes: 2048, span_max: 9, notify: Notify::Piggyback };

    fn survives(address: u64, geometry: Geometry) -> bool {
        let offer = (Remote { address, key: 7 }, geometry);
        parse_offer(&offer_bytes(offer.0, &offer.1)) == Some(offer)
    }

    #[test]
    fn an_offer_survives_the_wire_and_one_that_nobody_makes_is_refused() {
        assert!(survives(1 << 47, GEOMETRY));
        assert!(survives(0, Geometry { slot_bytes: 8 << 20, notify: Notify::Pointer, ..GEOMETRY }));
        assert_eq!(parse_offer(&offer_bytes(Remote { address: 0, key: 0 }, &GEOMETRY)[..27]), None);
        assert!(!survives(u64::MAX - 100, GEOMETRY), "beyond the end of memory");
        for slot_bytes in [0, 64 - 8, 100, 16, (8 << 20) + 64, u32::MAX - 63, u32::MAX] {
            assert!(!survives(0, Geometry { slot_bytes, ..GEOMETRY }), "{slot_bytes}");
        }
        for (slots, span_max) in [(0, 0), (1, 1), (65_536, 1), (u32::MAX, 1), (32, 0), (32, 33)] {
            assert!(!survives(0, Geometry { slots, span_max, ..GEOMETRY }), "{slots}, {span_max}");
        }
    }
}
