//! The shared receive pool (paper 4, 2.1 and 4.1): few buffers for many connections, growth by the
//! device's word, and the device that holds senders back while the pool is empty.

use crate::rig::{Rig, settings};
use verbena_channel::{Channel, Peer, Receives, SendError};
use verbena_infiniband::rc::Settings;
use verbena_infiniband::rc::adapter::Limits;
use verbena_infiniband::rc::settings::Policy;
use verbena_sim::verbs::DeviceFaults;

/// Processes that send to the first one.
const SENDERS: u32 = 12;
/// Credits of each.
const CREDITS: u16 = 8;
/// The retry time of the devices.
const RETRY_NS: u64 = DeviceFaults::NONE.retry_ns;

fn pooled(pool_receives: u32) -> Settings {
    // Eight buffers are registered at a time.
    Settings { credits: CREDITS, pool_receives, buffer_bytes: 8 << 10, policy: Policy::None, ..settings() }
}

/// Connects everyone with the first process.
fn connected(settings: &Settings, faults: DeviceFaults) -> Rig {
    let mut rig = Rig::new(SENDERS + 1, 1, settings, faults);
    for from in 1..=SENDERS {
        rig.send(from, 0, 0, 8);
    }
    rig.await_packets(0, SENDERS as usize);
    rig.steps(50);
    rig
}

/// Everyone sends what its credits allow, while the first process computes for `ns`; returns how
/// many packets went.
fn burst(rig: &mut Rig, ns: u64) -> usize {
    let end_ns = rig.subnet.now_ns() + ns;
    let mut sent = [0; SENDERS as usize + 1];
    while rig.subnet.now_ns() < end_ns {
        for from in 1..=SENDERS {
            match rig.try_send(from, 0, 1 + sent[from as usize], 100) {
                Ok(()) => sent[from as usize] += 1,
                Err(error) => assert!(matches!(error, SendError::Full), "{error:?}"),
            }
        }
        let next_ns = rig.subnet.next_ns().unwrap_or(end_ns).min(end_ns);
        rig.subnet.run_until(next_ns);
        (1..=SENDERS).for_each(|rank| rig.poll(rank));
    }
    sent.iter().sum::<u64>() as usize
}

fn receives(rig: &Rig) -> Receives {
    rig.channels[0].counts().receives
}

/// Checks that the first process got this many packets, and those of each peer in order.
fn all_in_order(rig: &mut Rig, count: usize) {
    rig.await_packets(0, count);
    for from in 1..=SENDERS {
        let of_it = rig.logs[0].packets.iter().filter(|(peer, _)| *peer == from).map(|(_, number)| *number);
        let of_it: Vec<u64> = of_it.collect();
        assert!(of_it.iter().copied().eq(0..of_it.len() as u64), "{from}: {of_it:?}");
    }
    rig.settle();
    assert!(rig.logs.iter().all(|log| log.broken.is_empty()));
}

/// Bursts of a run.
const BURSTS: usize = 8;

/// Runs some bursts; returns the buffers' bytes and top-ups at the end, and the tries in each burst
/// that found no buffer.
fn bursts(settings: &Settings, faults: DeviceFaults) -> (Receives, [u64; BURSTS]) {
    let mut rig = connected(settings, faults);
    let mut count = SENDERS as usize;
    let not_ready = [(); BURSTS].map(|()| {
        let before = rig.subnet.counts().not_ready;
        let log = std::mem::take(&mut rig.logs[0].packets);
        let sent = burst(&mut rig, RETRY_NS);
        rig.await_packets(0, sent);
        rig.logs[0].packets.splice(0..0, log);
        count += sent;
        rig.steps(200);
        rig.subnet.counts().not_ready - before
    });
    assert_eq!(rig.logs[0].packets.len(), count);
    (receives(&rig), not_ready)
}

#[test]
fn everything_arrives_though_the_pool_holds_less_than_was_sent() {
    let mut rig = connected(&pooled(16), DeviceFaults::NONE);
    let sent = burst(&mut rig, RETRY_NS);
    assert!(sent > 16 && rig.subnet.counts().not_ready > 0, "{sent} packets");
    all_in_order(&mut rig, SENDERS as usize + sent);
}

/// The size of the pool shows in memory, and in the sends that have to wait; queues of their own,
/// and a pool for all credits, hold them all.
#[test]
fn the_size_of_the_pool_is_what_the_setting_says() {
    let quiet = DeviceFaults { tells_few_receives: false, ..DeviceFaults::NONE };
    let (small, waited) = bursts(&pooled(16), quiet);
    let (middle, less) = bursts(&pooled(70), quiet);
    let (roomy, none) = bursts(&pooled(4096), quiet);
    let (own, none_either) = bursts(&Settings { shared_receives: false, ..pooled(16) }, quiet);
    println!("{small:?} {waited:?}, {middle:?} {less:?}, {roomy:?}, {own:?}");
    assert_eq!((none, none_either), ([0; BURSTS], [0; BURSTS]));
    assert!(waited[0] > less[0] && less[0] > 0);
    assert!(small.bytes < middle.bytes && middle.bytes < roomy.bytes && roomy.bytes == own.bytes);
    assert!(small.shared > 0 && roomy.shared > 0 && own.shared == 0);
}

/// The event is what makes the pool grow: then the last bursts wait for nothing.
#[test]
fn the_pool_grows_when_the_device_says_that_it_runs_low() {
    let (grown, waited) = bursts(&pooled(16), DeviceFaults::NONE);
    let deaf = DeviceFaults { tells_few_receives: false, ..DeviceFaults::NONE };
    let (same, waited_deaf) = bursts(&pooled(16), deaf);
    println!("{grown:?} {waited:?}, without the event {same:?} {waited_deaf:?}");
    assert!(grown.top_ups > 0 && same.top_ups == 0);
    assert!(grown.bytes > same.bytes);
    let last = BURSTS - 1;
    assert!(waited[0] > 0 && waited[last] == 0 && waited_deaf[last] > waited_deaf[0] / 2);
}

/// `RC_RECEIVES_MAX`: the queue holds no more, and the pool does not grow beyond.
#[test]
fn the_pool_grows_no_further_than_the_queue_holds() {
    let limits = Limits { receives_max: 24, ..DeviceFaults::NONE.limits };
    let (stopped, _) = bursts(&pooled(16), DeviceFaults { limits, ..DeviceFaults::NONE });
    assert_eq!((stopped.top_ups, stopped.bytes), (1, 24 * (8 << 10)));
}

/// A peer may compute for as long as it likes; when it dies, its senders learn it in the time of
/// the device's retries.
#[test]
fn who_computes_is_waited_for_and_who_died_is_not() {
    let mut rig = connected(&pooled(16), DeviceFaults::NONE);
    burst(&mut rig, 100 * RETRY_NS);
    assert!(rig.logs.iter().all(|log| log.broken.is_empty()));
    rig.subnet.kill(0);
    let end_ns = rig.subnet.now_ns() + 3 * RETRY_NS;
    while rig.subnet.now_ns() < end_ns {
        let next_ns = rig.subnet.next_ns().unwrap_or(end_ns).min(end_ns);
        rig.subnet.run_until(next_ns);
        (1..=SENDERS).for_each(|rank| rig.poll(rank));
    }
    for from in 1..=SENDERS {
        let [(peer, fault)] = &rig.logs[from as usize].broken[..] else { panic!("rank {from} waits") };
        assert!(*peer == 0 && fault.what.contains("does not acknowledge"), "{fault}");
    }
}

/// A process that lives and never calls MPI again is given up as one that answers no first hello.
#[test]
fn who_never_looks_again_is_given_up_in_the_end() {
    let (asked_ns, given_up_ns) = (RETRY_NS, 300_000_000);
    let settings = Settings {
        keepalive_ns: asked_ns,
        keepalive_ns_max: asked_ns,
        connect_ns_max: given_up_ns,
        ..pooled(16)
    };
    let mut rig = connected(&settings, DeviceFaults::NONE);
    burst(&mut rig, given_up_ns / 2);
    let broken = |rig: &Rig| rig.logs.iter().filter(|log| !log.broken.is_empty()).count();
    assert_eq!(broken(&rig), 0);
    let idle = |rig: &mut Rig| {
        rig.subnet.run_until(rig.subnet.now_ns() + RETRY_NS);
        (1..=SENDERS as Peer).for_each(|rank| (0..100).for_each(|_| rig.poll(rank)));
    };
    (0..2 * given_up_ns / RETRY_NS).for_each(|_| idle(&mut rig));
    assert!(broken(&rig) > 0, "they wait for ever");
}

/// `RC_RECEIVER_RETRIES` below 7: the tries have an end, and the message says what to do.
#[test]
fn tries_with_an_end_break_the_connection() {
    let faults = DeviceFaults { not_ready_retries: Some(3), ..DeviceFaults::NONE };
    let mut rig = connected(&pooled(16), faults);
    for from in 1..=SENDERS {
        (1..=u64::from(CREDITS)).for_each(|number| _ = rig.try_send(from, 0, number, 100));
    }
    rig.subnet.run_until(rig.subnet.now_ns() + RETRY_NS);
    (1..=SENDERS).for_each(|rank| rig.poll(rank));
    let faults: Vec<String> =
        rig.logs.iter().flat_map(|log| &log.broken).map(|(_, fault)| fault.to_string()).collect();
    assert!(faults.iter().any(|fault| fault.contains("RC_RECEIVER_RETRIES")), "{faults:#?}");
}

/// Connections that come and go add nothing to the pool.
#[test]
fn a_pool_stays_as_large_however_many_connections_there_were() {
    let bytes = |peers: u32| {
        let mut rig = Rig::new(peers + 1, 1, &pooled(16), DeviceFaults::NONE);
        for from in 1..=peers {
            rig.send(from, 0, 0, 8);
            rig.await_packets(0, from as usize);
        }
        receives(&rig).bytes
    };
    assert_eq!(bytes(4), bytes(40));
}
