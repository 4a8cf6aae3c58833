//! Ranks that operate on each other's windows at random, and a memory that does the same at once.
//!
//! Each origin has a zone of its own in every window. There it keeps to the rules: it does not
//! touch bytes again that an operation under way changes, unless by accumulates, whose order is
//! kept. So the result of every operation is known when it is begun. Behind the zones lie words
//! that all origins change.

use crate::exposed::{Memory, UNIT, combine};
use crate::rank::{Check, Rank, Relation, Wait};
use crate::sample::{Sample, WORD};
use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_engine::{Mode, SendRequest};
use verbena_mpi::comm::Traffic;
use verbena_mpi::generated::constants::MPI_ERR_RMA_RANGE;
use verbena_mpi::op::Builtin;
use verbena_mpi::window::service::{Counts, Service, answer_tag};
use verbena_mpi::window::{Remote, lock};
use verbena_mpi::{Comm, Group, Op};
use verbena_sim::{Cluster, Faults, Memory as Buffer, Random, Shape};

/// Bytes of an origin's zone.
const ZONE: usize = 160 << 10;
/// Words behind the zones: a counter, a word that is swapped, sums, and a block that the lock
/// guards: all its words are alike.
const COUNTER: usize = 0;
const SWAPPED: usize = 1;
const SUMS: usize = 8;
const GUARDED: usize = 64;
const WORDS: usize = GUARDED + BLOCK;
const BLOCK: usize = 1500;
/// Steps without any change after which a run counts as stuck.
const STEPS_MAX: u64 = 300_000;
/// Context of the window's communicator.
const CONTEXT: u64 = 8;
/// The value of memory that an operation left alone.
const UNTOUCHED: u8 = 0xbb;

/// A defect that must be found out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// Flushes are answered at once.
    EarlyFlush,
}

/// The job.
pub(crate) struct Job {
    // Dropped in this order: what the engines use goes last.
    cluster: Cluster,
    random: Random,
    flaw: Flaw,
    ranks: Vec<Rank>,
    /// The bytes that every window must hold, zone by zone.
    expected: Vec<Vec<u8>>,
    /// The numbers that the counter of each window gave.
    counted: Vec<Vec<u64>>,
    /// The values that were replaced in each window, each with the new one.
    swaps: Vec<Vec<(u64, u64)>>,
    /// The ranks that hold each window's lock, and whether alone.
    holders: Vec<Vec<(usize, bool)>>,
    /// Times that each window was held alone.
    locked: Vec<u64>,
    moved_at: u64,
}

fn remote(target: usize, sample: &Sample) -> Remote<'_> {
    Remote {
        rank: target as i32,
        displacement: sample.at as i64 / UNIT,
        count: sample.count as i64,
        datatype: &sample.datatype,
    }
}

impl Job {
    pub(crate) fn new(seed: u64, flaw: Flaw, faults: impl FnOnce(&mut Random) -> Faults) -> Job {
        let mut random = Random::new(seed);
        let ranks = random.between(2, 5) as u32;
        let faults = faults(&mut random);
        let cluster = Cluster::new(random.word(), ranks, faults);
        let size = ranks as usize;
        let bytes = size * ZONE + WORDS * 8;
        let left = random.between(5, 40) as u32;
        let rank = |me: u32| Rank {
            service: Service::new(&Comm::new(CONTEXT, Arc::new(Group::new((0..ranks).collect(), me)), None)),
            window: Memory::new(bytes),
            relations: (0..size).map(|_| Relation::default()).collect(),
            wait: Wait::Nothing,
            target: 0,
            is_exclusive: false,
            left,
            requests: 0,
            operations: 0,
        };
        Job {
            cluster,
            random,
            flaw,
            ranks: (0..ranks).map(rank).collect(),
            expected: vec![vec![0; bytes]; size],
            counted: vec![Vec::new(); size],
            swaps: vec![Vec::new(); size],
            holders: vec![Vec::new(); size],
            locked: vec![0; size],
            moved_at: 0,
        }
    }

    /// Runs the job to its end and checks everything. Returns counts of what happened.
    pub(crate) fn run(mut self) -> Result<Vec<Counts>, String> {
        while !self.is_over() {
            self.step()?;
            if self.cluster.steps() > self.moved_at + STEPS_MAX {
                return Err(format!("stuck:\n{}", self.cluster.describe()));
            }
        }
        self.check_end()?;
        Ok(self.ranks.iter().map(|rank| rank.service.counts()).collect())
    }

    fn is_over(&self) -> bool {
        self.ranks.iter().all(|rank| rank.left == 0 && !rank.is_waiting() && rank.service.is_idle())
    }

    fn step(&mut self) -> Result<(), String> {
        let me = self.cluster.step() as usize;
        let rank = &self.ranks[me];
        let mut moved = rank.service.advance(&mut self.cluster.visit(me as u32), &rank.window);
        moved |= self.act(me)?;
        if moved {
            self.moved_at = self.cluster.steps();
            self.cluster.engine(me as u32);
        }
        Ok(())
    }

    /// Lets a rank do something. Returns whether it did.
    fn act(&mut self, me: usize) -> Result<bool, String> {
        let mut moved = self.look(me)?;
        moved |= match std::mem::replace(&mut self.ranks[me].wait, Wait::Nothing) {
            Wait::Nothing => self.begin(me),
            wait => self.wait(me, wait)?,
        };
        Ok(moved)
    }

    fn word_at(&self, word: usize) -> usize {
        self.ranks.len() * ZONE + word * 8
    }

    fn buffer(&mut self, bytes: usize) -> Buffer {
        let shape = if bytes.is_multiple_of(3) && self.random.percent(30) {
            Shape::Strided
        } else {
            Shape::Contiguous
        };
        let buffer = self.cluster.memory(bytes, shape);
        buffer.scribble(UNTOUCHED);
        buffer
    }

    fn random_buffer(&mut self, bytes: usize) -> (Buffer, Vec<u8>) {
        let buffer = self.buffer(bytes);
        let data: Vec<u8> = (0..bytes).map(|_| self.random.word() as u8).collect();
        buffer.fill(&data);
        (buffer, data)
    }

    /// Begins something, if the rank still has to. At its end it flushes every target.
    fn begin(&mut self, me: usize) -> bool {
        if self.ranks[me].left == 0 {
            return false;
        }
        self.ranks[me].left -= 1;
        let target = self.random.below(self.ranks.len() as u64) as usize;
        match self.random.below(100) {
            _ if self.ranks[me].left == 0 => self.finish(me),
            0..25 => self.put(me, target),
            25..40 => self.get(me, target),
            40..65 => self.accumulate(me, target),
            65..72 => self.count(me, target),
            72..79 => self.swap(me, target),
            79..84 => self.fail(me, target),
            84..90 => self.flush(me, target),
            90..93 => self.flush_local(me, target),
            // Most often the same one, so that they queue.
            _ if self.random.percent(75) => self.lock(me, 0),
            _ => self.lock(me, target),
        }
        true
    }

    /// Flushes the targets one by one.
    fn finish(&mut self, me: usize) {
        let has_more = |relation: &Relation| {
            !relation.touched.is_empty()
                || !relation.pending.is_empty()
                || relation.is_in_trouble
                || relation.is_unheard
        };
        let unfinished = self.ranks[me].service.origin().unfinished();
        let target = self.ranks[me].relations.iter().position(has_more);
        if let Some(target) = target.or(unfinished.first().map(|&target| target as usize)) {
            self.ranks[me].left = 1;
            self.flush(me, target);
        }
    }

    fn put(&mut self, me: usize, target: usize) {
        let sample = Sample::draw(&mut self.random, me * ZONE, ZONE, false);
        if self.ranks[me].conflicts(target, &sample, false) {
            return;
        }
        let (buffer, data) = self.random_buffer(sample.bytes());
        sample.unpack(&data, &mut self.expected[target]);
        self.ranks[me].touch(target, &sample, false);
        let origin = self.ranks[me].service.origin();
        let engine = &mut self.cluster.engine(me as u32);
        let operation =
            origin.put(engine, &remote(target, &sample), &buffer.buffer()).expect("a short datatype");
        self.keep(me, target, operation, Check::Out(buffer));
    }

    fn get(&mut self, me: usize, target: usize) {
        let sample = Sample::draw(&mut self.random, me * ZONE, ZONE, false);
        if self.ranks[me].conflicts(target, &sample, false) {
            return;
        }
        let into = self.buffer(sample.bytes());
        let expected = sample.pack(&self.expected[target]);
        self.ranks[me].touch(target, &sample, false);
        let origin = self.ranks[me].service.origin();
        let engine = &mut self.cluster.engine(me as u32);
        let operation =
            origin.get(engine, &remote(target, &sample), &into.buffer()).expect("a short datatype");
        self.keep(me, target, operation, Check::Fetched { into, expected });
    }

    /// Accumulates in the rank's zone, or adds to the sums of all.
    fn accumulate(&mut self, me: usize, target: usize) {
        let to_sums = self.random.percent(20);
        let is_mixed = !to_sums && self.random.percent(20);
        let (start, room) =
            if to_sums { (self.word_at(SUMS), (GUARDED - SUMS) * 8) } else { (me * ZONE, ZONE) };
        let sample = match to_sums {
            true => Sample {
                datatype: WORD.clone(),
                count: 1 + self.random.below(room as u64 / 8) as usize,
                at: start,
            },
            false if is_mixed => Sample::draw_mixed(&mut self.random, start, room),
            false => Sample::draw(&mut self.random, start, room, true),
        };
        if self.ranks[me].conflicts(target, &sample, true) {
            return;
        }
        let ops = [Builtin::Sum, Builtin::Bxor, Builtin::Max, Builtin::Replace, Builtin::NoOp];
        // The oracle combines words only; others are replaced.
        let ops = if is_mixed { &ops[3..] } else { &ops[..] };
        let op = if to_sums { Builtin::Sum } else { self.random.pick(ops) };
        let fetches = !to_sums && (op == Builtin::NoOp || self.random.percent(50));
        let (source, data) = self.random_buffer(sample.bytes());
        let into = self.buffer(sample.bytes());
        let before = sample.pack(&self.expected[target]);
        let mut after = before.clone();
        combine(op, &data, &mut after);
        sample.unpack(&after, &mut self.expected[target]);
        self.ranks[me].touch(target, &sample, true);
        let origin = self.ranks[me].service.origin();
        let engine = &mut self.cluster.engine(me as u32);
        let (given, former) = (source.buffer(), into.buffer());
        let given = (op != Builtin::NoOp).then_some(&given);
        let former = fetches.then_some(&former);
        let operation = origin.accumulate(engine, &remote(target, &sample), &Op::of(op), given, former);
        let check = if fetches { Check::Fetched { into, expected: before } } else { Check::Out(source) };
        self.keep(me, target, operation.expect("a short datatype"), check);
    }

    /// Adds one to the counter.
    fn count(&mut self, me: usize, target: usize) {
        let sample = Sample { datatype: WORD.clone(), count: 1, at: self.word_at(COUNTER) };
        let (one, into) = (self.buffer(8), self.buffer(8));
        one.fill(&1_u64.to_le_bytes());
        let origin = self.ranks[me].service.origin();
        let engine = &mut self.cluster.engine(me as u32);
        let (given, former) = (one.buffer(), into.buffer());
        let operation = origin.accumulate(
            engine,
            &remote(target, &sample),
            &Op::of(Builtin::Sum),
            Some(&given),
            Some(&former),
        );
        self.keep(me, target, operation.expect("a short datatype"), Check::Counted(into));
    }

    /// Replaces a word that all replace, if it is as this rank saw it last.
    fn swap(&mut self, me: usize, target: usize) {
        let sample = Sample { datatype: WORD.clone(), count: 1, at: self.word_at(SWAPPED) };
        let (operands, into) = (self.buffer(16), self.buffer(8));
        let (new, compared) = (self.random.word() | 1, self.ranks[me].relations[target].swapped);
        operands.fill(&[new.to_le_bytes(), compared.to_le_bytes()].concat());
        let origin = self.ranks[me].service.origin();
        let engine = &mut self.cluster.engine(me as u32);
        let operation =
            origin.compare_and_swap(engine, &remote(target, &sample), &operands.buffer(), &into.buffer());
        self.keep(me, target, operation.expect("a short datatype"), Check::Swapped { into, compared, new });
    }

    /// Operates on bytes that are not exposed.
    fn fail(&mut self, me: usize, target: usize) {
        let mut sample = Sample::draw(&mut self.random, me * ZONE, ZONE, true);
        let end = self.ranks.len() * ZONE + WORDS * 8;
        sample.at = end - self.random.below(8) as usize * 8 + sample.at - sample.span().0;
        if sample.span().1 <= end {
            sample.at = end;
        }
        let (buffer, _) = self.random_buffer(sample.bytes());
        let into = self.buffer(sample.bytes());
        let (given, former) = (buffer.buffer(), into.buffer());
        let answers = self.random.percent(50);
        let accumulates = self.random.percent(50);
        let origin = self.ranks[me].service.origin();
        let engine = &mut self.cluster.engine(me as u32);
        let (remote, sum) = (remote(target, &sample), Op::of(Builtin::Sum));
        let operation = match (accumulates, answers) {
            (false, false) => origin.put(engine, &remote, &given),
            (false, true) => origin.get(engine, &remote, &former),
            (true, _) => origin.accumulate(engine, &remote, &sum, Some(&given), answers.then_some(&former)),
        };
        let operation = operation.expect("a short datatype");
        if !answers {
            self.ranks[me].relations[target].is_in_trouble = true;
            self.keep(me, target, operation, Check::Out(buffer));
        } else if self.random.percent(50) {
            self.keep(me, target, operation, Check::Failed);
        } else {
            self.ranks[me].relations[target].is_unheard = true;
            self.sent(me);
        }
    }

    fn sent(&mut self, me: usize) {
        self.ranks[me].requests += 1;
        self.ranks[me].operations += 1;
    }

    fn keep(
        &mut self,
        me: usize,
        target: usize,
        operation: verbena_mpi::window::service::Operation,
        check: Check,
    ) {
        self.ranks[me].keep(target, operation, check);
        self.sent(me);
    }

    fn flush(&mut self, me: usize, target: usize) {
        let rank = &mut self.ranks[me];
        let origin = rank.service.origin();
        let is_sent = origin.unfinished().contains(&(target as i32));
        origin.flush(&mut self.cluster.engine(me as u32), target as i32);
        rank.wait = Wait::Flush(origin.now());
        rank.target = target;
        if is_sent {
            if self.flaw == Flaw::EarlyFlush {
                self.answer(target, me, self.ranks[me].requests);
            }
            self.ranks[me].requests += 1;
        }
    }

    /// Answers a request before its target does.
    fn answer(&mut self, target: usize, origin: usize, number: u32) {
        let comm = Comm::new(CONTEXT, Arc::new(Group::new((0..self.cluster.ranks()).collect(), 0)), None);
        let byte = self.cluster.memory(1, Shape::Contiguous);
        let answer = SendRequest {
            peer: origin as u32,
            context: comm.context(Traffic::Partitioned),
            source: target as i32,
            tag: answer_tag(number),
            buffer: byte.buffer(),
            mark: Mark::NONE,
            mode: Mode::Standard,
        };
        self.cluster.engine(target as u32).send(answer);
    }

    fn flush_local(&mut self, me: usize, target: usize) {
        let rank = &mut self.ranks[me];
        rank.wait = Wait::FlushLocal(rank.service.origin().now());
        rank.target = target;
    }

    /// Begins to lock a window. Now and then the block is asked for before the lock is known to be
    /// held.
    fn lock(&mut self, me: usize, target: usize) {
        let is_exclusive = self.random.percent(70);
        let kind = if is_exclusive { lock::Kind::Writer } else { lock::Kind::Reader };
        let rank = &mut self.ranks[me];
        let lock = rank.service.origin().lock(&mut self.cluster.engine(me as u32), target as i32, kind);
        (rank.target, rank.is_exclusive) = (target, is_exclusive);
        rank.requests += 1;
        match self.random.percent(40) {
            true => self.look_guarded(me),
            false => self.ranks[me].wait = Wait::Lock(lock),
        }
    }

    /// Asks for the block that the lock guards. A reader gives the lock back at once now and then.
    fn look_guarded(&mut self, me: usize) {
        let target = self.ranks[me].target;
        let sample = Sample { datatype: WORD.clone(), count: BLOCK, at: self.word_at(GUARDED) };
        let into = self.buffer(BLOCK * 8);
        let rank = &mut self.ranks[me];
        let engine = &mut self.cluster.engine(me as u32);
        let get = rank.service.origin().get(engine, &remote(target, &sample), &into.buffer());
        let get = get.expect("a short datatype");
        rank.requests += 1;
        if rank.is_exclusive || self.random.percent(50) {
            rank.wait = Wait::Look(get, into);
            return;
        }
        rank.wait = Wait::Glance(get, into, rank.service.origin().unlock(engine, target as i32));
        rank.requests += 1;
        self.holders[target].retain(|(holder, _)| *holder != me);
    }

    /// Adds one to the words that the lock guards, if that is held alone, and gives the lock back.
    fn unlock(&mut self, me: usize, seen: u64) {
        let (target, is_exclusive) = (self.ranks[me].target, self.ranks[me].is_exclusive);
        let sample = Sample { datatype: WORD.clone(), count: BLOCK, at: self.word_at(GUARDED) };
        let next = self.buffer(BLOCK * 8);
        next.fill(&(seen + 1).to_le_bytes().repeat(BLOCK));
        let rank = &mut self.ranks[me];
        let engine = &mut self.cluster.engine(me as u32);
        if is_exclusive {
            rank.service
                .origin()
                .put(engine, &remote(target, &sample), &next.buffer())
                .expect("a short datatype");
            rank.requests += 1;
            self.locked[target] += 1;
        }
        rank.wait = Wait::Unlock(rank.service.origin().unlock(engine, target as i32));
        rank.requests += 1;
    }
}

mod ends;
