//! Carries a plan out on a cluster and records what came of it.

use super::Report;
use super::plan::{Act, CONTEXTS, How, Message, Plan, Wanted};
use crate::memory::{Memory, Shape};
use crate::{Cluster, Random, Rank};
use verbena_channel::mark::Mark;
use verbena_engine::{
    ANY_SOURCE, ANY_TAG, Completion, Engine, Failure, MessageId, Plain, Posted, ReceiveRequest, RequestId,
    SendRequest,
};

/// The byte that a program writes into a buffer that it has back.
const SENT: u8 = 0xaa;
/// Like [`SENT`], for a buffer received into.
const RECEIVED: u8 = 0xbb;
/// Rounds that a rank probes without result before it goes on.
const PROBES_MAX: u32 = 30;
/// Times that a rank asks whether it may leave.
const LEAVES_MAX: u32 = 40;
/// Steps after which a run counts as hanging.
const STEPS_MAX: u64 = 5_000_000;

/// A send and what became of it.
pub(super) struct Sent {
    pub from: Rank,
    pub message: Message,
    /// The place of its start in the order of all acts.
    pub order: u64,
    pub memory: Memory,
    pub request: Option<RequestId>,
    pub cancel_asked: bool,
    pub outcome: Option<Completion>,
}

/// A receive and what became of it.
pub(super) struct Received {
    pub at: Rank,
    pub wanted: Wanted,
    pub order: u64,
    pub memory: Memory,
    pub request: Option<RequestId>,
    pub cancel_asked: bool,
    /// True if nothing ever came for it: it was cancelled when all was over.
    pub left_over: bool,
    pub outcome: Option<Completion>,
    /// The bytes received.
    pub data: Vec<u8>,
}

/// The record of everything that happened.
pub(super) struct Records {
    pub sends: Vec<Sent>,
    pub receives: Vec<Received>,
    /// The rank that died.
    pub dead: Option<Rank>,
}

pub(super) struct Driver {
    cluster: Cluster,
    plan: Plan,
    random: Random,
    /// The next act of each rank, and how often it was tried.
    next: Vec<(usize, u32)>,
    order: u64,
    records: Records,
    /// Indices of the records that are pending, by rank.
    sending: Vec<Vec<usize>>,
    receiving: Vec<Vec<usize>>,
}

impl Driver {
    pub(super) fn new(cluster: Cluster, plan: Plan, random: Random) -> Driver {
        let ranks = plan.acts.len();
        Driver {
            cluster,
            plan,
            random,
            next: vec![(0, 0); ranks],
            order: 0,
            records: Records { sends: Vec::new(), receives: Vec::new(), dead: None },
            sending: vec![Vec::new(); ranks],
            receiving: vec![Vec::new(); ranks],
        }
    }

    /// Runs to the end: all acts, then the messages that nobody asked for, then the receives for
    /// which nothing came.
    pub(super) fn run(&mut self) -> Result<(), String> {
        while (0..self.next.len()).any(|rank| self.next[rank].0 < self.plan.acts[rank].len()) {
            let rank = self.step()?;
            if self.random.percent(1) {
                self.tell(rank);
            }
            for _ in 0..self.random.below(3) {
                self.act(rank)?;
            }
        }
        (0..self.cluster.ranks()).for_each(|rank| self.tell(rank));
        self.drain()?;
        self.cancel_left_over()?;
        self.settle()?;
        self.all_collected()
    }

    fn step(&mut self) -> Result<Rank, String> {
        let (records, receiving, random) = (&mut self.records, &mut self.receiving, &mut self.random);
        let rank = self.cluster.step_after(|rank, engine| {
            // A wait looks at what is next in the channel before it makes progress.
            if random.percent(50) {
                collect_receives(records, &mut receiving[rank as usize], engine, take_plain);
            }
        });
        self.collect(rank)?;
        if self.cluster.steps() > STEPS_MAX {
            return Err(format!("no end after {STEPS_MAX} steps; pending:\n{}", self.cluster.describe()));
        }
        Ok(rank)
    }

    fn settle(&mut self) -> Result<(), String> {
        if !self.cluster.settle(STEPS_MAX) {
            return Err(format!("the cluster does not come to rest; pending:\n{}", self.cluster.describe()));
        }
        (0..self.cluster.ranks()).try_for_each(|rank| self.collect(rank))
    }

    fn act(&mut self, rank: Rank) -> Result<(), String> {
        let (at, tries) = self.next[rank as usize];
        let Some(act) = self.plan.acts[rank as usize].get(at).copied() else { return Ok(()) };
        let done = match act {
            Act::Send(message) => self.send(rank, message).map(|_| true)?,
            Act::Receive(wanted) => self.receive(rank, wanted)? || tries >= PROBES_MAX,
            Act::Cancel(which) => self.cancel(rank, which),
            Act::Die => self.die(rank),
        };
        self.next[rank as usize] = if done { (at + 1, 0) } else { (at, tries + 1) };
        Ok(())
    }

    fn send(&mut self, rank: Rank, message: Message) -> Result<(), String> {
        let memory = self.cluster.memory(message.bytes, message.shape);
        let bytes = content(message.id, memory.len());
        memory.fill(&bytes);
        let message = Message { bytes: bytes.len(), ..message };
        let send = SendRequest {
            peer: message.to,
            context: message.context,
            source: rank as i32,
            tag: message.tag,
            buffer: memory.buffer(),
            mark: Mark::NONE,
            mode: message.mode,
        };
        let posted = self.cluster.engine(rank).send(send);
        self.order += 1;
        let (order, index) = (self.order, self.records.sends.len());
        let mut sent =
            Sent { from: rank, message, order, memory, request: None, cancel_asked: false, outcome: None };
        match posted {
            Posted::Done(completion) => end_send(&mut sent, completion),
            Posted::Pending(id) if message.forgotten => self.cluster.engine(rank).forget(id),
            Posted::Pending(id) => {
                sent.request = Some(id);
                self.sending[rank as usize].push(index);
            }
        }
        self.records.sends.push(sent);
        Ok(())
    }

    /// Starts a receive; `false` if a probe found nothing yet.
    fn receive(&mut self, rank: Rank, wanted: Wanted) -> Result<bool, String> {
        let Wanted { context, source, tag, .. } = wanted;
        match wanted.how {
            How::Post => self.post(rank, wanted),
            How::ProbeFirst => {
                let Some(envelope) = self.cluster.engine(rank).probe(context, source, tag) else {
                    return Ok(false);
                };
                // Probed, then received: the standard promises the very message (3.8.1).
                let room = envelope.bytes as usize;
                self.post(rank, Wanted { source: envelope.source, tag: envelope.tag, room, ..wanted });
                let outcome = self.records.receives.last().and_then(|receive| receive.outcome.as_ref());
                let sender_died = self.records.dead.map(|dead| dead as i32) == Some(envelope.source);
                let is_right = |o: &Completion| o.bytes == envelope.bytes && o.failure.is_none();
                if outcome.is_some_and(|o| !is_right(o)) && !sender_died {
                    return Err(format!("rank {rank} probed {envelope:?} and received {outcome:?}"));
                }
            }
            How::MatchedProbe => {
                let Some((message, _)) = self.cluster.engine(rank).match_probe(context, source, tag) else {
                    return Ok(false);
                };
                self.receive_matched(rank, wanted, message);
            }
        }
        Ok(true)
    }

    fn post(&mut self, rank: Rank, wanted: Wanted) {
        let memory = self.cluster.memory(wanted.room, wanted.shape);
        let Wanted { context, source, tag, .. } = wanted;
        // A receive that names its sender may say so, and then fails when that is given up.
        let peer = Rank::try_from(source).ok().filter(|_| self.random.percent(50));
        let receive = ReceiveRequest { peer, ..ReceiveRequest::new(context, source, tag, memory.buffer()) };
        let posted = self.cluster.engine(rank).receive(receive);
        self.record_receive(rank, wanted, memory, posted);
    }

    fn receive_matched(&mut self, rank: Rank, wanted: Wanted, message: MessageId) {
        let memory = self.cluster.memory(wanted.room, wanted.shape);
        let posted = self.cluster.engine(rank).receive_matched(message, Mark::NONE, memory.buffer());
        self.record_receive(rank, wanted, memory, posted);
    }

    fn record_receive(&mut self, at: Rank, wanted: Wanted, memory: Memory, posted: Posted) {
        self.order += 1;
        let wanted = Wanted { room: memory.len(), ..wanted };
        let mut received = Received {
            at,
            wanted,
            order: self.order,
            memory,
            request: None,
            cancel_asked: false,
            left_over: false,
            outcome: None,
            data: Vec::new(),
        };
        match posted {
            Posted::Done(completion) => end_receive(&mut received, completion),
            Posted::Pending(id) => {
                received.request = Some(id);
                self.receiving[at as usize].push(self.records.receives.len());
            }
        }
        self.records.receives.push(received);
    }

    /// Cancels one of the rank's pending operations, if there is any.
    fn cancel(&mut self, rank: Rank, which: u64) -> bool {
        let (sending, receiving) = (&self.sending[rank as usize], &self.receiving[rank as usize]);
        let pending = sending.len() + receiving.len();
        if pending > 0 {
            let which = which as usize % pending;
            let request = match sending.get(which) {
                Some(index) => {
                    let sent = &mut self.records.sends[*index];
                    sent.cancel_asked = true;
                    sent.request
                }
                None => {
                    let received = &mut self.records.receives[receiving[which - sending.len()]];
                    received.cancel_asked = true;
                    received.request
                }
            };
            self.cluster.engine(rank).cancel(request.expect("pending"));
        }
        true
    }

    fn die(&mut self, rank: Rank) -> bool {
        // A rank without a device is as good as dead to those who reach it by that, and its view
        // does not count.
        if !(self.random.percent(30) && self.cluster.break_device(rank)) {
            self.cluster.kill(rank);
        }
        self.records.dead = Some(rank);
        self.sending[rank as usize].clear();
        self.receiving[rank as usize].clear();
        true
    }

    /// Tells a rank who has died, as the launcher would.
    fn tell(&mut self, rank: Rank) {
        if let Some(dead) = self.records.dead.filter(|dead| *dead != rank) {
            self.cluster.engine(rank).give_up(dead, crate::world::fault("the peer has died", dead));
        }
    }

    /// The ranks that live.
    fn living(&self) -> Vec<Rank> {
        (0..self.cluster.ranks()).filter(|rank| self.records.dead != Some(*rank)).collect()
    }

    /// Takes what has completed on this rank.
    fn collect(&mut self, rank: Rank) -> Result<(), String> {
        let (cluster, records, random) = (&mut self.cluster, &mut self.records, &mut self.random);
        if self.sending[rank as usize].is_empty() && self.receiving[rank as usize].is_empty() {
            return Ok(());
        }
        let engine = cluster.engine(rank);
        self.sending[rank as usize].retain(|index| {
            let sent = &mut records.sends[*index];
            let completion = engine.take(sent.request.expect("pending"));
            completion.map(|completion| end_send(sent, completion)).is_none()
        });
        // The shortest way or the general one.
        let take = if random.percent(50) { take_plain } else { Engine::take };
        collect_receives(records, &mut self.receiving[rank as usize], engine, take);
        Ok(())
    }

    /// Receives every message for which there is no receive.
    fn drain(&mut self) -> Result<(), String> {
        loop {
            self.settle()?;
            let mut found = false;
            for rank in self.living() {
                for context in 0..CONTEXTS {
                    found |= self.drain_one(rank, context);
                }
            }
            if !found {
                return Ok(());
            }
        }
    }

    fn drain_one(&mut self, rank: Rank, context: u64) -> bool {
        let probed = self.cluster.engine(rank).match_probe(context, ANY_SOURCE, ANY_TAG);
        let Some((message, envelope)) = probed else { return false };
        let room = envelope.bytes as usize;
        let (source, tag, how) = (ANY_SOURCE, ANY_TAG, How::MatchedProbe);
        let wanted = Wanted { context, source, tag, room, shape: Shape::Contiguous, how };
        self.receive_matched(rank, wanted, message);
        true
    }

    fn cancel_left_over(&mut self) -> Result<(), String> {
        for rank in 0..self.cluster.ranks() {
            for index in self.receiving[rank as usize].clone() {
                let received = &mut self.records.receives[index];
                received.left_over = !received.cancel_asked;
                received.cancel_asked = true;
                let request = received.request.expect("pending");
                self.cluster.engine(rank).cancel(request);
            }
        }
        Ok(())
    }

    fn all_collected(&mut self) -> Result<(), String> {
        let pending: usize = self.sending.iter().chain(&self.receiving).map(Vec::len).sum();
        // A rank about to leave asks until it is told that all it sent has arrived.
        let mut restless = self.restless();
        for _ in 0..LEAVES_MAX {
            if pending == 0 && restless.is_empty() {
                return Ok(());
            }
            self.settle()?;
            restless = self.restless();
        }
        let pending_now = self.cluster.describe();
        Err(format!(
            "{pending} operations never ended, ranks {restless:?} may not leave; pending:\n{pending_now}"
        ))
    }

    /// The ranks that live and may not leave yet.
    fn restless(&mut self) -> Vec<Rank> {
        self.living().into_iter().filter(|rank| !self.cluster.visit(*rank).is_quiet()).collect()
    }

    /// The figures of the run.
    pub(super) fn report(&mut self) -> Report {
        let mut report = Report {
            trace: self.cluster.trace(),
            steps: self.cluster.steps(),
            messages: self.records.sends.len(),
            died: self.records.dead.iter().len(),
            cancelled: 0,
            truncated: 0,
            rendezvous: 0,
            written: 0,
            striped: 0,
            memory_bytes: 0,
            fallbacks: 0,
            duplicates: 0,
            throttles: 0,
            fronts: self.cluster.fronts(),
            failovers: 0,
            moves: 0,
            left: 0,
            sent_again: 0,
        };
        let sends = self.records.sends.iter().map(|sent| &sent.outcome);
        let outcomes = sends.chain(self.records.receives.iter().map(|received| &received.outcome));
        for outcome in outcomes.flatten() {
            report.cancelled += outcome.cancelled as usize;
            report.truncated += matches!(outcome.failure, Some(Failure::Truncated { .. })) as usize;
        }
        for rank in 0..self.cluster.ranks() {
            let counters = self.cluster.engine(rank).counters();
            report.rendezvous += counters.rendezvous;
            report.written += counters.written;
            report.striped += counters.striped;
            report.fallbacks += counters.fallbacks;
            report.duplicates += counters.duplicates;
            report.throttles += counters.throttles;
            report.failovers += counters.failovers;
            report.moves += counters.moves;
            report.left += counters.left;
            report.sent_again += counters.sent_again;
            report.memory_bytes += counters.channels.iter().map(|c| c.get_bytes + c.put_bytes).sum::<u64>();
        }
        report
    }

    /// Checks what the engines must have left behind, and returns the records.
    pub(super) fn finish(mut self) -> Result<Records, String> {
        for rank in self.living() {
            let counters = self.cluster.engine(rank).counters();
            if counters.requests + counters.unexpected + counters.posted + counters.unexpected_bytes > 0 {
                return Err(format!("rank {rank} is left with {counters:?}"));
            }
        }
        if let Some(violation) = self.cluster.violations().first() {
            return Err(violation.clone());
        }
        if self.cluster.exposures() > 0 {
            return Err(format!("{} exposures of memory were not ended", self.cluster.exposures()));
        }
        let dead = self.records.dead;
        for sent in self.records.sends.iter().filter(|sent| sent.outcome.is_some() && Some(sent.from) != dead)
        {
            if !sent.memory.is_all(SENT) {
                return Err(format!("message {} was written to after its send", sent.message.id));
            }
        }
        let mut living = self.records.receives.iter().filter(|received| Some(received.at) != dead);
        if living.any(|received| !received.memory.is_all(RECEIVED)) {
            return Err("a buffer was written to after its receive had completed".into());
        }
        Ok(self.records)
    }
}

/// Takes what has completed of these receives.
fn collect_receives(
    records: &mut Records,
    pending: &mut Vec<usize>,
    engine: &mut Engine,
    take: fn(&mut Engine, RequestId) -> Option<Completion>,
) {
    pending.retain(|index| {
        let received = &mut records.receives[*index];
        let completion = take(engine, received.request.expect("pending"));
        completion.map(|completion| end_receive(received, completion)).is_none()
    });
}

fn take_plain(engine: &mut Engine, request: RequestId) -> Option<Completion> {
    match engine.take_plain(request) {
        Plain::Pending => None,
        Plain::Ended { source, tag, bytes } => {
            Some(Completion { source, tag, bytes, cancelled: false, failure: None })
        }
        Plain::Unusual => engine.take(request),
    }
}

fn end_send(sent: &mut Sent, completion: Completion) {
    sent.memory.scribble(SENT);
    sent.outcome = Some(completion);
}

fn end_receive(received: &mut Received, completion: Completion) {
    let bytes = completion.bytes as usize;
    received.data = received.memory.packed();
    received.data.truncate(bytes);
    if !received.memory.is_guarded_after(bytes) {
        // The oracle compares lengths first, so a longer record is a failure that names the
        // receive.
        received.data.push(0);
    }
    received.memory.scribble(RECEIVED);
    received.outcome = Some(completion);
}

/// The bytes of a message.
pub(super) fn content(id: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(id ^ 0xc0_ffee);
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| random.word().to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}
