//! The ways of long messages on a node, learnt by two engines that have a channel for packets and
//! one for memory.

mod pair;

use pair::wire::{Abilities, Memory, Wire, WireEnd};
use pair::*;
use std::cell::Cell;
use verbena_channel::Reach;
use verbena_engine::{Engine, Settings};
use verbena_memory::Buffer;

const LONG: usize = 20_000;

thread_local! {
    static NOW_NS: Cell<u64> = const { Cell::new(0) };
}

/// A clock that goes on with each reading.
fn clock() -> u64 {
    NOW_NS.with(|now| now.replace(now.get() + 1000))
}

/// Two engines that can go every way, with this memory.
fn learning(get: Memory, put: Memory) -> Pair {
    let packets = Wire::new(Abilities { room: 1000, ..Abilities::default() });
    let reach = Reach { packet_bytes_max: 0, eager_bytes_max: 0, ..Abilities::default().reach };
    let memory = Wire::new(Abilities { reach, get, put, ..Abilities::default() });
    let settings = Settings {
        claim_bytes: 4096,
        copy_by_both_bytes_min: 2048,
        node_clock: Some(clock),
        ..Settings::default()
    };
    let engine = |me: u32| {
        let ends = [WireEnd::new(&packets, me), WireEnd::named("memory", &memory, me)];
        Engine::new(me, 2, ends.map(|end| Box::new(end) as _).into(), settings)
    };
    Pair { engines: [engine(0), engine(1)], wire: packets.clone() }
}

/// Sends one message, and takes it into this buffer.
fn pass(pair: &mut Pair, from: usize, data: Bytes, into: Buffer) {
    let bytes = into.len();
    let data = Bytes::new(data.get()[..bytes].to_vec());
    let receive = pair.receive_any(1 - from, into.clone());
    let send = pair.send(from, 5, data.buffer());
    assert!(is_good(&pair.end(1 - from, receive), bytes));
    assert!(is_good(&pair.end(from, send), bytes));
    assert!(packed(&into) == data.get(), "wrong bytes");
}

/// The sorts of traffic that this engine knows something about.
fn learnt(pair: &mut Pair, at: usize) -> Vec<&'static str> {
    pair.engines[at].routes().iter().flat_map(|route| &route.learned).map(|known| known.traffic).collect()
}

#[test]
fn who_answers_goes_the_way_that_the_other_has_learnt() {
    let mut pair = learning(Memory::AtOnce, Memory::AtOnce);
    let data = Bytes::pattern(LONG, 3);
    for _ in 0..100 {
        pass(&mut pair, 1, data, Bytes::zero(LONG).buffer());
        pass(&mut pair, 0, data, Bytes::zero(LONG).buffer());
    }
    assert_eq!(learnt(&mut pair, 0), ["answer"]);
    assert!(learnt(&mut pair, 1).is_empty(), "it follows");
    let [led, followed] = ways(&pair);
    assert!((0..3).all(|way| led[way].abs_diff(followed[way]) <= 1), "{led:?} {followed:?}");
    assert!(led.iter().all(|count| *count > 0), "each way was tried: {led:?}");
}

#[test]
fn who_answers_what_went_a_forced_way_learns_by_itself() {
    let mut pair = learning(Memory::AtOnce, Memory::AtOnce);
    let data = Bytes::pattern(LONG, 3);
    for _ in 0..100 {
        // A scattered buffer takes packets.
        pass(&mut pair, 1, data, Bytes::zero(LONG).strided());
        pass(&mut pair, 0, data, Bytes::zero(LONG * 3 / 5).buffer());
    }
    assert!(learnt(&mut pair, 0).is_empty());
    assert_eq!(learnt(&mut pair, 1), ["answer"]);
    let [_, own] = ways(&pair);
    assert!(own.iter().all(|count| *count > 0), "each way was tried: {own:?}");
}

#[test]
fn reads_that_fail_are_not_followed() {
    let mut pair = learning(Memory::RefusedAfter(0), Memory::None);
    let data = Bytes::pattern(LONG, 3);
    for _ in 0..100 {
        pass(&mut pair, 1, data, Bytes::zero(LONG).buffer());
        pass(&mut pair, 0, data, Bytes::zero(LONG).buffer());
    }
    for at in [0, 1] {
        let routes = pair.engines[at].routes();
        for known in routes.iter().flat_map(|route| &route.learned) {
            assert_eq!((known.ns[0], known.ns[1], known.way), (None, None, "packets"), "{at}");
        }
    }
    assert_eq!(learnt(&mut pair, 1), ["answer"]);
}

/// For both engines the number of messages that were read alone, by both, and that came in packets.
fn ways(pair: &Pair) -> [[u64; 3]; 2] {
    [0, 1].map(|at: usize| {
        let counts = pair.engines[at].counters();
        [counts.pulled, counts.shared, counts.streamed]
    })
}
