//! The polling set of `rc` (paper 1, 3.3 and 4.7): many peers with a connection, of which few talk,
//! and who gains from which policy, size and order.
//!
//! The real channel runs over the model of paper 1's device. Rank 0 hears from whoever sends next,
//! and spins. A look at a ring costs what the paper measured (6.5, figure 23); a look at the
//! completion queue, and what it tells of, cost what the model of the device says.

use super::table::Table;
use crate::over_rc::{channels, paper_settings};
use crate::verbs::{Costs, DeviceFaults, SimAdapter, Subnet};
use crate::{Random, Rank};
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Channel, Payload, Peer, PollingSetCounts, SendError, Sink};
use verbena_fault::Fault;
use verbena_infiniband::rc::settings::{Order, Policy};
use verbena_infiniband::rc::{RcChannel, Settings};

/// Peers of rank 0, and those that talk: the last ones to connect.
pub const PEERS: Rank = 64;
/// The peers that talk.
pub const TALKERS: Rank = 4;
/// A look at a ring in nanoseconds: paper 1's slope from 16 to 128 rings (6.5, figure 23).
pub const RING_LOOK_NS: u64 = 10;

/// Messages before anything is counted, and those that are.
const WARM: u32 = 1000;
const MESSAGES: u32 = 1000;
/// Messages between two reviews of the set: a few of them happen before the counting.
const REVIEW_EVERY: u32 = 64;
/// Bytes of a message.
const BYTES: usize = 8;
/// The longest that a sender computes before a message, in nanoseconds.
const COMPUTES_NS_MAX: u64 = 2000;
/// A message that takes more polls than this hangs.
const POLLS_MAX: u32 = 100_000;

/// A choice of the settings of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The policy of who comes into the set.
    pub policy: Policy,
    /// The order of polling it.
    pub order: Order,
    /// The largest size of the set.
    pub set_max: usize,
}

/// The counts and times of one choice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The mean time from the post of a message to its receipt, in nanoseconds.
    pub latency_ns: f64,
    /// Rank 0's counts while it received the messages.
    pub counts: PollingSetCounts,
    /// The messages received.
    pub messages: u64,
}

impl Outcome {
    /// The share of messages that came by rings, in percent.
    pub fn by_rings_percent(&self) -> f64 {
        100.0 * self.counts.ring_packets as f64 / self.messages as f64
    }

    /// Looks at silent rings before a message, on average.
    pub fn misses(&self) -> f64 {
        self.counts.ring_misses as f64 / self.messages as f64
    }
}

/// Counts packets of the engine.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn packet(&mut self, _peer: Peer, _header: &Header, _payload: &[u8]) {
        self.0 += 1;
    }

    fn transferred(&mut self, _token: u64, _outcome: Result<(), Fault>) {}
}

/// Rank 0 and its peers.
struct Group {
    channels: Vec<RcChannel<SimAdapter>>,
    subnet: Subnet,
    got: Count,
    sent: u64,
}

impl Choice {
    /// Lets the talkers send rank 0 a message after another, in no order, and counts.
    ///
    /// # Errors
    /// What hung or broke.
    pub fn run(self) -> Result<Outcome, String> {
        let mut group = Group::new(self);
        group.connect()?;
        let mut random = Random::new(7);
        let talker = |random: &mut Random| PEERS - random.below(u64::from(TALKERS)) as Rank;
        for _ in 0..WARM {
            let from = talker(&mut random);
            group.message(from, random.below(COMPUTES_NS_MAX))?;
        }
        let before = group.channels[0].counts().polling_set;
        let mut latency_ns = 0;
        for _ in 0..MESSAGES {
            let from = talker(&mut random);
            latency_ns += group.message(from, random.below(COMPUTES_NS_MAX))?;
        }
        let counts = since(group.channels[0].counts().polling_set, before);
        let messages = u64::from(MESSAGES);
        Ok(Outcome { latency_ns: latency_ns as f64 / messages as f64, counts, messages })
    }
}

/// Returns what was counted between two counts.
fn since(now: PollingSetCounts, then: PollingSetCounts) -> PollingSetCounts {
    PollingSetCounts {
        rings: now.rings,
        ring_looks: now.ring_looks - then.ring_looks,
        ring_misses: now.ring_misses - then.ring_misses,
        ring_packets: now.ring_packets - then.ring_packets,
        queue_looks: now.queue_looks - then.queue_looks,
        queue_packets: now.queue_packets - then.queue_packets,
    }
}

impl Group {
    fn new(choice: Choice) -> Group {
        let ranks = PEERS + 1;
        let subnet = Subnet::new(1, ranks, Costs::PAPER_1, DeviceFaults::NONE);
        let Choice { policy, order, set_max } = choice;
        let settings = Settings {
            policy,
            order,
            set_max,
            review_every: REVIEW_EVERY,
            slots: 16,
            slot_bytes: 512,
            ..paper_settings()
        };
        let mut channels = channels(&subnet, |_| settings.clone(), ranks);
        let talkers: Vec<Peer> = (PEERS + 1 - TALKERS..=PEERS).collect();
        channels[0].hint(&talkers);
        Group { channels, subnet, got: Count::default(), sent: 0 }
    }

    /// Lets every peer send a message, in the order of ranks.
    fn connect(&mut self) -> Result<(), String> {
        (1..=PEERS).try_for_each(|peer| self.message(peer, 0).map(|_| ()))
    }

    /// Sends a message after a computation, and polls until rank 0 has it; returns how long that
    /// took.
    fn message(&mut self, from: Rank, computes_ns: u64) -> Result<u64, String> {
        let start_ns = self.subnet.time_ns(0).max(self.subnet.now_ns()) + computes_ns;
        self.go_to(start_ns);
        self.subnet.set_clock_ns(from, start_ns);
        self.subnet.set_clock_ns(0, start_ns);
        let header = Header { context: self.sent, length: BYTES as u64, ..Header::new(Kind::Eager) };
        let mut waits = 0;
        while let Err(error) = self.channels[from as usize].send(0, &header, Payload::Bytes(&[7; BYTES])) {
            waits += 1;
            if !matches!(error, SendError::Full) || waits > POLLS_MAX {
                return Err(format!("rank {from} cannot send: {error:?}"));
            }
            self.round(from);
        }
        self.sent += 1;
        let found_ns = self.wait(from)?;
        // What rank 0 tells its peers arrives before the next message.
        self.go_to(self.subnet.time_ns(0).max(self.subnet.now_ns()) + 20_000);
        self.poll_peers();
        Ok(found_ns - start_ns)
    }

    /// Polls until rank 0 has the message that was sent last; returns when it did.
    fn wait(&mut self, from: Rank) -> Result<u64, String> {
        for _ in 0..POLLS_MAX {
            let found_ns = self.round(from);
            if self.got.0 == self.sent {
                return Ok(found_ns);
            }
        }
        Err(format!("a message of rank {from} never comes"))
    }

    /// Rank 0 polls once, which costs it the looks, and the devices go on until then; the peer
    /// polls too. Returns when rank 0 had what it found: the looks behind a ring that had something
    /// come later.
    fn round(&mut self, from: Rank) -> u64 {
        let counts = |group: &Group| group.channels[0].counts().polling_set;
        let (then, then_ns) = (counts(self), self.subnet.time_ns(0));
        self.channels[0].poll(&mut self.got);
        let now = since(counts(self), then);
        let first = if now.ring_packets > 0 { now.ring_misses + 1 } else { now.ring_looks };
        let found_ns = self.subnet.time_ns(0) + first * RING_LOOK_NS;
        self.subnet.charge(0, now.ring_looks * RING_LOOK_NS);
        self.channels[from as usize].poll(&mut Count::default());
        // A poll that looked at nothing takes no time by the model: then the next event is awaited.
        let idle = self.subnet.time_ns(0) == then_ns;
        let next_ns = self.subnet.next_ns().filter(|_| idle).unwrap_or(0);
        self.go_to(self.subnet.time_ns(0).max(next_ns));
        found_ns
    }

    fn go_to(&self, at_ns: u64) {
        if at_ns > self.subnet.now_ns() {
            self.subnet.run_until(at_ns);
        }
    }

    fn poll_peers(&mut self) {
        self.channels[1..].iter_mut().for_each(|channel| _ = channel.poll(&mut Count::default()));
    }
}

/// The choices of the figure, with their names.
fn choices() -> Vec<(&'static str, Choice)> {
    use Order::{Circular, Priority, Sequential};
    use Policy::{All, First, Hinted, Most, None};
    let of = |policy, set_max, order| Choice { policy, order, set_max };
    vec![
        ("none", of(None, 16, Sequential)),
        ("first 16", of(First, 16, Sequential)),
        ("most, 1 place", of(Most, 1, Sequential)),
        ("most, 2 places", of(Most, 2, Sequential)),
        ("most, 4 places", of(Most, 4, Sequential)),
        ("most, 16 places", of(Most, 16, Sequential)),
        ("hinted", of(Hinted, 16, Sequential)),
        ("all, sequential", of(All, 16, Sequential)),
        ("all, circular", of(All, 16, Circular)),
        ("all, priority", of(All, 16, Priority)),
    ]
}

/// Compares the policies, sizes and orders of the polling set: 64 peers, of which the last four
/// talk.
///
/// # Errors
/// What hung or broke.
pub fn polling_sets() -> Result<Table, String> {
    let title = "The polling set, 64 peers of which 4 talk (paper 1, 4.7)";
    let columns =
        ["set", "latency, us", "by rings, %", "rings", "ring looks", "silent before", "queue looks"];
    let mut table = Table::new(title, columns);
    for (name, choice) in choices() {
        let outcome = choice.run()?;
        let Outcome { latency_ns, counts, messages } = outcome;
        let each = |count: u64| count as f64 / messages as f64;
        let looks = [each(counts.ring_looks), outcome.misses(), each(counts.queue_looks)];
        let first = [latency_ns / 1e3, outcome.by_rings_percent(), counts.rings as f64];
        table.add(name, [first, looks].concat());
    }
    Ok(table)
}
