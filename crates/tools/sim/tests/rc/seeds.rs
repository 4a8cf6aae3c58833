//! Random traffic between several ranks, with random settings and devices: everything arrives, in
//! order, once.

use crate::rig::{Rig, settings};
use verbena_channel::{Channel, SendError};
use verbena_infiniband::rc::Settings;
use verbena_infiniband::rc::settings::{Notify, Order, Policy};
use verbena_sim::Random;
use verbena_sim::verbs::DeviceFaults;

/// Settings of every sort, mostly small so that limits are met.
fn random_settings(random: &mut Random) -> Settings {
    Settings {
        slots: random.pick(&[2, 3, 5, 8, 32, 200]),
        slot_bytes: random.pick(&[192, 256, 448]),
        buffer_bytes: random.pick(&[256, 512]),
        chunk_bytes: random.pick(&[128, 1000, 4000]),
        credits: random.pick(&[4, 5, 16]),
        shared_receives: random.percent(50),
        send_buffers_max: random.pick(&[2, 16]),
        policy: random.pick(&[Policy::First, Policy::Most, Policy::Hinted, Policy::All, Policy::None]),
        order: random.pick(&[Order::Sequential, Order::Circular, Order::Priority]),
        set_max: random.pick(&[1, 2, 4]),
        sender_rings_max: random.pick(&[0, 1, 16]),
        notify: random.pick(&[Notify::Piggyback, Notify::Pointer]),
        signal_every: random.pick(&[1, 3, 32]),
        inline_bytes_max: random.pick(&[0, 100, 512]),
        ..settings()
    }
}

/// Sends packets between random ranks for a while, with polls at random.
fn run(seed: u64) {
    let mut random = Random::new(seed);
    let settings = random_settings(&mut random);
    let ranks = random.between(2, 4) as u32;
    // A packet that finds no receive buffer breaks its queue pair: credits must see that there is
    // one.
    let faults = DeviceFaults { not_ready_retries: Some(0), ..DeviceFaults::random(&mut random) };
    let mut rig = Rig::new(ranks, seed, &settings, faults);
    let mut sent = vec![vec![0u64; ranks as usize]; ranks as usize];
    for round in 0..400 {
        let from = random.between(0, u64::from(ranks) - 1) as u32;
        let to = (from + random.between(1, u64::from(ranks) - 1) as u32) % ranks;
        if round % 97 == 0 {
            rig.channels[from as usize].hint(&[to]);
        }
        for _ in 0..random.pick(&[1, 1, 3, 12, 300]) {
            let len = random.between(0, rig.longest(from, to) as u64) as usize;
            let number = &mut sent[from as usize][to as usize];
            match rig.try_send(from, to, *number, len) {
                Ok(()) => *number += 1,
                Err(SendError::Full) => break,
                Err(SendError::Broken(fault)) => panic!("{fault}"),
            }
        }
        for _ in 0..random.between(0, 5) {
            match random.between(0, 2) {
                0 => rig.steps(1),
                1 => rig.poll(random.between(0, u64::from(ranks) - 1) as u32),
                // Things happen that nobody looks at, so that both paths have packets at the same
                // time.
                _ => rig.subnet.run_until(rig.subnet.now_ns() + random.between(0, 20_000)),
            }
        }
    }
    for to in 0..ranks as usize {
        let all: u64 = sent.iter().map(|row| row[to]).sum();
        rig.await_packets(to as u32, all as usize);
        for from in 0..ranks {
            let numbers =
                rig.logs[to].packets.iter().filter(|(peer, _)| *peer == from).map(|(_, number)| *number);
            assert!(numbers.eq(0..sent[from as usize][to]), "from {from} to {to}");
        }
        assert!(rig.logs[to].broken.is_empty(), "{:?}", rig.logs[to].broken);
    }
    rig.settle();
}

#[test]
fn random_traffic_arrives_in_order() {
    let only: Option<u64> = std::env::var("VERBENA_SIM_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in only.map_or(0..400, |seed| seed..seed + 1) {
        let outcome = std::panic::catch_unwind(|| run(seed));
        assert!(outcome.is_ok(), "VERBENA_SIM_SEED={seed} fails");
    }
}
