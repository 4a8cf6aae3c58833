//! `MPI_Scan` and `MPI_Exscan` (MPI-5.0, 6.11).

use crate::coll::plan::Plan;
use verbena_memory::elements::Elements;

/// Inclusive scan by distance doubling (W. D. Hillis, G. L. Steele: Data parallel algorithms,
/// 1986): in round k, the result so far goes 2^k ranks up. Keeps rank order.
pub fn inclusive(plan: &mut Plan, send: Elements, recv: Elements, count: usize) {
    doubling(plan, send, recv, count, 0);
    if plan.rank() == 0 && !send.is_at(&recv) {
        plan.copy(send.buffer(0, count), recv.buffer(0, count));
    }
}

/// Exclusive scan: operands move one rank up, then an inclusive scan without rank 0. Keeps rank
/// order.
pub fn exclusive(plan: &mut Plan, send: Elements, recv: Elements, count: usize) {
    let (rank, size) = (plan.rank(), plan.size());
    let incoming = plan.temporary_elements(send.layout(), if rank > 0 { count } else { 0 });
    if rank > 0 {
        plan.receive(rank - 1, incoming.buffer(0, count));
    }
    if rank + 1 < size {
        plan.send(rank + 1, send.buffer(0, count));
    }
    plan.fence();
    if rank > 0 {
        doubling(plan, incoming, recv, count, 1);
        if rank == 1 {
            plan.copy(incoming.buffer(0, count), recv.buffer(0, count));
        }
    }
}

/// The rounds of a scan among the ranks from `first` on. Rank `first` itself only sends.
fn doubling<'e>(plan: &mut Plan, send: Elements<'e>, recv: Elements<'e>, count: usize, first: usize) {
    let (rank, size) = (plan.rank(), plan.size());
    let other = plan.temporary_elements(send.layout(), count);
    let (mut mine, mut distance) = (send, 1);
    while distance < size - first {
        let from = (rank >= first + distance).then(|| rank - distance);
        if let Some(from) = from {
            plan.receive(from, other.buffer(0, count));
        }
        if rank + distance < size {
            plan.send(rank + distance, mine.buffer(0, count));
        }
        plan.fence();
        if from.is_some() {
            plan.combine(other, mine, recv, count);
            mine = recv;
        }
        distance *= 2;
    }
}
