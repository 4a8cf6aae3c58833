//! Ranks that sleep and are woken by nothing but events: no packet waits for longer than a nap,
//! though rings make no completions.

use crate::rig::{Rig, settings};
use verbena_channel::{Channel, Peer};
use verbena_infiniband::rc::Settings;
use verbena_infiniband::rc::settings::Policy;
use verbena_sim::Random;
use verbena_sim::verbs::DeviceFaults;
use verbena_waiting::{NAP, SLEEP_MAX};

/// The longest that a packet may wait: a nap, and what the wire and the other's look take.
const WAIT_NS_MAX: u64 = 4 * NAP.as_nanos() as u64;
/// Devices whose packets take up to a microsecond more.
const WIRE: DeviceFaults = DeviceFaults { delay_ns_max: 1000, ..DeviceFaults::NONE };

/// Two ranks; the second only waits.
struct Sleepy {
    rig: Rig,
    /// The time until which the second rank sleeps, if it does.
    asleep_until_ns: Option<u64>,
    /// True if it hears events.
    hears: bool,
    /// The number of times it went to sleep for longer than a nap.
    sleeps: u32,
    /// The longest that a packet waited.
    worst_ns: u64,
    sent_ns: Vec<u64>,
}

impl Sleepy {
    fn new(seed: u64, settings: &Settings) -> Sleepy {
        let rig = Rig::new(2, seed, settings, WIRE);
        Sleepy { rig, asleep_until_ns: None, hears: true, sleeps: 0, worst_ns: 0, sent_ns: Vec::new() }
    }

    fn received(&self) -> usize {
        self.rig.logs[1].packets.len()
    }

    /// The second rank looks, and goes to sleep if there is nothing: as `Process::idle` does.
    fn look(&mut self) {
        let before = self.received();
        self.rig.poll(1);
        let allowed = self.rig.channels[1].arm();
        self.rig.poll(1);
        let now_ns = self.rig.subnet.now_ns();
        for number in before..self.received() {
            self.worst_ns = self.worst_ns.max(now_ns - self.sent_ns[number]);
        }
        self.sleeps += u32::from(allowed > NAP);
        self.asleep_until_ns = Some(now_ns + allowed.min(SLEEP_MAX).as_nanos() as u64);
    }

    /// Lets time go on to then; the first rank does nothing, as a program that computes.
    fn run_until(&mut self, end_ns: u64) {
        while self.rig.subnet.now_ns() < end_ns {
            let next_ns = self.rig.subnet.next_ns().unwrap_or(u64::MAX);
            let wake_ns = self.asleep_until_ns.unwrap_or(0);
            self.rig.subnet.run_until(next_ns.min(wake_ns).min(end_ns).max(self.rig.subnet.now_ns() + 1));
            let rung = self.rig.subnet.take_event(1) && self.hears;
            if rung || self.rig.subnet.now_ns() >= wake_ns {
                self.rig.channels[1].disarm();
                self.look();
            }
        }
    }

    /// The first rank sends, after which it does not look again by itself.
    fn send(&mut self, len: usize) {
        let number = self.sent_ns.len() as u64;
        self.sent_ns.push(self.rig.subnet.now_ns());
        while self.rig.try_send(0, 1, number, len).is_err() {
            self.rig.poll(0);
            let soon_ns = self.rig.subnet.now_ns() + 1000;
            self.run_until(soon_ns);
        }
    }

    /// Lets both talk until the second rank has given the first one a ring.
    fn meet(&mut self) {
        for number in 0..20 {
            self.sent_ns.push(0);
            self.rig.send(0, 1, number, 8);
            self.rig.steps(5);
        }
        self.rig.await_packets(1, 20);
        self.rig.settle();
    }
}

fn ringed() -> Settings {
    Settings { policy: Policy::All, ..settings() }
}

/// Messages with pauses of up to 30 ms.
fn chatter(mut sleepy: Sleepy, random: &mut Random) -> Sleepy {
    sleepy.meet();
    sleepy.look();
    for _ in 0..60 {
        let longest_ns = random.pick(&[1000, 1_000_000, 30_000_000]);
        let pause_ns = random.below(longest_ns);
        let until_ns = sleepy.rig.subnet.now_ns() + pause_ns;
        sleepy.run_until(until_ns);
        for _ in 0..random.pick(&[1, 1, 2, 7]) {
            sleepy.send(random.below(200) as usize);
        }
    }
    let end_ns = sleepy.rig.subnet.now_ns() + 2 * SLEEP_MAX.as_nanos() as u64;
    sleepy.run_until(end_ns);
    assert_eq!(sleepy.received(), sleepy.sent_ns.len());
    sleepy
}

#[test]
fn a_sleeper_misses_no_packet_in_its_ring() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let settings = Settings {
            inline_bytes_max: random.pick(&[0, 128]),
            shared_receives: random.percent(50),
            slots: random.pick(&[8, 32]),
            ..ringed()
        };
        let sleepy = chatter(Sleepy::new(seed, &settings), &mut random);
        assert!(sleepy.sleeps > 5, "seed {seed}: it slept {} times", sleepy.sleeps);
        assert!(sleepy.worst_ns <= WAIT_NS_MAX, "seed {seed}: a packet waited for {} ns", sleepy.worst_ns);
    }
}

/// The trial without events fails: the test must see that.
#[test]
fn who_hears_no_event_keeps_packets_waiting() {
    let mut sleepy = Sleepy::new(1, &ringed());
    sleepy.hears = false;
    let sleepy = chatter(sleepy, &mut Random::new(1));
    assert!(sleepy.worst_ns > WAIT_NS_MAX, "{} ns", sleepy.worst_ns);
}

#[test]
fn packets_by_send_and_receive_wake_too() {
    let settings = Settings { policy: Policy::None, ..settings() };
    let sleepy = chatter(Sleepy::new(7, &settings), &mut Random::new(7));
    assert!(sleepy.sleeps > 5 && sleepy.worst_ns <= WAIT_NS_MAX, "{} ns", sleepy.worst_ns);
}

#[test]
fn a_hello_wakes_who_never_spoke() {
    let mut sleepy = Sleepy::new(3, &ringed());
    sleepy.look();
    assert!(sleepy.sleeps == 1, "nobody has spoken: it may sleep");
    let from: Peer = 0;
    assert!(sleepy.rig.try_send(from, 1, 0, 8).is_err());
    let soon_ns = sleepy.rig.subnet.now_ns() + 1_000_000;
    sleepy.run_until(soon_ns);
    assert!(sleepy.rig.subnet.counts().datagrams >= 2, "the hello was answered");
}
