//! Ranks that die, ports that stay down and devices that are taken away while nothing is under way:
//! the launcher tells nobody, and every receive that names a lost rank, or might be from it, must
//! end all the same, and no other. For many seeds (`VERBENA_SIM_SEEDS`);
//! `VERBENA_SIM_SEED=<seed> cargo test -p verbena-sim --test silence replay -- --nocapture` replays
//! one over `rc`, and `again_over_pipe` in place of `replay` one over `pipe`.

use verbena_channel::mark::Mark;
use verbena_engine::{ANY_SOURCE, Failure, Mode, Posted, ReceiveRequest, RequestId, SendRequest};
use verbena_infiniband::{pipe, rc};
use verbena_sim::over_pipe::{self, PipeFaults};
use verbena_sim::over_rc::{self, RcFaults};
use verbena_sim::seeds::seeds_beside_kept;
use verbena_sim::verbs::{DeviceFaults, Subnet};
use verbena_sim::{Cluster, Faults, Random, Rank, Shape, seed_to_replay};

/// Seeds of a run if nobody says how many.
const SEEDS: u64 = 100;
/// Time between two questions to a silent peer, in nanoseconds.
const INTERVAL_NS: u64 = 20_000_000;
/// The longest that a device may leave a question open.
const LIMIT_NS: u64 = 60_000_000;
/// The longest that a peer may leave a hello unanswered: the devices lose many.
const CONNECT_NS: u64 = 8_000_000_000;
/// The time after which any loss must be known.
const KNOWN_NS: u64 = 1_500_000_000;
/// Bytes of a message.
const BYTES: usize = 16;

/// The fate of a rank, or of its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// No loss.
    None,
    /// The rank dies.
    Death,
    /// The port goes down and stays so.
    Port,
    /// The device is removed, and its rank is told.
    Removed,
    /// The device takes work and never ends it.
    Hung,
}

const LOSSES: [Loss; 5] = [Loss::None, Loss::Death, Loss::Port, Loss::Removed, Loss::Hung];

/// A receive of `at` from `from`, or from any source, for which nothing is sent.
struct Waiting {
    at: Rank,
    from: Option<Rank>,
    request: RequestId,
    failure: Option<String>,
}

struct Run {
    cluster: Cluster,
    subnet: Subnet,
    ranks: Rank,
    victim: Rank,
    loss: Loss,
    /// The time after which the loss must be known.
    known_ns: u64,
    waiting: Vec<Waiting>,
}

/// The faults beside the loss: some ranks are away for a while, and devices are as drawn. But a
/// port that is down for a moment is no loss, and is tried elsewhere.
fn beside(random: &mut Random, device: DeviceFaults) -> (Faults, DeviceFaults) {
    let faults = Faults { away_percent: random.pick(&[0, 1, 10]), ..Faults::none() };
    (faults, DeviceFaults { port_down_one_in: 0, ..device })
}

fn rc_faults(random: &mut Random) -> RcFaults {
    let drawn = RcFaults::random(random);
    let (faults, device) = beside(random, drawn.device);
    let settings = rc::Settings {
        keepalive_ns: INTERVAL_NS,
        keepalive_ns_max: LIMIT_NS,
        connect_ns_max: CONNECT_NS,
        ..drawn.settings
    };
    RcFaults { node_size: 1, faults, device, settings, ..drawn }
}

fn pipe_faults(random: &mut Random) -> PipeFaults {
    let drawn = PipeFaults::random(random);
    let (faults, device) = beside(random, drawn.device);
    let settings = pipe::Settings {
        keepalive_ns: INTERVAL_NS,
        keepalive_ns_max: LIMIT_NS,
        connect_ns_max: CONNECT_NS,
        ..drawn.settings
    };
    PipeFaults { node_size: 1, faults, device, settings, ..drawn }
}

/// Returns whether a rank may have fewer receive buffers than its peers may send packets: each rank
/// draws whether it shares them.
fn may_lack_buffers(faults: &RcFaults) -> bool {
    let limits = &faults.device.limits;
    limits.shared_receives && faults.settings.pool_receives < limits.receives_max
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random::new(seed);
        let ranks = random.between(2, 5) as Rank;
        let faults = rc_faults(&mut random);
        let made = over_rc::cluster(random.word(), ranks, &faults);
        Run::of(&mut random, ranks, made, may_lack_buffers(&faults))
    }

    fn over_pipe(seed: u64) -> Run {
        let mut random = Random::new(seed);
        let ranks = random.between(2, 5) as Rank;
        let faults = pipe_faults(&mut random);
        let made = over_pipe::cluster(random.word(), ranks, &faults);
        Run::of(&mut random, ranks, made, false)
    }

    fn of(random: &mut Random, ranks: Rank, made: (Cluster, Subnet), may_lack_buffers: bool) -> Run {
        let (mut cluster, subnet) = made;
        (0..ranks).for_each(|rank| cluster.engine(rank).set_senders(|_context, _peer| true));
        let (victim, loss) = (random.below(u64::from(ranks)) as Rank, random.pick(&LOSSES));
        // A question that a hung device holds behind other work may wait for a peer's process, and
        // so as long as a hello.
        let waits = loss == Loss::Hung && may_lack_buffers;
        let known_ns = if waits { CONNECT_NS + KNOWN_NS } else { KNOWN_NS };
        Run { cluster, subnet, ranks, victim, loss, known_ns, waiting: Vec::new() }
    }

    fn receive(&mut self, at: Rank, from: Option<Rank>, tag: i32) -> Posted {
        let buffer = self.cluster.memory(BYTES, Shape::Contiguous).buffer();
        let source = from.map_or(ANY_SOURCE, |from| from as i32);
        let receive = ReceiveRequest { peer: from, ..ReceiveRequest::new(0, source, tag, buffer) };
        self.cluster.engine(at).receive(receive)
    }

    fn send(&mut self, from: Rank, peer: Rank) -> Posted {
        let buffer = self.cluster.memory(BYTES, Shape::Contiguous).buffer();
        let mode = Mode::Standard;
        self.cluster.engine(from).send(SendRequest {
            peer,
            context: 0,
            source: from as i32,
            tag: 0,
            buffer,
            mark: Mark::NONE,
            mode,
        })
    }

    fn pairs(&self) -> Vec<(Rank, Rank)> {
        let ranks = self.ranks;
        (0..ranks)
            .flat_map(|at| (0..ranks).filter(move |from| *from != at).map(move |from| (at, from)))
            .collect()
    }

    /// Everyone gets a message from everyone, so that all are connected, and waits for another.
    fn greet(&mut self) -> Result<(), String> {
        let mut pending = Vec::new();
        for (at, from) in self.pairs() {
            for (rank, posted) in [(at, self.receive(at, Some(from), 0)), (from, self.send(from, at))] {
                pending.extend(as_pending(posted)?.map(|request| (rank, request)));
            }
        }
        let end_ns = self.cluster.now_ns() + CONNECT_NS;
        while !pending.is_empty() {
            self.step(end_ns)?;
            let cluster = &mut self.cluster;
            pending.retain(|(rank, request)| cluster.visit(*rank).take(*request).is_none());
        }
        let named = self.pairs().into_iter().map(|(at, from)| (at, Some(from)));
        for (at, from) in named.chain((0..self.ranks).map(|at| (at, None))).collect::<Vec<_>>() {
            let request = as_pending(self.receive(at, from, 1))?.ok_or("a message that nobody sent")?;
            self.waiting.push(Waiting { at, from, request, failure: None });
        }
        Ok(())
    }

    fn step(&mut self, end_ns: u64) -> Result<(), String> {
        self.cluster.step();
        match self.cluster.now_ns() < end_ns {
            true => Ok(()),
            false => Err(format!("no end in time; pending:\n{}", self.cluster.describe())),
        }
    }

    fn lose(&mut self) {
        match self.loss {
            Loss::None => {}
            Loss::Death => self.cluster.kill(self.victim),
            Loss::Port => self.subnet.set_port(self.victim, false),
            Loss::Removed => self.subnet.break_device(self.victim),
            Loss::Hung => self.subnet.hang_device(self.victim),
        }
    }

    /// Returns whether the receive must fail.
    fn is_lost(&self, waiting: &Waiting) -> bool {
        let concerned = waiting.from.is_none_or(|from| from == self.victim) || waiting.at == self.victim;
        self.loss != Loss::None && concerned
    }

    /// Takes what has ended; returns whether all that is lost has.
    fn collect(&mut self) -> Result<bool, String> {
        for at in 0..self.waiting.len() {
            let Waiting { at: rank, from, request, ref failure } = self.waiting[at];
            if failure.is_some() || self.cluster.is_dead(rank) {
                continue;
            }
            let Some(completion) = self.cluster.visit(rank).take(request) else { continue };
            let Some(Failure::Channel(_, fault)) = completion.failure else {
                return Err(format!("rank {rank} from {from:?}: {completion:?}"));
            };
            let words = fault.to_string();
            let other = from.map_or(String::new(), |from| format!("{from} ("));
            let both = [format!("from rank {rank} ("), format!("to rank {other}")];
            if !self.is_lost(&self.waiting[at]) || !both.iter().all(|end| words.contains(end)) {
                return Err(format!(
                    "rank {rank} from {from:?}, {:?} of {}: {words}",
                    self.loss, self.victim
                ));
            }
            self.waiting[at].failure = Some(words);
        }
        let open = |w: &Waiting| self.is_lost(w) && w.failure.is_none() && !self.cluster.is_dead(w.at);
        Ok(!self.waiting.iter().any(open))
    }

    /// Checks that the loss is known in time, and that nothing else is taken for lost meanwhile or
    /// long afterwards.
    fn watch(&mut self) -> Result<(), String> {
        let end_ns = self.cluster.now_ns() + self.known_ns;
        while !self.collect()? {
            self.step(end_ns)?;
        }
        let end_ns = self.cluster.now_ns() + 10 * INTERVAL_NS;
        while self.cluster.now_ns() < end_ns {
            self.cluster.step();
            self.collect()?;
        }
        self.subnet.violations().first().map_or(Ok(()), |violation| Err(violation.clone()))
    }
}

/// The request of an operation that goes on; an error if it failed already.
fn as_pending(posted: Posted) -> Result<Option<RequestId>, String> {
    match posted {
        Posted::Pending(request) => Ok(Some(request)),
        Posted::Done(completion) if completion.failure.is_none() => Ok(None),
        Posted::Done(completion) => Err(format!("{completion:?}")),
    }
}

/// Runs to the end; returns what was lost, and how many receives failed.
fn outcome(mut run: Run, seed: u64, replay: &str) -> (Loss, usize) {
    let outcome = run.greet().and_then(|()| {
        run.lose();
        run.watch()
    });
    let failed = run.waiting.iter().filter(|waiting| waiting.failure.is_some()).count();
    match outcome {
        Ok(()) => (run.loss, failed),
        Err(why) => panic!(
            "seed {seed}, {:?} of rank {} of {}: {why}\n\
             replay: VERBENA_SIM_SEED={seed} cargo test -p verbena-sim --test silence {replay} -- --nocapture",
            run.loss, run.victim, run.ranks
        ),
    }
}

fn run_seed(seed: u64) -> (Loss, usize) {
    outcome(Run::new(seed), seed, "replay")
}

fn run_seed_over_pipe(seed: u64) -> (Loss, usize) {
    outcome(Run::over_pipe(seed), seed, "again_over_pipe")
}

/// Every loss must occur, and be noticed.
fn check(seeds: &[u64], run_seed: fn(u64) -> (Loss, usize)) {
    let runs: Vec<(Loss, usize)> = seeds.iter().map(|&seed| run_seed(seed)).collect();
    for loss in LOSSES {
        let of_it: Vec<usize> = runs.iter().filter(|run| run.0 == loss).map(|run| run.1).collect();
        println!("{loss:?}: {} runs, {} receives failed", of_it.len(), of_it.iter().sum::<usize>());
        assert!(of_it.len() > seeds.len() / 20);
        assert_eq!(of_it.iter().all(|failed| *failed > 0), loss != Loss::None);
    }
}

#[test]
fn whoever_is_lost_in_silence_is_missed_and_nobody_else() {
    check(&seeds_beside_kept("silence", SEEDS), run_seed);
}

#[test]
fn the_same_holds_of_the_channel_pipe() {
    check(&seeds_beside_kept("silence-pipe", SEEDS), run_seed_over_pipe);
}

/// A rank that died before it was ever spoken to answers no hello.
#[test]
fn a_hello_that_is_never_answered_ends_in_time_and_names_the_peer() {
    for seed in 0..100 {
        let mut run = Run::new(seed);
        run.cluster.kill(run.victim);
        let from = (run.victim + 1) % run.ranks;
        let request = match as_pending(run.send(from, run.victim)) {
            Ok(request) => request,
            Err(why) => panic!("seed {seed}: {why}"),
        };
        // An eager send may be done before it is on its way; the receive is what waits.
        let waits =
            as_pending(run.receive(from, Some(run.victim), 1)).expect("no failure yet").expect("pending");
        let end_ns = run.cluster.now_ns() + CONNECT_NS + KNOWN_NS;
        while run.cluster.visit(from).is_pending(waits) {
            run.step(end_ns).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        }
        let failure = run.cluster.visit(from).take(waits).and_then(|completion| completion.failure);
        let words = format!("{failure:?}");
        assert!(
            words.contains(&format!("rank {} did not answer for 8 s", run.victim)),
            "seed {seed}: {words}"
        );
        assert!(request.is_none_or(|request| run.cluster.visit(from).take(request).is_some()), "seed {seed}");
    }
}

#[test]
fn replay() {
    if let Some(seed) = seed_to_replay() {
        println!("{:?}", run_seed(seed));
    }
}

#[test]
fn again_over_pipe() {
    if let Some(seed) = seed_to_replay() {
        println!("{:?}", run_seed_over_pipe(seed));
    }
}
