//! The cluster: engines on the simulated fabric, and who runs when.

use crate::Rank;
use crate::channel::SimChannel;
use crate::faults::Faults;
use crate::memory::{Memory, Shape};
use crate::random::Random;
use crate::world::World;
use std::sync::{Arc, Mutex, MutexGuard};
use verbena_channel::Channel;
use verbena_channel::loopback::Loopback;
use verbena_engine::Engine;

/// Percentage of steps that go to a rank for which nothing has arrived.
const IDLE_STEP_PERCENT: u32 = 10;
/// Longest time that a rank is away, in nanoseconds.
const AWAY_NS_MAX: u64 = 50_000;

/// A cluster of ranks with a real engine each.
///
/// A driver gives commands to [`Cluster::engine`] and calls [`Cluster::step`], which lets one rank make
/// progress and says which, so that the driver may look at that rank's requests.
pub struct Cluster {
    // Dropped in this order: the engines before the memory that they hold buffers of.
    engines: Vec<Engine>,
    world: Arc<Mutex<World>>,
    memories: Vec<Memory>,
    random: Random,
    away_until_ns: Vec<u64>,
    steps: u64,
}

impl Cluster {
    /// A cluster of `ranks`, whose every event follows from `seed`.
    pub fn new(seed: u64, ranks: Rank, faults: Faults) -> Cluster {
        let mut random = Random::new(seed);
        let world = Arc::new(Mutex::new(World::new(random.fork(), ranks, faults)));
        let engine = |me| {
            let fabric = SimChannel { me, ranks, world: world.clone() };
            let channels: Vec<Box<dyn Channel>> = vec![Box::new(Loopback::new(me)), Box::new(fabric)];
            Engine::new(me, ranks, channels, faults.settings())
        };
        let engines = (0..ranks).map(engine).collect();
        let away_until_ns = vec![0; ranks as usize];
        Cluster { engines, world, memories: Vec::new(), random, away_until_ns, steps: 0 }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> Rank {
        self.engines.len() as Rank
    }

    /// The rank's engine, to give it a command or to look at a request. The rank will run soon.
    pub fn engine(&mut self, rank: Rank) -> &mut Engine {
        let now_ns = self.world().now_ns;
        self.world().wake(rank, now_ns);
        &mut self.engines[rank as usize]
    }

    /// The rank's engine, to look at requests. Does not make the rank run, so a driver that looks after every
    /// step does not hold time up.
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
        self.steps += 1;
        let (at_ns, rank) = self.choose();
        let now_ns = {
            let mut world = self.world();
            world.now_ns = world.now_ns.max(at_ns) + 1;
            world.note(&[rank as u64]);
            world.now_ns
        };
        if self.is_dead(rank) {
            return rank;
        }
        if now_ns < self.away_until_ns[rank as usize] {
            let until_ns = self.away_until_ns[rank as usize];
            self.world().wake(rank, until_ns);
            return rank;
        }
        self.run(rank, now_ns);
        rank
    }

    fn choose(&mut self) -> (u64, Rank) {
        if self.random.percent(IDLE_STEP_PERCENT) {
            return (0, self.any_rank());
        }
        let next = self.world().next_wake();
        next.unwrap_or_else(|| (0, self.any_rank()))
    }

    fn any_rank(&mut self) -> Rank {
        self.random.below(self.engines.len() as u64) as Rank
    }

    fn run(&mut self, rank: Rank, now_ns: u64) {
        if self.engines[rank as usize].progress() {
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

    /// Lets the ranks run until nothing moves any more; `false` if that takes more than `steps_max` steps.
    pub fn settle(&mut self, steps_max: u64) -> bool {
        let end = self.steps + steps_max;
        while self.steps < end {
            for _ in 0..64 {
                self.step();
            }
            if self.world().is_silent() && self.is_still() {
                return true;
            }
        }
        false
    }

    /// Nobody moves, not even when everybody is asked, and nobody waits for room.
    fn is_still(&mut self) -> bool {
        self.away_until_ns.fill(0);
        self.world().refusals = 0;
        let mut moved = false;
        for _ in 0..3 {
            for rank in 0..self.ranks() {
                moved |= !self.is_dead(rank) && self.engines[rank as usize].progress();
            }
        }
        let world = self.world();
        !moved && world.refusals == 0 && world.is_silent()
    }

    /// The rank dies: it never runs again, and nothing reaches it. The others learn of it when a channel tells them
    /// or the driver does ([`Engine::give_up`]).
    pub fn kill(&mut self, rank: Rank) {
        self.world().kill(rank);
    }

    /// Whether the rank has died.
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
        self.world().trace
    }

    /// Rules that the engines broke towards the fabric, such as touching memory that is exposed no more.
    pub fn violations(&self) -> Vec<String> {
        self.world().violations.clone()
    }

    /// Exposures of memory by living ranks that were not ended.
    pub fn exposures(&self) -> usize {
        self.world().exposures()
    }

    /// What is pending on every rank, in words.
    pub fn describe(&self) -> String {
        let lines = self.engines.iter().enumerate().flat_map(|(rank, engine)| {
            engine.describe().into_iter().map(move |line| format!("  rank {rank}: {line}\n"))
        });
        lines.collect()
    }

    /// Whether the engine of every living rank is quiet ([`Engine::is_quiet`]).
    pub fn is_quiet(&self) -> bool {
        (0..self.ranks()).all(|rank| self.is_dead(rank) || self.engines[rank as usize].is_quiet())
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no thread panicked with the fabric")
    }
}
