//! A rank's end of the simulated fabric, as a channel.

use crate::Rank;
use crate::nodes::Nodes;
use crate::world::{Event, Moving, Refusal, World, fault, number};
use std::sync::{Arc, Mutex, MutexGuard};
use verbena_channel::packet::Header;
use verbena_channel::{
    Access, Channel, Cost, Division, End, Key, Payload, Peer, Reach, RemoteMemory, SendError, Sharing, Sink,
    Started, Transfer,
};
use verbena_memory::Region;

/// Events delivered per poll at most.
const POLL_MAX: u64 = 16;

/// A packet's time, as the channel estimates it.
const LATENCY_NS: u32 = 500;
/// A transfer's time: more than two packets, so that writing is quicker where it is free.
const COST: Cost = Cost { start_ns: 3 * LATENCY_NS, byte_ps: 1000 };
const FREE: Cost = Cost { start_ns: 0, byte_ps: 0 };

/// The channel.
pub(crate) struct SimChannel {
    pub me: Rank,
    pub nodes: Nodes,
    pub world: Arc<Mutex<World>>,
}

impl SimChannel {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no thread panicked with the fabric")
    }

    fn transfer(&self, moving: Moving) -> Started {
        match self.world().transfer(self.me, moving) {
            Some(true) => Ok(Transfer::Done),
            Some(false) => Ok(Transfer::Pending),
            None => Err(fault("the simulated fabric refused to move memory", self.me)),
        }
    }
}

impl Channel for SimChannel {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        let faults = self.world().faults;
        (peer != self.me && peer < self.nodes.ranks && self.nodes.are_together(self.me, peer)).then_some(
            Reach {
                packet_bytes_max: faults.packet_bytes_max,
                eager_bytes_max: faults.eager_bytes_max,
                whole_bytes_max: 0,
                ordered: faults.ordered,
                get: faults.memory.get.then_some(COST),
                put: faults.memory.put.then_some(if faults.memory.put_is_quicker { FREE } else { COST }),
                in_background: faults.memory.in_background,
                memory_bytes_min: faults.memory_bytes_min,
                latency_ns: LATENCY_NS,
            },
        )
    }

    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        let outcome = self.world().send(self.me, peer, header, |out| payload.copy_to(out), payload.len());
        outcome.map_err(|refusal| match refusal {
            Refusal::Full => SendError::Full,
            Refusal::Dead => SendError::Broken(fault("the peer is dead", peer)),
        })
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        let most = self.world().random.between(1, POLL_MAX);
        for delivered in 0..most {
            let arrived = self.world().arrive(self.me);
            match arrived {
                None => return delivered as usize,
                Some(Event::Packet { from, header, payload }) => sink.packet(from, &header, &payload),
                Some(Event::Transfer(moving)) => {
                    let outcome = self.world().end_transfer(self.me, &moving);
                    sink.transferred(moving.token, outcome);
                }
            }
        }
        most as usize
    }

    fn take_direct(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        self.world().take_direct(self.me, peer, header, into)
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        Some(self)
    }

    fn sharing(&mut self) -> Option<&mut dyn Sharing> {
        Some(self)
    }
}

impl RemoteMemory for SimChannel {
    fn expose(&mut self, _peer: Peer, region: Region, access: Access) -> Option<Key> {
        Some(self.world().expose(self.me, region, access))
    }

    fn conceal(&mut self, _peer: Peer, key: &Key) {
        self.world().conceal(self.me, key);
    }

    fn get(&mut self, _peer: Peer, key: &Key, offset: u64, into: Region, token: u64) -> Started {
        self.transfer(Moving { token, key: number(key), offset, mine: into, put: false, fails: false })
    }

    fn put(&mut self, _peer: Peer, key: &Key, offset: u64, from: Region, token: u64) -> Started {
        self.transfer(Moving { token, key: number(key), offset, mine: from, put: true, fails: false })
    }
}

impl Sharing for SimChannel {
    fn divide(&mut self, peer: Peer, parts: u32) -> Option<Division> {
        self.world().divide(self.me, peer, parts)
    }

    fn take_part(&mut self, peer: Peer, division: Division, from: End) -> Option<u32> {
        self.world().take_part(self.me, peer, division, from)
    }

    fn end_division(&mut self, _peer: Peer, division: Division) -> u32 {
        self.world().end_division(self.me, division).0
    }

    fn forget_division(&mut self, _peer: Peer, division: Division) {
        let mut world = self.world();
        let (_, left) = world.end_division(self.me, division);
        if left > 0 {
            world.violations.push(format!("rank {} forgets {left} parts that nobody took", self.me));
        }
    }
}
