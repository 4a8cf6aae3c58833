//! Very many operations under way at once.

use crate::exposed::{Memory, UNIT};
use crate::sample::WORD;
use std::sync::Arc;
use verbena_mpi::window::Remote;
use verbena_mpi::window::service::{Operation, Service};
use verbena_mpi::{Comm, Group};
use verbena_sim::{Cluster, Faults, Random, Shape};

/// The service of rank `me` of two.
pub(crate) fn service(me: u32) -> Service {
    Service::new(&comm(me))
}

pub(crate) fn comm(me: u32) -> Comm {
    Comm::new(8, Arc::new(Group::new(vec![0, 1], me)), None)
}

/// Puts `many` words, with requests that are looked at in any order, and returns the steps of
/// matching at the target that each took.
fn puts(many: usize) -> u64 {
    let faults = Faults { room: 100, unexpected_bytes_max: 10_000, ..Faults::none() };
    let mut cluster = Cluster::new(7, 2, faults);
    let services = [service(0), service(1)];
    let windows = [Memory::new(8), Memory::new(many * 8)];
    let data = cluster.memory(many * 8, Shape::Contiguous);
    let words: Vec<u8> = (0..many as u64).flat_map(|i| (i * 3).to_le_bytes()).collect();
    data.fill(&words);
    let mut operations: Vec<Operation> = (0..many)
        .map(|i| {
            let displacement = i as i64 * 8 / UNIT;
            let remote = Remote { rank: 1, displacement, count: 1, datatype: &WORD };
            let part = data.buffer().part(i * 8, 8);
            services[0].origin().put(&mut cluster.engine(0), &remote, &part).expect("a predefined type")
        })
        .collect();
    let origin = services[0].origin();
    origin.flush(&mut cluster.engine(0), 1);
    let flush = origin.now();
    let (mut random, mut settled) = (Random::new(1), None);
    while settled.is_none() {
        let rank = cluster.step() as usize;
        if services[rank].advance(&mut cluster.visit(rank as u32), &windows[rank]) {
            cluster.engine(rank as u32);
        }
        if !operations.is_empty() {
            let index = random.below(operations.len() as u64) as usize;
            if operations[index].poll(&mut cluster.visit(0)).is_some() {
                operations.swap_remove(index);
            }
        }
        settled = origin.settle(&mut cluster.visit(0), 1, flush);
    }
    settled.expect("settled").expect("no put fails");
    assert!(operations.iter().all(|operation| operation.poll(&mut cluster.visit(0)).is_some()));
    assert_eq!(windows[1].bytes().to_vec(), words);
    assert_eq!(services[1].counts().requests, many as u64 + 1);
    cluster.visit(1).counters().matching_steps
}

#[test]
fn a_hundred_thousand_puts_take_linear_time() {
    let (few, many) = (puts(25_000), puts(100_000));
    assert!(many < 5 * few.max(25_000), "{few} steps of matching for a quarter, {many} for all");
}
