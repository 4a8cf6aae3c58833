//! Sending packets, and telling peers what was taken.

use super::OfiChannel;
use super::frame::{FRAME_BYTES, Frame, Kind, PACKET_FRAME_BYTES};
use super::links::Link;
use super::name::Name;
use super::sends::Slot;
use std::num::NonZeroU32;
use std::time::Instant;
use verbena_channel::packet::Header;
use verbena_channel::{Payload, Peer, SendError};
use verbena_fabric::Refused;
use verbena_fault::Fault;

impl OfiChannel {
    /// Meets a peer, if it was not met yet.
    pub(super) fn meet(&mut self, peer: Peer) -> Result<&mut Link, Fault> {
        if self.links.look(peer).is_none() {
            let contact = self.links.contact(peer).ok_or_else(|| self.out_of_range(peer))?;
            let link = Link::new(self.net.addresses.insert(&contact.address)?, contact.token);
            self.links.add(peer, link);
        }
        Ok(self.links.get(peer).expect("met"))
    }

    /// Sends a packet of the engine, and keeps it until the peer has taken it.
    pub(super) fn send_packet(
        &mut self,
        peer: Peer,
        header: &Header,
        payload: &Payload<'_>,
    ) -> Result<(), SendError> {
        let window = self.settings.window;
        let link = self.meet(peer).map_err(SendError::Broken)?;
        if let Some(fault) = &link.broken {
            return Err(SendError::Broken((**fault).clone()));
        }
        if link.untold.len() >= window {
            return Err(SendError::Full);
        }
        let (to, token, heard, number) = (link.address, link.token, link.heard, link.sent.wrapping_add(1));
        let bytes = PACKET_FRAME_BYTES + payload.len();
        let slot = self.sends.take(&mut self.net, peer, bytes).map_err(SendError::Broken)?;
        let slot = slot.ok_or(SendError::Full)?;
        let frame = Frame { token, source: self.me, heard, number, kind: Kind::Packet };
        let message = self.sends.message(slot);
        // SAFETY: the buffer was taken just now, so nobody else has it.
        let (front, rest) = unsafe { message.bytes_mut() }.split_at_mut(PACKET_FRAME_BYTES);
        front[..FRAME_BYTES].copy_from_slice(&frame.emit());
        front[FRAME_BYTES..].copy_from_slice(&header.emit());
        payload.copy_to(rest);
        match self.hand_over(to, slot) {
            Ok(is_flying) => {
                self.sends.sent(slot, is_flying);
                let (link, now) = (self.links.get(peer).expect("met"), self.now);
                link.sent = number;
                if link.untold.is_empty() {
                    link.gained = now;
                }
                link.flying += u32::from(is_flying);
                link.untold.push_back(slot);
                link.told = heard;
                link.is_heard_of();
                Ok(())
            }
            Err(refused) => {
                self.sends.give_back(slot);
                Err(self.refused(peer, refused))
            }
        }
    }

    /// Hands a message to the provider. Returns whether it still uses the buffer.
    fn hand_over(&mut self, to: u64, slot: Slot) -> Result<bool, Refused> {
        let message = self.sends.message(slot);
        if message.len() <= self.inject_bytes_max {
            // SAFETY: the message was written, and is only read until it was taken.
            return self.net.endpoint.inject(to, unsafe { message.bytes() }).map(|()| false);
        }
        let context = self.net.contexts.take(Name::Send(slot).number());
        let (memory, descriptor) = (message.pointer().cast_const(), self.sends.descriptor(slot));
        // SAFETY: the buffer is ours, is left alone until the send completes, and outlives the
        // endpoint; the context was taken for this.
        let posted = unsafe { self.net.endpoint.send(to, memory, message.len(), descriptor, context) };
        if posted.is_err() {
            // SAFETY: taken above; nothing was begun.
            unsafe { self.net.contexts.give_back(context) };
        }
        posted.map(|()| true)
    }

    /// Handles that the provider took nothing for the peer.
    #[cold]
    pub(super) fn refused(&mut self, peer: Peer, refused: Refused) -> SendError {
        match refused {
            Refused::Again => {
                let has_room = self.has_room();
                let link = self.links.get(peer).expect("met");
                if link.flying == 0 && has_room {
                    link.refused_since.get_or_insert_with(Instant::now);
                }
                SendError::Full
            }
            Refused::Failed(number) => {
                let fault = self.failed(peer, number, "");
                self.break_link(peer, fault.clone());
                SendError::Broken(fault)
            }
        }
    }

    /// Returns whether the provider's queue has room, whatever it holds for other peers too. If it
    /// takes nothing for a peer all the same, it has no connection with it. Half of the queue is
    /// left to what is not counted here: answers and questions.
    pub(super) fn has_room(&self) -> bool {
        self.sends.in_use() + self.memory.under_way() < self.net.offer().operations_max().0 / 2
    }

    /// Notes that the peer must be told soon what was taken.
    pub(super) fn owe(&mut self, peer: Peer) {
        let Some(link) = self.links.get(peer) else { return };
        if !link.is_owed && link.broken.is_none() {
            link.is_owed = true;
            self.owed.push(peer);
        }
    }

    /// Tells the peers that are owed it what was taken.
    pub(super) fn pay(&mut self) {
        for peer in std::mem::take(&mut self.owed) {
            self.links.get(peer).expect("met").is_owed = false;
            if !self.tell(peer, Kind::Ack) {
                self.owe(peer);
            }
        }
    }

    /// Asks the peer, once, whether all that was sent has arrived: this process is about to leave.
    pub(super) fn ask_at_end(&mut self, peer: Peer) {
        let Some(link) = self.links.get(peer) else { return };
        let sent = link.sent;
        if !link.untold.is_empty() && link.asked_at_end != sent && self.tell(peer, Kind::AckWanted) {
            self.links.get(peer).expect("met").asked_at_end = sent;
        }
    }

    /// Tells a peer what was taken from it. False if the provider has no room, and it should be
    /// tried again.
    pub(super) fn tell(&mut self, peer: Peer, kind: Kind) -> bool {
        if self.links.look(peer).is_none_or(|link| link.broken.is_some()) {
            return true;
        }
        let told = self.inject(peer, kind);
        let link = self.links.get(peer).expect("met");
        match told {
            Ok(()) => {
                link.told = link.heard;
                link.is_heard_of();
                if kind == Kind::AckWanted {
                    link.asked_sent = link.sent;
                }
                true
            }
            Err(refused) => !matches!(self.refused(peer, refused), SendError::Full),
        }
    }

    /// Asks a peer for an answer: what it took, or whether it has given this process up. Also one
    /// that this process has given up, while the provider has transfers with it. Returns false if
    /// there is no connection: the provider did not take the question, though its queue has room;
    /// one that `is_gone` takes no question, with room or without.
    pub(super) fn ask(&mut self, peer: Peer, is_gone: bool) -> bool {
        let may_be_full = |channel: &OfiChannel| !is_gone && !channel.has_room();
        if self.links.look(peer).is_none_or(|link| link.broken.is_some()) {
            return match self.inject(peer, Kind::AckWanted) {
                Ok(()) => true,
                Err(Refused::Again) => may_be_full(self),
                Err(Refused::Failed(_)) => false,
            };
        }
        let is_told = self.tell(peer, Kind::AckWanted);
        // If it breaks the link, nothing was taken.
        let is_broken = self.links.look(peer).expect("met").broken.is_some();
        !is_broken && (is_told || may_be_full(self))
    }

    /// Tells a peer that this process has given it up. If there is no room, it asks again.
    pub(super) fn say_given_up(&mut self, peer: Peer) {
        // A connection that fails changes nothing more for one that is given up.
        let _ = self.inject(peer, Kind::GivenUp);
    }

    /// Hands the provider a message that is no packet.
    fn inject(&mut self, peer: Peer, kind: Kind) -> Result<(), Refused> {
        let link = self.links.get(peer).expect("met");
        let (to, token, heard) = (link.address, link.token, link.heard);
        let question = NonZeroU32::new(link.question.wrapping_add(1)).unwrap_or(NonZeroU32::MIN);
        let number = if kind == Kind::AckWanted { question.get() } else { link.questioned };
        let frame = Frame { token, source: self.me, heard, number, kind };
        self.net.endpoint.inject(to, &frame.emit())?;
        if kind == Kind::AckWanted {
            link.question = number;
            self.memory.asked(peer, question);
        }
        Ok(())
    }
}
