//! A rank's end of one sort of way, as a channel.

use super::account::aside;
use super::fabric::Fabric;
use super::lock;
use crate::Rank;
use std::sync::{Arc, Mutex};
use verbena_channel::packet::Header;
use verbena_channel::{Channel, Payload, Peer, PollCost, Reach, SendError, Sink};

/// Packets that a poll delivers at most.
const POLL_MAX: usize = 16;
/// The largest packet and the longest message that is sent at once, within a node and between them,
/// as the real channels have them.
const PACKET_BYTES_MAX: [usize; 2] = [16 << 10, 8 << 10];

/// The channel.
pub(super) struct Way {
    pub me: Rank,
    pub far: bool,
    /// The ranks of the node, for the way within it.
    pub mates: Vec<Peer>,
    pub fabric: Arc<Mutex<Fabric>>,
}

impl Channel for Way {
    fn name(&self) -> &'static str {
        if self.far { "far" } else { "near" }
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        let fabric = lock(&self.fabric);
        let reached =
            peer != self.me && peer < fabric.ranks() && fabric.are_together(self.me, peer) != self.far;
        let bytes_max = PACKET_BYTES_MAX[usize::from(self.far)];
        reached.then(|| Reach {
            packet_bytes_max: bytes_max,
            eager_bytes_max: bytes_max,
            whole_bytes_max: 0,
            ordered: true,
            get: None,
            put: None,
            in_background: false,
            memory_bytes_min: usize::MAX,
            latency_ns: fabric.costs().road(self.far).latency_ns as u32,
        })
    }

    fn near(&self) -> Option<&[Peer]> {
        (!self.far).then_some(&self.mates)
    }

    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        aside(|| {
            let mut bytes = vec![0; payload.len()];
            payload.copy_to(&mut bytes);
            lock(&self.fabric).send(self.me, peer, header, bytes);
        });
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        for delivered in 0..POLL_MAX {
            let Some(packet) = aside(|| lock(&self.fabric).arrive(self.me, self.far)) else {
                return delivered;
            };
            sink.packet(packet.from, &packet.header, &packet.payload);
        }
        POLL_MAX
    }

    fn shows(&self) -> bool {
        !self.far
    }

    fn poll_cost(&self) -> Option<PollCost> {
        let road = lock(&self.fabric).costs().road(self.far);
        Some(PollCost { latency_ns: road.latency_ns as u32, empty_ns: road.empty_ns as u32 })
    }
}
