//! `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block` (MPI-5.0, 6.10).

use super::fold::Fold;
use super::{reduce, scatter};
use crate::coll::blocks::{Blocks, Counts};
use crate::coll::plan::Plan;
use verbena_memory::elements::Elements;

/// The number of the operand's elements that each rank gets.
#[derive(Clone, Copy)]
pub struct BlockCounts<'a> {
    /// Count of one rank, if all have the same.
    pub even: usize,
    /// Count of each rank; overrides `even`.
    pub counts: Option<Counts<'a>>,
}

impl BlockCounts<'_> {
    /// The number of elements of one rank.
    pub fn count(&self, rank: usize) -> usize {
        self.counts.map_or(self.even, |counts| counts.get(rank) as usize)
    }

    /// The number of elements of the ranks from `first` to `end`.
    pub fn sum(&self, first: usize, end: usize) -> usize {
        match self.counts {
            None => (end - first) * self.even,
            Some(counts) => (first..end).map(|i| counts.get(i) as usize).sum(),
        }
    }
}

/// Every rank sends every other one its part of the operand, and reduces its own. For commutative
/// operations.
pub fn pairwise(plan: &mut Plan, send: Elements, recv: Elements, blocks: BlockCounts) {
    let (rank, size) = (plan.rank(), plan.size());
    let count = blocks.count(rank);
    let part = |i: usize| send.from(blocks.sum(0, i) as isize);
    // In place, the result would overwrite what others still have to get.
    let in_place = send.is_at(&recv);
    let out = if in_place { plan.temporary_elements(recv.layout(), count) } else { recv };
    let other = plan.temporary_elements(recv.layout(), count);
    let mut mine = part(rank);
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        plan.receive_some(from, other.buffer(0, count));
        plan.send_some(to, part(to).buffer(0, blocks.count(to)));
        plan.fence();
        plan.combine(mine, other, out, count);
        mine = out;
    }
    if in_place {
        plan.copy(out.buffer(0, count), recv.buffer(0, count));
    }
}

/// Recursive halving over the blocks of the ranks. For commutative operations.
pub fn halving(plan: &mut Plan, send: Elements, recv: Elements, blocks: BlockCounts) {
    let (rank, size) = (plan.rank(), plan.size());
    let fold = Fold::new(size);
    let total = blocks.sum(0, size);
    let out = plan.temporary_elements(send.layout(), total);
    let mine = fold.reduce_pairs(plan, send, out, total);
    if let Some(number) = fold.number(rank) {
        halve(plan, fold, number, mine, out, blocks);
        let (first, _) = fold.members(number);
        let before = blocks.sum(0, rank) as isize;
        let count = blocks.count(rank);
        plan.copy(out.buffer(before, count), recv.buffer(0, count));
        if first != rank {
            let start = blocks.sum(0, first) as isize;
            plan.send_some(first, out.buffer(start, blocks.count(first)));
        }
    } else {
        plan.fence();
        plan.receive_some(rank + 1, recv.buffer(0, blocks.count(rank)));
    }
}

fn halve<'e>(
    plan: &mut Plan,
    fold: Fold,
    number: usize,
    send: Elements<'e>,
    out: Elements<'e>,
    blocks: BlockCounts,
) {
    let total = blocks.sum(0, plan.size());
    let other = plan.temporary_elements(out.layout(), total);
    let first_of = |n: usize| if n == fold.size { total } else { blocks.sum(0, fold.members(n).0) };
    let (mut mine, mut low, mut distance) = (send, 0, fold.size / 2);
    while distance > 0 {
        let (lower, upper) = ((low, low + distance), (low + distance, low + 2 * distance));
        let (keep, give) = if number & distance == 0 { (lower, upper) } else { (upper, lower) };
        let partner = number ^ distance;
        let range = |(begin, end)| (first_of(begin) as isize, first_of(end) - first_of(begin));
        let ((kept, kept_count), (given, given_count)) = (range(keep), range(give));
        plan.receive_some(fold.rank(partner), other.buffer(0, kept_count));
        plan.send_some(fold.rank(partner), mine.buffer(given, given_count));
        plan.fence();
        let own = mine.from(kept);
        if number < partner {
            plan.combine(own, other, out.from(kept), kept_count);
        } else {
            plan.combine(other, own, out.from(kept), kept_count);
        }
        (mine, low, distance) = (out, keep.0, distance / 2);
    }
}

/// Reduces at rank 0 and scatters from there. Keeps rank order.
pub fn reduce_then_scatter(plan: &mut Plan, send: Elements, recv: Elements, blocks: BlockCounts) {
    let (rank, size) = (plan.rank(), plan.size());
    let total = blocks.sum(0, size);
    let whole = (rank == 0).then(|| plan.temporary_elements(send.layout(), total));
    reduce::binomial(plan, send, whole, total, 0, true);
    plan.fence();
    scatter_parts(plan, whole, recv, blocks);
}

/// Scatters the parts of `whole` from rank 0.
pub fn scatter_parts(plan: &mut Plan, whole: Option<Elements>, recv: Elements, blocks: BlockCounts) {
    let rank = plan.rank();
    let mine = recv.buffer(0, blocks.count(rank));
    let (counts, displacements) = layout_of(blocks, plan.size());
    let send = whole.map(|elements| Blocks::Varied {
        elements,
        counts: Counts::Large(&counts),
        displacements: Counts::Large(&displacements),
    });
    scatter::linear(plan, send, Some(mine), 0);
}

/// Counts and displacements of the parts, side by side.
fn layout_of(blocks: BlockCounts, size: usize) -> (Vec<i64>, Vec<i64>) {
    let counts: Vec<i64> = (0..size).map(|i| blocks.count(i) as i64).collect();
    let displacements =
        counts.iter().scan(0, |next, count| Some(std::mem::replace(next, *next + count))).collect();
    (counts, displacements)
}
