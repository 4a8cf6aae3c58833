//! `MPI_Bcast` (MPI-5.0, 6.4).

use super::part;
use super::tree::Tree;
use crate::coll::plan::Plan;
use verbena_memory::{Buffer, Region};

/// Largest number of pieces of a pipelined broadcast.
const PIECES_MAX: usize = 64;

/// Goes down a binomial tree, the whole message at each hop.
pub fn binomial(plan: &mut Plan, buffer: Buffer, root: usize) {
    let tree = Tree::new(plan.rank(), plan.size(), root);
    if let Some(parent) = tree.parent() {
        plan.receive(parent, buffer.clone());
        plan.fence();
    }
    for (child, _) in tree.children().rev() {
        plan.send(tree.rank(child), buffer.clone());
    }
}

/// Goes along a chain of ranks, in pieces of at least `piece_bytes_min` bytes, so that all links
/// are busy at once.
pub fn chain(plan: &mut Plan, buffer: Buffer, root: usize, piece_bytes_min: usize) {
    packed(plan, buffer, root, |plan, bytes| {
        let (rank, size) = (plan.rank(), plan.size());
        let next = ((rank + 1) % size != root).then_some((rank + 1) % size);
        let pieces = (bytes.len() / piece_bytes_min).clamp(1, PIECES_MAX);
        let piece = |i| {
            let (first, len) = part(bytes.len(), pieces, i);
            Buffer::Contiguous(bytes.part(first, len))
        };
        let mut arrivals = [0; PIECES_MAX];
        if rank != root {
            (0..pieces).for_each(|i| arrivals[i] = plan.receive((rank + size - 1) % size, piece(i)));
        }
        let Some(next) = next else { return plan.fence() };
        for (i, &arrival) in arrivals.iter().take(pieces).enumerate() {
            if rank != root {
                plan.wait_for(arrival);
            }
            plan.send(next, piece(i));
        }
    });
}

/// Scatters parts down a binomial tree and gathers them all around a ring (R. van de Geijn et al.:
/// Interprocessor collective communication library, 1994).
pub fn scatter_allgather(plan: &mut Plan, buffer: Buffer, root: usize) {
    packed(plan, buffer, root, |plan, bytes| {
        let size = plan.size();
        let tree = Tree::new(plan.rank(), size, root);
        let run = |first: usize, parts: usize| {
            let begin = part(bytes.len(), size, first).0;
            let end =
                if first + parts == size { bytes.len() } else { part(bytes.len(), size, first + parts).0 };
            Buffer::Contiguous(bytes.part(begin, end - begin))
        };
        if let Some(parent) = tree.parent() {
            plan.receive(parent, run(tree.virtual_rank, tree.span()));
            plan.fence();
        }
        for (child, span) in tree.children().rev() {
            plan.send(tree.rank(child), run(child, span));
        }
        plan.fence();
        let (next, previous) = (tree.rank(tree.virtual_rank + 1), tree.rank(tree.virtual_rank + size - 1));
        for step in 0..size - 1 {
            let given = (tree.virtual_rank + size - step) % size;
            let taken = (tree.virtual_rank + 2 * size - step - 1) % size;
            plan.exchange(next, run(given, 1), previous, run(taken, 1));
        }
    });
}

/// Runs `algorithm` on the buffer's packed bytes: on the buffer itself if they lie side by side.
fn packed(plan: &mut Plan, buffer: Buffer, root: usize, algorithm: impl FnOnce(&mut Plan, Region)) {
    if let Some(region) = buffer.region() {
        return algorithm(plan, region);
    }
    let region = plan.temporary(buffer.len());
    if plan.rank() == root {
        plan.copy(buffer, Buffer::Contiguous(region));
        algorithm(plan, region);
    } else {
        algorithm(plan, region);
        plan.fence();
        plan.copy(Buffer::Contiguous(region), buffer);
    }
}
