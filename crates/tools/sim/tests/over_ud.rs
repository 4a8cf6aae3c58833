//! Point-to-point traffic over the channel `ud` on simulated verbs devices that lose, double, swap
//! and garble datagrams, with queue pairs that hang and peers that die, for many seeds.
//! `VERBENA_SIM_SEEDS=10000` runs that many. To replay one:
//! `VERBENA_SIM_SEED=<seed> cargo test -p verbena-sim --test over_ud replay -- --nocapture`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Channel, Payload, Peer, Sink};
use verbena_fault::Fault;
use verbena_infiniband::ud::Settings;
use verbena_sim::Faults;
use verbena_sim::over_ud::{self, UdFaults};
use verbena_sim::seeds::Trial;
use verbena_sim::traffic::{run_over_ud, run_over_ud_under};
use verbena_sim::verbs::{Costs, DeviceFaults, Subnet};

const TRIAL: Trial = Trial { test: "over_ud", run: run_over_ud };

/// The runs together must have met everything that they are meant to try.
#[test]
fn a_thousand_seeds() {
    TRIAL.many(
        0.005,
        &[
            ("messages", |r, _| r.messages as u64),
            ("died", |r, _| r.died as u64),
            ("cancelled", |r, _| r.cancelled as u64),
            ("rendezvous", |r, _| r.rendezvous),
            ("throttles", |r, _| r.throttles),
            ("datagrams", |_, c| c.datagrams),
            ("lost", |_, c| c.lost),
            ("doubled", |_, c| c.doubled),
            ("garbled", |_, c| c.garbled),
            ("without a receive buffer", |_, c| c.unposted),
            ("queue pairs that hung", |_, c| c.hung),
            ("inline posts", |_, c| c.inline),
        ],
    );
}

#[test]
fn a_seed_replays_exactly() {
    TRIAL.replays_exactly(2000..2020);
}

/// Counts the seeds, of 60, that notice what is wrong.
fn noticed(faults: &UdFaults) -> usize {
    let run = |seed: &u64| catch_unwind(AssertUnwindSafe(|| run_over_ud_under(*seed, faults)));
    (0..60).filter(|seed| !matches!(run(seed), Ok(Ok(_)))).count()
}

/// Devices that flip bits, and messages long enough to be hit.
fn garbling(checksum: bool) -> UdFaults {
    let mut faults = UdFaults::none();
    faults.faults = Faults { away_percent: 10, ..Faults::none() };
    faults.device = DeviceFaults { datagrams_garbled_percent: 5, ..faults.device };
    faults.settings = Settings { checksum, ..faults.settings };
    faults
}

#[test]
fn flipped_bits_are_found_with_checksums() {
    assert_eq!(noticed(&garbling(true)), 0);
}

#[test]
fn flipped_bits_are_noticed_above_without_checksums() {
    let noticed = noticed(&garbling(false));
    assert!(noticed > 25, "{noticed}");
}

#[test]
fn without_reliability_a_lost_datagram_is_noticed_and_a_good_network_does_no_harm() {
    let mut faults = UdFaults::none();
    faults.settings = Settings { reliable: false, receives: Some(4096), ..faults.settings };
    assert_eq!(noticed(&faults), 0);
    faults.device.datagrams_lost_percent = 5;
    let noticed = noticed(&faults);
    assert!(noticed > 25, "{noticed}");
}

/// A sink that nobody listens at, not even an engine.
struct Deaf(usize);

impl Sink for Deaf {
    fn packet(&mut self, _peer: Peer, _header: &Header, _payload: &[u8]) {
        self.0 += 1;
    }

    fn transferred(&mut self, _token: u64, _outcome: Result<(), Fault>) {}
}

/// The last acknowledgement may be lost; still the process that it was for must end, one after the
/// other, though those that have left no longer answer.
#[test]
fn everyone_can_leave_a_bad_network() {
    for seed in 0..300 {
        let faults = UdFaults::none();
        let device = DeviceFaults { datagrams_lost_percent: 20, ..faults.device };
        let subnet = Subnet::new(seed, 4, Costs::PLAIN, device);
        let channels = over_ud::channels(&subnet, faults.limits, |_| faults.settings.clone(), 4);
        let mut channels: Vec<Option<_>> = channels.into_iter().map(Some).collect();
        let (mut sinks, mut steps) = ([0; 4].map(Deaf), 0);
        for (from, channel) in channels.iter_mut().flatten().enumerate() {
            for to in (0..4).filter(|to| *to != from) {
                let header = Header::new(Kind::Eager);
                channel.send(to as Peer, &header, Payload::Bytes(&[7; 100])).expect("room");
            }
        }
        while channels.iter().any(Option::is_some) {
            subnet.run_until(subnet.now_ns() + 20_000);
            for (channel, sink) in channels.iter_mut().zip(&mut sinks) {
                let Some(open) = channel else { continue };
                while open.poll(sink) > 0 {}
                // A process that leaves has received what it wants, as a program has.
                if sink.0 == 3 && open.is_quiet() && open.farewell() {
                    *channel = None;
                }
            }
            steps += 1;
            assert!(steps < 50_000, "seed {seed}: nobody leaves within a second");
        }
    }
}

#[test]
fn replay() {
    TRIAL.replay();
}
