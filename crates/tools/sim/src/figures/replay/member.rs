//! A rank that plays steps.

use super::{Part, Step};
use crate::Rank;
use crate::verbs::Subnet;
use std::sync::Arc;
use verbena_channel::Channel;
use verbena_channel::loopback::LoopbackChannel;
use verbena_channel::mark::Mark as CallMark;
use verbena_engine::{Engine, Mode, Posted, ReceiveRequest, RequestId, SendRequest, Settings};
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Owned, Region};
use verbena_mpi::coll::operations::{self, Operands};
use verbena_mpi::coll::schedule::Schedule;
use verbena_mpi::coll::{Blocks, Collective, Counts, Reduction};
use verbena_mpi::datatype::Datatype;
use verbena_mpi::generated::constants::{MPI_BYTE, MPI_SUM, MPI_UINT32_T};
use verbena_mpi::op::Op;
use verbena_mpi::{Comm, Group};

/// Contexts of messages between pairs, and of the communicator of collectives.
const PAIRS: u64 = 0;
const CONTEXT: u64 = 8;
/// Bytes of a word that is added up, and of a message's number.
const WORD_BYTES: usize = 4;
const NUMBER_BYTES: usize = 8;

/// The time and the counts of a rank when it came to a mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub at_ns: u64,
    pub messages: u64,
    pub packets: u64,
}

/// The place of a message in the memory for what comes, and the number that it must carry.
struct Expected {
    at: usize,
    bytes: usize,
    number: u64,
}

/// A rank.
pub(super) struct Member {
    // Dropped before the memory that it holds buffers of.
    pub engine: Engine,
    rank: Rank,
    comm: Comm,
    program: Vec<Step>,
    /// Steps that were begun.
    begun: usize,
    pending: Vec<RequestId>,
    collective: Option<Box<Collective>>,
    expected: Vec<Expected>,
    /// The bytes of words that are being added up.
    summed: usize,
    /// Messages to each rank and from each, so far.
    sent: Vec<u64>,
    received: Vec<u64>,
    pub marks: Vec<Mark>,
    /// True if something may have come for this rank.
    pub awake: bool,
    send: Owned,
    receive: Owned,
    /// The first byte of each that begins a page: registrations then cost the same in every run.
    firsts: [usize; 2],
}

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// Memory with room for this many bytes from the beginning of a page on, and where that is.
fn pages(bytes: usize) -> (Owned, usize) {
    let owned = Owned::zeroed(bytes + PAGE_BYTES);
    let first = owned.lend().address().next_multiple_of(PAGE_BYTES as u64) - owned.lend().address();
    (owned, first as usize)
}

fn datatype(which: usize) -> &'static Arc<Datatype> {
    Datatype::predefined(which).expect("predefined")
}

fn bytes_at(region: Region) -> Elements<'static> {
    Elements::at_origins(region, datatype(MPI_BYTE).layout())
}

/// The bytes that a step has under way at most, sent or received.
fn room(step: &Step, ranks: usize) -> usize {
    let parts = |parts: &[Part]| parts.iter().map(|part| part.1).sum::<usize>();
    match step {
        Step::Exchange { sends, receives } => parts(sends).max(parts(receives)),
        Step::Alltoall(bytes) => bytes * ranks,
        Step::Alltoallv { sends, receives } => sends.iter().sum::<usize>().max(receives.iter().sum()),
        Step::Sum(bytes) => *bytes,
        Step::Compute(_) | Step::Barrier | Step::Mark => 0,
    }
}

/// The number of a message: from whom, for whom, and which one.
fn number(from: Rank, to: Rank, which: u64) -> u64 {
    u64::from(from) << 48 | u64::from(to) << 32 | which & 0xffff_ffff
}

/// Returns the first byte of each block.
fn starts(blocks: &[usize]) -> Vec<usize> {
    let next = |end: &mut usize, bytes: &usize| Some(std::mem::replace(end, *end + bytes));
    blocks.iter().scan(0, next).collect()
}

impl Member {
    pub(super) fn new(
        rank: Rank,
        ranks: Rank,
        wire: Box<dyn Channel>,
        settings: Settings,
        program: Vec<Step>,
    ) -> Member {
        let channels = vec![Box::new(LoopbackChannel::new(rank)) as Box<dyn Channel>, wire];
        let group = Group::new((0..ranks).collect(), rank);
        let bytes = program.iter().map(|step| room(step, ranks as usize)).max().unwrap_or(0);
        let ((send, first_sent), (receive, first_received)) = (pages(bytes), pages(bytes));
        Member {
            engine: Engine::new(rank, ranks, channels, settings),
            rank,
            comm: Comm::new(CONTEXT, Arc::new(group), None),
            program,
            begun: 0,
            pending: Vec::new(),
            collective: None,
            expected: Vec::new(),
            summed: 0,
            sent: vec![0; ranks as usize],
            received: vec![0; ranks as usize],
            marks: Vec::new(),
            awake: true,
            send,
            receive,
            firsts: [first_sent, first_received],
        }
    }

    /// The number of steps that were begun.
    pub(super) fn begun(&self) -> usize {
        self.begun
    }

    pub(super) fn has_ended(&self) -> bool {
        self.begun == self.program.len() && self.pending.is_empty() && self.collective.is_none()
    }

    /// Goes on until this rank must wait or has computed; returns whether it did anything.
    pub(super) fn play(&mut self, subnet: &Subnet) -> Result<bool, String> {
        let mut moved = self.engine.progress();
        loop {
            let (ended, advanced) = self.finish()?;
            moved |= advanced;
            if !ended || self.begun == self.program.len() {
                return Ok(moved);
            }
            let step = self.program[self.begun].clone();
            self.begun += 1;
            moved = true;
            if let Step::Compute(ns) = step {
                // What comes meanwhile is looked at afterwards.
                subnet.charge(self.rank, ns);
                return Ok(true);
            }
            self.begin(&step, subnet)?;
        }
    }

    /// Ends what is under way, if it can end; returns whether nothing is under way any more, and
    /// whether there was any change.
    fn finish(&mut self) -> Result<(bool, bool), String> {
        let (before, mut failure, engine) = (self.pending.len(), None, &mut self.engine);
        self.pending.retain(|request| match engine.take(*request) {
            Some(completion) => {
                failure = failure.take().or(completion.failure);
                false
            }
            None => true,
        });
        if let Some(failure) = failure {
            return Err(format!("rank {}: {failure:?}", self.rank));
        }
        let mut moved = self.pending.len() != before;
        if let Some(mut running) = self.collective.take() {
            let (op, datatype) = (Op::predefined(MPI_SUM).expect("predefined"), datatype(MPI_UINT32_T));
            let (begun, mut access) = (running.begun(), &mut self.engine);
            let ended = running
                .advance(&mut access, Some(Reduction { op, datatype }))
                .map_err(|error| format!("rank {}: {error}", self.rank))?;
            moved |= ended || running.begun() != begun;
            if ended { running.recycle() } else { self.collective = Some(running) }
        }
        let ended = self.pending.is_empty() && self.collective.is_none();
        if ended {
            self.compare()?;
        }
        Ok((ended, moved))
    }

    /// Compares what came with what had to come.
    fn compare(&mut self) -> Result<(), String> {
        for Expected { at, bytes, number } in std::mem::take(&mut self.expected) {
            let came = self.back().part(at, bytes).to_vec();
            if came != number.to_ne_bytes()[..bytes] {
                return Err(format!("rank {}: a message is not number {number:x}", self.rank));
            }
        }
        let ranks = self.comm.size() as u32;
        let right = (ranks * (ranks + 1) / 2).to_ne_bytes();
        let words = self.back().part(0, std::mem::take(&mut self.summed)).to_vec();
        match words.chunks_exact(WORD_BYTES).all(|word| word == right) {
            true => Ok(()),
            false => Err(format!("rank {}: a sum is wrong", self.rank)),
        }
    }

    fn begin(&mut self, step: &Step, subnet: &Subnet) -> Result<(), String> {
        match step {
            Step::Exchange { sends, receives } => self.exchange(sends, receives)?,
            Step::Alltoall(bytes) => {
                let blocks = vec![*bytes; self.sent.len()];
                self.number_blocks(&blocks, &blocks);
                let (send, receive) = (bytes_at(self.out()), bytes_at(self.back()));
                let even = |elements| Blocks::Even { elements, count: *bytes };
                self.collective = Some(self.started(|schedule, comm| {
                    operations::alltoall(schedule, comm, Some(even(send)), even(receive));
                }));
            }
            Step::Alltoallv { sends, receives } => self.alltoallv(sends, receives),
            Step::Sum(bytes) => self.sum(*bytes),
            Step::Barrier => self.collective = Some(self.started(operations::barrier)),
            Step::Mark => self.marks.push(self.mark(subnet.time_ns(self.rank))),
            Step::Compute(ns) => subnet.charge(self.rank, *ns),
        }
        Ok(())
    }

    fn started(&self, fill: impl FnOnce(&mut Schedule, &Comm)) -> Box<Collective> {
        let mut collective = Collective::of(&self.comm, self.comm.next_collective_tag());
        fill(collective.schedule(), &self.comm);
        collective
    }

    /// The memory for what is sent.
    fn out(&self) -> Region {
        self.send.lend().part(self.firsts[0], self.send.len() - PAGE_BYTES)
    }

    /// The memory for what comes.
    fn back(&self) -> Region {
        self.receive.lend().part(self.firsts[1], self.receive.len() - PAGE_BYTES)
    }

    fn mark(&self, at_ns: u64) -> Mark {
        let counters = self.engine.counters();
        let wires = counters.channels.iter().filter(|channel| channel.name != "loopback");
        Mark {
            at_ns,
            messages: counters.eager_sent + counters.announced,
            packets: wires.map(|channel| channel.packets_sent).sum(),
        }
    }

    /// Writes the number of the next message to a rank where it begins.
    fn write_number(&mut self, to: usize, at: usize, bytes: usize) {
        let number = number(self.rank, to as Rank, self.sent[to]);
        self.sent[to] += 1;
        self.out().write(at, &number.to_ne_bytes()[..bytes.min(NUMBER_BYTES)]);
    }

    /// Notes the number of the next message from a rank.
    fn expect_number(&mut self, from: usize, at: usize, bytes: usize) {
        let number = number(from as Rank, self.rank, self.received[from]);
        self.received[from] += 1;
        self.expected.push(Expected { at, bytes: bytes.min(NUMBER_BYTES), number });
    }

    fn number_blocks(&mut self, sends: &[usize], receives: &[usize]) {
        for (to, at) in starts(sends).into_iter().enumerate() {
            self.write_number(to, at, sends[to]);
        }
        for (from, at) in starts(receives).into_iter().enumerate() {
            self.expect_number(from, at, receives[from]);
        }
    }

    fn exchange(&mut self, sends: &[Part], receives: &[Part]) -> Result<(), String> {
        let places = |parts: &[Part]| starts(&parts.iter().map(|part| part.1).collect::<Vec<_>>());
        for (&(from, bytes), at) in receives.iter().zip(places(receives)) {
            self.expect_number(from as usize, at, bytes);
            let buffer = Buffer::Contiguous(self.back().part(at, bytes));
            let posted = self.engine.receive(ReceiveRequest::new(PAIRS, from as i32, 0, buffer));
            self.note(posted)?;
        }
        for (&(peer, bytes), at) in sends.iter().zip(places(sends)) {
            self.write_number(peer as usize, at, bytes);
            let buffer = Buffer::Contiguous(self.out().part(at, bytes));
            let (source, mark, mode) = (self.rank as i32, CallMark::NONE, Mode::Standard);
            let send = SendRequest { peer, context: PAIRS, source, tag: 0, buffer, mark, mode };
            let posted = self.engine.send(send);
            self.note(posted)?;
        }
        Ok(())
    }

    fn note(&mut self, posted: Posted) -> Result<(), String> {
        match posted {
            Posted::Pending(request) => self.pending.push(request),
            Posted::Done(completion) => {
                if let Some(failure) = completion.failure {
                    return Err(format!("rank {}: {failure:?}", self.rank));
                }
            }
        }
        Ok(())
    }

    fn alltoallv(&mut self, sends: &[usize], receives: &[usize]) {
        self.number_blocks(sends, receives);
        let large = |numbers: &[usize]| numbers.iter().map(|number| *number as i64).collect::<Vec<_>>();
        let (out, back) = (large(sends), large(receives));
        let (out_starts, back_starts) = (large(&starts(sends)), large(&starts(receives)));
        let (send, receive) = (bytes_at(self.out()), bytes_at(self.back()));
        self.collective = Some(self.started(|schedule, comm| {
            let blocks = |elements, counts, displacements| Blocks::Varied {
                elements,
                counts: Counts::Large(counts),
                displacements: Counts::Large(displacements),
            };
            let sent = blocks(send, &out, &out_starts);
            operations::alltoallv(schedule, comm, Some(sent), blocks(receive, &back, &back_starts));
        }));
    }

    fn sum(&mut self, bytes: usize) {
        let word = (self.rank + 1).to_ne_bytes();
        (0..bytes).step_by(WORD_BYTES).for_each(|at| self.out().write(at, &word));
        self.summed = bytes;
        let words = |region| Some(Elements::at_origins(region, datatype(MPI_UINT32_T).layout()));
        let (send, recv) = (words(self.out()), words(self.back()));
        let operands = Operands { send, recv, count: bytes / WORD_BYTES, commutative: true };
        self.collective = Some(self.started(|schedule, comm| {
            operations::allreduce(schedule, comm, operands);
        }));
    }
}
