//! Partitioned communication on simulated clusters: any division on either side, receives that are
//! longer than the send, partitions made ready in any order, several rounds, several pairs with the
//! same tag. What has arrived must be there, nothing may arrive before it is ready, everything that
//! is ready must arrive without the rest, and the memory behind the message stays as it was.
//!
//! `VERBENA_SIM_SEED=<number>` replays one seed.

use std::sync::Arc;
use verbena_mpi::partitioned::{Announcement, Partitions, Receiving, Sending};
use verbena_mpi::{Comm, Group};
use verbena_sim::seeds::{on_two_threads, seeds_of};
use verbena_sim::{Canary, Cluster, Faults, Memory, Random, Shape};

/// Seeds that a test run tries.
const SEEDS: u64 = 250;
/// Steps without any change after which a run counts as stuck.
const STEPS_MAX: u64 = 200_000;
/// Context of the communicator; those of the sends come behind it.
const CONTEXT: u64 = 8;
/// Partitions per side, and bytes, that a pair may have: every number divides the bytes.
const COUNTS: [usize; 8] = [1, 2, 3, 4, 6, 8, 12, 24];
const BYTES: [usize; 6] = [0, 24, 240, 2400, 24_000, 120_000];
/// Percent of the receives that have more room than is sent.
const LONGER: u32 = 40;
/// The value of a receive's memory before a round.
const UNTOUCHED: u8 = 0xbb;

/// A matched send and receive.
struct Pair {
    from: u32,
    to: u32,
    counts: [usize; 2],
    memory: [Memory; 2],
    sending: Sending,
    announcement: Announcement,
    has_left: bool,
    receiving: Receiving,
    /// Rounds that each side has ended.
    rounds: [u32; 2],
    /// True if each side is in a round.
    active: [bool; 2],
    /// The sender's partitions that are not ready, in the order in which they will be.
    missing: Vec<i32>,
    data: Vec<Vec<u8>>,
}

fn comm(me: u32, ranks: u32) -> Comm {
    Comm::new(CONTEXT, Arc::new(Group::new((0..ranks).collect(), me)), None)
}

fn shape(random: &mut Random) -> Shape {
    if random.percent(30) { Shape::Strided } else { Shape::Contiguous }
}

fn pair(random: &mut Random, cluster: &mut Cluster, number: u64, rounds: u32) -> Pair {
    let ranks = cluster.ranks();
    let [from, to] = [0, 1].map(|_| random.below(ranks.into()) as u32);
    let counts = [0, 1].map(|_| random.pick(&COUNTS));
    let bytes = random.pick(&BYTES);
    let more = if random.percent(LONGER) { random.pick(&BYTES) } else { 0 };
    let memory = [bytes, bytes + more].map(|len| cluster.memory(len, shape(random)));
    memory[1].scribble(UNTOUCHED);
    let sides = [0, 1].map(|i| Partitions { buffer: memory[i].buffer(), count: counts[i] });
    let [send, receive] = sides;
    // The same tag for all: what was initialised first on both sides belongs together.
    let (context, tag) = (CONTEXT + 4 * (number + 1), 5);
    let engine = &mut cluster.engine(from);
    let (sending, announcement) = Sending::new(&comm(from, ranks), send, (to as i32, tag), context, engine);
    let receiving = Receiving::new(&comm(to, ranks), receive, (from as i32, tag), &mut cluster.engine(to));
    let data = (0..rounds).map(|_| (0..bytes).map(|_| random.word() as u8).collect()).collect();
    Pair {
        from,
        to,
        counts,
        memory,
        sending,
        announcement,
        has_left: false,
        receiving,
        rounds: [0; 2],
        active: [false; 2],
        missing: Vec::new(),
        data,
    }
}

impl Pair {
    fn is_over(&self) -> bool {
        self.rounds.iter().all(|&rounds| rounds as usize == self.data.len()) && self.has_left
    }

    /// Lets the rank do something about this pair. Whether it did.
    fn act(&mut self, random: &mut Random, cluster: &mut Cluster, rank: u32) -> Result<bool, String> {
        let mut moved = false;
        if rank == self.from {
            self.has_left = self.has_left || self.announcement.has_left(&mut cluster.visit(rank));
            moved |= self.send(random, cluster);
        }
        if rank == self.to {
            self.receiving.meet(&mut cluster.visit(rank));
            moved |= self.receive(random, cluster)?;
        }
        Ok(moved)
    }

    fn send(&mut self, random: &mut Random, cluster: &mut Cluster) -> bool {
        let round = self.rounds[0] as usize;
        if !self.active[0] {
            let begins = round < self.data.len() && random.percent(40);
            if begins {
                self.memory[0].fill(&self.data[round]);
                self.sending.start();
                self.active[0] = true;
                self.missing = shuffled(random, self.counts[0]);
            }
            return begins;
        }
        if !self.missing.is_empty() {
            let many = random.between(0, self.missing.len() as u64) as usize;
            let rest = self.missing.split_off(many);
            let ready = std::mem::replace(&mut self.missing, rest);
            self.sending.ready(&mut cluster.engine(self.from), &ready).expect("each of them once");
            return many > 0;
        }
        let ended = self.sending.poll(&mut cluster.visit(self.from)).is_some();
        if ended {
            self.memory[0].scribble(0);
            self.active[0] = false;
            self.rounds[0] += 1;
        }
        ended
    }

    fn receive(&mut self, random: &mut Random, cluster: &mut Cluster) -> Result<bool, String> {
        if !self.active[1] {
            let begins = (self.rounds[1] as usize) < self.data.len() && random.percent(40);
            if begins {
                self.receiving.start(&mut cluster.engine(self.to));
                self.active[1] = true;
            }
            return Ok(begins);
        }
        let partition = random.below(self.counts[1] as u64) as usize;
        let arrived = self.receiving.has_arrived(&mut cluster.visit(self.to), partition as i32);
        if arrived.map_err(|error| error.to_string())? {
            self.check(partition)?;
        }
        let Some(outcome) = self.receiving.poll(&mut cluster.visit(self.to)) else { return Ok(false) };
        if let Some(error) = outcome.error {
            return Err(error.to_string());
        }
        self.check_end(outcome.bytes)?;
        self.memory[1].scribble(UNTOUCHED);
        self.active[1] = false;
        self.rounds[1] += 1;
        Ok(true)
    }

    /// Checks a receive that is complete.
    fn check_end(&self, bytes: i64) -> Result<(), String> {
        let sent = self.memory[0].len();
        if bytes != sent as i64 {
            return Err(format!("{sent} bytes were sent, but the status says {bytes}"));
        }
        if self.memory[1].packed()[sent..].iter().any(|&byte| byte != UNTOUCHED) {
            return Err(format!("bytes behind the {sent} that were sent have changed"));
        }
        (0..self.counts[1]).try_for_each(|partition| self.check(partition))
    }

    /// Checks a partition that has arrived.
    fn check(&self, partition: usize) -> Result<(), String> {
        let round = self.rounds[1] as usize;
        let expected = &self.data[round];
        let len = self.memory[1].len() / self.counts[1];
        let end = expected.len().min((partition + 1) * len);
        let range = end.min(partition * len)..end;
        if self.memory[1].packed()[range.clone()] != expected[range] {
            return Err(format!("round {round}: partition {partition} has arrived, but its bytes are wrong"));
        }
        match self.missing.iter().find(|&&i| self.needs(partition, i as usize)) {
            Some(early) if self.rounds == [self.rounds[1]; 2] && self.active[0] => {
                Err(format!("round {round}: partition {partition} has arrived before {early} was ready"))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the receiver's partition cannot have arrived without this one of the sender:
    /// they share a byte, or nothing of the message lies in it, so that it arrives with the whole.
    /// If neither side has bytes, it is as if both had equally many.
    fn needs(&self, partition: usize, of_sender: usize) -> bool {
        let [s, r] = self.counts;
        let [sent, room] = match [0, 1].map(|side| self.memory[side].len()) {
            [_, 0] => [s * r; 2],
            lengths => lengths,
        };
        let own = partition * (room / r)..(partition + 1) * (room / r);
        let theirs = of_sender * (sent / s)..(of_sender + 1) * (sent / s);
        own.start >= sent || (theirs.start < own.end && own.start < theirs.end)
    }
}

fn shuffled(random: &mut Random, count: usize) -> Vec<i32> {
    let mut order: Vec<i32> = (0..count as i32).collect();
    for i in (1..count).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    order
}

fn run(seed: u64, faults: impl FnOnce(&mut Random) -> Faults) -> Result<(), String> {
    let mut random = Random::new(seed);
    let (ranks, rounds) = (random.between(1, 4) as u32, random.between(1, 4) as u32);
    let faults = faults(&mut random);
    let mut cluster = Cluster::new(random.word(), ranks, faults);
    let many = random.between(1, 4);
    let mut pairs: Vec<Pair> =
        (0..many).map(|number| pair(&mut random, &mut cluster, number, rounds)).collect();
    let mut moved_at = 0;
    while !pairs.iter().all(Pair::is_over) {
        let rank = cluster.step();
        for pair in &mut pairs {
            if pair.act(&mut random, &mut cluster, rank)? {
                moved_at = cluster.steps();
            }
        }
        if cluster.steps() > moved_at + STEPS_MAX {
            return Err(format!("stuck:\n{}", cluster.describe()));
        }
    }
    if !cluster.settle(STEPS_MAX) || !cluster.is_quiet() {
        return Err(format!("no rest after the end:\n{}", cluster.describe()));
    }
    cluster.violations().first().map_or(Ok(()), |violation| Err(violation.clone()))
}

#[test]
fn partitions_arrive_whole_and_none_before_it_is_ready() {
    on_two_threads(&seeds_of("partitioned", SEEDS), |seed| {
        run(seed, Faults::random).unwrap_or_else(|problem| panic!("VERBENA_SIM_SEED={seed}: {problem}"));
    });
}

/// Partitions travel by themselves: with only some of them ready, exactly what they cover arrives.
#[test]
fn what_is_ready_arrives_without_the_rest() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let faults = Faults::random(&mut random);
        let mut cluster = Cluster::new(random.word(), 2, faults);
        let mut pair = pair(&mut random, &mut cluster, 0, 1);
        let (from, to) = (pair.from, pair.to);
        pair.memory[0].fill(&pair.data[0]);
        pair.sending.start();
        pair.receiving.start(&mut cluster.engine(to));
        pair.active = [true; 2];
        pair.missing = shuffled(&mut random, pair.counts[0]);
        let ready = pair.missing.split_off(random.below(pair.counts[0] as u64 + 1) as usize);
        pair.sending.ready(&mut cluster.engine(from), &ready).unwrap();
        for _ in 0..2 {
            assert!(cluster.settle(STEPS_MAX), "seed {seed}: no rest");
            pair.receiving.meet(&mut cluster.engine(to));
        }
        assert!(cluster.settle(STEPS_MAX), "seed {seed}: no rest");
        for partition in 0..pair.counts[1] {
            let covered = !pair.missing.iter().any(|&i| pair.needs(partition, i as usize));
            let arrived = pair.receiving.has_arrived(&mut cluster.visit(to), partition as i32).unwrap();
            assert_eq!(
                arrived, covered,
                "seed {seed}: partition {partition}; sender's and receiver's {:?}, missing {:?}",
                pair.counts, pair.missing
            );
            if arrived {
                pair.check(partition).unwrap();
            }
        }
        assert!(pair.missing.is_empty() || pair.receiving.poll(&mut cluster.visit(to)).is_none());
    }
}

/// A fabric that garbles bytes must be found out, so the checks see something.
#[test]
fn a_garbling_fabric_is_noticed() {
    let garbles = |_: &mut Random| Faults { canary: Canary::Garbles(10), ..Faults::none() };
    let noticed = (0..40).filter(|&seed| run(seed, garbles).is_err()).count();
    assert!(noticed >= 20, "{noticed}");
}
