//! Each setting of paper 3 acts on every network that it is said to act on: it shows in how often a
//! rank that waits looks at shared memory and at the network, here with the real channels `rc`,
//! `ud` and `pipe`. Over `ofi` the same is tested between real processes
//! (`tests/tests/polling.rs`).
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use verbena_channel::mark::Mark;
use verbena_channel::packet::Header;
use verbena_channel::{Channel, Payload, Peer, PollCost, Reach, SendError, Sink};
use verbena_engine::{
    ANY_SOURCE, Engine, Mode, Plain, Polling, ReceiveRequest, Scheme, SendRequest, Settings,
};
use verbena_infiniband::pipe::Design;
use verbena_memory::{Buffer, Owned, Region};
use verbena_sim::verbs::{Costs, DeviceFaults, Subnet};
use verbena_sim::{over_pipe, over_rc, over_ud};

/// Ranks 0 and 1 share memory, rank 2 is beyond the network.
const RANKS: u32 = 3;
/// Rounds of rank 0 in which nothing comes, before each message within the node.
const IDLE: u32 = 40;
/// Messages over the network, then within the node.
const FIRST: u32 = 200;
const SECOND: u32 = 100;
/// Messages of the second sort before looks are counted: until the scheduler has turned, if it
/// does.
const TURNING: u32 = 20;
/// A look at shared memory in nanoseconds, and the delay of its packets.
const NEAR: PollCost = PollCost { latency_ns: 150, empty_ns: 5 };

type Ring = VecDeque<(Header, Vec<u8>)>;

/// An end of shared memory between ranks 0 and 1, with a front to take packets from.
struct Near {
    me: Peer,
    rings: Arc<Mutex<[Ring; 2]>>,
}

impl Near {
    fn ring<T>(&self, of: Peer, with: impl FnOnce(&mut Ring) -> T) -> T {
        with(&mut self.rings.lock().expect("no panic")[of as usize])
    }
}

impl Channel for Near {
    fn name(&self) -> &'static str {
        "near"
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        (self.me < 2 && peer == 1 - self.me).then_some(Reach {
            packet_bytes_max: 1024,
            eager_bytes_max: 1024,
            whole_bytes_max: 0,
            ordered: true,
            get: None,
            put: None,
            in_background: false,
            memory_bytes_min: usize::MAX,
            latency_ns: NEAR.latency_ns,
        })
    }

    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        let mut bytes = vec![0; payload.len()];
        payload.copy_to(&mut bytes);
        self.ring(peer, |ring| ring.push_back((*header, bytes)));
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        if self.me > 1 {
            return 0;
        }
        let Some((header, bytes)) = self.ring(self.me, VecDeque::pop_front) else { return 0 };
        sink.packet(1 - self.me, &header, &bytes);
        1
    }

    fn take_direct(&mut self, _peer: Peer, header: &Header, into: Region) -> Option<usize> {
        let fits =
            |(its, bytes): &mut (Header, Vec<u8>)| header.is_in(&its.emit()) && bytes.len() <= into.len();
        let (_, bytes) = self.ring(self.me, |ring| ring.pop_front_if(fits))?;
        into.write(0, &bytes);
        Some(bytes.len())
    }

    fn poll_cost(&self) -> Option<PollCost> {
        (self.me < 2).then_some(NEAR)
    }

    fn shows(&self) -> bool {
        true
    }
}

/// Makes the channels of a network, by rank.
type Network = fn(&Subnet) -> Vec<Box<dyn Channel>>;

const NETWORKS: [(&str, Network); 3] = [
    ("rc", |subnet| boxed(over_rc::channels(subnet, |_| over_rc::paper_settings(), RANKS))),
    ("ud", |subnet| boxed(over_ud::channels(subnet, over_ud::LIMITS, |_| over_ud::settings(), RANKS))),
    ("pipe", |subnet| {
        boxed(over_pipe::channels(subnet, |_| over_pipe::paper_settings(Design::Piggyback), RANKS))
    }),
];

fn boxed<C: Channel + 'static>(channels: Vec<C>) -> Vec<Box<dyn Channel>> {
    channels.into_iter().map(|channel| Box::new(channel) as Box<dyn Channel>).collect()
}

struct Job {
    // Dropped before the memory that it holds buffers of.
    engines: Vec<Engine>,
    subnet: Subnet,
    memory: Owned,
    any: bool,
}

/// The counts of rank 0 while messages came within the node.
#[derive(Clone, Copy, Debug)]
struct Counts {
    near: u64,
    far: u64,
    updates: u64,
    calculations: u64,
}

impl Counts {
    fn ratio(&self) -> f64 {
        self.near as f64 / self.far as f64
    }
}

impl Job {
    fn new(network: Network, polling: Polling, any: bool) -> Job {
        // A look at a completion queue takes 50 ns by this model.
        let subnet = Subnet::new(1, RANKS, Costs::PAPER_1, DeviceFaults::NONE);
        let rings = Arc::new(Mutex::new([Ring::new(), Ring::new()]));
        let engine = |(me, far): (u32, Box<dyn Channel>)| {
            let near: Box<dyn Channel> = Box::new(Near { me, rings: Arc::clone(&rings) });
            Engine::new(me, RANKS, vec![near, far], Settings { polling, ..Settings::default() })
        };
        let engines = (0..).zip(network(&subnet)).map(engine).collect();
        Job { engines, subnet, memory: Owned::zeroed(8), any }
    }

    /// Time goes on to the next event, and all but rank 0 make progress.
    fn step(&mut self) {
        let later_ns = self.subnet.now_ns() + 1000;
        self.subnet.run_until(self.subnet.next_ns().map_or(later_ns, |next_ns| next_ns.min(later_ns)));
        self.engines[1..].iter_mut().for_each(|engine| _ = engine.progress());
    }

    /// Rank 0 waits for a message of this rank, which comes after some rounds.
    fn message(&mut self, from: u32, idle: u32) {
        let source = if self.any { ANY_SOURCE } else { from as i32 };
        let receive = ReceiveRequest::new(0, source, 0, Buffer::Contiguous(self.memory.lend()));
        let peer = (!self.any).then_some(from);
        let request = self.engines[0].post(ReceiveRequest { peer, ..receive });
        for _ in 0..idle {
            assert!(matches!(self.engines[0].take_plain(request), Plain::Pending));
            self.engines[0].progress_in_turn();
        }
        self.engines[from as usize].send(SendRequest {
            peer: 0,
            context: 0,
            source: from as i32,
            tag: 0,
            buffer: Buffer::Contiguous(self.memory.lend()),
            mark: Mark::NONE,
            mode: Mode::Standard,
        });
        for _ in 0..100_000 {
            if !matches!(self.engines[0].take_plain(request), Plain::Pending) {
                return;
            }
            self.engines[0].progress_in_turn();
            self.step();
        }
        panic!("a message of rank {from} never comes: {:?}", self.engines[0].describe());
    }

    fn counts(&self) -> Counts {
        let all = self.engines[0].counters();
        let [near, far] = [0, 1].map(|at| all.channels[at].looks);
        Counts { near, far, updates: all.polling_updates, calculations: all.polling_calculations }
    }

    /// Receives over the network, then within the node, and counts what happened then: updates from
    /// the beginning, looks once the scheduler has turned.
    fn run(&mut self) -> Counts {
        self.message(1, 0);
        (0..FIRST).for_each(|_| self.message(2, 0));
        let before = self.counts();
        (0..TURNING).for_each(|_| self.message(1, IDLE));
        let then = self.counts();
        (0..SECOND).for_each(|_| self.message(1, IDLE));
        let now = self.counts();
        Counts {
            near: now.near - then.near,
            far: now.far - then.far,
            updates: now.updates - before.updates,
            calculations: now.calculations - before.calculations,
        }
    }
}

/// Counts with these settings, from any source and by name.
fn counts(network: Network, polling: Polling) -> [Counts; 2] {
    [true, false].map(|any| {
        let counts = Job::new(network, polling, any).run();
        assert!(counts.near >= u64::from(SECOND * IDLE) && counts.far > 0, "{counts:?}");
        counts
    })
}

fn dynamic(polling: Polling) -> Polling {
    Polling { scheme: Scheme::Dynamic, ..polling }
}

#[test]
fn every_network_tells_what_a_look_takes() {
    for (name, network) in NETWORKS {
        let job = Job::new(network, Polling::AUTO, true);
        let [near, far] = [0, 1].map(|at| job.engines[0].counters().channels[at].look_ns);
        assert_eq!((near, far), (5, Costs::PAPER_1.poll_ns), "{name}");
    }
}

/// `VERBENA_POLLING` and `VERBENA_POLLING_RATIO` (paper 3, 3.2.1 and 3.3.1).
#[test]
fn schemes_and_ratio_decide_how_often_the_network_is_looked_at() {
    for (name, network) in NETWORKS {
        let of = |scheme, ratio| counts(network, Polling { scheme, ratio, ..Polling::AUTO });
        let latency_ns = if name == "rc" { 2000.0 } else { 3000.0 };
        let cases = [
            (Scheme::All, 50, 1.0),
            (Scheme::Ratio, 10, 10.0),
            (Scheme::Ratio, 100, 100.0),
            (Scheme::Overhead, 50, 50.0 / 5.0),
            (Scheme::Latency, 50, latency_ns / 150.0),
        ];
        for (scheme, ratio, expected) in cases {
            for counts in of(scheme, ratio) {
                let is = counts.ratio();
                assert!(
                    (0.8 * expected..=1.1 * expected).contains(&is),
                    "{name} {scheme:?} {ratio}: {counts:?}"
                );
            }
        }
    }
}

/// `VERBENA_POLLING_UPDATE_EVERY` and `VERBENA_POLLING_HISTORY` (3.2.2): the messages of the node
/// turn the dynamic scheme, those too that receives take at the front of the ring.
#[test]
fn update_rate_and_history_decide_how_soon_the_dynamic_scheme_turns() {
    for (name, network) in NETWORKS {
        let of = |polling| counts(network, dynamic(polling));
        let turning = of(Polling::AUTO);
        let long = of(Polling { history: 1000, ..Polling::AUTO });
        let seldom = of(Polling { update_every: 1000, ..Polling::AUTO });
        let sometimes = of(Polling { update_every: 20, ..Polling::AUTO });
        for how in [0, 1] {
            let (turns, long, seldom, sometimes) = (turning[how], long[how], seldom[how], sometimes[how]);
            assert!(turns.ratio() > 25.0 && turns.calculations > 0, "{name}: {turns:?}");
            assert!(long.ratio() < 1.5 && long.updates > 0, "{name}: {long:?}");
            assert!(seldom.ratio() < 1.5 && seldom.updates == 0, "{name}: {seldom:?}");
            let most = u64::from((TURNING + SECOND) / 20) + 1;
            assert!((1..=most).contains(&sometimes.updates), "{name}: {sometimes:?}");
            assert!(turns.updates > sometimes.updates, "{name}: {turns:?}, {sometimes:?}");
        }
    }
}

/// The largest ratio bounds the dynamic scheme too, and `auto` is that scheme.
#[test]
fn the_ratio_bounds_the_dynamic_scheme() {
    for (name, network) in NETWORKS {
        for ratio in [5, 40] {
            let set = Polling { ratio, ..Polling::AUTO };
            for counts in counts(network, set).into_iter().chain(counts(network, dynamic(set))) {
                let bound = f64::from(ratio);
                assert!((0.7 * bound..=1.1 * bound).contains(&counts.ratio()), "{name} {ratio}: {counts:?}");
            }
        }
    }
}
