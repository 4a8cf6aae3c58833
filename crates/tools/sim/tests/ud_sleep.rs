//! A rank that sleeps over `ud` is woken by nothing but completion events and its own timers: no
//! packet waits for a nap, and no acknowledgement comes so late that its sender sends again.

use std::collections::BTreeMap;
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Channel, Payload, Peer, SendError, Sink};
use verbena_fault::Fault;
use verbena_infiniband::ud::Settings;
use verbena_sim::over_ud::{LIMITS, channels};
use verbena_sim::verbs::{Costs, DeviceFaults, SimDatagrams, Subnet};
use verbena_sim::{Random, Rank};
use verbena_waiting::{NAP, SLEEP_MAX};

type UdChannel = verbena_infiniband::ud::UdChannel<SimDatagrams>;

/// The rank that sends and, as a program that computes, looks only now and then; and the one that
/// sleeps.
const SENDER: Rank = 0;
const SLEEPER: Rank = 1;
/// The most time that the wire and the sleeper's own look take.
const FLIGHT_NS_MAX: u64 = 20_000;
/// The longest flight.
const WIRE: DeviceFaults = DeviceFaults { delay_ns_max: 1000, ..DeviceFaults::NONE };
/// Packets of a run.
const PACKETS: usize = 100;
/// The sender looks this often.
const LOOK_NS: u64 = 50_000;

/// The arrival time of each packet, by its number: in any order, since the engine orders them.
struct Log<'a> {
    arrived_ns: BTreeMap<u64, u64>,
    subnet: &'a Subnet,
}

impl Sink for Log<'_> {
    fn packet(&mut self, _peer: Peer, header: &Header, _bytes: &[u8]) {
        let before = self.arrived_ns.insert(header.context, self.subnet.now_ns());
        assert_eq!(before, None, "packet {} twice", header.context);
    }

    fn transferred(&mut self, _token: u64, _outcome: Result<(), Fault>) {}

    fn broken(&mut self, peer: Peer, fault: Fault) {
        panic!("{peer}: {fault:?}");
    }
}

/// The results of a run.
#[derive(Debug)]
struct Seen {
    /// The longest that a packet waited.
    worst_ns: u64,
    /// Sleeps, and those that might have been longer than a nap.
    sleeps: u32,
    long: u32,
    /// Fragments sent again.
    resent: u64,
}

/// Some messages with pauses of up to 30 ms; the sleeper hears events, or only its sleeps end.
fn chatter(seed: u64, hears: bool) -> Seen {
    let mut random = Random::new(seed);
    let subnet = Subnet::new(random.word(), 2, Costs::PLAIN, WIRE);
    let mut uds: Vec<UdChannel> = channels(&subnet, LIMITS, |_| Settings::current(), 2);
    let [mut log, mut sender_log] = [0; 2].map(|_| Log { arrived_ns: BTreeMap::new(), subnet: &subnet });
    let (mut sent_ns, mut wake_ns, mut look_ns, mut send_ns) = (Vec::new(), 0, 0, 0);
    let mut seen = Seen { worst_ns: 0, sleeps: 0, long: 0, resent: 0 };
    let end_ns = loop {
        let now_ns = subnet.now_ns();
        if sent_ns.len() == PACKETS && now_ns > send_ns + SLEEP_MAX.as_nanos() as u64 {
            break now_ns;
        }
        if now_ns >= send_ns && sent_ns.len() < PACKETS {
            let header = Header { context: sent_ns.len() as u64, length: 8, ..Header::new(Kind::Eager) };
            match uds[SENDER as usize].send(SLEEPER, &header, Payload::Bytes(&[7; 8])) {
                Ok(()) => {
                    sent_ns.push(now_ns);
                    let longest_ns = random.pick(&[1, 100_000, 30_000_000]);
                    send_ns = now_ns + random.below(longest_ns);
                }
                Err(SendError::Full) => send_ns = now_ns + LOOK_NS,
                Err(SendError::Broken(fault)) => panic!("{fault:?}"),
            }
        }
        if now_ns >= look_ns {
            uds[SENDER as usize].poll(&mut sender_log);
            look_ns = now_ns + LOOK_NS;
        }
        let rung = subnet.take_event(SLEEPER) && hears;
        if rung || now_ns >= wake_ns {
            let sleeper = &mut uds[SLEEPER as usize];
            sleeper.disarm();
            while sleeper.poll(&mut log) > 0 {}
            let allowed = sleeper.arm().min(SLEEP_MAX);
            while sleeper.poll(&mut log) > 0 {}
            (seen.sleeps, seen.long) = (seen.sleeps + 1, seen.long + u32::from(allowed > NAP));
            wake_ns = now_ns + (allowed.as_nanos() as u64).max(1);
        }
        let sends_ns = if sent_ns.len() < PACKETS { send_ns } else { u64::MAX };
        let next_ns = subnet.next_ns().unwrap_or(u64::MAX).min(wake_ns).min(look_ns).min(sends_ns);
        subnet.run_until(next_ns.max(now_ns + 1));
    };
    assert_eq!(log.arrived_ns.len(), sent_ns.len(), "at {end_ns} ns");
    assert!(sender_log.arrived_ns.is_empty(), "nobody sends to the sender");
    let waits = log.arrived_ns.values().zip(&sent_ns).map(|(arrived, sent)| arrived - sent);
    seen.worst_ns = waits.max().unwrap_or(0);
    seen.resent = uds[SENDER as usize].counts().datagrams.resent;
    seen
}

#[test]
fn a_sleeper_is_woken_by_what_arrives_and_acknowledges_in_time() {
    for seed in 0..50 {
        let seen = chatter(seed, true);
        assert!(seen.worst_ns <= FLIGHT_NS_MAX, "seed {seed}: {seen:?}");
        // One that many later ones overtook may count as lost.
        assert!(seen.resent <= 2, "seed {seed}: {seen:?}");
        assert!(seen.long * 4 >= seen.sleeps, "seed {seed}: it sleeps, not naps: {seen:?}");
    }
}

/// The events are what wakes it: without them packets wait for the sleep to end.
#[test]
fn a_deaf_sleeper_is_late() {
    let late = (0..50).filter(|&seed| chatter(seed, false).worst_ns > FLIGHT_NS_MAX).count();
    assert!(late > 40, "{late}");
}
