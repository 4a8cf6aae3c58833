//! A channel whose packets cost the CPU time: handling a packet, and copying its bytes.
//!
//! The devices charge what is posted and completed by themselves; what the engine and the channel
//! do with a packet is charged here, around the real channel. The channel `pipe` says itself what
//! it copies, since it copies some packets in parts and some not at all.

use crate::Rank;
use crate::verbs::Subnet;
use verbena_channel::packet::Header;
use verbena_channel::wrapper::Tap;
use verbena_channel::{Channel, Payload, Peer, SendError, Sink};

/// Charges a rank for the packets that pass.
pub(super) struct Costed {
    pub rank: Rank,
    pub subnet: Subnet,
    /// True if the channel copies each packet's payload once on each side.
    pub copies: bool,
}

impl Tap for Costed {
    /// Sends with the cost first, as the packet is copied before the device hears of it; the cost
    /// is taken back if there was no room.
    fn send(
        &mut self,
        inner: &mut dyn Channel,
        peer: Peer,
        header: &Header,
        payload: Payload<'_>,
    ) -> Result<(), SendError> {
        let before = self.subnet.clock_ns(self.rank);
        self.subnet.charge_packet(self.rank, if self.copies { payload.len() } else { 0 });
        let charged = self.subnet.clock_ns(self.rank) - before;
        let sent = inner.send(peer, header, payload);
        if sent.is_err() {
            // A part of it may have been copied, which took its time.
            let now = self.subnet.clock_ns(self.rank);
            self.subnet.set_clock_ns(self.rank, now - charged);
        }
        sent
    }

    fn packet(&mut self, sink: &mut dyn Sink, peer: Peer, header: &Header, payload: &[u8]) {
        self.subnet.charge_packet(self.rank, if self.copies { payload.len() } else { 0 });
        sink.packet(peer, header, payload);
    }

    fn landed(&mut self, _peer: Peer) {
        self.subnet.charge_packet(self.rank, 0);
    }
}
