//! Ranks with the real engine over simulated devices, all with the settings of this process. They
//! have the real channel `rc` or `pipe`, and `ud` in a job for which that is opened.

use verbena_channel::loopback::LoopbackChannel;
use verbena_channel::mark::Mark;
use verbena_channel::{Channel, Registrations};
use verbena_engine::{Counters, Engine, Mode, Posted, ReceiveRequest, RequestId, SendRequest};
use verbena_infiniband::rc::adapter::Adapter;
use verbena_infiniband::rc::{RcChannel, Settings};
use verbena_infiniband::{pipe, ud};
use verbena_memory::{Buffer, Owned};
use verbena_sim::Rank;
use verbena_sim::over_pipe;
use verbena_sim::over_rc::keep_registrations;
use verbena_sim::over_ud::{LIMITS, channels_on};
use verbena_sim::verbs::{Costs, Counts, DeviceFaults, Subnet};

/// Steps after which the traffic counts as hanging.
const STEPS_MAX: usize = 1_000_000;
/// Virtual time of a step in which nothing happens, in nanoseconds.
const DULL_NS: u64 = 100_000;
/// The names of the rails.
const NAMES: [&str; 2] = ["rc", "rc.1"];

/// The order of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Rank 0 sends, rank 1 answers, and so on.
    Answers,
    /// Rank 0 starts all its messages to rank 1 before anybody looks at what comes.
    Stream,
    /// All ranks but 0 take turns to send to rank 0; in each half of the time another rank sends
    /// ten times as often.
    ManyToOne,
}

/// The messages of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    /// The number of ranks.
    pub ranks: Rank,
    /// Devices of each rank for the channel `rc`.
    pub rails: Rank,
    /// True if each rank has the channel `pipe`.
    pub pipe: bool,
    /// The order of the messages.
    pub pattern: Pattern,
    /// Their number each way.
    pub messages: usize,
    /// Bytes of each.
    pub bytes: usize,
}

/// The counts that a run leaves.
pub(crate) struct Seen {
    /// The work of the devices.
    pub devices: Counts,
    /// The counters of rank 0.
    pub first: Counters,
    /// The counters of rank 1.
    pub second: Counters,
    /// The most bytes that rank 0 and rank 1 had registered at a time.
    pub registered: [u64; 2],
}

impl Seen {
    /// Returns the registrations of the program's memory by rank 0 and rank 1.
    pub(crate) fn registrations(&self) -> [Registrations; 2] {
        let of = |counters: &Counters| {
            let moves = |name| name == NAMES[0] || name == "pipe";
            counters.channels.iter().find(|channel| moves(channel.name)).expect("rc or pipe").registrations
        };
        [of(&self.first), of(&self.second)]
    }
}

struct Ranks {
    // Dropped before the memory that they hold buffers of.
    engines: Vec<Engine>,
    pending: Vec<(Rank, RequestId)>,
    subnet: Subnet,
    memory: [Owned; 2],
}

/// Lets the messages go, and returns what was counted.
pub(crate) fn run(traffic: Traffic) -> Seen {
    let mut ranks = Ranks::new(traffic);
    match traffic.pattern {
        Pattern::Answers => (0..traffic.messages).for_each(|_| ranks.answer()),
        Pattern::Stream => ranks.stream(traffic.messages),
        Pattern::ManyToOne => ranks.many_to_one(traffic.ranks, traffic.messages),
    }
    let registered = [0, 1].map(|rank| ranks.subnet.registered_bytes(rank).1);
    let (first, second) = (ranks.engines[0].counters(), ranks.engines[1].counters());
    assert_eq!(ranks.subnet.violations(), Vec::<String>::new());
    Seen { devices: ranks.subnet.counts(), first, second, registered }
}

impl Ranks {
    fn new(traffic: Traffic) -> Ranks {
        // The channel for datagrams has a device of its own, behind the rails, if a job of this
        // size opens it.
        let (ranks, ud_rail) = (traffic.ranks, traffic.rails);
        let subnet = Subnet::of_rails(1, ranks, traffic.rails + 1, Costs::PAPER_1, DeviceFaults::NONE);
        let uds = ud::is_wanted(ranks)
            .then(|| channels_on(&subnet, ud_rail, LIMITS, |_| ud::Settings::current(), ranks));
        let mut uds = uds.into_iter().flatten();
        let pipes = traffic.pipe.then(|| over_pipe::channels(&subnet, |_| pipe::Settings::current(), ranks));
        let mut pipes = pipes.into_iter().flatten().map(|mut pipe| {
            over_pipe::keep_registrations(&mut pipe);
            pipe
        });
        let mut rails: Vec<_> =
            (0..traffic.rails).map(|rail| channels(&subnet, rail, traffic.ranks)).collect();
        let engine = |me| {
            let loopback = Box::new(LoopbackChannel::new(me)) as Box<dyn Channel>;
            let wires = rails.iter_mut().map(|rail| rail.next().expect("one for each rank"));
            let wires = wires.chain(uds.next().map(|ud| Box::new(ud) as Box<dyn Channel>));
            let wires = wires.chain(pipes.next().map(|pipe| Box::new(pipe) as Box<dyn Channel>));
            Engine::new(
                me,
                traffic.ranks,
                [loopback].into_iter().chain(wires).collect(),
                verbena_engine::Settings::current(),
            )
        };
        let engines = (0..traffic.ranks).map(engine).collect();
        let memory = [(); 2].map(|()| Owned::zeroed(traffic.bytes));
        Ranks { engines, pending: Vec::new(), subnet, memory }
    }

    fn send(&mut self, from: Rank, peer: Rank) {
        let buffer = Buffer::Contiguous(self.memory[0].lend());
        let (source, mark, mode) = (from as i32, Mark::NONE, Mode::Standard);
        let send = SendRequest { peer, context: 0, source, tag: 0, buffer, mark, mode };
        let posted = self.engines[from as usize].send(send);
        self.note(from, posted);
    }

    fn receive(&mut self, at: Rank, from: Rank) {
        let buffer = Buffer::Contiguous(self.memory[1].lend());
        let posted = self.engines[at as usize].receive(ReceiveRequest::new(0, from as i32, 0, buffer));
        self.note(at, posted);
    }

    fn note(&mut self, rank: Rank, posted: Posted) {
        match posted {
            Posted::Pending(request) => self.pending.push((rank, request)),
            Posted::Done(completion) => assert!(completion.failure.is_none(), "{completion:?}"),
        }
    }

    fn answer(&mut self) {
        for (from, to) in [(0, 1), (1, 0)] {
            self.receive(to, from);
            self.send(from, to);
            self.wait();
        }
    }

    fn stream(&mut self, messages: usize) {
        self.answer(); // the connection is there, and the ring
        (0..messages).for_each(|_| self.send(0, 1));
        (0..messages).for_each(|_| self.receive(1, 0));
        self.wait();
    }

    fn many_to_one(&mut self, ranks: Rank, messages: usize) {
        for round in 0..messages {
            let chatty = 1 + (2 * round / messages) as Rank;
            for from in 1..ranks {
                for _ in 0..if from == chatty { 10 } else { 1 } {
                    self.receive(0, from);
                    self.send(from, 0);
                }
            }
            self.wait();
        }
    }

    /// Steps until everything started is complete.
    fn wait(&mut self) {
        for _ in 0..STEPS_MAX {
            let engines = &mut self.engines;
            self.pending.retain(|(rank, request)| match engines[*rank as usize].take(*request) {
                Some(completion) => {
                    assert!(completion.failure.is_none(), "{completion:?}");
                    false
                }
                None => true,
            });
            if self.pending.is_empty() {
                return;
            }
            self.step();
        }
        panic!("nothing moves: {:?}", self.engines.iter().map(Engine::describe).collect::<Vec<_>>());
    }

    fn step(&mut self) {
        let next_ns = self.subnet.next_ns().unwrap_or(self.subnet.now_ns() + DULL_NS);
        self.subnet.run_until(next_ns);
        self.engines.iter_mut().for_each(|engine| _ = engine.progress());
    }
}

/// The channels of all ranks on one rail, by rank.
fn channels(subnet: &Subnet, rail: Rank, ranks: Rank) -> impl Iterator<Item = Box<dyn Channel>> + use<> {
    let adapters: Vec<_> = (0..ranks).map(|rank| subnet.rail(rank, rail)).collect();
    let cards: Vec<_> = adapters.iter().map(|adapter| Some(adapter.address())).collect();
    (0..ranks).zip(adapters).map(move |(rank, adapter)| {
        let settings = Settings::current(ranks);
        let rc = RcChannel::new(rank, ranks, adapter, cards.clone(), settings);
        let mut rc = rc.named(NAMES[rail as usize]);
        keep_registrations(&mut rc);
        Box::new(rc) as Box<dyn Channel>
    })
}
