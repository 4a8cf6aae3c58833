//! Three processes that spin, and the channels between them: 0 and 1 share memory, 2 is on another
//! node.

use super::{Costs, NETWORK, SHARED};
use crate::Rank;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use verbena_channel::packet::Header;
use verbena_channel::{Channel, Payload, Peer, PollCost, Reach, SendError, Sink};

/// Processes.
pub(super) const RANKS: usize = 3;

/// A packet on its way or waiting.
struct Packet {
    arrives_ns: u64,
    from: Rank,
    header: Header,
    payload: Vec<u8>,
}

/// The state that all share.
#[derive(Default)]
pub(super) struct World {
    /// The time at each rank.
    pub clocks_ns: [u64; RANKS],
    /// The sum of times from arrival to discovery, of all packets that rank 0 found.
    pub found_ns: u64,
    /// The number of those packets.
    pub found: u64,
    /// Packets to each rank, by shared memory and by the network.
    queues: [[VecDeque<Packet>; RANKS]; 2],
}

/// A handle on the world.
pub(super) type Shared = Arc<Mutex<World>>;

/// A rank's end of one sort of channel.
pub(super) struct Spinning {
    pub me: Rank,
    pub network: bool,
    pub world: Shared,
}

impl Spinning {
    fn costs(&self) -> Costs {
        if self.network { NETWORK } else { SHARED }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no thread panicked with the world")
    }

    /// Takes the next packet if it is there, and charges the look.
    fn next(&self) -> Option<Packet> {
        let (costs, me) = (self.costs(), self.me as usize);
        let mut world = self.world();
        let queue = &mut world.queues[usize::from(self.network)][me];
        let arrived = queue.front().map(|packet| packet.arrives_ns);
        let packet = if arrived? <= world.clocks_ns[me] {
            world.queues[usize::from(self.network)][me].pop_front()
        } else {
            None
        }?;
        if me == 0 {
            world.found += 1;
            world.found_ns += world.clocks_ns[0] - packet.arrives_ns;
        }
        world.clocks_ns[me] += costs.packet_ns;
        Some(packet)
    }
}

impl Channel for Spinning {
    fn name(&self) -> &'static str {
        if self.network { "network" } else { "shared" }
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        let beyond = peer == 2 || self.me == 2;
        (peer != self.me && beyond == self.network).then_some(Reach {
            packet_bytes_max: 1024,
            eager_bytes_max: 1024,
            ordered: true,
            get: None,
            put: None,
            in_background: false,
            memory_bytes_min: usize::MAX,
            latency_ns: self.costs().latency_ns as u32,
        })
    }

    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        let (costs, from) = (self.costs(), self.me);
        let mut bytes = vec![0; payload.len()];
        payload.copy_to(&mut bytes);
        let mut world = self.world();
        world.clocks_ns[from as usize] += costs.packet_ns;
        let arrives_ns = world.clocks_ns[from as usize] + costs.latency_ns;
        let packet = Packet { arrives_ns, from, header: *header, payload: bytes };
        world.queues[usize::from(self.network)][peer as usize].push_back(packet);
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        let empty_ns = self.costs().empty_ns;
        self.world().clocks_ns[self.me as usize] += empty_ns;
        let Some(packet) = self.next() else { return 0 };
        sink.packet(packet.from, &packet.header, &packet.payload);
        1
    }

    fn poll_cost(&self) -> Option<PollCost> {
        let costs = self.costs();
        Some(PollCost { latency_ns: costs.latency_ns as u32, empty_ns: costs.empty_ns as u32 })
    }
}
