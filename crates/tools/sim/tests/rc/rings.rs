//! RDMA rings: that they are used, that they fall back, and what they cost.

use crate::rig::{Rig, settings};
use verbena_channel::{Channel, Streams};
use verbena_infiniband::rc::Settings;
use verbena_infiniband::rc::settings::{Notify, Policy};
use verbena_sim::verbs::DeviceFaults;

/// Two ranks with a ring each way.
fn pair(settings: &Settings, faults: DeviceFaults) -> Rig {
    let mut rig = Rig::new(2, 1, &Settings { policy: Policy::All, ..settings.clone() }, faults);
    rig.send(0, 1, 0, 8);
    for rank in 0..2u32 {
        while rig.channels[rank as usize].stream_bytes_max(1 - rank).is_none() {
            rig.step();
        }
    }
    rig.steps(20);
    rig
}

#[test]
fn every_length_goes_through_slots_of_every_size() {
    for notify in [Notify::Piggyback, Notify::Pointer] {
        for (slots, slot_bytes) in [(2, 192), (5, 192), (7, 256), (64, 448)] {
            let settings = Settings { slots, slot_bytes, notify, chunk_bytes: 3000, ..settings() };
            let faults = DeviceFaults { pieces_max: 5, ..DeviceFaults::NONE };
            let mut rig = pair(&settings, faults);
            let longest = rig.longest(0, 1);
            for number in 1..3000 {
                rig.send(0, 1, number, (number as usize * 113) % (longest + 1));
            }
            rig.await_packets(1, 3000);
            let numbers = rig.logs[1].packets.iter().map(|(_, number)| *number);
            assert!(numbers.eq(0..3000));
            rig.settle();
        }
    }
}

#[test]
fn a_full_ring_falls_back_on_send_and_receive() {
    let mut rig = pair(&settings(), DeviceFaults::NONE);
    let mut number = 1;
    while rig.try_send(0, 1, number, 10).is_ok() {
        number += 1;
    }
    // Eight slots, and some of four credits: one may not have come back yet, and the last one stays
    // for a packet that brings credits.
    assert!((8 + 2..=8 + 3).contains(&(number - 1)), "{number}");
    rig.await_packets(1, number as usize);
    assert!(rig.logs[1].packets.is_sorted());
}

#[test]
fn what_is_held_moves_when_it_is_released() {
    let mut rig = pair(&settings(), DeviceFaults::NONE);
    rig.channels[0].hold(1);
    rig.send(0, 1, 1, 100);
    rig.send(0, 1, 2, 900);
    rig.steps(50);
    assert_eq!(rig.logs[1].packets.len(), 1);
    rig.channels[0].release(1);
    rig.await_packets(1, 3);
}

/// A ring is taken back and given to another, again and again, in the middle of traffic, and all
/// its memory comes back.
#[test]
fn who_is_heard_most_gets_the_only_ring() {
    for notify in [Notify::Piggyback, Notify::Pointer] {
        let settings = Settings { policy: Policy::Most, set_max: 1, notify, ..settings() };
        let mut rig = Rig::new(3, 1, &settings, DeviceFaults::NONE);
        let mut high = [0; 3];
        let mut sent = [0; 3];
        for phase in 0..12 {
            let chatty = 1 + phase % 2;
            for round in 0..4000 {
                let from = if round % 50 == 0 { 3 - chatty } else { chatty };
                rig.send(from, 0, sent[from as usize], 40);
                sent[from as usize] += 1;
            }
            assert!(rig.channels[chatty as usize].stream_bytes_max(0).is_some(), "phase {phase}");
            rig.settle();
            if phase == 3 {
                high = [0, 1, 2].map(|rank| rig.subnet.registered_bytes(rank).0);
            }
        }
        assert_eq!(high, [0, 1, 2].map(|rank| rig.subnet.registered_bytes(rank).0));
    }
}

#[test]
fn hints_make_up_the_set() {
    let settings = Settings { policy: Policy::Hinted, set_max: 2, ..settings() };
    let mut rig = Rig::new(4, 1, &settings, DeviceFaults::NONE);
    let talk = |rig: &mut Rig, first: u64| {
        for number in first..first + 10 {
            (1..4).for_each(|from| rig.send(from, 0, number, 8));
        }
        rig.steps(200);
        [1, 2, 3].map(|from: usize| rig.channels[from].stream_bytes_max(0).is_some())
    };
    rig.channels[0].hint(&[3]);
    assert_eq!(talk(&mut rig, 0), [false, false, true]);
    rig.channels[0].hint(&[2, 1, 3]);
    assert_eq!(talk(&mut rig, 10), [false, true, true]);
    rig.channels[0].hint(&[1]);
    assert_eq!(talk(&mut rig, 20), [true, false, false]);
}

#[test]
fn the_set_has_no_more_than_its_size_and_others_are_heard_all_the_same() {
    let mut rig = Rig::new(8, 1, &Settings { set_max: 3, ..settings() }, DeviceFaults::NONE);
    for number in 0..50 {
        (1..8).for_each(|from| rig.send(from, 0, number, 100));
    }
    rig.await_packets(0, 350);
    let rings = (1..8).filter(|from| rig.channels[*from].stream_bytes_max(0).is_some()).count();
    assert_eq!(rings, 3);
}
