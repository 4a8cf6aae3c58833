//! A channel whose packets cost the CPU time: handling a packet, and copying its bytes.
//!
//! The devices charge what is posted and completed by themselves; what the engine and the channel
//! do with a packet is charged here, around the real channel.

use crate::Rank;
use crate::verbs::Subnet;
use verbena_channel::packet::Header;
use verbena_channel::wrapper::Tap;
use verbena_channel::{Channel, Payload, Peer, SendError, Sink};

/// Charges a rank for the packets that pass.
pub(super) struct Costed {
    pub rank: Rank,
    pub subnet: Subnet,
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
        self.subnet.charge_packet(self.rank, payload.len());
        let sent = inner.send(peer, header, payload);
        if sent.is_err() {
            self.subnet.set_clock_ns(self.rank, before);
        }
        sent
    }

    fn packet(&mut self, sink: &mut dyn Sink, peer: Peer, header: &Header, payload: &[u8]) {
        self.subnet.charge_packet(self.rank, payload.len());
        sink.packet(peer, header, payload);
    }
}
