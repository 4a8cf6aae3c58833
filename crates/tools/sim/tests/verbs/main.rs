//! The simulated verbs device by itself: what it promises the channel `rc`, and what it does not.

mod fabric;

use fabric::{Two, bytes_of};
use verbena_channel::Access;
use verbena_infiniband::device::{Failed, Post, Refused, Trouble};
use verbena_infiniband::rc::adapter::{Adapter, Operation, Remote};
use verbena_sim::verbs::calibration::{Measured, calibrate};
use verbena_sim::verbs::{Costs, DeviceFaults, Stage};

const SIGNALLED: Post = Post { signalled: true, inline: false };
const QUIET: Post = Post { signalled: false, inline: false };
const INLINE: Post = Post { signalled: false, inline: true };

#[test]
fn sends_fill_receive_buffers_in_order() {
    let mut two = Two::plain();
    two.receive_into(1, 70, 0..8);
    two.receive_into(1, 71, 8..16);
    two.fill(0, 0, b"firstsecond");
    two.post(0, 5, Operation::Send, 0..5, SIGNALLED).unwrap();
    two.post(0, 6, Operation::Send, 5..11, QUIET).unwrap();
    two.run();
    assert_eq!(two.completions(0), [(5, Ok(0))]);
    assert_eq!(two.completions(1), [(70, Ok(5)), (71, Ok(6))]);
    assert_eq!(bytes_of(two.region[1].part(0, 5)), b"first");
    assert_eq!(bytes_of(two.region[1].part(8, 6)), b"second");
}

#[test]
fn the_shared_queue_serves_every_pair_and_says_which() {
    let mut two = Two::shared();
    two.receive_shared(1, 9, 0..8);
    two.post(0, 1, Operation::Send, 0..3, QUIET).unwrap();
    two.run();
    let completion = two.adapter[1].poll().expect("arrived");
    assert_eq!((completion.id, completion.pair, completion.outcome), (9, two.pair[1], Ok(3)));
}

#[test]
fn a_write_is_seen_in_memory_only_and_a_later_one_comes_later() {
    let mut two = Two::plain();
    two.fill(0, 0, b"abcd");
    let remote = two.remote(1, 100);
    two.post(0, 1, Operation::Write(remote), 0..4, QUIET).unwrap();
    two.post(0, 2, Operation::Write(two.remote(1, 102)), 0..1, SIGNALLED).unwrap();
    two.run();
    assert_eq!(bytes_of(two.region[1].part(100, 4)), b"abad");
    assert_eq!((two.completions(0), two.completions(1)), (vec![(2, Ok(0))], vec![]));
}

#[test]
fn a_write_lands_in_pieces_the_first_byte_first() {
    let faults = DeviceFaults { pieces_max: 9, delay_ns_max: 1000, ..DeviceFaults::NONE };
    let mut torn = 0;
    for seed in 0..50 {
        let mut two = Two::new(seed, Costs::PLAIN, faults, false);
        two.fill(0, 0, &[7; 256]);
        two.post(0, 1, Operation::Write(two.remote(1, 0)), 0..256, QUIET).unwrap();
        while let Some(next) = two.subnet.next_ns() {
            two.subnet.run_until(next);
            let landed = bytes_of(two.region[1].part(0, 256));
            let whole = landed.iter().take_while(|byte| **byte == 7).count();
            assert!(landed[whole..].iter().all(|byte| *byte == 0), "seed {seed}: not from the front");
            torn += (1..256).contains(&whole) as u32;
        }
    }
    assert!(torn > 50, "only {torn} torn writes were seen");
}

#[test]
fn a_device_that_promises_no_order_may_land_the_last_piece_first() {
    let faults = DeviceFaults { pieces_max: 9, last_first_percent: 100, ..DeviceFaults::NONE };
    let early = (0..50).filter(|seed| {
        let mut two = Two::new(*seed, Costs::PLAIN, faults, false);
        two.fill(0, 0, &[7; 256]);
        two.post(0, 1, Operation::Write(two.remote(1, 0)), 0..256, QUIET).unwrap();
        two.subnet.run_until(two.subnet.next_ns().expect("under way"));
        let landed = bytes_of(two.region[1].part(0, 256));
        landed[255] == 7 && landed[0] == 0
    });
    assert!(early.count() > 20);
}

#[test]
fn a_read_brings_the_peers_bytes_and_always_completes() {
    let mut two = Two::plain();
    two.fill(1, 40, b"theirs");
    two.post(0, 3, Operation::Read(two.remote(1, 40)), 0..6, QUIET).unwrap();
    two.run();
    assert_eq!(bytes_of(two.region[0].part(0, 6)), b"theirs");
    assert_eq!(two.completions(0), [(3, Ok(0))]);
}

#[test]
fn inline_bytes_are_taken_at_the_post_and_others_late() {
    for (how, seen) in [(INLINE, b"old"), (QUIET, b"new")] {
        let mut two = Two::plain();
        two.fill(0, 0, b"old");
        two.post(0, 1, Operation::Write(two.remote(1, 0)), 0..3, how).unwrap();
        two.fill(0, 0, b"new");
        two.run();
        assert_eq!(&bytes_of(two.region[1].part(0, 3)), seen);
    }
}

#[test]
fn a_send_waits_for_a_receive_buffer() {
    let mut two = Two::plain();
    two.post(0, 1, Operation::Send, 0..4, SIGNALLED).unwrap();
    two.post(0, 2, Operation::Write(two.remote(1, 0)), 0..4, SIGNALLED).unwrap();
    two.run_for(500_000);
    assert_eq!(two.completions(0), []);
    two.receive_into(1, 8, 0..4);
    two.run();
    assert_eq!(two.completions(0), [(1, Ok(0)), (2, Ok(0))]);
}

#[test]
fn without_a_receive_buffer_a_send_fails_in_the_end_and_all_behind_it_is_flushed() {
    let faults = DeviceFaults { not_ready_retries: Some(3), ..DeviceFaults::NONE };
    let mut two = Two::new(1, Costs::PLAIN, faults, false);
    two.receive_into(0, 90, 0..4);
    two.post(0, 1, Operation::Send, 0..4, QUIET).unwrap();
    two.post(0, 2, Operation::Write(two.remote(1, 0)), 0..4, QUIET).unwrap();
    two.run();
    let flushed = Err(Failed::Flushed);
    assert_eq!(two.completions(0), [(1, Err(Failed::ReceiverNotReady)), (2, flushed), (90, flushed)]);
    two.post(0, 3, Operation::Send, 0..4, QUIET).unwrap();
    assert_eq!(two.completions(0), [(3, flushed)]);
}

#[test]
fn memory_that_is_not_registered_is_refused_and_reported() {
    type Spoil = fn(&mut Two) -> Remote;
    let cases: [(&str, Spoil); 5] = [
        ("a wrong key", |two| Remote { key: 999, ..two.remote(1, 0) }),
        ("for reading only", |two| two.shown_for(1, Access::READ)),
        ("of the rank alone", |two| two.shown_for(1, Access::NONE)),
        ("out of bounds", |two| two.remote(1, fabric::BYTES as u64 - 2)),
        ("registered no more", |two| {
            let remote = two.remote(1, 0);
            let registration = two.registration[1];
            two.adapter[1].deregister(registration);
            remote
        }),
    ];
    for (case, spoil) in cases {
        let mut two = Two::plain();
        let remote = spoil(&mut two);
        two.post(0, 1, Operation::Write(remote), 0..4, QUIET).unwrap();
        two.run();
        assert_eq!(two.completions(0), [(1, Err(Failed::RemoteAccess))], "{case}");
        assert!(
            matches!(two.adapter[1].trouble(), Some(Trouble::Pair(pair, _)) if pair == two.pair[1]),
            "{case}"
        );
        assert_eq!(two.subnet.violations().len(), 1, "{case}");
    }
}

#[test]
fn memory_that_is_shown_for_writing_is_not_read() {
    let mut two = Two::plain();
    let remote = two.shown_for(1, Access::WRITE);
    two.post(0, 1, Operation::Write(remote), 0..4, SIGNALLED).unwrap();
    two.post(0, 2, Operation::Read(remote), 0..4, SIGNALLED).unwrap();
    two.run();
    assert_eq!(two.completions(0), [(1, Ok(0)), (2, Err(Failed::RemoteAccess))]);
    assert_eq!(two.subnet.violations().len(), 1);
}

#[test]
fn own_memory_must_be_registered_until_the_bytes_have_left() {
    let mut two = Two::plain();
    two.post(0, 1, Operation::Write(two.remote(1, 0)), 0..4, QUIET).unwrap();
    let registration = two.registration[0];
    two.adapter[0].deregister(registration);
    two.run();
    assert_eq!(two.completions(0), [(1, Err(Failed::LocalAccess))]);
    assert_eq!(two.subnet.violations().len(), 1);
}

#[test]
fn a_dead_peer_is_given_up_after_the_retries() {
    let mut two = Two::plain();
    two.subnet.kill(1);
    two.post(0, 1, Operation::Write(two.remote(1, 0)), 0..4, QUIET).unwrap();
    two.post(0, 2, Operation::Send, 0..4, QUIET).unwrap();
    two.run_for(DeviceFaults::NONE.retry_ns / 2);
    assert_eq!(two.completions(0), []);
    two.run();
    assert_eq!(two.completions(0), [(1, Err(Failed::RetriesExhausted)), (2, Err(Failed::Flushed))]);
}

#[test]
fn a_place_in_the_queue_is_free_when_a_later_completion_was_polled() {
    let mut faults = DeviceFaults::NONE;
    faults.limits.work_max = 3;
    let mut two = Two::new(1, Costs::PLAIN, faults, false);
    let write = |two: &mut Two, how| two.post(0, 1, Operation::Write(two.remote(1, 0)), 0..4, how);
    for how in [QUIET, SIGNALLED, QUIET] {
        write(&mut two, how).unwrap();
    }
    two.run();
    assert!(matches!(write(&mut two, QUIET), Err(Refused::Full)));
    assert_eq!(two.completions(0).len(), 1);
    write(&mut two, QUIET).unwrap();
    write(&mut two, QUIET).unwrap();
    assert!(matches!(write(&mut two, QUIET), Err(Refused::Full)));
}

#[test]
fn datagrams_get_lost_and_doubled() {
    let faults = DeviceFaults {
        datagrams_lost_percent: 30,
        datagrams_doubled_percent: 50,
        datagrams_late_ns_max: 5000,
        ..DeviceFaults::NONE
    };
    let mut two = Two::new(4, Costs::PLAIN, faults, false);
    let to = two.adapter[1].address();
    for number in 0..100u8 {
        two.adapter[0].send_datagram(&to, &[number]).unwrap();
    }
    two.adapter[0].send_datagram(&to, &[200; 5000]).unwrap();
    two.run();
    let got: Vec<u8> =
        std::iter::from_fn(|| two.adapter[1].receive_datagram()).map(|bytes| bytes[0]).collect();
    let times = |number| got.iter().filter(|got| **got == number).count();
    assert!((0..100).any(|number| times(number) == 0) && (0..100).any(|number| times(number) == 2));
    assert!(!got.is_sorted() && times(200) == 0);
}

#[test]
fn a_port_that_is_down_delays_and_a_device_that_is_gone_ends_everything() {
    let mut two = Two::plain();
    two.subnet.set_port(1, false);
    two.post(0, 1, Operation::Write(two.remote(1, 0)), 0..4, SIGNALLED).unwrap();
    two.run_for(100_000);
    assert_eq!(two.completions(0), []);
    two.subnet.set_port(1, true);
    two.run();
    assert_eq!(two.completions(0), [(1, Ok(0))]);
    assert!(matches!(two.adapter[1].trouble(), Some(Trouble::Port(_))));
    two.subnet.break_device(0);
    assert!(matches!(two.adapter[0].trouble(), Some(Trouble::Device(_))));
    let posted = two.post(0, 2, Operation::Send, 0..4, QUIET);
    assert!(matches!(posted, Err(Refused::Broken(_))));
}

#[test]
fn work_takes_the_time_of_the_model() {
    let costs = Costs {
        post_ns: 600,
        write: Stage { latency_ns: 5000, issue_ns: 2000, receive_ns: 0 },
        byte_ps: 1_000_000,
        ..Costs::PLAIN
    };
    let mut two = Two::new(1, costs, DeviceFaults::NONE, false);
    for id in 1..=2 {
        two.post(0, id, Operation::Write(two.remote(1, 0)), 0..1, QUIET).unwrap();
    }
    // The CPU posts for 600 ns; the byte takes 1000 ns; the device begins the second 2000 ns after
    // the first.
    let landed: Vec<u64> = (0..2)
        .map(|_| {
            two.subnet.run_until(two.subnet.next_ns().expect("under way"));
            two.subnet.now_ns()
        })
        .collect();
    assert!((6600..6700).contains(&landed[0]), "{landed:?}");
    assert_eq!(two.subnet.time_ns(0), 1200.max(two.subnet.now_ns()));
}

/// The simulated device does in virtual time what the bare program measured on the real one.
#[test]
fn a_calibrated_device_takes_the_times_that_were_measured() {
    let seen = Measured {
        write_ns: 26_000.0,
        send_ns: 28_000.0,
        write_completed_ns: 40_000.0,
        read_completed_ns: 65_000.0,
        write_gap_ns: 14_000.0,
        send_gap_ns: 16_000.0,
        read_gap_ns: 18_000.0,
        write_mb_s: 85.0,
        post_ns: 9_000.0,
        post_long_ns: 300_000.0,
        post_long_bytes: 65_536.0,
        post_receive_ns: 400.0,
        look_empty_ns: 150.0,
        look_found_ns: 400.0,
        register_page_ns: 30_000.0,
        register_long_ns: 120_000.0,
        register_long_bytes: 1_048_576.0,
        deregister_ns: 20_000.0,
        open_ns: 60_000.0,
        connect_ns: 50_000.0,
        copy_mb_s: 2_000.0,
        copy_beside_mb_s: 1_800.0,
    };
    let costs = calibrate("a device", &seen).costs;
    let completed_ns = |operation: fn(Remote) -> Operation| {
        let mut two = Two::new(1, costs, DeviceFaults::NONE, false);
        let (start_ns, remote) = (two.subnet.time_ns(0), two.remote(1, 0));
        two.post(0, 1, operation(remote), 0..8, SIGNALLED).unwrap();
        two.subnet.run_until(two.subnet.next_ns().expect("under way"));
        let landed_ns = two.subnet.now_ns() - start_ns;
        two.run();
        assert_eq!(two.adapter[0].poll().expect("a completion").id, 1);
        (landed_ns as f64, (two.subnet.time_ns(0) - start_ns) as f64)
    };
    let near = |here: f64, there: f64| assert!((here / there - 1.0).abs() < 0.02, "{here} ns, not {there}");
    let (landed, completed) = completed_ns(Operation::Write);
    near(landed, seen.write_ns);
    near(completed, seen.write_completed_ns);
    near(completed_ns(Operation::Read).1, seen.read_completed_ns);
}

/// Work of one queue pair waits for that before it; of two pairs it is started side by side, as far
/// as the device can.
#[test]
fn queue_pairs_work_side_by_side_up_to_the_devices_measure() {
    let stage = Stage { latency_ns: 1000, issue_ns: 8000, receive_ns: 0 };
    let last_ns = |pairs_at_once, by_two: bool| {
        let costs = Costs { write: stage, pairs_at_once, ..Costs::PLAIN };
        let mut two = Two::new(1, costs, DeviceFaults::NONE, false);
        let first = two.pair[0];
        let other = two.another_pair();
        for id in 0..4 {
            two.pair[0] = if by_two && id % 2 == 1 { other } else { first };
            two.post(0, id, Operation::Write(two.remote(1, 0)), 0..1, SIGNALLED).unwrap();
        }
        two.run();
        assert_eq!(two.completions(0).len(), 4);
        two.subnet.now_ns()
    };
    // Four in a row take three gaps; over two pairs each does two, one gap apart.
    assert!((25_000..25_500).contains(&last_ns(1, false)) && (25_000..25_500).contains(&last_ns(4, false)));
    assert!((25_000..25_500).contains(&last_ns(1, true)), "{}", last_ns(1, true));
    assert!((11_000..11_500).contains(&last_ns(4, true)), "{}", last_ns(4, true));
}
