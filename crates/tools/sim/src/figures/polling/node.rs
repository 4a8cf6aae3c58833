//! Three processes that spin, and the channels between them: 0 and 1 share memory, 2 is on another
//! node.

use super::{Costs, NETWORK, SHARED};
use crate::Rank;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use verbena_channel::packet::Header;
use verbena_channel::{Channel, Payload, Peer, PollCost, Reach, SendError, Sink};
use verbena_memory::Region;

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
    /// The time at which rank 0 could have had its last packet, had it looked when that came.
    pub ready_ns: u64,
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

    /// Looks at the front of the queue, which costs a look, and takes the packet if it is there and
    /// fits, which costs the CPU's work for it.
    fn next(&self, fits: impl FnOnce(&Packet) -> bool) -> Option<Packet> {
        let (costs, me) = (self.costs(), self.me as usize);
        let mut world = self.world();
        world.clocks_ns[me] += costs.empty_ns;
        let now_ns = world.clocks_ns[me];
        let queue = &mut world.queues[usize::from(self.network)][me];
        let packet = queue.pop_front_if(|packet| packet.arrives_ns <= now_ns && fits(packet))?;
        if me == 0 {
            world.ready_ns = packet.arrives_ns + costs.packet_ns;
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
            whole_bytes_max: 0,
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
        let Some(packet) = self.next(|_| true) else { return 0 };
        sink.packet(packet.from, &packet.header, &packet.payload);
        1
    }

    /// Shared memory has a front to look at; the network tells of packets by its queue alone.
    fn take_direct(&mut self, _peer: Peer, header: &Header, into: Region) -> Option<usize> {
        if self.network {
            return None;
        }
        let fits =
            |packet: &Packet| header.is_in(&packet.header.emit()) && packet.payload.len() <= into.len();
        let packet = self.next(fits)?;
        into.write(0, &packet.payload);
        Some(packet.payload.len())
    }

    fn shows(&self) -> bool {
        !self.network
    }

    fn poll_cost(&self) -> Option<PollCost> {
        let costs = self.costs();
        Some(PollCost { latency_ns: costs.latency_ns as u32, empty_ns: costs.empty_ns as u32 })
    }
}
