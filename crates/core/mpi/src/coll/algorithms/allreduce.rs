//! `MPI_Allreduce` (MPI-5.0, 6.9.6).

use super::fold::Fold;
use super::part;
use crate::coll::plan::Plan;
use verbena_memory::elements::Elements;

/// Recursive doubling: in each round the whole vector goes to and comes from a partner. Keeps rank
/// order.
pub fn recursive_doubling(plan: &mut Plan, send: Elements, recv: Elements, count: usize) {
    let fold = Fold::new(plan.size());
    let mut mine = fold.reduce_pairs(plan, send, recv, count);
    if let Some(number) = fold.number(plan.rank()) {
        let other = plan.temporary_elements(send.layout(), count);
        let mut distance = 1;
        while distance < fold.size {
            let partner = fold.rank(number ^ distance);
            plan.exchange(partner, mine.buffer(0, count), partner, other.buffer(0, count));
            if number & distance == 0 {
                plan.combine(mine, other, recv, count);
            } else {
                plan.combine(other, mine, recv, count);
            }
            mine = recv;
            distance *= 2;
        }
    }
    fold.hand_back(plan, recv, count);
}

/// A part of the vector: first element, number of elements.
type Range = (usize, usize);

/// A round of recursive halving: the partner, the half that this rank keeps, the half that it
/// gives.
#[derive(Clone, Copy)]
pub struct Halving {
    /// The partner's number in the fold.
    pub partner: usize,
    /// The range that is reduced here.
    pub keep: Range,
    /// The range that is reduced at the partner.
    pub give: Range,
}

/// The rounds of recursive halving for number `number` of `size`.
pub fn halvings(number: usize, size: usize, count: usize) -> impl DoubleEndedIterator<Item = Halving> {
    let mut rounds = [Halving { partner: 0, keep: (0, 0), give: (0, 0) }; usize::BITS as usize];
    let (mut range, mut distance, mut used): (Range, usize, usize) = ((0, count), size / 2, 0);
    while distance > 0 {
        let lower = (range.0, range.1 / 2);
        let upper = (range.0 + lower.1, range.1 - lower.1);
        let (keep, give) = if number & distance == 0 { (lower, upper) } else { (upper, lower) };
        rounds[used] = Halving { partner: number ^ distance, keep, give };
        (range, distance, used) = (keep, distance / 2, used + 1);
    }
    rounds.into_iter().take(used)
}

/// The reduce-scatter half of Rabenseifner's algorithm: after it, `recv` holds the result of the
/// range that the last halving keeps. `mine` is this rank's operand.
pub fn reduce_by_halving<'e>(
    plan: &mut Plan,
    fold: Fold,
    mut mine: Elements<'e>,
    recv: Elements<'e>,
    count: usize,
) {
    let Some(number) = fold.number(plan.rank()) else { return };
    let other = plan.temporary_elements(recv.layout(), count.div_ceil(2));
    for Halving { partner, keep, give } in halvings(number, fold.size, count) {
        let rank = fold.rank(partner);
        plan.exchange(rank, mine.buffer(give.0 as isize, give.1), rank, other.buffer(0, keep.1));
        let (own, out) = (mine.from(keep.0 as isize), recv.from(keep.0 as isize));
        if number < partner {
            plan.combine(own, other, out, keep.1);
        } else {
            plan.combine(other, own, out, keep.1);
        }
        mine = recv;
    }
}

/// Recursive halving, then recursive doubling (R. Rabenseifner: Optimization of collective
/// reduction operations, ICCS 2004). For commutative operations.
pub fn halving_doubling(plan: &mut Plan, send: Elements, recv: Elements, count: usize) {
    let fold = Fold::new(plan.size());
    let mine = fold.reduce_pairs(plan, send, recv, count);
    reduce_by_halving(plan, fold, mine, recv, count);
    if let Some(number) = fold.number(plan.rank()) {
        for Halving { partner, keep, give } in halvings(number, fold.size, count).rev() {
            let rank = fold.rank(partner);
            let (kept, given) = (recv.buffer(keep.0 as isize, keep.1), recv.buffer(give.0 as isize, give.1));
            plan.exchange(rank, kept, rank, given);
        }
    }
    fold.hand_back(plan, recv, count);
}

/// Goes around a ring twice: each part is reduced on its way, then its result goes round (P.
/// Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009).
/// For commutative operations.
pub fn ring(plan: &mut Plan, send: Elements, recv: Elements, count: usize) {
    let (rank, size) = (plan.rank(), plan.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let range = |i: usize| part(count, size, i % size);
    let other = plan.temporary_elements(send.layout(), range(0).1);
    let mut mine = send;
    for step in 0..size - 1 {
        let (given, taken) = (range(rank + size - step), range(rank + 2 * size - step - 1));
        plan.exchange(next, mine.buffer(given.0 as isize, given.1), previous, other.buffer(0, taken.1));
        let first = taken.0 as isize;
        plan.combine(other, send.from(first), recv.from(first), taken.1);
        mine = recv;
    }
    for step in 0..size - 1 {
        let (given, taken) = (range(rank + 1 + size - step), range(rank + size - step));
        let (sent, received) =
            (recv.buffer(given.0 as isize, given.1), recv.buffer(taken.0 as isize, taken.1));
        plan.exchange(next, sent, previous, received);
    }
}
