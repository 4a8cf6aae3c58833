//! Measures half round trips of 8 bytes over the bare adapter, each end a thread: the floor of what
//! the channel can reach, to be compared with `ib_write_lat` and `ib_send_lat` of the same machine.

use crate::pairing::{Both, Memory};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;
use verbena_infiniband::device::{Post, QueuePair};
use verbena_infiniband::rc::adapter::{Adapter, Operation, Remote};
use verbena_infiniband::rc::verbs::Verbs;

const ROUNDS: u64 = 2000;
const WARM_UP: u64 = 200;
/// Rounds timed together, since reading the clock of a guest is a system call.
const BATCH: u64 = 40;

/// One end: an adapter, its queue pair and memory, and the other end's memory.
struct End<'a> {
    adapter: &'a mut Verbs,
    pair: QueuePair,
    mine: &'a Memory,
    theirs: Remote,
}

/// Measures and prints.
pub(crate) fn latency(both: &mut Both) {
    measure(both, "write into polled memory", by_write);
    measure(both, "send and receive", by_send);
}

fn measure(both: &mut Both, name: &str, side: fn(End<'_>, bool) -> Vec<u64>) {
    let (here, there) = both.connect(true);
    let (one, other) = (Memory::new(&mut both.a, 64), Memory::new(&mut both.b, 64));
    let of =
        |memory: &Memory| Remote { address: memory.region.address(), key: memory.registration.remote_key };
    let first = End { adapter: &mut both.a, pair: here, mine: &one, theirs: of(&other) };
    let second = End { adapter: &mut both.b, pair: there, mine: &other, theirs: of(&one) };
    let mut times = thread::scope(|scope| {
        let answering = scope.spawn(move || side(second, false));
        let times = side(first, true);
        answering.join().expect("the other end");
        times
    });
    times.sort_unstable();
    println!("{name}: median {:.2} us, least {:.2} us", us(times[times.len() / 2]), us(times[0]));
}

fn us(round_trip_ns: u64) -> f64 {
    round_trip_ns as f64 / 2000.0
}

/// Returns the times of rounds in nanoseconds, each the mean of a batch; `begin` for the end that
/// speaks first.
fn rounds(begin: bool, mut send: impl FnMut(u64), mut receive: impl FnMut(u64)) -> Vec<u64> {
    let mut times = Vec::new();
    let mut start = Instant::now();
    for round in 1..=WARM_UP + ROUNDS {
        if begin {
            send(round);
            receive(round);
        } else {
            receive(round);
            send(round);
        }
        if round.is_multiple_of(BATCH) {
            times.extend((round > WARM_UP).then(|| start.elapsed().as_nanos() as u64 / BATCH));
            start = Instant::now();
        }
    }
    times
}

fn how(round: u64) -> Post {
    Post { signalled: round.is_multiple_of(32), inline: true }
}

/// Measures by RDMA writes: the other end writes the first word, and this end writes the second
/// there.
fn by_write(end: End<'_>, begin: bool) -> Vec<u64> {
    let word = end.mine.region.address() as *const AtomicU64;
    let mut work = end.mine.work(0, Operation::Write(end.theirs));
    work.local = end.mine.region.part(8, 8);
    let mut descriptor = end.adapter.describe(&work);
    let adapter = std::cell::RefCell::new(end.adapter);
    let send = |round: u64| {
        end.mine.region.write(8, &round.to_ne_bytes());
        let mut adapter = adapter.borrow_mut();
        adapter.post(end.pair, &mut descriptor, 8, how(round)).expect("posted");
        // A completion now and then, taken when it is there.
        let _ = adapter.poll();
    };
    // SAFETY: the memory is aligned to words by its size, lives as long as this, and is written by
    // the device.
    let arrived = |round| unsafe { (*word).load(Ordering::Acquire) } == round;
    let receive = |round| {
        while !arrived(round) {
            std::hint::spin_loop();
        }
    };
    rounds(begin, send, receive)
}

fn by_send(end: End<'_>, begin: bool) -> Vec<u64> {
    let key = end.mine.registration.local_key;
    let (into, from) = (end.mine.region.part(0, 8), end.mine.region.part(8, 8));
    const SENT: u64 = u64::MAX;
    let mut work = end.mine.work(SENT, Operation::Send);
    work.local = from;
    let mut descriptor = end.adapter.describe(&work);
    (0..64).for_each(|id| end.adapter.post_receive(None, id, into, key).expect("posted"));
    let adapter = std::cell::RefCell::new(end.adapter);
    let send = |round: u64| {
        from.write(0, &round.to_ne_bytes());
        adapter.borrow_mut().post(end.pair, &mut descriptor, 8, how(round)).expect("posted");
    };
    let receive = |_| {
        let mut adapter = adapter.borrow_mut();
        let id = loop {
            match adapter.poll() {
                Some(end) if end.id != SENT => break end.id,
                _ => std::hint::spin_loop(),
            }
        };
        adapter.post_receive(None, id, into, key).expect("posted");
    };
    rounds(begin, send, receive)
}
