//! `MPI_Gather` and `MPI_Gatherv` (MPI-5.0, 6.5).

use super::tree::Tree;
use crate::coll::blocks::Blocks;
use crate::coll::plan::Plan;
use verbena_memory::{Buffer, Region};

/// Everyone sends to the root. `mine` is `None` at a root whose own block is in place; `recv` is
/// `Some` at the root only.
pub fn linear(plan: &mut Plan, mine: Option<Buffer>, recv: Option<Blocks>, root: usize) {
    let Some(recv) = recv else {
        return plan.send_some(root, mine.expect("only the root gathers in place"));
    };
    for rank in (0..plan.size()).filter(|&r| r != root) {
        plan.receive_some(rank, recv.buffer(rank));
    }
    if let Some(mine) = mine {
        plan.copy(mine, recv.buffer(root));
    }
}

/// Goes up a binomial tree; inner ranks collect packed blocks of `bytes` bytes each.
pub fn binomial(plan: &mut Plan, mine: Option<Buffer>, recv: Option<Blocks>, bytes: usize, root: usize) {
    let tree = Tree::new(plan.rank(), plan.size(), root);
    match recv {
        Some(recv) => collect_at_root(plan, tree, mine, recv, bytes),
        None => collect_below(plan, tree, mine.expect("only the root gathers in place"), bytes),
    }
}

fn collect_below(plan: &mut Plan, tree: Tree, mine: Buffer, bytes: usize) {
    let parent = tree.parent().expect("only the root has none");
    if tree.span() == 1 {
        plan.send(parent, mine);
        return;
    }
    let held = plan.temporary(tree.span() * bytes);
    for (child, span) in tree.children() {
        let at = (child - tree.virtual_rank) * bytes;
        plan.receive(tree.rank(child), Buffer::Contiguous(held.part(at, span * bytes)));
    }
    plan.copy(mine, Buffer::Contiguous(held.part(0, bytes)));
    plan.fence();
    plan.send(parent, Buffer::Contiguous(held));
}

fn collect_at_root(plan: &mut Plan, tree: Tree, mine: Option<Buffer>, recv: Blocks, bytes: usize) {
    let size = plan.size();
    for (child, span) in tree.children() {
        let first = tree.rank(child);
        match recv.run(first, span).filter(|_| first + span <= size) {
            Some(run) => {
                plan.receive(first, run);
            }
            None => {
                let held = plan.temporary(span * bytes);
                plan.receive(first, Buffer::Contiguous(held));
                plan.fence();
                unpack(plan, held, span, bytes, |i| recv.buffer(tree.rank(child + i)));
            }
        }
    }
    if let Some(mine) = mine {
        plan.copy(mine, recv.buffer(plan.rank()));
    }
}

/// Copies packed blocks of `bytes` bytes to where `to` says.
pub(super) fn unpack(
    plan: &mut Plan,
    held: Region,
    blocks: usize,
    bytes: usize,
    to: impl Fn(usize) -> Buffer,
) {
    for i in 0..blocks {
        plan.copy(Buffer::Contiguous(held.part(i * bytes, bytes)), to(i));
    }
}
