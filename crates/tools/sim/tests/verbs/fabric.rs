//! Two ranks with a simulated device, a region of registered memory and a connected queue pair
//! each.

use std::ops::Range;
use verbena_channel::Access;
use verbena_infiniband::device::{Failed, Post, QueuePair, Refused, Registration};
use verbena_infiniband::rc::adapter::{Adapter, Operation, Remote, Work};
use verbena_memory::{Owned, Region};
use verbena_sim::verbs::{Costs, DeviceFaults, SimAdapter, Subnet};

/// Bytes of each region.
pub(crate) const BYTES: usize = 1024;

pub(crate) struct Two {
    pub subnet: Subnet,
    // The adapters go before the memory that they reach.
    pub adapter: [SimAdapter; 2],
    pub region: [Region; 2],
    pub registration: [Registration; 2],
    pub pair: [QueuePair; 2],
    _memory: [Owned; 2],
}

impl Two {
    pub(crate) fn plain() -> Two {
        Two::new(1, Costs::PLAIN, DeviceFaults::NONE, false)
    }

    pub(crate) fn shared() -> Two {
        Two::new(1, Costs::PLAIN, DeviceFaults::NONE, true)
    }

    pub(crate) fn new(seed: u64, costs: Costs, faults: DeviceFaults, shared: bool) -> Two {
        let subnet = Subnet::new(seed, 2, costs, faults);
        let mut adapter = [subnet.adapter(0), subnet.adapter(1)];
        let memory = [0, 1].map(|_| Owned::zeroed(BYTES));
        let region = memory.each_ref().map(Owned::lend);
        let registration =
            [0, 1].map(|rank| adapter[rank].register(region[rank], Access::READ_WRITE).expect("registered"));
        let ends = [0, 1].map(|rank| adapter[rank].open_pair(shared).expect("a pair"));
        for rank in 0..2 {
            adapter[rank].connect_pair(ends[rank].0, &ends[1 - rank].1).expect("connected");
        }
        let pair = [ends[0].0, ends[1].0];
        Two { subnet, adapter, region, registration, pair, _memory: memory }
    }

    /// Connects a second pair of queue pairs; returns rank 0's.
    pub(crate) fn another_pair(&mut self) -> QueuePair {
        let ends = [0, 1].map(|rank: usize| self.adapter[rank].open_pair(false).expect("a pair"));
        for rank in 0..2 {
            self.adapter[rank].connect_pair(ends[rank].0, &ends[1 - rank].1).expect("connected");
        }
        ends[0].0
    }

    pub(crate) fn fill(&mut self, rank: usize, at: usize, bytes: &[u8]) {
        self.region[rank].write(at, bytes);
    }

    /// The other rank's name for the rank's memory at that offset.
    pub(crate) fn remote(&self, rank: usize, offset: u64) -> Remote {
        Remote { address: self.region[rank].address() + offset, key: self.registration[rank].remote_key }
    }

    /// Like [`Two::remote`], by a key with these rights alone.
    pub(crate) fn shown_for(&mut self, rank: usize, access: Access) -> Remote {
        let registration = self.adapter[rank].register(self.region[rank], access).expect("registered");
        Remote { address: self.region[rank].address(), key: registration.remote_key }
    }

    pub(crate) fn post(
        &mut self,
        rank: usize,
        id: u64,
        operation: Operation,
        bytes: Range<usize>,
        how: Post,
    ) -> Result<(), Refused> {
        let local = self.region[rank].part(bytes.start, bytes.len());
        let local_key = self.registration[rank].local_key;
        let adapter = &mut self.adapter[rank];
        let mut work = adapter.describe(&Work { id, operation, local, local_key });
        adapter.post(self.pair[rank], &mut work, bytes.len(), how)
    }

    pub(crate) fn receive_into(&mut self, rank: usize, id: u64, bytes: Range<usize>) {
        self.receive(rank, Some(self.pair[rank]), id, bytes);
    }

    pub(crate) fn receive_shared(&mut self, rank: usize, id: u64, bytes: Range<usize>) {
        self.receive(rank, None, id, bytes);
    }

    fn receive(&mut self, rank: usize, pair: Option<QueuePair>, id: u64, bytes: Range<usize>) {
        let into = self.region[rank].part(bytes.start, bytes.len());
        let local_key = self.registration[rank].local_key;
        self.adapter[rank].post_receive(pair, id, into, local_key).expect("posted");
    }

    /// Runs until nothing is on its way.
    pub(crate) fn run(&mut self) {
        while let Some(next) = self.subnet.next_ns() {
            self.subnet.run_until(next);
        }
    }

    pub(crate) fn run_for(&mut self, ns: u64) {
        self.subnet.run_until(self.subnet.now_ns() + ns);
    }

    pub(crate) fn completions(&mut self, rank: usize) -> Vec<(u64, Result<u32, Failed>)> {
        std::iter::from_fn(|| self.adapter[rank].poll()).map(|end| (end.id, end.outcome)).collect()
    }
}

/// The bytes of a region, copied.
pub(crate) fn bytes_of(region: Region) -> Vec<u8> {
    region.to_vec()
}
