//! Reductions in each other's memory on a board, where access may be lost.

use crate::board::{Advance, elements, open, reduction};
use crate::in_place::Giving;
use crate::jobs::Job;
use crate::waiting::{Waiting, drive};
use std::cell::Cell;
use std::sync::Arc;
use verbena_channel::board::Board;
use verbena_channel::neighbor::{Neighbor, Refusal};
use verbena_fault::Fault;
use verbena_memory::{Owned, Region};
use verbena_mpi::coll::board::SharedBoard;
use verbena_mpi::coll::board::direct::{DirectReduction, Reach, Verdict};
use verbena_mpi::coll::board::results::Results;
use verbena_mpi::coll::operations::Operands;
use verbena_mpi::{Error, Result};
use verbena_node::board::heap;
use verbena_node::cma;

/// The access of members to each other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Granted,
    /// Granted, and the result takes the place of the operand.
    InPlace,
    /// The root, which has no meaning there, may not reach the others, and knows it.
    Denied,
    /// Access is lost, as a member finds out when it reads.
    Lost,
}

/// Memory that cannot be read.
struct Gone;

impl Neighbor for Gone {
    fn read(&self, _: u64, _: Region) -> std::result::Result<(), Refusal> {
        let fault = Fault {
            what: "gone".into(),
            on: "a test".into(),
            cause: "as it wants".into(),
            remedy: "none".into(),
        };
        Err(Refusal { is_gone: true, fault })
    }
    fn write(&self, _: Region, _: u64) -> std::result::Result<(), Refusal> {
        unreachable!("what cannot be read gives no result")
    }
    fn read_list(&self, _: &[(u64, usize)], into: &[Region]) -> std::result::Result<(), Refusal> {
        self.read(0, into[0])
    }
    fn write_list(&self, _: &[Region], _: &[(u64, usize)]) -> std::result::Result<(), Refusal> {
        unreachable!("what cannot be read gives no result")
    }
}

/// Runs an allreduce in each other's memory, which is that of one process here. Ends in an error if
/// its verdict is not the one that all members must come to.
pub(crate) fn begin(
    board: &SharedBoard,
    (send, out): (Region, Region),
    job: Job,
    (piece, giving): (usize, Giving),
    access: Access,
) -> Advance {
    let mut locked = board.lock();
    open(&mut **locked, job);
    let neighbor = |rank: usize| -> Option<Arc<dyn Neighbor>> {
        match access {
            _ if rank == locked.me() => None,
            Access::Denied if locked.me() == job.root => None,
            Access::Lost if locked.me() == job.root => Some(Arc::new(Gone)),
            _ => Some(cma::own_memory()),
        }
    };
    let reach: &Reach = Box::leak(Box::new((0..locked.ranks()).map(neighbor).collect()));
    let has_result = giving != Giving::ToRoot || locked.me() == job.root;
    let from = if access == Access::InPlace && has_result { out } else { send };
    from.copy_from(send);
    let operands = Operands {
        send: Some(elements(from)),
        recv: has_result.then(|| elements(out)),
        count: job.words,
        commutative: true,
    };
    let results = giving.results(locked.ranks(), job.root, job.words);
    let reduction = DirectReduction::new(&mut **locked, operands, reduction(), results, reach, piece);
    drop(locked);
    let mut next = drive(board, Checked { reduction, job, access });
    Box::new(move |_, _| next())
}

/// A reduction whose verdict is compared with that to which all members must come.
struct Checked {
    reduction: DirectReduction<'static>,
    job: Job,
    access: Access,
}

impl Waiting for Checked {
    fn advance(&mut self, board: &mut dyn Board) -> Result<bool> {
        let (verdict, access) = (self.reduction.advance(board)?, self.access);
        let right = match verdict {
            None => true,
            // Others may have done the parts of a member that lost access before it came to them.
            Some(verdict) if access == Access::Lost => agrees(self.job, verdict),
            Some(verdict) => (verdict == Verdict::Refused) == (access == Access::Denied),
        };
        if !right {
            return Err(Error::unsupported(&format!("the verdict {verdict:?} after {access:?}")));
        }
        Ok(verdict.is_some())
    }
    fn seek(&mut self, board: &mut dyn Board) {
        self.reduction.seek(board);
    }
    fn awaits(&self, _: &dyn Board, rank: usize) -> bool {
        self.reduction.awaits(rank)
    }
    fn has_paused(&self) -> bool {
        self.reduction.has_paused()
    }
}

thread_local! {
    /// The verdict of the first member to come to one, of the last collective in which access was
    /// lost.
    static VERDICT: Cell<Option<(usize, Verdict)>> = const { Cell::new(None) };
}

/// Forgets the verdict of an earlier run.
pub(crate) fn forget() {
    VERDICT.set(None);
}

/// Returns whether all members come to the same verdict. Each ends this collective before any
/// begins the next one of its sort.
fn agrees(job: Job, verdict: Verdict) -> bool {
    match VERDICT.get() {
        Some((number, first)) if number == job.number => first == verdict,
        _ => {
            VERDICT.set(Some((job.number, verdict)));
            true
        }
    }
}

/// One of two members does all parts, since the other one has no core. It pauses now and then, so
/// that its other communication goes on.
#[test]
fn a_member_that_never_waits_pauses() {
    const WORDS: usize = 300;
    let mut boards = heap::sides(2, 512, 4, 128);
    let memory = [(); 4].map(|()| Owned::zeroed(4 * WORDS));
    let reach: [Reach; 2] = [0, 1].map(|me| {
        (0..2).map(|rank| (rank != me).then(|| -> Arc<dyn Neighbor> { cma::own_memory() })).collect()
    });
    let mut sides: Vec<DirectReduction> = Vec::new();
    for me in [0, 1] {
        memory[me].lend().write(0, &(me as i32 + 1).to_le_bytes().repeat(WORDS));
        boards[me].open(1);
        let [send, recv] = [me, me + 2].map(|i| Some(elements(memory[i].lend())));
        let operands = Operands { send, recv, count: WORDS, commutative: true };
        let board = &mut *boards[me];
        sides.push(DirectReduction::new(board, operands, reduction(), Results::All, &reach[me], 4));
    }
    assert_eq!(sides[0].advance(&mut *boards[0]), Ok(None));
    assert!(!sides[0].has_paused(), "it waits");
    let mut pauses = 0;
    while sides[1].advance(&mut *boards[1]) == Ok(None) {
        assert!(sides[1].has_paused());
        pauses += 1;
    }
    assert_eq!(pauses, WORDS / 64);
    assert_eq!(sides[0].advance(&mut *boards[0]), Ok(Some(Verdict::Done)));
    for result in &memory[2..] {
        assert_eq!(result.lend().to_vec(), 3_i32.to_le_bytes().repeat(WORDS));
    }
}
