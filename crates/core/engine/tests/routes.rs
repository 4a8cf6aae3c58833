//! Tests the engine's choice of a channel by the reach of each.

mod pair;

use pair::wire::{Abilities, Memory, Wire, WireEnd};
use pair::*;
use verbena_channel::Channel;
use verbena_engine::{Counters, Engine, Settings};

fn wire(latency_ns: u32, packet_bytes_max: usize, get: Memory) -> Wire {
    let mut abilities = Abilities { get, ..Abilities::default() };
    abilities.reach.latency_ns = latency_ns;
    abilities.reach.packet_bytes_max = packet_bytes_max;
    Wire::new(abilities)
}

/// Two engines joined by several wires; returns the sender's and the receiver's counters after one
/// message.
fn exchange(wires: &[Wire], bytes: usize) -> [Counters; 2] {
    let engine = |me: u32| {
        let ends = wires.iter().map(|wire| Box::new(WireEnd::new(wire, me)) as Box<dyn Channel>);
        Engine::new(me, 2, ends.collect(), Settings::default())
    };
    let mut pair = Pair { engines: [engine(0), engine(1)], wire: wires[0].clone() };
    let (data, room) = (Bytes::pattern(bytes, 1), Bytes::zero(bytes));
    let receive = pair.receive_any(1, room.buffer());
    let send = pair.send(0, 1, data.buffer());
    for _ in 0..10 {
        pair.settle();
    }
    assert!(is_good(&pair.end(1, receive), bytes) && is_good(&pair.end(0, send), bytes));
    assert!(room.get() == data.get());
    [0, 1].map(|side| pair.engines[side].counters())
}

#[test]
fn packets_take_the_quickest_channel() {
    let [sender, _] = exchange(&[wire(200, 512, Memory::None), wire(100, 512, Memory::None)], 8);
    assert_eq!((sender.channels[0].packets_sent, sender.channels[1].packets_sent), (0, 1));
}

#[test]
fn of_equals_the_preferred_one_is_taken() {
    let [sender, _] = exchange(&[wire(100, 512, Memory::None), wire(100, 512, Memory::None)], 8);
    assert_eq!((sender.channels[0].packets_sent, sender.channels[1].packets_sent), (1, 0));
}

#[test]
fn memory_takes_the_channel_that_has_it() {
    let wires = [wire(100, 512, Memory::None), wire(900, 0, Memory::AtOnce)];
    let [sender, receiver] = exchange(&wires, 100_000);
    assert_eq!(receiver.channels[1].get_bytes, 100_000);
    assert_eq!((sender.channels[0].packets_sent, sender.channels[1].packets_sent), (1, 0));
    assert_eq!(receiver.rendezvous, 1);
}

#[test]
fn short_messages_do_not_take_memory() {
    // Longer than eager, shorter than what memory is worth.
    let wires = [wire(100, 512, Memory::None), wire(900, 0, Memory::AtOnce)];
    let [_, receiver] = exchange(&wires, 280);
    assert_eq!(receiver.channels[1].get_bytes, 0);
    assert_eq!(receiver.rendezvous, 1);
}
