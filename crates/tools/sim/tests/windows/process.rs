//! The service as a task of a process.

use crate::exposed::{Memory, UNIT};
use crate::sample::WORD;
use std::sync::Arc;
use std::time::Duration;
use verbena_channel::loopback::LoopbackChannel;
use verbena_engine::{Engine, Settings};
use verbena_memory::{Buffer, Owned};
use verbena_mpi::window::Remote;
use verbena_mpi::window::service::{Service, Serving};
use verbena_mpi::{Comm, Group, Process};
use verbena_waiting::{Step, Waiter};

/// A waiter that nobody lets sleep.
struct Awake;

impl Waiter for Awake {
    fn idle(&self, _: u32) -> Step {
        Step::Again
    }

    fn sleep(&self, _: Duration) {
        panic!("nobody is to sleep");
    }

    fn disarm(&self) {}

    fn shares_cores(&self) -> bool {
        false
    }

    fn ring_self(&self) {}
}

/// After a round in which nothing happens, a process may sleep. A round does not do everything: its
/// caller may have what it waits for.
#[test]
fn a_round_without_progress_leaves_no_request_that_has_come() {
    const PUTS: usize = 1000;
    let engine = Engine::new(0, 1, vec![Box::new(LoopbackChannel::new(0))], Settings::default());
    let process = &Process::new(0, 1, engine, Arc::new(Awake));
    let service = Arc::new(Service::new(&Comm::new(8, Arc::new(Group::new(vec![0], 0)), None)));
    let window = Arc::new(Memory::new(PUTS * 8));
    let task = Serving::new(service.clone(), window.clone());
    let task = process.tasks().start(process, Box::new(task));
    let data = Owned::from(&[5; 8][..]);
    for i in 0..PUTS {
        let remote = Remote { rank: 0, displacement: (i * 8) as i64 / UNIT, count: 1, datatype: &WORD };
        let put = service.origin().put(&mut { process }, &remote, &Buffer::Contiguous(data.lend()));
        put.expect("a predefined type");
    }
    process.command(|engine| while engine.progress() {});
    let mut rounds = 0;
    while process.progress() {
        rounds += 1;
        assert!(service.counts().requests <= rounds * 256);
    }
    assert_eq!(service.counts().requests, PUTS as u64);
    assert!((3..10).contains(&rounds), "{rounds} rounds");
    assert!(window.bytes().to_vec().iter().all(|&byte| byte == 5));
    let origin = service.origin();
    origin.flush(&mut { process }, 0);
    let moment = origin.now();
    process.wait(|mut process| origin.settle(&mut process, 0, moment)).expect("no put fails");
    service.close();
    process.wait(|_| task.is_done().then_some(()));
}
