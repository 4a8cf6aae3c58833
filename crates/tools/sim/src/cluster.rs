//! The cluster: engines on the simulated fabric, and the order in which they run.

use crate::Rank;
use crate::channel::SimChannel;
use crate::faults::Faults;
use crate::memory::{Memory, Shape};
use crate::nodes::Nodes;
use crate::random::Random;
use crate::verbs::Subnet;
use crate::world::World;
use std::sync::{Arc, Mutex, MutexGuard};
use verbena_channel::Channel;
use verbena_channel::loopback::LoopbackChannel;
use verbena_engine::Engine;

/// Percentage of steps that go to a rank for which nothing has arrived.
const IDLE_STEP_PERCENT: u32 = 10;
/// Longest time that a rank is away, in nanoseconds.
const AWAY_NS_MAX: u64 = 50_000;
/// Time that passes over verbs devices when nothing is to come, in nanoseconds: a rank may wait to
/// say something again.
const DULL_NS: u64 = 300_000;
/// Time that passes when the cluster is to come to rest, in nanoseconds: longer than any rank waits
/// before it says something again (a hello at most 250 ms), and not much longer, so that a rank
/// with limited patience has all its tries.
const REST_NS: u64 = 300_000_000;

/// A cluster of ranks with a real engine each.
///
/// A driver gives commands to [`Cluster::engine`] and calls [`Cluster::step`], which lets one rank
/// make progress and says which, so that the driver may look at that rank's requests.
pub struct Cluster {
    // Dropped in this order: the engines before the memory that they hold buffers of.
    engines: Vec<Engine>,
    world: Arc<Mutex<World>>,
    /// The verbs devices of the ranks, if they have any.
    subnet: Option<Subnet>,
    nodes: Nodes,
    memories: Vec<Memory>,
    random: Random,
    away_until_ns: Vec<u64>,
    steps: u64,
}

impl Cluster {
    /// A cluster of `ranks`, whose every event follows from `seed`.
    pub fn new(seed: u64, ranks: Rank, faults: Faults) -> Cluster {
        Cluster::build(seed, faults, Nodes { ranks, size: ranks }, None, |_| Vec::new())
    }

    /// A cluster of nodes whose ranks are joined by the simulated fabric, with the verbs devices of
    /// `subnet` between the nodes: `wires` makes the channels of each rank over its device.
    pub fn over(
        seed: u64,
        faults: Faults,
        nodes: Nodes,
        subnet: Subnet,
        wires: impl FnMut(Rank) -> Vec<Box<dyn Channel>>,
    ) -> Cluster {
        Cluster::build(seed, faults, nodes, Some(subnet), wires)
    }

    fn build(
        seed: u64,
        faults: Faults,
        nodes: Nodes,
        subnet: Option<Subnet>,
        mut wires: impl FnMut(Rank) -> Vec<Box<dyn Channel>>,
    ) -> Cluster {
        let mut random = Random::new(seed);
        let ranks = nodes.ranks;
        let world = Arc::new(Mutex::new(World::new(random.fork(), ranks, faults)));
        let engine = |me| {
            let fabric = SimChannel { me, nodes, world: world.clone() };
            let mut channels: Vec<Box<dyn Channel>> =
                vec![Box::new(LoopbackChannel::new(me)), Box::new(fabric)];
            channels.extend(wires(me));
            Engine::new(me, ranks, channels, faults.settings())
        };
        let engines = (0..ranks).map(engine).collect();
        let away_until_ns = vec![0; ranks as usize];
        Cluster { engines, world, subnet, nodes, memories: Vec::new(), random, away_until_ns, steps: 0 }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> Rank {
        self.nodes.ranks
    }

    /// Takes the engines away, for ranks that are whole processes: they make progress by themselves
    /// when it is their turn ([`Cluster::begin_turn`]). Nothing else that needs engines may be
    /// called then.
    pub fn take_engines(&mut self) -> Vec<Engine> {
        std::mem::take(&mut self.engines)
    }

    /// Chooses the rank that runs next, as [`Cluster::step`] does, and lets time pass until then.
    /// `None` if that rank is dead or away. After its turn comes [`Cluster::end_turn`].
    pub fn begin_turn(&mut self) -> Option<Rank> {
        let (rank, now_ns) = self.pass_time();
        now_ns.map(|_| rank)
    }

    /// Ends the turn of a rank; `soon` if it may go on by itself.
    pub fn end_turn(&mut self, rank: Rank, soon: bool) {
        let now_ns = self.now_ns();
        self.rest(rank, now_ns, soon);
    }

    /// The rank's engine, to give it a command or to look at a request. The rank will run soon.
    pub fn engine(&mut self, rank: Rank) -> &mut Engine {
        let now_ns = self.world().now_ns;
        self.world().wake(rank, now_ns);
        &mut self.engines[rank as usize]
    }

    /// Returns the rank's engine, to look at requests. Does not make the rank run, so a driver that
    /// looks after every step does not hold time up.
    pub fn visit(&mut self, rank: Rank) -> &mut Engine {
        &mut self.engines[rank as usize]
    }

    /// Memory for a message of `len` bytes, kept as long as the cluster.
    pub fn memory(&mut self, len: usize, shape: Shape) -> Memory {
        let memory = Memory::new(len, shape);
        self.memories.push(memory.clone());
        memory
    }

    /// Lets one rank make progress and returns it: most often the one for which something arrives
    /// next, sometimes any.
    pub fn step(&mut self) -> Rank {
        self.step_after(|_, _| {})
    }

    /// Like [`Cluster::step`]; the rank's program does this before the progress.
    pub fn step_after(&mut self, first: impl FnOnce(Rank, &mut Engine)) -> Rank {
        let (rank, now_ns) = self.pass_time();
        if let Some(now_ns) = now_ns {
            first(rank, &mut self.engines[rank as usize]);
            self.run(rank, now_ns);
        }
        rank
    }

    /// Chooses a rank and lets time pass until it runs. `None` if it does not.
    fn pass_time(&mut self) -> (Rank, Option<u64>) {
        self.steps += 1;
        let (at_ns, rank) = self.choose();
        let now_ns = {
            let mut world = self.world();
            world.now_ns = world.now_ns.max(at_ns) + 1;
            world.note(&[rank as u64]);
            world.now_ns
        };
        self.let_devices_run(now_ns);
        if self.is_dead(rank) {
            return (rank, None);
        }
        // Its program computes, or its CPU is still at work on what it did last.
        let busy_ns = self.subnet.as_ref().map_or(0, |subnet| subnet.time_ns(rank));
        let until_ns = self.away_until_ns[rank as usize].max(busy_ns);
        if now_ns < until_ns {
            self.world().wake(rank, until_ns);
            return (rank, None);
        }
        (rank, Some(now_ns))
    }

    fn choose(&mut self) -> (u64, Rank) {
        if self.random.percent(IDLE_STEP_PERCENT) {
            return (0, self.any_rank());
        }
        if let Some(next) = self.next_wake() {
            return next;
        }
        let dull_ns = if self.subnet.is_some() { self.now_ns() + DULL_NS } else { 0 };
        (dull_ns, self.any_rank())
    }

    /// The next rank to run, with the time; what the devices do before that, they do now.
    fn next_wake(&mut self) -> Option<(u64, Rank)> {
        let device_ns = |subnet: &Subnet| subnet.next_ns().unwrap_or(u64::MAX);
        while let Some(at_ns) = self.subnet.as_ref().map(device_ns)
            && at_ns < self.world().next_wake_ns()
        {
            self.let_devices_run(at_ns);
        }
        self.world().next_wake()
    }

    /// Lets happen what is due at the devices, and the ranks run that it concerns.
    fn let_devices_run(&mut self, until_ns: u64) {
        let Some(subnet) = &self.subnet else { return };
        subnet.run_until(until_ns);
        let mut world = self.world.lock().expect("no thread panicked with the fabric");
        subnet.take_woken().into_iter().for_each(|(rank, at_ns)| world.wake(rank, at_ns));
    }

    fn any_rank(&mut self) -> Rank {
        self.random.below(u64::from(self.ranks())) as Rank
    }

    fn run(&mut self, rank: Rank, now_ns: u64) {
        let moved = self.engines[rank as usize].progress();
        self.rest(rank, now_ns, moved);
    }

    /// Says when a rank that has run runs again: soon if something has `moved`.
    fn rest(&mut self, rank: Rank, now_ns: u64, moved: bool) {
        let unseen = |subnet: &Subnet| subnet.has_unseen(rank);
        if moved || self.subnet.as_ref().is_some_and(unseen) {
            let soon_ns = now_ns + self.random.between(1, 200);
            self.world().wake(rank, soon_ns);
        }
        let away_percent = {
            let mut world = self.world();
            world.wake_on_arrival(rank);
            world.faults.away_percent
        };
        if self.random.percent(away_percent) {
            self.away_until_ns[rank as usize] = now_ns + self.random.below(AWAY_NS_MAX);
        }
    }

    /// Lets the ranks run until nothing moves any more; `false` if that takes more than `steps_max`
    /// steps.
    pub fn settle(&mut self, steps_max: u64) -> bool {
        let end = self.steps + steps_max;
        while self.steps < end {
            for _ in 0..64 {
                self.step();
            }
            if self.is_silent() && self.is_still() {
                return true;
            }
        }
        false
    }

    /// Returns whether nothing is on its way.
    fn is_silent(&self) -> bool {
        self.world().is_silent() && self.subnet.as_ref().is_none_or(Subnet::is_silent)
    }

    /// Returns whether nobody moves, not even when everybody is asked, and nobody waits for room.
    fn is_still(&mut self) -> bool {
        self.away_until_ns.fill(0);
        self.world().refusals = 0;
        let datagrams = self.datagrams();
        if self.subnet.is_some() {
            let later_ns = self.now_ns() + REST_NS;
            self.world().now_ns = later_ns;
            self.let_devices_run(later_ns);
        }
        let mut moved = false;
        for _ in 0..3 {
            for rank in 0..self.ranks() {
                moved |= !self.is_dead(rank) && self.engines[rank as usize].progress();
            }
        }
        // A datagram that was lost leaves no other trace.
        !moved && self.world().refusals == 0 && self.datagrams() == datagrams && self.is_silent()
    }

    fn datagrams(&self) -> u64 {
        self.subnet.as_ref().map_or(0, |subnet| subnet.counts().datagrams)
    }

    /// Kills the rank: it never runs again, and nothing reaches it. The others learn of it when a
    /// channel tells them or the driver does ([`Engine::give_up`]).
    pub fn kill(&mut self, rank: Rank) {
        self.world().kill(rank);
        self.subnet.iter().for_each(|subnet| subnet.kill(rank));
    }

    /// Makes the rank's verbs device unusable, and with it every way to the others; the rank lives
    /// on. Returns whether that is so: ranks on one node have another way.
    pub fn break_device(&mut self, rank: Rank) -> bool {
        let alone = self.subnet.as_ref().filter(|_| self.nodes.size == 1);
        alone.inspect(|subnet| subnet.break_device(rank)).is_some()
    }

    /// Returns whether the rank has died.
    pub fn is_dead(&self, rank: Rank) -> bool {
        self.world().is_dead(rank)
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Virtual time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.world().now_ns
    }

    /// A hash of everything that happened: equal for two runs that were the same.
    pub fn trace(&self) -> u64 {
        let devices = self.subnet.as_ref().map_or(0, Subnet::trace);
        self.world().trace ^ devices
    }

    /// Returns the rules that the engines broke towards the fabric, such as touching memory that is
    /// exposed no more.
    pub fn violations(&self) -> Vec<String> {
        let mut violations = self.world().violations.clone();
        violations.extend(self.subnet.iter().flat_map(Subnet::violations));
        violations
    }

    /// Packets that went straight to a receive.
    pub fn fronts(&self) -> u64 {
        self.world().fronts
    }

    /// Exposures of memory by living ranks that were not ended.
    pub fn exposures(&self) -> usize {
        self.world().exposures()
    }

    /// Says what is pending on every rank.
    pub fn describe(&self) -> String {
        let lines = self.engines.iter().enumerate().flat_map(|(rank, engine)| {
            engine.describe().into_iter().map(move |line| format!("  rank {rank}: {line}\n"))
        });
        lines.collect()
    }

    /// Returns whether the engine of every living rank is quiet ([`Engine::is_quiet`]).
    pub fn is_quiet(&mut self) -> bool {
        (0..self.ranks()).all(|rank| self.is_dead(rank) || self.engines[rank as usize].is_quiet())
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no thread panicked with the fabric")
    }
}
