//! A rank: its engine, its communicator, and the step that it takes.

use super::Step;
use super::account::{Account, counted};
use super::channel::Way;
use super::fabric::{Costs, Fabric};
use crate::Rank;
use std::sync::{Arc, Mutex};
use verbena_channel::loopback::LoopbackChannel;
use verbena_channel::mark::Mark;
use verbena_channel::{Channel, Peer};
use verbena_engine::{Engine, Mode, Posted, ReceiveRequest, RequestId, SendRequest, Settings};
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Owned};
use verbena_mpi::coll::operations::{self, Operands};
use verbena_mpi::coll::{Collective, Reduction};
use verbena_mpi::datatype::Datatype;
use verbena_mpi::generated::constants::{MPI_SUM, MPI_UINT64_T};
use verbena_mpi::op::Op;
use verbena_mpi::{Comm, Group};

/// Contexts of messages between pairs, and of the communicator.
const PAIRS: u64 = 0;
const CONTEXT: u64 = 8;
/// Bytes of a word.
const WORD_BYTES: usize = 8;
/// Partners of a rank in [`Step::Neighbors`], at most.
const NEIGHBORS: usize = 4;

/// The library's part of a rank, which its account is about.
struct Library {
    engine: Engine,
    comm: Comm,
    pending: Vec<RequestId>,
    collective: Option<Box<Collective>>,
    /// The last one, which the library keeps with its memory for the next.
    kept: Option<Box<Collective>>,
}

/// A rank.
pub(super) struct Member {
    // Dropped before the memory that it holds buffers of.
    library: Library,
    rank: Rank,
    ranks: Rank,
    step: Option<Step>,
    /// The ranks of which numbers are to come, in the order of their places.
    awaited: Vec<Rank>,
    send: Owned,
    receive: Owned,
    account: Account,
}

/// The ranks with which one exchanges numbers, each once.
fn neighbors(rank: Rank, ranks: Rank, node_size: Rank) -> Vec<Rank> {
    let node = node_size % ranks;
    let mut all: Vec<Rank> =
        [1, ranks - 1, node, ranks - node].iter().map(|step| (rank + step % ranks) % ranks).collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|peer| *peer != rank);
    all
}

impl Member {
    /// Starts rank `rank` of `ranks`.
    pub(super) fn start(rank: Rank, ranks: Rank, node_size: Rank, fabric: &Arc<Mutex<Fabric>>) -> Member {
        let first = rank - rank % node_size;
        let mates: Vec<Peer> = (first..ranks.min(first + node_size)).collect();
        let way = |far| {
            let mates = if far { Vec::new() } else { mates.clone() };
            Box::new(Way { me: rank, far, mates, fabric: fabric.clone() }) as Box<dyn Channel>
        };
        let (near, far) = (way(false), way(true));
        let mut account = Account::default();
        let library = counted(&mut account, || {
            let loopback = Box::new(LoopbackChannel::new(rank)) as Box<dyn Channel>;
            Library {
                engine: Engine::new(rank, ranks, vec![loopback, near, far], Settings::default()),
                comm: Comm::new(CONTEXT, Arc::new(Group::of_job(rank, ranks)), None),
                pending: Vec::new(),
                collective: None,
                kept: None,
            }
        });
        let memory = || Owned::zeroed(NEIGHBORS * WORD_BYTES);
        let (send, receive) = (memory(), memory());
        Member { library, rank, ranks, step: None, awaited: Vec::new(), send, receive, account }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.account.held_bytes()
    }

    pub(super) fn high_bytes(&self) -> usize {
        self.account.high_bytes()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.step.is_none()
    }

    pub(super) fn describe(&self) -> Vec<String> {
        let lines = self.library.engine.describe().into_iter();
        lines.map(|line| format!("rank {}: {line}", self.rank)).collect()
    }

    /// The peers that it has met.
    pub(super) fn met(&mut self) -> usize {
        self.library.engine.routes().len()
    }

    /// Goes on until nothing moves; begins a step before, if one is given. Returns whether the step
    /// has ended now.
    pub(super) fn run(&mut self, begins: Option<Step>, node_size: Rank) -> Result<bool, String> {
        if let Some(step) = begins {
            self.prepare(step, node_size);
        }
        let Member { library, rank, ranks, awaited, send, receive, account, step } = self;
        let is_over = counted(account, || -> Result<bool, String> {
            match begins {
                Some(Step::Neighbors) => library.exchange(*rank, awaited, send, receive)?,
                Some(step) => library.start(step, send, receive),
                None => {}
            }
            loop {
                let moved = library.engine.progress();
                let (is_over, advanced) = library.finish(*rank)?;
                if !moved && !advanced {
                    return Ok(is_over);
                }
            }
        })?;
        let Some(step) = step.take_if(|_| is_over) else { return Ok(false) };
        compare(step, (*rank, *ranks), awaited, receive)?;
        Ok(true)
    }

    /// Makes the program's memory ready for a step.
    fn prepare(&mut self, step: Step, node_size: Rank) {
        self.step = Some(step);
        let bytes = match step {
            Step::Neighbors => NEIGHBORS * WORD_BYTES,
            Step::Barrier => 0,
            Step::Sum(bytes) => bytes,
        };
        if bytes > self.send.len() {
            (self.send, self.receive) = (Owned::zeroed(bytes), Owned::zeroed(bytes));
        }
        let word = match step {
            Step::Neighbors => u64::from(self.rank) << 32 | 7,
            _ => u64::from(self.rank) + 1,
        };
        (0..bytes / WORD_BYTES).for_each(|at| self.send.lend().write(at * WORD_BYTES, &word.to_ne_bytes()));
        self.receive.lend().fill(0);
        self.awaited = neighbors(self.rank, self.ranks, node_size);
    }
}

/// Compares what a step has brought.
fn compare(step: Step, (rank, ranks): (Rank, Rank), awaited: &[Rank], receive: &Owned) -> Result<(), String> {
    let size = u64::from(ranks);
    let expected: Vec<u64> = match step {
        Step::Neighbors => awaited.iter().map(|peer| u64::from(*peer) << 32 | 7).collect(),
        Step::Barrier => Vec::new(),
        Step::Sum(bytes) => vec![size * (size + 1) / 2; bytes / WORD_BYTES],
    };
    let bytes = receive.lend().part(0, expected.len() * WORD_BYTES).to_vec();
    let words = bytes.chunks_exact(WORD_BYTES);
    match words.zip(&expected).all(|(word, expected)| word == expected.to_ne_bytes()) {
        true => Ok(()),
        false => Err(format!("{step:?}: rank {rank} of {ranks} has a wrong result")),
    }
}

impl Library {
    /// Sends a number to each of these ranks, and receives one of each.
    fn exchange(&mut self, me: Rank, peers: &[Rank], send: &Owned, receive: &Owned) -> Result<(), String> {
        for (at, &peer) in peers.iter().enumerate() {
            let into = Buffer::Contiguous(receive.lend().part(at * WORD_BYTES, WORD_BYTES));
            let posted = self.engine.receive(ReceiveRequest::new(PAIRS, peer as i32, 0, into));
            self.note(me, posted)?;
        }
        for &peer in peers {
            let buffer = Buffer::Contiguous(send.lend().part(0, WORD_BYTES));
            let (source, mark, mode) = (me as i32, Mark::NONE, Mode::Standard);
            let message = SendRequest { peer, context: PAIRS, source, tag: 0, buffer, mark, mode };
            let posted = self.engine.send(message);
            self.note(me, posted)?;
        }
        Ok(())
    }

    fn note(&mut self, me: Rank, posted: Posted) -> Result<(), String> {
        match posted {
            Posted::Pending(request) => self.pending.push(request),
            Posted::Done(completion) => {
                if let Some(failure) = completion.failure {
                    return Err(format!("rank {me}: {failure:?}"));
                }
            }
        }
        Ok(())
    }

    /// Begins a collective. The thread's reserve holds nothing but what this rank kept.
    fn start(&mut self, step: Step, send: &Owned, receive: &Owned) {
        if let Some(kept) = self.kept.take() {
            kept.recycle();
        }
        let mut collective = Collective::of(&self.comm, self.comm.next_collective_tag());
        let schedule = collective.schedule();
        if let Step::Sum(bytes) = step {
            let layout = word().layout();
            let elements = |owned: &Owned| Some(Elements::at_origins(owned.lend().part(0, bytes), layout));
            let (send, recv) = (elements(send), elements(receive));
            let operands = Operands { send, recv, count: bytes / WORD_BYTES, commutative: true };
            operations::allreduce(schedule, &self.comm, operands);
        } else {
            operations::barrier(schedule, &self.comm);
        }
        self.collective = Some(collective);
    }

    /// Ends what can end; returns whether nothing is under way any more, and whether there was any
    /// change.
    fn finish(&mut self, me: Rank) -> Result<(bool, bool), String> {
        let (before, mut failure, engine) = (self.pending.len(), None, &mut self.engine);
        self.pending.retain(|request| match engine.take(*request) {
            Some(completion) => {
                failure = failure.take().or(completion.failure);
                false
            }
            None => true,
        });
        if let Some(failure) = failure {
            return Err(format!("rank {me}: {failure:?}"));
        }
        let mut moved = self.pending.len() != before;
        if let Some(mut running) = self.collective.take() {
            let op = Op::predefined(MPI_SUM).expect("predefined");
            let (begun, mut access) = (running.begun(), &mut self.engine);
            let ended = running
                .advance(&mut access, Some(Reduction { op, datatype: word() }))
                .map_err(|error| format!("rank {me}: {error}"))?;
            moved |= ended || running.begun() != begun;
            if ended { self.kept = Some(running) } else { self.collective = Some(running) }
        }
        Ok((self.pending.is_empty() && self.collective.is_none(), moved))
    }
}

/// Makes what all ranks of a process share, so that it is on no rank's account.
pub(super) fn make_shared(costs: Costs) {
    let _ = (Op::predefined(MPI_SUM), word().layout());
    drop(Member::start(0, 1, 1, &Arc::new(Mutex::new(Fabric::new(1, 1, costs)))));
}

fn word() -> &'static Arc<Datatype> {
    Datatype::predefined(MPI_UINT64_T).expect("predefined")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_number_and_a_wrong_sum_are_noticed() {
        let came = Owned::zeroed(2 * WORD_BYTES);
        let sums = Step::Sum(2 * WORD_BYTES);
        came.lend().write(0, &10u64.to_ne_bytes());
        assert!(compare(sums, (0, 4), &[], &came).is_err());
        came.lend().write(WORD_BYTES, &10u64.to_ne_bytes());
        assert_eq!(compare(sums, (0, 4), &[], &came), Ok(()));
        assert!(compare(Step::Neighbors, (0, 4), &[3], &came).is_err());
        came.lend().write(0, &(3u64 << 32 | 7).to_ne_bytes());
        assert_eq!(compare(Step::Neighbors, (0, 4), &[3], &came), Ok(()));
    }

    #[test]
    fn neighbors_are_each_there_once() {
        assert_eq!(neighbors(0, 256, 64), [1, 64, 192, 255]);
        assert_eq!(neighbors(0, 128, 64), [1, 64, 127]);
        assert_eq!(neighbors(1, 2, 64), [0]);
        assert!(neighbors(0, 1, 64).is_empty());
    }
}
