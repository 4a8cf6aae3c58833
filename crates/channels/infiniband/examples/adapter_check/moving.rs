//! Checks of what works: every way of moving bytes.

use crate::pairing::{Both, Memory, SIGNALLED, completion, done, pattern, post, silent, until};
use std::time::{Duration, Instant};
use verbena_channel::{Access, Atomic};
use verbena_infiniband::device::{Post, Trouble};
use verbena_infiniband::rc::adapter::{Adapter, Operation, Remote};
use verbena_infiniband::rc::verbs::Verbs;
use verbena_memory::Region;

const UNSIGNALLED: Post = Post { signalled: false, inline: false };

fn remote(memory: &Memory, offset: u64) -> Remote {
    Remote { address: memory.region.address() + offset, key: memory.registration.remote_key }
}

pub(crate) fn datagrams(both: &mut Both) {
    let (to, from, most) = (both.b.address(), both.a.address(), both.a.limits().datagram_bytes_max);
    // The first ones may be lost.
    meet(&mut both.a, &mut both.b);
    meet(&mut both.b, &mut both.a);
    for len in [1, 80, most] {
        both.a.send_datagram(&to, &pattern(len, 3)).expect("sent");
        let got = until("a datagram", || both.b.receive_datagram());
        assert_eq!(got, pattern(len, 3));
    }
    both.a.send_datagram(&to, &vec![1; most + 1]).expect("lost");
    both.b.send_datagram(&from, b"back").expect("sent");
    assert_eq!(until("a datagram", || both.a.receive_datagram()), b"back");
    // More than there are buffers for sending, little by little.
    for count in 0..100u8 {
        until("room", || both.a.send_datagram(&to, &[count]).ok());
        assert_eq!(until("a datagram", || both.b.receive_datagram()), [count]);
    }
    assert_eq!(both.b.receive_datagram(), None);
}

/// Sends until something arrives, and takes it all.
fn meet(one: &mut Verbs, other: &mut Verbs) {
    let to = other.address();
    let start = Instant::now();
    until("a first datagram", || {
        one.send_datagram(&to, b"hello").expect("sent");
        std::thread::sleep(Duration::from_millis(2));
        other.receive_datagram()
    });
    let took = start.elapsed();
    assert!(took < Duration::from_millis(900), "a first datagram took {} ms", took.as_millis());
    std::thread::sleep(Duration::from_millis(20));
    while other.receive_datagram().is_some() {}
}

pub(crate) fn shared_receives(both: &mut Both) {
    let (here, there) = both.connect(true);
    let (second, second_there) = both.connect(true);
    send_and_receive(both, [(here, there), (second, second_there)], true);
}

/// One event for each asking, when fewer buffers are left; a send that finds none is tried again
/// until there is one.
pub(crate) fn few_receives(both: &mut Both) {
    let (here, _) = both.connect(true);
    let from = Memory::new(&mut both.a, 64);
    let buffers: Vec<Memory> = (0..4).map(|_| Memory::new(&mut both.b, 64)).collect();
    let put = |both: &mut Both, id: usize| {
        let buffer = &buffers[id];
        both.b.post_receive(None, id as u64, buffer.region, buffer.registration.local_key).expect("posted");
    };
    let send = |both: &mut Both, id: u64| {
        post(&mut both.a, here, &from, (100 + id, Operation::Send), 64, SIGNALLED);
    };
    let arrives = |both: &mut Both, id: u64| {
        assert_eq!((done(&mut both.a, 100 + id), done(&mut both.b, id)), (0, 64));
    };
    (0..3).for_each(|id| put(both, id));
    assert!(both.b.tell_below(2), "the device tells of no shared queue that runs low");
    for id in 0..3 {
        assert!(both.b.trouble().is_none(), "told too early, or twice");
        send(both, id);
        arrives(both, id);
        if id == 1 {
            let trouble = until("trouble", || both.b.trouble());
            assert!(matches!(trouble, Trouble::FewReceives), "{trouble:?}");
        }
    }
    send(both, 3);
    std::thread::sleep(Duration::from_millis(50));
    silent(&mut both.a);
    put(both, 3);
    arrives(both, 3);
}

pub(crate) fn own_receives(both: &mut Both) {
    let (here, there) = both.connect(false);
    let (second, second_there) = both.connect(false);
    send_and_receive(both, [(here, there), (second, second_there)], false);
}

type Ends = (verbena_infiniband::device::QueuePair, verbena_infiniband::device::QueuePair);

fn send_and_receive(both: &mut Both, connections: [Ends; 2], shared: bool) {
    let buffers: Vec<Memory> = (0..4).map(|_| Memory::new(&mut both.b, 1024)).collect();
    for (id, buffer) in buffers.iter().enumerate() {
        let queue = (!shared).then_some(connections[id % 2].1);
        let key = buffer.registration.local_key;
        both.b.post_receive(queue, id as u64, buffer.region, key).unwrap_or_else(|e| panic!("{e:?}"));
    }
    let from = Memory::new(&mut both.a, 1024);
    for id in 0..4 {
        let (here, there) = connections[id % 2];
        from.fill(id as u8);
        post(&mut both.a, here, &from, (100 + id as u64, Operation::Send), 200 + id, SIGNALLED);
        assert_eq!(done(&mut both.a, 100 + id as u64), 0);
        let got = completion(&mut both.b);
        assert_eq!((got.id, got.pair, got.outcome), (id as u64, there, Ok(200 + id as u32)));
        assert_eq!(buffers[id].bytes(0, 200 + id), pattern(1024, id as u8)[..200 + id]);
    }
    silent(&mut both.a);
    silent(&mut both.b);
}

pub(crate) fn sizes(both: &mut Both) {
    let (here, _) = both.connect(true);
    let most = both.a.limits().inline_bytes_max;
    assert!(most >= 64, "only {most} bytes inline");
    let (from, into) = (Memory::new(&mut both.a, 9000), Memory::new(&mut both.b, 9000));
    for (id, len) in [0, 1, 7, 64, most, most + 1, 1024, 4096, 4097, 9000].into_iter().enumerate() {
        for inline in [false, true] {
            if inline && len > most {
                continue;
            }
            let id = id as u64;
            both.b.post_receive(None, id, into.region, into.registration.local_key).expect("posted");
            from.fill(len as u8);
            post(&mut both.a, here, &from, (id, Operation::Send), len, Post { signalled: false, inline });
            if inline {
                // The device has its own copy.
                from.fill(!len as u8);
            }
            assert_eq!(done(&mut both.b, id), len as u32);
            assert_eq!(into.bytes(0, len), pattern(9000, len as u8)[..len], "{len} bytes");
        }
    }
    silent(&mut both.a);
}

pub(crate) fn descriptors(both: &mut Both) {
    let (here, _) = both.connect(true);
    let (from, into) = (Memory::new(&mut both.a, 64), Memory::new(&mut both.b, 64));
    let mut descriptor = both.a.describe(&from.work(5, Operation::Write(remote(&into, 0))));
    let (every, rounds) = (32, 1000u32);
    for round in 0..rounds {
        from.region.write(0, &round.to_le_bytes());
        let how = Post { signalled: round % every == every - 1, inline: true };
        both.a.post(here, &mut descriptor, 4 + round as usize % 60, how).unwrap_or_else(|e| panic!("{e:?}"));
        if how.signalled {
            done(&mut both.a, 5);
            assert_eq!(into.bytes(0, 4), round.to_le_bytes(), "a completion means that the bytes are there");
        }
    }
    let last = (rounds - 1).to_le_bytes();
    until("the last write", || (into.bytes(0, 4) == last).then_some(()));
    silent(&mut both.a);
}

pub(crate) fn write(both: &mut Both) {
    let (here, _) = both.connect(true);
    let (from, into) = (Memory::new(&mut both.a, 100_000), Memory::new(&mut both.b, 100_000));
    from.fill(1);
    post(&mut both.a, here, &from, (1, Operation::Write(remote(&into, 64))), 90_000, UNSIGNALLED);
    post(&mut both.a, here, &from, (2, Operation::Write(remote(&into, 0))), 8, SIGNALLED);
    assert_eq!(done(&mut both.a, 2), 0);
    assert_eq!(into.bytes(64, 90_000), pattern(100_000, 1)[..90_000]);
    assert_eq!(into.bytes(0, 8), pattern(8, 1));
    assert_eq!(into.bytes(90_064, 100)[..], [0; 100]);
    silent(&mut both.b);
}

pub(crate) fn read(both: &mut Both) {
    let (here, _) = both.connect(false);
    let len = 1 << 20;
    let (into, from) = (Memory::new(&mut both.a, len), Memory::new(&mut both.b, len));
    from.fill(9);
    // Unsignalled reads complete nevertheless.
    post(&mut both.a, here, &into, (3, Operation::Read(remote(&from, 0))), len, UNSIGNALLED);
    assert_eq!(done(&mut both.a, 3), 0);
    assert!(into.bytes(0, len) == pattern(len, 9));
}

pub(crate) fn long(both: &mut Both) {
    let (here, _) = both.connect(false);
    let len = 9 << 20;
    let (mine, theirs) = (Memory::new(&mut both.a, len), Memory::new(&mut both.b, len));
    mine.fill(1);
    post(&mut both.a, here, &mine, (1, Operation::Write(remote(&theirs, 0))), len, SIGNALLED);
    done(&mut both.a, 1);
    assert!(theirs.bytes(0, len) == pattern(len, 1), "written");
    theirs.fill(2);
    post(&mut both.a, here, &mine, (2, Operation::Read(remote(&theirs, 0))), len, SIGNALLED);
    done(&mut both.a, 2);
    assert!(mine.bytes(0, len) == pattern(len, 2), "read");
}

pub(crate) fn both_ways(both: &mut Both) {
    let (here, there) = both.connect(true);
    let (mine, theirs) = (Memory::new(&mut both.a, 1 << 16), Memory::new(&mut both.b, 1 << 16));
    let half = 1 << 15;
    mine.fill(4);
    theirs.fill(5);
    for round in 0..20 {
        let to = Operation::Write(remote(&theirs, half));
        post(&mut both.a, here, &mine, (round, to), half as usize, SIGNALLED);
        let to = Operation::Write(remote(&mine, half));
        post(&mut both.b, there, &theirs, (round, to), half as usize, SIGNALLED);
    }
    for round in 0..20 {
        done(&mut both.a, round);
        done(&mut both.b, round);
    }
    assert!(theirs.bytes(half as usize, half as usize) == pattern(half as usize, 4));
    assert!(mine.bytes(half as usize, half as usize) == pattern(half as usize, 5));
}

/// One side adds to a number of the other and swaps it, and is told what was there before.
pub(crate) fn atomics(both: &mut Both) {
    if both.a.limits().atomics.is_none() {
        return eprintln!("the device has no atomic operations");
    }
    const ROUNDS: u64 = 50;
    let (here, _) = both.connect(true);
    let theirs = Memory::shown_for(Access::EVERYTHING, &mut both.b, 64);
    let former = Memory::new(&mut both.a, 64);
    let at = remote(&theirs, 8);
    for round in 1..=ROUNDS {
        let add = Operation::Atomic(at, Atomic::FetchAdd(round));
        post(&mut both.a, here, &former, (round, add), 8, UNSIGNALLED);
        assert_eq!(done(&mut both.a, round), 0);
        assert_eq!(former.bytes(0, 8), u64::to_ne_bytes(round * (round - 1) / 2), "before round {round}");
    }
    let sum = ROUNDS * (ROUNDS + 1) / 2;
    for (expected, seen, later) in [(sum + 1, sum, sum), (sum, sum, 9)] {
        let swap = Operation::Atomic(at, Atomic::CompareSwap { expected, desired: 9 });
        post(&mut both.a, here, &former, (expected, swap), 8, SIGNALLED);
        done(&mut both.a, expected);
        assert_eq!(former.bytes(0, 8), u64::to_ne_bytes(seen));
        assert_eq!(theirs.bytes(8, 8), u64::to_ne_bytes(later));
    }
    assert_eq!((theirs.bytes(0, 8), theirs.bytes(16, 48)), (vec![0; 8], vec![0; 48]));
    silent(&mut both.b);
}

/// A constant in a page that the process may only read.
static CONSTANT: [u8; 64] = [42; 64];

pub(crate) fn read_only_memory(both: &mut Both) {
    let (here, _) = both.connect(true);
    // SAFETY: it lives for ever, and is only read from: the peer reads it below.
    let region = unsafe { Region::new(CONSTANT.as_ptr().cast_mut(), CONSTANT.len()) };
    let registration = both.b.register(region, Access::READ).unwrap_or_else(|fault| panic!("{fault}"));
    let into = Memory::new(&mut both.a, 64);
    let from = Remote { address: region.address(), key: registration.remote_key };
    post(&mut both.a, here, &into, (1, Operation::Read(from)), 64, SIGNALLED);
    done(&mut both.a, 1);
    assert_eq!(into.bytes(0, 64), CONSTANT);
}

pub(crate) fn registrations(both: &mut Both) {
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < 2000 && start.elapsed() < Duration::from_millis(500) {
        let memory: Vec<Memory> = (0..3).map(|_| Memory::new(&mut both.a, 5000)).collect();
        let handles: Vec<u32> = memory.iter().map(|memory| memory.registration.handle).collect();
        assert!(handles.iter().all(|&handle| handle < 3), "handles are used again: {handles:?}");
        memory.iter().for_each(|memory| both.a.deregister(memory.registration));
        rounds += 1;
    }
    assert!(rounds > 3);
}
