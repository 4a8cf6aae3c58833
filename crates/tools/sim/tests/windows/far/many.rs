//! Very many puts by a device under way at once.

use crate::exposed::{Memory, UNIT};
use crate::many::{comm, service};
use crate::sample::WORD;
use std::sync::Arc;
use verbena_engine::{Motion, PARTS_WAITING_MAX};
use verbena_mpi::window::Remote;
use verbena_mpi::window::far::{Far, Operation, Started};
use verbena_mpi::window::service::Service;
use verbena_sim::over_rc::{self, RcFaults};
use verbena_sim::{Cluster, Random, Shape};

/// Puts that have requests.
const PUTS: usize = 100_000;

/// Two ranks with a device each; the first puts into the second's window.
struct Two {
    // The cluster goes first, whose engines use the windows.
    cluster: Cluster,
    services: [Arc<Service>; 2],
    windows: [Memory; 2],
    far: Far,
}

impl Two {
    fn new(words: usize) -> Two {
        let services = [0, 1].map(|me| Arc::new(service(me)));
        let far = Far::new(services[0].clone(), &comm(0));
        let (cluster, _) = over_rc::cluster(7, 2, &RcFaults::none());
        Two { cluster, services, windows: [Memory::new(8), Memory::new(words * 8)], far }
    }

    fn step(&mut self) {
        let rank = self.cluster.step() as usize;
        if self.services[rank].advance(&mut self.cluster.visit(rank as u32), &self.windows[rank]) {
            self.cluster.engine(rank as u32);
        }
    }

    /// Begins to put a word, or says why not.
    fn start(&mut self, word: usize, data: &verbena_sim::Memory) -> Started {
        let remote = Remote { rank: 1, displacement: (word * 8) as i64 / UNIT, count: 1, datatype: &WORD };
        let part = data.buffer().part(word * 8, 8);
        let engine = &mut self.cluster.engine(0);
        self.far.start(engine, Motion::Put, &remote, &part, |_| true).expect("a sound answer")
    }

    /// Makes the target show its window.
    fn meet(&mut self, data: &verbena_sim::Memory) {
        while self.far.facts(1).is_none() {
            _ = self.start(0, data);
            self.step();
        }
    }
}

/// Each request ends, in whatever order they are asked; the engine's queue is never longer than it
/// may be, and whoever finds no room there finds some later.
#[test]
fn a_hundred_thousand_requests_end() {
    let mut two = Two::new(PUTS);
    let data = two.cluster.memory(PUTS * 8, Shape::Contiguous);
    let words: Vec<u8> = (0..PUTS as u64).flat_map(|i| (i * 3).to_le_bytes()).collect();
    data.fill(&words);
    two.meet(&data);
    let (mut operations, mut refusals): (Vec<Operation>, u64) = (Vec::new(), 0);
    while operations.len() < PUTS {
        match two.start(operations.len(), &data) {
            Started::Begun(operation) => operations.push(operation),
            Started::Full => {
                refusals += 1;
                two.step();
            }
            Started::ByMessages => panic!("the target has shown its window"),
        }
    }
    assert!(refusals > 0, "more than {PARTS_WAITING_MAX} parts waited");
    let mut random = Random::new(1);
    while !operations.is_empty() {
        let index = random.below(operations.len() as u64) as usize;
        match operations[index].poll(&mut two.cluster.visit(0)) {
            Some(outcome) => {
                assert_eq!(outcome.error, None);
                operations.swap_remove(index);
            }
            None => two.step(),
        }
    }
    let moment = two.far.now();
    let settled = two.far.settle(&mut two.cluster.visit(0), 1, moment);
    settled.expect("all have ended").expect("none has failed");
    assert_eq!(two.windows[1].bytes().to_vec(), words);
}
