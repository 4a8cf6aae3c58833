//! Connections on demand, the send/receive path, credits.

use crate::rig::{Rig, settings};
use verbena_channel::Failover;
use verbena_infiniband::rc::Settings;
use verbena_infiniband::rc::settings::Policy;
use verbena_sim::verbs::DeviceFaults;

/// Without rings.
fn plain() -> Settings {
    Settings { policy: Policy::None, ..settings() }
}

/// Lets both ranks send many packets of all lengths that fit; all arrive in order.
fn exchange(rig: &mut Rig, packets: u64) {
    let longest = 512 - 48;
    for number in 0..packets {
        rig.send(0, 1, number, (number as usize * 37) % (longest + 1));
        if number % 3 != 0 {
            rig.send(1, 0, number, (number as usize * 53) % (longest + 1));
        }
    }
    rig.await_packets(1, packets as usize);
    let numbers: Vec<u64> = rig.logs[1].packets.iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, (0..packets).collect::<Vec<u64>>());
    assert!(rig.logs[0].packets.is_sorted() && rig.logs.iter().all(|log| log.broken.is_empty()));
    rig.settle();
}

#[test]
fn packets_arrive_in_order_by_send_and_receive() {
    for shared_receives in [true, false] {
        for (signal_every, inline_bytes_max) in [(1, 0), (8, 128), (100, 128)] {
            let settings = Settings { shared_receives, signal_every, inline_bytes_max, ..plain() };
            exchange(&mut Rig::new(2, 1, &settings, DeviceFaults::NONE), 300);
        }
    }
}

#[test]
fn nothing_is_made_for_a_pair_that_never_speaks() {
    let mut rig = Rig::new(3, 1, &plain(), DeviceFaults::NONE);
    let before = rig.subnet.registered_bytes(2);
    rig.send(0, 1, 7, 100);
    rig.await_packets(1, 1);
    assert_eq!((rig.subnet.pairs(0), rig.subnet.pairs(1), rig.subnet.pairs(2)), (1, 1, 0));
    assert_eq!(rig.subnet.registered_bytes(2), before);
}

#[test]
fn connections_survive_lost_doubled_and_late_datagrams() {
    for seed in 0..200 {
        let faults = DeviceFaults {
            datagrams_lost_percent: 60,
            datagrams_doubled_percent: 50,
            datagrams_late_ns_max: 5_000_000,
            ..DeviceFaults::NONE
        };
        let mut rig = Rig::new(2, seed, &plain(), faults);
        if seed % 2 == 0 {
            // Both at once.
            let _ = rig.try_send(1, 0, 1, 1);
        }
        exchange(&mut rig, 20);
        assert_eq!((rig.subnet.pairs(0), rig.subnet.pairs(1)), (1, 1));
    }
}

#[test]
fn a_peer_that_never_answers_is_given_up_with_both_ends_named() {
    let mut rig = Rig::new(2, 1, &plain(), DeviceFaults::NONE);
    rig.subnet.kill(1);
    assert!(rig.try_send(0, 1, 0, 8).is_err());
    rig.until("a fault", |rig| !rig.logs[0].broken.is_empty());
    let (peer, fault) = &rig.logs[0].broken[0];
    assert_eq!(*peer, 1);
    assert!(fault.on.contains("rank 0") && fault.on.contains("rank 1"), "{fault}");
}

/// `FAILOVER_SECONDS_MAX` is the limit for a peer that another channel reaches too.
#[test]
fn a_peer_with_another_way_is_given_up_by_a_limit_of_its_own() {
    let given_up_ns = |take_over_ns_max, spare: bool| {
        let settings = Settings { take_over_ns_max, ..plain() };
        let mut rig = Rig::new(2, 1, &settings, DeviceFaults::NONE);
        assert!(!spare || rig.channels[0].keep_sent(1));
        rig.subnet.kill(1);
        assert!(rig.try_send(0, 1, 0, 8).is_err());
        rig.until("a fault", |rig| !rig.logs[0].broken.is_empty());
        rig.subnet.now_ns()
    };
    let (soon, late) = (100_000_000, 1_000_000_000);
    assert!((soon..late / 2).contains(&given_up_ns(soon, true)));
    assert!((late..2 * late).contains(&given_up_ns(late, true)));
    assert_eq!(given_up_ns(soon, false), given_up_ns(late, false));
}

#[test]
fn a_peer_that_dies_is_reported_once_and_takes_nothing_more() {
    for shared_receives in [true, false] {
        let mut rig = Rig::new(3, 1, &Settings { shared_receives, ..plain() }, DeviceFaults::NONE);
        rig.send(0, 1, 0, 300);
        rig.send(0, 2, 0, 300);
        rig.await_packets(1, 1);
        rig.subnet.kill(1);
        rig.send(0, 1, 1, 300);
        rig.until("a fault", |rig| !rig.logs[0].broken.is_empty());
        assert!(matches!(rig.try_send(0, 1, 2, 8), Err(verbena_channel::SendError::Broken(_))));
        // The others go on, and no buffer is lost.
        for number in 1..100 {
            rig.send(0, 2, number, 300);
        }
        rig.await_packets(2, 100);
        assert_eq!(rig.logs[0].broken.len(), 1);
    }
}

#[test]
fn a_broken_device_breaks_every_peer() {
    let mut rig = Rig::new(3, 1, &plain(), DeviceFaults::NONE);
    rig.send(0, 1, 0, 8);
    rig.send(0, 2, 0, 8);
    rig.await_packets(2, 1);
    rig.subnet.break_device(0);
    rig.until("two faults", |rig| rig.logs[0].broken.len() == 2);
}

#[test]
fn a_port_that_stays_down_is_named_as_the_cause() {
    let mut rig = Rig::new(2, 1, &plain(), DeviceFaults::NONE);
    rig.send(0, 1, 0, 8);
    rig.await_packets(1, 1);
    rig.subnet.set_port(0, false);
    rig.send(0, 1, 1, 8);
    rig.until("a fault", |rig| !rig.logs[0].broken.is_empty());
    let (peer, fault) = &rig.logs[0].broken[0];
    assert_eq!(*peer, 1);
    assert!(fault.cause.contains("the simulated port is down"), "{fault}");
}
