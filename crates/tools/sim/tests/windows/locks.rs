//! Ranks that wait for a lock by messages, and one of them dies. If it died before its turn, the
//! others get the lock, whatever has become of its request. If it died with the lock, they hear
//! that they wait in vain. What one sends that waits does not fill the memory of the target.

use crate::exposed::Memory;
use crate::sample::WORD;
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_mpi::generated::constants::MPI_ERR_PROC_ABORTED;
use verbena_mpi::window::Remote;
use verbena_mpi::window::lock::{Attempt, Claim, Kind, Lock, Ticket};
use verbena_mpi::window::service::{Exposed, Operation, Service};
use verbena_mpi::{Comm, Error, Group};
use verbena_sim::seeds::seeds_of;
use verbena_sim::{Cluster, Faults, Random, Shape};

/// Bytes that a target may hold of requests behind one for the lock: the bound and what a step
/// takes.
const HELD_MAX: usize = 2 << 20;
/// Seeds that a test run tries.
const SEEDS: u64 = 300;
/// Steps after which a rank waits for ever.
const STEPS_MAX: u64 = 300_000;
/// Rank 0 has the lock, rank 1 holds it first, rank 2 dies while it waits.
const RANKS: u32 = 5;
const HOLDER: usize = 1;
const VICTIM: u32 = 2;

struct Job {
    cluster: Cluster,
    random: Random,
    services: Vec<Service>,
    windows: Vec<Memory>,
}

impl Job {
    fn new(seed: u64) -> Job {
        Job::among(seed, (0..RANKS).collect())
    }

    /// Like [`Job::new`], with a window of these members: among them those that there are, rank 0
    /// first.
    fn among(seed: u64, members: Vec<u32>) -> Job {
        let mut random = Random::new(seed);
        let faults = Faults::random(&mut random);
        let cluster = Cluster::new(random.word(), RANKS, faults);
        let comm = |me| Comm::new(8, Arc::new(Group::new(members.clone(), me)), None);
        let services = (0..RANKS).map(|me| Service::new(&comm(me))).collect();
        Job { cluster, random, services, windows: (0..RANKS).map(|_| Memory::new(8)).collect() }
    }

    fn step(&mut self) {
        let rank = self.cluster.step() as usize;
        if self.cluster.is_dead(rank as u32) {
            return;
        }
        if self.services[rank].advance(&mut self.cluster.visit(rank as u32), &self.windows[rank]) {
            self.cluster.engine(rank as u32);
        }
    }

    fn lock(&mut self, rank: usize, kind: Kind) -> Operation {
        self.services[rank].origin().lock(&mut self.cluster.engine(rank as u32), 0, kind)
    }

    /// Waits for an operation of a rank.
    fn finish(&mut self, rank: usize, operation: &Operation) -> Result<Option<Error>, String> {
        for _ in 0..STEPS_MAX {
            if let Some(outcome) = operation.poll(&mut self.cluster.visit(rank as u32)) {
                return Ok(outcome.error);
            }
            self.step();
        }
        Err(format!("rank {rank} waits for ever:\n{}", self.cluster.describe()))
    }

    /// Waits for one of several operations, each of a rank, and takes it out: requests may overtake
    /// each other on their way.
    fn finish_one(
        &mut self,
        waiting: &mut Vec<(usize, Operation)>,
    ) -> Result<(usize, Option<Error>), String> {
        for _ in 0..STEPS_MAX {
            let cluster = &mut self.cluster;
            let ended = waiting.iter().enumerate().find_map(|(at, (rank, operation))| {
                Some((at, operation.poll(&mut cluster.visit(*rank as u32))?.error))
            });
            if let Some((at, error)) = ended {
                return Ok((waiting.remove(at).0, error));
            }
            self.step();
        }
        let ranks: Vec<usize> = waiting.iter().map(|it| it.0).collect();
        Err(format!("ranks {ranks:?} wait for ever:\n{}", self.cluster.describe()))
    }

    fn unlock(&mut self, rank: usize) -> Result<(), String> {
        let unlock = self.services[rank].origin().unlock(&mut self.cluster.engine(rank as u32), 0);
        match self.finish(rank, &unlock)? {
            None => Ok(()),
            Some(error) => Err(format!("rank {rank} cannot unlock: {error}")),
        }
    }

    /// Lets the first rank hold the lock and others ask for it.
    fn begin(&mut self) -> Result<Vec<(usize, Operation)>, String> {
        let first = self.lock(HOLDER, Kind::Writer);
        if let Some(error) = self.finish(HOLDER, &first)? {
            return Err(format!("the first lock: {error}"));
        }
        let kind = |random: &mut Random| if random.percent(50) { Kind::Reader } else { Kind::Writer };
        let mut waiting = Vec::new();
        for rank in [3, VICTIM as usize, 4] {
            let kind = kind(&mut self.random);
            waiting.push((rank, self.lock(rank, kind)));
            (0..self.random.below(200)).for_each(|_| self.step());
        }
        Ok(waiting)
    }

    /// The holder dies. All others hear of it, those that ask later too.
    fn lose_holder(mut self) -> Result<(), String> {
        let waiting = self.begin()?;
        self.die(HOLDER as u32);
        self.all_refused(waiting)
    }

    /// A member dies that has taken the lock in mapped memory, without a message.
    fn lose_mapped_holder(mut self) -> Result<(), String> {
        self.windows[0].claim(HOLDER as i32, Claim::Holds);
        assert!(Lock(self.windows[0].lock()).try_lock(Kind::Writer));
        let waiting = [3, 4].map(|rank| (rank, self.lock(rank, Kind::Writer)));
        (0..self.random.below(500)).for_each(|_| self.step());
        self.die(HOLDER as u32);
        self.all_refused(waiting.into())
    }

    /// A member dies that could have taken the lock in mapped memory, and has not: the lock of
    /// another one, which lives, is waited for.
    fn lose_mapped_bystander(mut self) -> Result<(), String> {
        self.windows[0].claim(HOLDER as i32, Claim::Holds);
        let lock = Lock(self.windows[0].lock());
        assert!(lock.try_lock(Kind::Writer));
        let mut waiting = Vec::from([3, 4].map(|rank| (rank, self.lock(rank, Kind::Writer))));
        self.die(VICTIM);
        self.none_ends(&waiting, 2000)?;
        _ = lock.leave(Kind::Writer);
        self.all_get_it(&mut waiting)?;
        assert!(self.windows[0].dead().is_empty() && self.windows[0].served() == 0);
        Ok(())
    }

    /// A member dies that waits in mapped memory: those before it get the lock, those behind it
    /// hear that they wait in vain.
    fn lose_mapped_waiter(mut self) -> Result<(), String> {
        let lock = Lock(self.windows[0].lock());
        assert!(lock.try_lock(Kind::Writer));
        let mut before = vec![(3, self.lock(3, Kind::Writer))];
        self.until_served(1)?;
        let ticket = lock.ticket();
        self.windows[0].claim(VICTIM as i32, Claim::Waits(ticket));
        let behind = [1, 4].map(|rank| (rank, self.lock(rank, Kind::Reader)));
        self.until_served(3)?;
        self.die(VICTIM);
        self.all_refused(behind.into())?;
        self.none_ends(&before, 500)?;
        assert_eq!(self.windows[0].dead(), [(VICTIM as i32, Claim::Waits(ticket))]);
        _ = lock.leave(Kind::Writer);
        self.all_get_it(&mut before)?;
        // It is its turn, and nobody enters.
        assert_eq!(lock.try_enter(ticket, Kind::Writer), Attempt::Entered { next: None::<Ticket> });
        Ok(())
    }

    /// Lets time pass until the service of the owner has so many tickets.
    fn until_served(&mut self, tickets: usize) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            if self.windows[0].served() == tickets {
                return Ok(());
            }
            self.step();
        }
        Err(format!("{} tickets instead of {tickets}", self.windows[0].served()))
    }

    /// Checks that none of these locks is had, or refused, for so many steps.
    fn none_ends(&mut self, waiting: &[(usize, Operation)], steps: u32) -> Result<(), String> {
        for _ in 0..steps {
            self.step();
            for (rank, lock) in waiting {
                if let Some(outcome) = lock.poll(&mut self.cluster.visit(*rank as u32)) {
                    return Err(format!("rank {rank} waits no more: {:?}", outcome.error));
                }
            }
        }
        Ok(())
    }

    /// Checks that all get the lock, one after the other.
    fn all_get_it(&mut self, waiting: &mut Vec<(usize, Operation)>) -> Result<(), String> {
        while !waiting.is_empty() {
            match self.finish_one(waiting)? {
                (rank, None) => self.unlock(rank)?,
                (rank, Some(error)) => return Err(format!("rank {rank} has no lock: {error}")),
            }
        }
        Ok(())
    }

    /// Checks that all who wait, and one who asks now, hear that they wait in vain.
    fn all_refused(&mut self, mut waiting: Vec<(usize, Operation)>) -> Result<(), String> {
        waiting.push((0, self.lock(0, Kind::Reader)));
        for (rank, lock) in waiting {
            match self.finish(rank, &lock)? {
                Some(error) if error.class == MPI_ERR_PROC_ABORTED => (),
                other => return Err(format!("rank {rank} waited for a dead rank's lock: {other:?}")),
            }
        }
        self.cluster.violations().first().map_or(Ok(()), |violation| Err(violation.clone()))
    }

    /// Lets a rank die, and then the others hear of it.
    fn die(&mut self, victim: u32) {
        self.cluster.kill(victim);
        (0..self.random.below(200)).for_each(|_| self.step());
        for rank in (0..RANKS).filter(|&rank| rank != victim) {
            let fault = Fault::new("the peer has died", format!("rank {victim}"), "", "");
            self.cluster.engine(rank).give_up(victim, fault);
        }
    }

    /// Returns whether the victim's request had come before it died.
    fn run(mut self) -> Result<bool, String> {
        let waiting = self.begin()?;
        let has_come = self.services[0].counts().queued_locks == 3;
        self.die(VICTIM);
        self.unlock(HOLDER)?;
        let mut waiting = waiting;
        waiting.retain(|it| it.0 != VICTIM as usize);
        self.all_get_it(&mut waiting)?;
        self.cluster.violations().first().map_or(Ok(has_come), |violation| Err(violation.clone()))
    }
}

#[test]
fn a_dead_rank_that_waited_for_a_lock_holds_up_nobody() {
    let seeds = seeds_of("windows", SEEDS);
    let mut queued = 0;
    for &seed in &seeds {
        let ran = Job::new(seed).run();
        queued += u64::from(ran.unwrap_or_else(|problem| panic!("VERBENA_SIM_SEED={seed}: {problem}")));
    }
    println!("{queued} of {} victims had queued", seeds.len());
    assert!(seeds.len() < SEEDS as usize || queued >= SEEDS / 4, "{queued}");
}

#[test]
fn those_who_wait_for_the_lock_of_a_dead_rank_hear_of_it() {
    for seed in seeds_of("windows", SEEDS) {
        Job::new(seed).lose_holder().unwrap_or_else(|problem| panic!("VERBENA_SIM_SEED={seed}: {problem}"));
    }
}

#[test]
fn those_who_wait_for_the_lock_of_a_dead_neighbour_hear_of_it() {
    for seed in seeds_of("windows", SEEDS) {
        let lost = Job::new(seed).lose_mapped_holder();
        lost.unwrap_or_else(|problem| panic!("VERBENA_SIM_SEED={seed}: {problem}"));
    }
}

#[test]
fn a_dead_neighbour_without_the_lock_holds_up_nobody_but_those_behind_it() {
    for seed in seeds_of("windows", SEEDS) {
        for lose in [Job::lose_mapped_bystander, Job::lose_mapped_waiter] {
            lose(Job::new(seed)).unwrap_or_else(|problem| panic!("VERBENA_SIM_SEED={seed}: {problem}"));
        }
    }
}

/// An origin sends on behind its request for a lock that another one holds.
#[test]
fn what_waits_for_a_lock_does_not_fill_the_memory_of_the_target() {
    fill(Job::new(1));
    // Many more members than a step asks for requests, and most of them say nothing.
    fill(Job::among(1, std::iter::once(0).chain(RANKS..500).chain(1..RANKS).collect()));
}

fn fill(mut job: Job) {
    const PUTS: usize = 3000;
    const BYTES: usize = 4000;
    job.cluster = Cluster::new(1, RANKS, Faults::none());
    job.windows[0] = Memory::new(BYTES);
    let first = job.lock(HOLDER, Kind::Writer);
    assert_eq!(job.finish(HOLDER, &first), Ok(None));
    let lock = job.lock(3, Kind::Writer);
    let data = job.cluster.memory(BYTES, Shape::Contiguous);
    data.fill(&[7; BYTES]);
    for _ in 0..PUTS {
        let remote = Remote { rank: 0, displacement: 0, count: BYTES as i64 / 8, datatype: &WORD };
        let (origin, engine) = (job.services[3].origin(), &mut job.cluster.engine(3));
        origin.put(engine, &remote, &data.buffer()).expect("a predefined datatype");
    }
    (0..STEPS_MAX).for_each(|_| job.step());
    assert!(lock.poll(&mut job.cluster.visit(3)).is_none());
    let taken = job.services[0].counts().requests as usize;
    assert!((200..HELD_MAX / BYTES).contains(&taken), "{taken} requests");
    // The holder's request to give it back passes those that stay with the engine.
    job.unlock(HOLDER).expect("it is given back");
    assert_eq!(job.finish(3, &lock), Ok(None));
    job.unlock(3).expect("all before it is done");
    assert_eq!(job.services[0].counts().requests as usize, PUTS + 4);
    assert!(job.windows[0].bytes().to_vec().iter().all(|&byte| byte == 7));
}
