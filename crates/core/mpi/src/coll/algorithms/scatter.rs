//! `MPI_Scatter` and `MPI_Scatterv` (MPI-5.0, 6.6).

use super::tree::Tree;
use crate::coll::blocks::Blocks;
use crate::coll::plan::Plan;
use verbena_memory::{Buffer, Region};

/// The root sends to everyone. `mine` is `None` at a root whose own block stays in place; `send` is
/// `Some` at the root only.
pub fn linear(plan: &mut Plan, send: Option<Blocks>, mine: Option<Buffer>, root: usize) {
    let Some(send) = send else {
        return plan.receive_some(root, mine.expect("only the root scatters in place"));
    };
    for rank in (0..plan.size()).filter(|&r| r != root) {
        plan.send_some(rank, send.buffer(rank));
    }
    if let Some(mine) = mine {
        plan.copy(send.buffer(root), mine);
    }
}

/// Goes down a binomial tree; inner ranks pass on packed blocks of `bytes` bytes.
pub fn binomial(plan: &mut Plan, send: Option<Blocks>, mine: Option<Buffer>, bytes: usize, root: usize) {
    let tree = Tree::new(plan.rank(), plan.size(), root);
    match send {
        Some(send) => spread_from_root(plan, tree, send, mine, bytes),
        None => spread_below(plan, tree, mine.expect("only the root scatters in place"), bytes),
    }
}

fn spread_below(plan: &mut Plan, tree: Tree, mine: Buffer, bytes: usize) {
    let parent = tree.parent().expect("only the root has none");
    if tree.span() == 1 {
        plan.receive(parent, mine);
        return;
    }
    let held = plan.temporary(tree.span() * bytes);
    plan.receive(parent, Buffer::Contiguous(held));
    plan.fence();
    for (child, span) in tree.children().rev() {
        let at = (child - tree.virtual_rank) * bytes;
        plan.send(tree.rank(child), Buffer::Contiguous(held.part(at, span * bytes)));
    }
    plan.copy(Buffer::Contiguous(held.part(0, bytes)), mine);
}

fn spread_from_root(plan: &mut Plan, tree: Tree, send: Blocks, mine: Option<Buffer>, bytes: usize) {
    let size = plan.size();
    for (child, span) in tree.children().rev() {
        let first = tree.rank(child);
        let run = send.run(first, span).filter(|_| first + span <= size);
        let run = run.unwrap_or_else(|| {
            let held = plan.temporary(span * bytes);
            pack(plan, held, span, bytes, |i| send.buffer(tree.rank(child + i)));
            Buffer::Contiguous(held)
        });
        plan.send(first, run);
    }
    if let Some(mine) = mine {
        plan.copy(send.buffer(plan.rank()), mine);
    }
}

/// Copies blocks from where `from` says to packed blocks of `bytes` bytes.
pub(super) fn pack(
    plan: &mut Plan,
    held: Region,
    blocks: usize,
    bytes: usize,
    from: impl Fn(usize) -> Buffer,
) {
    for i in 0..blocks {
        plan.copy(from(i), Buffer::Contiguous(held.part(i * bytes, bytes)));
    }
}
