//! Requests that make no sense, come too late, or cannot begin.

use crate::exposed::{Memory, UNIT};
use crate::many::{comm, service};
use crate::sample::WORD;
use verbena_channel::mark::Mark;
use verbena_engine::{Mode, SendRequest};
use verbena_mpi::comm::Traffic;
use verbena_mpi::datatype::wire;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::op::{BUILTINS, Builtin};
use verbena_mpi::window::service::request::{Action, Elements, Request};
use verbena_mpi::window::service::{Operation, PIECE_BYTES, REQUEST_TAG, Service, payload_tag};
use verbena_mpi::window::{Remote, lock};
use verbena_mpi::{Error, Op};
use verbena_sim::{Cluster, Faults, Memory as Buffer, Shape};

/// Two ranks; the second one's window has this many bytes.
pub(crate) const BYTES: usize = 16 << 20;

pub(crate) struct Pair {
    pub(crate) cluster: Cluster,
    pub(crate) services: [Service; 2],
    pub(crate) windows: [Memory; 2],
}

impl Pair {
    pub(crate) fn new() -> Pair {
        let faults = Faults { unexpected_bytes_max: 100_000, ..Faults::none() };
        let windows = [Memory::new(8), Memory::new(BYTES)];
        Pair { cluster: Cluster::new(5, 2, faults), services: [0, 1].map(service), windows }
    }

    pub(crate) fn filled(&mut self, bytes: &[u8]) -> Buffer {
        let buffer = self.cluster.memory(bytes.len(), Shape::Contiguous);
        buffer.fill(bytes);
        buffer
    }

    /// Rank 0 sends rank 1 a message beside its service.
    fn say(&mut self, traffic: Traffic, tag: i32, bytes: &[u8]) {
        let send = SendRequest {
            peer: 1,
            context: comm(0).context(traffic),
            source: 0,
            tag,
            buffer: self.filled(bytes).buffer(),
            mark: Mark::NONE,
            mode: Mode::Standard,
        };
        self.cluster.engine(0).send(send);
    }

    fn step(&mut self) {
        let rank = self.cluster.step() as usize;
        if self.services[rank].advance(&mut self.cluster.visit(rank as u32), &self.windows[rank]) {
            self.cluster.engine(rank as u32);
        }
    }

    /// Waits for an operation of rank 0.
    pub(crate) fn finish(&mut self, operation: &Operation) -> Option<Error> {
        for _ in 0..100_000 {
            if let Some(outcome) = operation.poll(&mut self.cluster.visit(0)) {
                return outcome.error;
            }
            self.step();
        }
        panic!("it waits for ever:\n{}", self.cluster.describe());
    }
}

#[test]
fn bytes_that_are_no_request_are_a_fault_and_the_next_request_is_served() {
    let mut pair = Pair::new();
    pair.say(Traffic::Exchange, REQUEST_TAG, b"what is this?");
    let lock = pair.services[0].origin().lock(&mut pair.cluster.engine(0), 1, lock::Kind::Writer);
    assert_eq!(pair.finish(&lock), None);
    let fault = pair.services[1].take_fault().expect("a fault");
    assert_eq!(fault.class, mpi::MPI_ERR_INTERN);
    assert!(fault.to_string().contains("13 bytes"), "{fault}");
    assert!(pair.services[1].take_fault().is_none());
}

#[test]
fn locks_that_are_not_paired_are_told() {
    let mut pair = Pair::new();
    let origin = |pair: &mut Pair, locks: bool| {
        let (origin, engine) = (pair.services[0].origin(), &mut pair.cluster.engine(0));
        let asked = if locks { origin.lock(engine, 1, lock::Kind::Reader) } else { origin.unlock(engine, 1) };
        pair.finish(&asked).map(|error| error.class)
    };
    assert_eq!(origin(&mut pair, false), Some(mpi::MPI_ERR_RMA_SYNC));
    assert_eq!(origin(&mut pair, true), None);
    assert_eq!(origin(&mut pair, true), Some(mpi::MPI_ERR_RMA_SYNC));
    assert_eq!(origin(&mut pair, false), None);
    assert_eq!(origin(&mut pair, false), Some(mpi::MPI_ERR_RMA_SYNC));
}

#[test]
fn a_request_for_a_window_that_was_freed_is_dropped_and_reported() {
    let mut pair = Pair::new();
    pair.services[0].origin().lock(&mut pair.cluster.engine(0), 1, lock::Kind::Writer);
    pair.say(Traffic::Exchange, REQUEST_TAG, &[0; 20_000]);
    assert!(pair.cluster.settle(100_000));
    let refused = pair.services[1].refuse_rest(&mut pair.cluster.engine(1)).expect_err("two requests");
    assert_eq!(refused.class, mpi::MPI_ERR_RMA_SYNC);
    assert!(refused.to_string().contains("2 requests"), "{refused}");
    assert!(pair.cluster.settle(100_000));
    assert!(pair.services[1].refuse_rest(&mut pair.cluster.engine(1)).is_ok());
    assert!(pair.cluster.is_quiet(), "{}", pair.cluster.describe());
}

/// Returns the most pieces that rank 1 does in one step until the operations of rank 0 are over.
fn pieces_in_a_step(pair: &mut Pair, operation: &Operation) -> u64 {
    let (mut most, mut before) = (0, pair.services[1].counts().pieces);
    for _ in 0..200_000 {
        if operation.poll(&mut pair.cluster.visit(0)).is_some() {
            return most;
        }
        pair.step();
        let pieces = pair.services[1].counts().pieces;
        most = most.max(pieces - before);
        before = pieces;
    }
    panic!("it waits for ever:\n{}", pair.cluster.describe());
}

/// A target that is asked for much comes back to its own calls in between.
#[test]
fn a_step_does_a_bounded_amount_of_work() {
    let mut pair = Pair::new();
    let former = pair.filled(&vec![1; BYTES]);
    let remote = Remote { rank: 1, displacement: 0, count: BYTES as i64 / 8, datatype: &WORD };
    let (origin, engine) = (pair.services[0].origin(), &mut pair.cluster.engine(0));
    let fetched = origin.accumulate(engine, &remote, &Op::of(Builtin::NoOp), None, Some(&former.buffer()));
    let most = pieces_in_a_step(&mut pair, &fetched.expect("a predefined type"));
    assert!((1..=8).contains(&most), "{most} pieces of {PIECE_BYTES} bytes");
    assert!(former.packed().iter().all(|&byte| byte == 0), "all has come");
}

/// An accumulate whose payload does not come holds up the puts behind it. They stay with their
/// sender.
#[test]
fn requests_that_cannot_begin_do_not_fill_the_memory_of_the_target() {
    let (mut pair, puts, bytes) = (Pair::new(), 3000, 4000);
    let payload = 8 * 1000;
    let op = BUILTINS.iter().position(|entry| entry.0 == Builtin::Sum).expect("it is there");
    let datatype = wire::encode(&WORD).expect("a predefined type");
    let elements = Elements {
        displacement: 0,
        count: payload / 8,
        bytes: payload,
        piece: 0,
        is_within: false,
        kept: 0,
        datatype: &datatype,
    };
    let number = 1 << 20;
    pair.say(
        Traffic::Exchange,
        REQUEST_TAG,
        &Request { number, action: Action::Accumulate { op, elements } }.encode(),
    );
    let data = pair.filled(&vec![7; bytes]);
    for i in 0..puts {
        let at = (10_000 + i * bytes) as i64 / UNIT;
        let remote = Remote { rank: 1, displacement: at, count: bytes as i64 / 8, datatype: &WORD };
        let (origin, engine) = (pair.services[0].origin(), &mut pair.cluster.engine(0));
        origin.put(engine, &remote, &data.buffer()).expect("a predefined type");
    }
    let flush = pair.services[0].origin().flush(&mut pair.cluster.engine(0), 1);
    (0..200_000).for_each(|_| pair.step());
    assert!(flush.poll(&mut pair.cluster.visit(0)).is_none());
    let counts = pair.services[1].counts();
    assert!(counts.pauses > 0 && counts.requests < 1200, "{counts:?}");
    let held = pair.cluster.visit(1).counters().unexpected_bytes;
    assert!(held < 1_000_000, "{held} bytes are held");
    pair.say(Traffic::Partitioned, payload_tag(number), &vec![1; payload]);
    assert_eq!(pair.finish(&flush), None);
    let window = pair.windows[1].bytes().to_vec();
    assert!(window[..payload].iter().all(|&byte| byte == 1));
    assert!(window[10_000..][..puts * bytes].iter().all(|&byte| byte == 7));
    assert_eq!(pair.services[1].counts().requests, puts as u64 + 2);
}
