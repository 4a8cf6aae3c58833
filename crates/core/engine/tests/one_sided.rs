//! One-sided operations over channels without connections, between two engines.

mod pair;

use pair::wire::{Abilities, Memory, Wire, WireEnd};
use pair::*;
use verbena_channel::Channel;
use verbena_engine::{Engine, Motion, Part, Refused, Settings};
use verbena_memory::Region;

/// A wire that moves memory in the background, in this way.
fn memory(how: Memory) -> Wire {
    let mut abilities = Abilities { get: how, put: how, ..Abilities::default() };
    abilities.reach.in_background = true;
    Wire::new(abilities)
}

/// Two engines joined by these wires.
fn joined(wires: &[Wire]) -> Pair {
    let engine = |me: u32| {
        let ends = wires.iter().map(|wire| Box::new(WireEnd::new(wire, me)) as Box<dyn Channel>);
        Engine::new(me, 2, ends.collect(), Settings::default())
    };
    Pair { engines: [engine(0), engine(1)], wire: wires[0].clone() }
}

fn region(bytes: &Bytes) -> Region {
    bytes.buffer().region().expect("contiguous")
}

/// Moves these bytes to or from place 100 of the other side's memory. Returns whether they are in
/// place.
fn moved(pair: &mut Pair, motion: Motion, here: &Bytes, there: &Bytes) -> Result<bool, Refused> {
    let shown = pair.engines[1].show(0, region(there)).expect("a way");
    assert_eq!(pair.engines[1].still_shows(0, &shown), Some(true));
    let parts = [Part { offset: 100, region: region(here) }];
    let id = pair.engines[0].start_one_sided(1, &shown, motion, &parts)?;
    pair.settle();
    let outcome = pair.engines[0].take_one_sided(id).expect("it has ended");
    pair.engines[1].hide(0, &shown);
    assert_eq!(pair.wire.exposed(), 0, "memory left exposed");
    Ok(outcome)
}

#[test]
fn the_only_channel_to_a_peer_needs_no_connections() {
    for how in [Memory::AtOnce, Memory::Later] {
        let (mut pair, there) = (joined(&[memory(how)]), Bytes::zero(4096));
        assert!(pair.engines[0].may_reach_memory(1));
        let (from, back) = (Bytes::pattern(3000, 4), Bytes::zero(3000));
        assert_eq!(moved(&mut pair, Motion::Put, &from, &there), Ok(true));
        assert!(there.get()[100..3100] == from.get() && there.get()[3100..].iter().all(|&byte| byte == 0));
        assert_eq!(moved(&mut pair, Motion::Get, &back, &there), Ok(true));
        assert!(back.get() == from.get());
    }
}

/// A write that failed there could still happen when the other channel has carried what follows.
#[test]
fn a_channel_without_connections_is_not_used_beside_another() {
    let mut pair = joined(&[Wire::packets(), memory(Memory::Later)]);
    assert!(!pair.engines[0].may_reach_memory(1));
    assert!(pair.engines[1].show(0, region(&Bytes::zero(10))).is_none());
    // A channel for memory alone takes nobody's place.
    let mut abilities = Abilities::default();
    abilities.reach.packet_bytes_max = 0;
    let mut pair = joined(&[memory(Memory::Later), Wire::new(abilities)]);
    assert!(pair.engines[0].may_reach_memory(1));
}

#[test]
fn a_failure_is_told() {
    let (from, there) = (Bytes::pattern(10, 1), Bytes::zero(4096));
    let mut pair = joined(&[memory(Memory::FailsLater(0))]);
    assert_eq!(moved(&mut pair, Motion::Put, &from, &there), Ok(false));
    let mut pair = joined(&[memory(Memory::RefusedAfter(0))]);
    assert_eq!(moved(&mut pair, Motion::Put, &from, &there), Err(Refused::NoWay));
}
