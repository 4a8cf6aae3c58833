//! Ranks that put, get and accumulate in each other's windows at random.
//!
//! Each origin has slots of its own in every window, so it knows what each of its operations must
//! find. Until it has flushed a target, it puts into a slot once, and may accumulate there and get
//! afterwards: such operations keep their order.

use super::slots::{SLOT, SLOTS, pack, remote, unpack};
use crate::exposed::{Memory, combine};
use crate::sample::WORD;
use std::sync::{Arc, LazyLock};
use verbena_engine::Motion;
use verbena_mpi::datatype::Form;
use verbena_mpi::datatype::construct::Unit;
use verbena_mpi::op::Builtin;
use verbena_mpi::window::Remote;
use verbena_mpi::window::far::{self, Far, Started};
use verbena_mpi::window::service::{self, Service};
use verbena_mpi::{Comm, Datatype, Group, Op};
use verbena_sim::over_hybrid::{self, HybridFaults};
use verbena_sim::over_rails::{self, RailFaults};
use verbena_sim::over_rc::{self, RcFaults};
use verbena_sim::{Cluster, Memory as Buffer, Random, Shape};

/// Steps without any change after which a run counts as stuck.
const STEPS_MAX: u64 = 500_000;
/// Times that the ranks may come to rest before all of them may leave.
const RESTS_MAX: usize = 10;

/// Blocks of words that are long enough for a device.
static WIDE: LazyLock<Arc<Datatype>> = LazyLock::new(|| {
    let wide = Datatype::vector(Form::Int, 5, 100, 150, Unit::Extent, &WORD).expect("a sound vector");
    wide.commit();
    Arc::new(wide)
});

/// The channels of a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) enum Over {
    /// `rc` alone.
    Connections,
    /// `rc` beside `ud`, with fewer connections than peers.
    FewConnections,
    /// `rc` several times, on devices that fail.
    FailingRails,
}

impl Over {
    pub(super) const ALL: [Over; 3] = [Over::Connections, Over::FewConnections, Over::FailingRails];

    fn cluster(self, random: &mut Random, ranks: u32) -> Cluster {
        let seed = random.word();
        match self {
            Over::Connections => over_rc::cluster(seed, ranks, &RcFaults::random(random)).0,
            Over::FewConnections => over_hybrid::cluster(seed, ranks, &HybridFaults::random(random)).0,
            Over::FailingRails => {
                let mut faults = RailFaults::random(random);
                // Much is under way when a device fails.
                faults.rc.costs.byte_ps = random.pick(&[1000, 50_000]);
                (faults.cut_percent, faults.cut_ns_max) = (70, 1 << random.between(16, 23));
                over_rails::cluster(seed, ranks, &faults).0
            }
        }
    }
}

/// A defect that must be found out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// A flush does not wait for the device.
    EarlyFlush,
    /// An accumulate does not wait for it either.
    Overtakes,
}

/// Counts of what a run met.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    /// Puts and gets by device, and those in several parts.
    pub(super) by_device: u64,
    pub(super) lists: u64,
    /// Puts and gets by messages, and those that the device could not do.
    pub(super) by_messages: u64,
    pub(super) went_again: u64,
    /// Accumulates that had to wait for the device, and puts and gets that went by messages behind
    /// an accumulate.
    pub(super) held_back: u64,
    pub(super) followed: u64,
    pub(super) flushes: u64,
}

/// The use of a slot since the last flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Clean,
    /// A put by device is under way there, or an accumulate.
    Ordered,
    /// Something is under way there that nothing may meet.
    Closed,
}

/// An operation under way.
enum Doing {
    Device(far::Operation),
    Messages(service::Operation),
}

struct Pending {
    target: usize,
    doing: Doing,
    /// The memory and, of a get, the bytes that it must hold in the end.
    buffer: Buffer,
    expected: Option<Vec<u8>>,
}

/// The thing that a rank waits for.
enum Wait {
    Nothing,
    /// The device, before an accumulate in this slot of this target.
    Accumulate(usize, usize, far::Moment),
    /// The device, before a flush of this target.
    Device(usize, far::Moment),
    Flush(usize, service::Moment),
}

struct Rank {
    service: Arc<Service>,
    far: Far,
    window: Memory,
    left: u32,
    wait: Wait,
    pending: Vec<Pending>,
    /// The slots in the window of each target.
    slots: Vec<[Slot; SLOTS]>,
}

/// The job.
pub(super) struct Job {
    // Dropped in this order: what the engines use goes last.
    cluster: Cluster,
    random: Random,
    flaw: Flaw,
    ranks: Vec<Rank>,
    /// The bytes that every window must hold.
    expected: Vec<Vec<u8>>,
    met: Met,
    moved_at: u64,
}

impl Job {
    pub(super) fn new(seed: u64, over: Over, flaw: Flaw) -> Job {
        let mut random = Random::new(seed);
        let ranks = random.between(2, 4) as u32;
        let cluster = over.cluster(&mut random, ranks);
        let (size, left) = (ranks as usize, random.between(50, 200) as u32);
        let bytes = size * SLOTS * SLOT;
        let rank = |me: u32| {
            let comm = Comm::new(8, Arc::new(Group::new((0..ranks).collect(), me)), None);
            let service = Arc::new(Service::new(&comm));
            Rank {
                far: Far::new(service.clone(), &comm),
                service,
                window: Memory::new(bytes),
                left,
                wait: Wait::Nothing,
                pending: Vec::new(),
                slots: vec![[Slot::Clean; SLOTS]; size],
            }
        };
        Job {
            cluster,
            random,
            flaw,
            ranks: (0..ranks).map(rank).collect(),
            expected: vec![vec![0; bytes]; size],
            met: Met::default(),
            moved_at: 0,
        }
    }

    /// Runs the job to its end and checks everything.
    pub(super) fn run(mut self) -> Result<Met, String> {
        while !self.is_over() {
            self.step()?;
            if self.cluster.steps() > self.moved_at + STEPS_MAX {
                return Err(format!("stuck:\n{}", self.cluster.describe()));
            }
        }
        for target in 0..self.ranks.len() {
            if self.ranks[target].window.bytes().to_vec() != self.expected[target] {
                return Err(format!("window {target} holds what it must not at the end"));
            }
        }
        for (me, rank) in (0..).zip(&self.ranks) {
            rank.service.hide(&mut self.cluster.engine(me));
        }
        // A channel that hears that its rank is about to leave has something to say.
        // Every rank is asked, whatever another says.
        let mut rests = || {
            let is_settled = self.cluster.settle(STEPS_MAX);
            let ranks = 0..self.cluster.ranks();
            ranks.fold(is_settled, |rests, rank| self.cluster.visit(rank).is_quiet() && rests)
        };
        if !(0..RESTS_MAX).any(|_| rests()) {
            return Err(format!("no rest after the end:\n{}", self.cluster.describe()));
        }
        self.cluster.violations().first().map_or(Ok(self.met), |violation| Err(violation.clone()))
    }

    fn is_over(&self) -> bool {
        let is_over = |rank: &Rank| {
            rank.left == 0
                && matches!(rank.wait, Wait::Nothing)
                && rank.pending.is_empty()
                && rank.service.is_idle()
        };
        self.ranks.iter().all(is_over)
    }

    fn step(&mut self) -> Result<(), String> {
        let me = self.cluster.step() as usize;
        let rank = &self.ranks[me];
        let mut moved = rank.service.advance(&mut self.cluster.visit(me as u32), &rank.window);
        moved |= self.look(me)?;
        moved |= match std::mem::replace(&mut self.ranks[me].wait, Wait::Nothing) {
            Wait::Nothing => self.begin(me),
            wait => self.wait(me, wait)?,
        };
        if moved {
            self.moved_at = self.cluster.steps();
            self.cluster.engine(me as u32);
        }
        Ok(())
    }

    /// Looks at one of the operations under way. Returns whether it is over.
    fn look(&mut self, me: usize) -> Result<bool, String> {
        match self.ranks[me].pending.len() {
            0 => Ok(false),
            many => {
                let index = self.random.below(many as u64) as usize;
                self.look_at(me, index)
            }
        }
    }

    fn look_at(&mut self, me: usize, index: usize) -> Result<bool, String> {
        let engine = &mut self.cluster.visit(me as u32);
        let outcome = match &self.ranks[me].pending[index].doing {
            Doing::Device(operation) => operation.poll(engine),
            Doing::Messages(operation) => operation.poll(engine),
        };
        let Some(outcome) = outcome else { return Ok(false) };
        let Pending { target, doing, buffer, expected } = self.ranks[me].pending.swap_remove(index);
        if let Some(error) = outcome.error {
            return Err(format!("an operation of rank {me} on {target} failed: {error}"));
        }
        if let Doing::Device(operation) = doing {
            self.met.went_again += u64::from(operation.went_again());
        }
        match expected {
            Some(expected) if buffer.packed() != expected => {
                Err(format!("rank {me} fetched wrong bytes from {target}"))
            }
            _ => {
                buffer.scribble(0xbb);
                Ok(true)
            }
        }
    }

    /// Begins something, if the rank still has to. At its end it flushes every target.
    fn begin(&mut self, me: usize) -> bool {
        if self.ranks[me].left == 0 {
            return false;
        }
        if self.ranks[me].left == 1 {
            let is_used = |slots: &[Slot; SLOTS]| slots.iter().any(|slot| *slot != Slot::Clean);
            match self.ranks[me].slots.iter().position(is_used) {
                Some(target) => self.begin_flush(me, target),
                None => self.ranks[me].left = 0,
            }
            return true;
        }
        self.ranks[me].left -= 1;
        let target = self.random.below(self.ranks.len() as u64) as usize;
        let slot = self.random.below(SLOTS as u64) as usize;
        let used = self.ranks[me].slots[target][slot];
        match (self.random.below(100), used) {
            (0..10, _) => self.begin_flush(me, target),
            (_, Slot::Closed) => {}
            (10..70, Slot::Clean) => self.put(me, target, slot),
            (10..92, _) => self.get(me, target, slot),
            _ => {
                let moment = self.ranks[me].far.now();
                self.ranks[me].wait = Wait::Accumulate(target, slot, moment);
            }
        }
        true
    }

    /// Goes on with what the rank waits for. Returns whether that ended.
    fn wait(&mut self, me: usize, wait: Wait) -> Result<bool, String> {
        let engine = &mut self.cluster.visit(me as u32);
        let rank = &mut self.ranks[me];
        match wait {
            Wait::Nothing => return Ok(false),
            Wait::Accumulate(target, slot, moment) => {
                let is_over = rank.far.is_over(engine, target as i32, moment);
                if is_over && rank.far.went_again(target as i32) {
                    self.begin_flush(me, target);
                    return Ok(true);
                }
                if is_over || self.flaw == Flaw::Overtakes {
                    self.accumulate(me, target, slot);
                    return Ok(true);
                }
                self.met.held_back += 1;
                rank.wait = wait;
            }
            Wait::Device(target, moment) => match rank.far.settle(engine, target as i32, moment) {
                Some(settled) => {
                    settled.map_err(|error| format!("the device failed at {target}: {error}"))?;
                    self.flush(me, target);
                    return Ok(true);
                }
                None => rank.wait = wait,
            },
            Wait::Flush(target, moment) => {
                match rank.service.origin().settle(engine, target as i32, moment) {
                    Some(settled) => {
                        settled.map_err(|error| format!("a flush of {target} failed: {error}"))?;
                        self.flushed(me, target)?;
                        return Ok(true);
                    }
                    None => rank.wait = wait,
                }
            }
        }
        Ok(false)
    }

    /// Elements in a slot: the datatype, how many, and their packed bytes.
    fn sample(&mut self) -> (&'static Arc<Datatype>, usize, usize) {
        match self.random.percent(25) {
            true => (&WIDE, 1, WIDE.size()),
            false => {
                let words = self.random.pick(&[1, 1, 13, 200, SLOT / 8]);
                (&WORD, words, words * 8)
            }
        }
    }

    /// Begins a put or get by the device, or by messages. Returns whether the device does it;
    /// `None` if neither has room.
    fn start(
        &mut self,
        me: usize,
        motion: Motion,
        remote: &Remote,
        buffer: Buffer,
        expected: Option<Vec<u8>>,
    ) -> Option<bool> {
        let target = remote.rank as usize;
        let engine = &mut self.cluster.engine(me as u32);
        let rank = &mut self.ranks[me];
        let follows = rank.service.origin().must_be_followed(engine, remote.rank);
        let started = rank.far.start(engine, motion, remote, &buffer.buffer(), |_| true);
        let is_by_device = match started.expect("a sound answer") {
            Started::Full => return None,
            Started::Begun(operation) => {
                rank.pending.push(Pending { target, doing: Doing::Device(operation), buffer, expected });
                true
            }
            Started::ByMessages => {
                let begun = match motion {
                    Motion::Put => rank.service.origin().put(engine, remote, &buffer.buffer()),
                    Motion::Get => rank.service.origin().get(engine, remote, &buffer.buffer()),
                };
                let doing = Doing::Messages(begun.expect("a short datatype"));
                rank.pending.push(Pending { target, doing, buffer, expected });
                false
            }
        };
        self.met.followed += u64::from(follows && rank.far.facts(remote.rank).is_some());
        self.met.by_device += u64::from(is_by_device);
        self.met.by_messages += u64::from(!is_by_device);
        self.met.lists += u64::from(is_by_device && remote.datatype.layout().contiguous_span(1).is_none());
        Some(is_by_device)
    }

    fn put(&mut self, me: usize, target: usize, slot: usize) {
        let (datatype, count, bytes) = self.sample();
        let remote = remote(me, target, slot, count, datatype);
        let data: Vec<u8> = (0..bytes).map(|_| self.random.word() as u8).collect();
        let buffer = self.cluster.memory(bytes, Shape::Contiguous);
        buffer.fill(&data);
        let Some(is_by_device) = self.start(me, Motion::Put, &remote, buffer, None) else { return };
        unpack(&remote, me, slot, &data, &mut self.expected[target]);
        self.ranks[me].slots[target][slot] = if is_by_device { Slot::Ordered } else { Slot::Closed };
    }

    fn get(&mut self, me: usize, target: usize, slot: usize) {
        // What was put there may be on its way still, as gets may be: only accumulates are ordered.
        let is_put = self.ranks[me].slots[target][slot] == Slot::Ordered;
        let engine = &mut self.cluster.engine(me as u32);
        if is_put && !self.ranks[me].service.origin().must_be_followed(engine, target as i32) {
            return;
        }
        let (datatype, count, bytes) = self.sample();
        let remote = remote(me, target, slot, count, datatype);
        let buffer = self.cluster.memory(bytes, Shape::Contiguous);
        buffer.scribble(0xbb);
        let expected = pack(&remote, me, slot, &self.expected[target]);
        let Some(is_by_device) = self.start(me, Motion::Get, &remote, buffer, Some(expected)) else { return };
        // The device is waited for before an accumulate; a message may be read late.
        self.ranks[me].slots[target][slot] = if is_by_device { Slot::Ordered } else { Slot::Closed };
    }

    fn accumulate(&mut self, me: usize, target: usize, slot: usize) {
        let words = self.random.pick(&[1, 100, SLOT / 8]);
        let remote = remote(me, target, slot, words, &WORD);
        let data: Vec<u8> = (0..words * 8).map(|_| self.random.word() as u8).collect();
        let buffer = self.cluster.memory(words * 8, Shape::Contiguous);
        buffer.fill(&data);
        let mut sums = pack(&remote, me, slot, &self.expected[target]);
        combine(Builtin::Sum, &data, &mut sums);
        unpack(&remote, me, slot, &sums, &mut self.expected[target]);
        let (op, engine) = (Op::of(Builtin::Sum), &mut self.cluster.engine(me as u32));
        let rank = &mut self.ranks[me];
        let begun = rank.service.origin().accumulate(engine, &remote, &op, Some(&buffer.buffer()), None);
        let doing = Doing::Messages(begun.expect("a short datatype"));
        rank.pending.push(Pending { target, doing, buffer, expected: None });
        rank.slots[target][slot] = Slot::Ordered;
    }

    fn begin_flush(&mut self, me: usize, target: usize) {
        match self.flaw {
            Flaw::EarlyFlush => self.flush(me, target),
            _ => self.ranks[me].wait = Wait::Device(target, self.ranks[me].far.now()),
        }
    }

    fn flush(&mut self, me: usize, target: usize) {
        let origin = self.ranks[me].service.origin();
        origin.flush(&mut self.cluster.engine(me as u32), target as i32);
        self.ranks[me].wait = Wait::Flush(target, origin.now());
    }

    /// Everything of this rank is done at the target: its memory holds what it must.
    fn flushed(&mut self, me: usize, target: usize) -> Result<(), String> {
        self.met.flushes += 1;
        let at = me * SLOTS * SLOT;
        let memory = self.ranks[target].window.bytes().part(at, SLOTS * SLOT).to_vec();
        if memory != self.expected[target][at..at + SLOTS * SLOT] {
            return Err(format!("rank {me} has flushed {target}, but bytes are wrong there"));
        }
        while let Some(index) = self.ranks[me].pending.iter().position(|it| it.target == target) {
            if !self.look_at(me, index)? {
                return Err(format!("rank {me} has flushed {target}, but an operation is not over"));
            }
        }
        self.ranks[me].slots[target] = [Slot::Clean; SLOTS];
        Ok(())
    }
}
