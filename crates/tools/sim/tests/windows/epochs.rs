//! Whole windows on the simulated fabric: rounds of fences, of post, start, complete and wait, and
//! of locks, with puts, gets and accumulates of all ranks, as chance has it. After each round every
//! rank's memory is what a sequential memory is, and what a lock guards was changed by one rank at
//! a time. A rank that dies in the middle of it leaves nobody waiting for ever.

use crate::programs::{Death, End, Failure, run};
use std::sync::Arc;
use verbena_memory::{Buffer, Owned};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::op::Builtin;
use verbena_mpi::window::{Means, Remote, Server, Wanted};
use verbena_mpi::{Comm, Datatype, Group, Op, Process, Result as Called, Win};
use verbena_sim::seeds::seeds_of;
use verbena_sim::{Faults, Random};

/// Seeds that a test run tries.
const SEEDS: u64 = 60;
const CONTEXT: u64 = 8;
/// Words of a window: a row for each origin, and behind them what locks guard.
const ROW: usize = 24;
/// The words that are changed under a lock: a number and its double.
const GUARDED: usize = 2;

/// A thread that nobody needs here: ranks make progress whenever they wait.
struct NoThread;

impl Server for NoThread {
    fn require(&self) -> Called<()> {
        Ok(())
    }

    fn release(&self) {}
}

/// A change that an origin makes in its row at a target.
#[derive(Clone, Copy, Debug)]
struct Change {
    target: usize,
    at: usize,
    words: usize,
    value: u64,
    adds: bool,
}

/// A round, as all ranks know it.
#[derive(Clone, Debug)]
enum Round {
    Fence(Vec<Vec<Change>>),
    /// The targets and the origins, and the changes of each rank.
    Started(Vec<i32>, Vec<i32>, Vec<Vec<Change>>),
    /// The targets that each rank locks alone, one after another.
    Locks(Vec<Vec<usize>>),
    /// The targets at which each rank adds to the first guarded number, and then to its double.
    All(Vec<Vec<usize>>),
}

fn changes(random: &mut Random, targets: &[i32]) -> Vec<Change> {
    let count = random.below(6) as usize;
    (0..count)
        .map(|_| {
            let words = random.between(1, 6) as usize;
            Change {
                target: random.pick(targets) as usize,
                at: random.below((ROW - words) as u64 + 1) as usize,
                words,
                value: random.below(1000),
                adds: random.percent(50),
            }
        })
        .collect()
}

/// Ranks, some of them, and at least one.
fn some(random: &mut Random, ranks: usize) -> Vec<i32> {
    let first = random.below(ranks as u64) as i32;
    (0..ranks as i32).filter(|&rank| rank == first || random.percent(50)).collect()
}

fn plan(random: &mut Random, ranks: usize) -> Vec<Round> {
    let all: Vec<i32> = (0..ranks as i32).collect();
    let round = |random: &mut Random| match random.below(4) {
        0 => Round::Fence((0..ranks).map(|_| changes(random, &all)).collect()),
        1 => {
            let (targets, origins) = (some(random, ranks), some(random, ranks));
            let all = (0..ranks as i32).map(|rank| match origins.contains(&rank) {
                true => changes(random, &targets),
                false => Vec::new(),
            });
            let all = all.collect();
            Round::Started(targets, origins, all)
        }
        sort => {
            let targets = |random: &mut Random| {
                let count = random.below(4) as usize;
                (0..count).map(|_| random.below(ranks as u64) as usize).collect::<Vec<usize>>()
            };
            let lists = (0..ranks).map(|_| targets(random)).collect();
            if sort == 2 { Round::Locks(lists) } else { Round::All(lists) }
        }
    };
    (0..random.between(3, 8)).map(|_| round(random)).collect()
}

/// A rank in the middle of its program.
struct Rank<'a> {
    process: &'a Process,
    me: usize,
    win: &'a Win,
    memory: &'a Owned,
    /// The words that this rank's window must hold.
    expected: Vec<u64>,
}

fn words(owned: &Owned) -> Vec<u64> {
    let bytes = owned.lend().to_vec();
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

fn owned(numbers: &[u64]) -> Owned {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Owned::from(&bytes[..])
}

fn long() -> &'static Arc<Datatype> {
    Datatype::predefined(mpi::MPI_UINT64_T).expect("predefined")
}

impl Rank<'_> {
    fn ranks(&self) -> usize {
        self.win.size() as usize
    }

    fn guarded_at(&self) -> usize {
        self.ranks() * ROW
    }

    fn remote(&self, rank: usize, at: usize, words: usize) -> Remote<'static> {
        Remote { rank: rank as i32, displacement: at as i64, count: words as i64, datatype: long() }
    }

    /// Makes this rank's changes. Origins' memory stays until the epoch is over.
    fn change(&self, mine: &[Change], kept: &mut Vec<Owned>) -> Called<()> {
        for change in mine {
            let origin = owned(&vec![change.value; change.words]);
            let buffer = Buffer::Contiguous(origin.lend());
            let remote = self.remote(change.target, self.me * ROW + change.at, change.words);
            let op = Arc::new(Op::of(if change.adds { Builtin::Sum } else { Builtin::Replace }));
            // Accumulates keep their order, puts do not.
            self.win.accumulate(self.process, (&buffer, long()), remote, &op, false)?;
            kept.push(origin);
        }
        Ok(())
    }

    /// Notes what all ranks change here.
    fn expect(&mut self, all: &[Vec<Change>]) {
        for (origin, changes) in all.iter().enumerate() {
            for change in changes.iter().filter(|change| change.target == self.me) {
                for word in &mut self.expected[origin * ROW + change.at..][..change.words] {
                    *word = if change.adds { *word + change.value } else { change.value };
                }
            }
        }
    }

    fn check(&self, round: usize) -> Result<(), Failure> {
        let found = words(self.memory);
        match found == self.expected {
            true => Ok(()),
            false => Err(Failure::Wrong(format!(
                "after round {round} the memory is {found:?} instead of {:?}",
                self.expected
            ))),
        }
    }

    /// A barrier of the window's members: an empty fence.
    fn meet(&self) -> Called<()> {
        self.win.fence(self.process, mpi::MPI_MODE_NOSUCCEED)
    }

    fn started(&mut self, targets: &[i32], origins: &[i32], all: &[Vec<Change>]) -> Called<()> {
        let group =
            |ranks: &[i32]| Group::new(ranks.iter().map(|&rank| rank as u32).collect(), self.me as u32);
        let me = self.me as i32;
        let mut kept = Vec::new();
        if targets.contains(&me) {
            self.win.post(self.process, &group(origins), 0)?;
        }
        if origins.contains(&me) {
            self.win.start(self.process, &group(targets), 0)?;
            self.change(&all[self.me], &mut kept)?;
            self.win.complete(self.process)?;
        }
        if targets.contains(&me) {
            self.win.wait(self.process)?;
        }
        self.expect(all);
        Ok(())
    }

    /// Adds one to a number and two to its double, under a lock that nobody shares.
    fn under_lock(&self, target: usize) -> Result<(), Failure> {
        let remote = self.remote(target, self.guarded_at(), GUARDED);
        let memory = Owned::zeroed(GUARDED * 8);
        let buffer = Buffer::Contiguous(memory.lend());
        self.win.lock(self.process, mpi::MPI_LOCK_EXCLUSIVE, target as i32, 0)?;
        self.win.get(self.process, &buffer, remote, false)?;
        self.win.flush(self.process, target as i32)?;
        let found = words(&memory);
        if found[1] != 2 * found[0] {
            return Err(Failure::Wrong(format!("{found:?} under the lock of rank {target}")));
        }
        let next = owned(&[found[0] + 1, found[1] + 2]);
        let buffer = Buffer::Contiguous(next.lend());
        self.win.put(self.process, &buffer, remote, false)?;
        Ok(self.win.unlock(self.process, target as i32)?)
    }

    fn under_all(&self, targets: &[usize]) -> Called<()> {
        let (one, two, was) = (owned(&[1]), owned(&[2]), Owned::zeroed(8));
        let sum = Arc::new(Op::of(Builtin::Sum));
        self.win.lock_all(self.process, 0)?;
        for &target in targets {
            let at = self.guarded_at();
            let [one, two, was] = [&one, &two, &was].map(|owned| Buffer::Contiguous(owned.lend()));
            let first = self.remote(target, at, 1);
            self.win.fetch_and_op(self.process, Some((&one, long())), &was, first, &sum)?;
            self.win.accumulate(self.process, (&two, long()), self.remote(target, at + 1, 1), &sum, false)?;
            self.win.flush(self.process, target as i32)?;
        }
        self.win.unlock_all(self.process)
    }

    fn guarded(&mut self, lists: &[Vec<usize>]) {
        let count = lists.iter().flatten().filter(|&&target| target == self.me).count() as u64;
        let at = self.guarded_at();
        self.expected[at] += count;
        self.expected[at + 1] += 2 * count;
    }

    fn round(&mut self, round: &Round) -> Result<(), Failure> {
        match round {
            Round::Fence(all) => {
                let mut kept = Vec::new();
                self.win.fence(self.process, 0)?;
                self.change(&all[self.me], &mut kept)?;
                self.win.fence(self.process, mpi::MPI_MODE_NOSUCCEED)?;
                self.expect(all);
            }
            Round::Started(targets, origins, all) => self.started(targets, origins, all)?,
            Round::Locks(lists) => {
                lists[self.me].iter().try_for_each(|&target| self.under_lock(target))?;
                self.meet()?;
                self.guarded(lists);
            }
            Round::All(lists) => {
                self.under_all(&lists[self.me])?;
                self.meet()?;
                self.guarded(lists);
            }
        }
        Ok(())
    }
}

/// The program of each rank.
fn program(process: &Process, me: usize, ranks: usize, rounds: &[Round]) -> Result<(), Failure> {
    let comm = Comm::new(CONTEXT, Arc::new(Group::new((0..ranks as u32).collect(), me as u32)), None);
    let count = ranks * ROW + GUARDED;
    let memory = Owned::zeroed(count * 8);
    let region = memory.lend();
    let wanted = Wanted { size: region.len() as i64, unit: 8, info: None };
    let means = Means { exchange: process, server: &NoThread };
    let base = region.address() as usize;
    let win = Win::create(process, &comm, (base, Ok(region)), wanted, means)?;
    let mut rank = Rank { process, me, win: &win, memory: &memory, expected: vec![0; count] };
    for (number, round) in rounds.iter().enumerate() {
        rank.round(round)?;
        rank.check(number)?;
        // Nobody changes anything before all have looked.
        rank.meet()?;
    }
    match win.free(process, process)? {
        None => Ok(()),
        Some(error) => Err(Failure::Call(error)),
    }
}

fn job(seed: u64, dies: bool) -> Result<End, String> {
    let mut random = Random::new(seed);
    let ranks = random.between(2, 5) as usize;
    let faults = Faults::random(&mut random);
    let rounds = plan(&mut random, ranks);
    let at = random.below(1500);
    let death = Death { rank: random.below(ranks as u64) as usize, at, told_at: at + random.below(3000) };
    let death = dies.then_some(death);
    run(&mut random, ranks as u32, faults, death, |process, me| program(process, me, ranks, &rounds))
}

#[test]
fn epochs_of_all_sorts_keep_their_promises() {
    for seed in seeds_of("windows", SEEDS) {
        match job(seed, false) {
            Ok(end) => assert_eq!(end, End::Done, "VERBENA_SIM_SEED={seed}"),
            Err(problem) => panic!("VERBENA_SIM_SEED={seed}: {problem}"),
        }
    }
}

#[test]
fn a_rank_that_dies_in_an_epoch_leaves_nobody_waiting() {
    let seeds = seeds_of("windows", SEEDS);
    let mut failed = 0;
    for &seed in &seeds {
        match job(seed, true) {
            Ok(end) => failed += u64::from(end == End::Failed),
            Err(problem) => panic!("VERBENA_SIM_SEED={seed}: {problem}"),
        }
    }
    println!("{failed} of {} jobs failed", seeds.len());
    assert!(seeds.len() < SEEDS as usize || failed >= SEEDS / 4, "{failed}");
}
