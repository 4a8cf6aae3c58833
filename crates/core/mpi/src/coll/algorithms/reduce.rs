//! `MPI_Reduce` (MPI-5.0, 6.9.1).

use super::allreduce::{Halving, halvings, reduce_by_halving};
use super::fold::Fold;
use super::tree::Tree;
use crate::coll::plan::Plan;
use verbena_memory::elements::Elements;

/// Goes up a binomial tree. Keeps rank order if `in_order`, by reducing at rank 0 and passing the
/// result on. `recv` is the result's place at the root, `None` elsewhere.
pub fn binomial(
    plan: &mut Plan,
    send: Elements,
    recv: Option<Elements>,
    count: usize,
    root: usize,
    in_order: bool,
) {
    let top = if in_order { 0 } else { root };
    let tree = Tree::new(plan.rank(), plan.size(), top);
    let mut mine = send;
    if tree.span() > 1 {
        let out = recv.unwrap_or_else(|| plan.temporary_elements(send.layout(), count));
        let other = plan.temporary_elements(send.layout(), count);
        for (child, _) in tree.children() {
            plan.receive(tree.rank(child), other.buffer(0, count));
            plan.fence();
            plan.combine(mine, other, out, count);
            mine = out;
        }
    }
    if let Some(parent) = tree.parent() {
        plan.send(parent, mine.buffer(0, count));
        plan.fence();
    }
    if top != root {
        pass_on(plan, mine, recv, count, top, root);
    }
}

/// Gives the result at `from` to `root`.
fn pass_on(
    plan: &mut Plan,
    result: Elements,
    recv: Option<Elements>,
    count: usize,
    from: usize,
    root: usize,
) {
    if plan.rank() == from {
        plan.send(root, result.buffer(0, count));
    }
    if let Some(recv) = recv {
        plan.receive(from, recv.buffer(0, count));
    }
}

/// Runs recursive halving, then a binomial gather to the root (R. Rabenseifner: Optimization of
/// collective reduction operations, ICCS 2004). For commutative operations.
pub fn halving_gather(plan: &mut Plan, send: Elements, recv: Option<Elements>, count: usize, root: usize) {
    let fold = Fold::new(plan.size());
    let rank = plan.rank();
    let out = match recv {
        Some(recv) => recv,
        None if fold.number(rank).is_some() => plan.temporary_elements(send.layout(), count),
        None => send,
    };
    let mine = fold.reduce_pairs(plan, send, out, count);
    reduce_by_halving(plan, fold, mine, out, count);
    // If the root takes no part, the rank that speaks for it gathers.
    let top = fold.guardian(root).unwrap_or(root);
    let top_number = fold.number(top).expect("a guardian takes part");
    if let Some(number) = fold.number(rank) {
        gather_halves(plan, fold, number, top_number, out, count);
    }
    if top != root {
        plan.fence();
        pass_on(plan, out, recv, count, top, root);
    }
}

/// Undoes the halvings towards `top`: in each round, the partner that is nearer to it receives.
fn gather_halves(plan: &mut Plan, fold: Fold, number: usize, top: usize, out: Elements, count: usize) {
    for (round, Halving { partner, keep, give }) in halvings(number, fold.size, count).rev().enumerate() {
        let bit = 1 << round;
        if number & bit == top & bit {
            plan.receive(fold.rank(partner), out.buffer(give.0 as isize, give.1));
            plan.fence();
        } else {
            plan.send(fold.rank(partner), gathered(out, keep));
            return;
        }
    }
}

fn gathered(out: Elements, (first, count): (usize, usize)) -> verbena_memory::Buffer {
    out.buffer(first as isize, count)
}
