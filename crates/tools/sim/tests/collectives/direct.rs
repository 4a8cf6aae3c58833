//! Reductions in each other's memory on a board, where access may be lost.

use crate::board::{Advance, Job, elements, open, reduction};
use crate::in_place::Giving;
use std::cell::Cell;
use std::sync::Arc;
use verbena_channel::neighbor::{Neighbor, Refusal};
use verbena_fault::Fault;
use verbena_memory::Region;
use verbena_mpi::Error;
use verbena_mpi::coll::board::SharedBoard;
use verbena_mpi::coll::board::direct::{DirectReduction, Reach, Verdict};
use verbena_mpi::coll::operations::Operands;
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
    let mut allreduce = DirectReduction::new(&mut **locked, operands, reduction(), results, reach, piece);
    drop(locked);
    let board = board.clone();
    Box::new(move |_, _| {
        let mut board = board.lock();
        let verdict = allreduce.advance(&mut **board)?;
        if verdict.is_none() {
            allreduce.seek(&mut **board);
        }
        let right = match verdict {
            None => true,
            // Others may have done the parts of a member that lost access before it came to them.
            Some(verdict) if access == Access::Lost => agrees(job, verdict),
            Some(verdict) => (verdict == Verdict::Refused) == (access == Access::Denied),
        };
        if !right {
            return Err(Error::unsupported(&format!("the verdict {verdict:?} after {access:?}")));
        }
        Ok(verdict.is_some())
    })
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
