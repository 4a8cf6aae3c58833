//! Exchanges with all neighbours in a topology at once.
//!
//! Between two processes the i-th message matches the i-th receive, so edges that occur several
//! times and edges to the process itself are served in the order in which both sides list them.

use crate::coll::blocks::Blocks;
use crate::coll::plan::Plan;
use crate::generated::constants::MPI_PROC_NULL;
use crate::topology::Neighbors;
use verbena_memory::Buffer;

/// Sends `outgoing(i)` to the `i`-th destination, and receives block `i` from the `i`-th source.
/// Blocks of neighbours that are `MPI_PROC_NULL` are left alone.
///
/// If both neighbours of a dimension of a grid are the same process (a periodic dimension of size 1
/// or 2), what goes up must arrive from below (MPI-5.0, 8.6). Receives are posted below first, so
/// sends go up first: to destination `i ^ 1` if `is_grid`.
pub fn exchange(
    plan: &mut Plan,
    neighbors: &Neighbors,
    is_grid: bool,
    outgoing: impl Fn(usize) -> Buffer,
    incoming: Blocks,
) {
    let is_there = |rank: i32| rank != MPI_PROC_NULL;
    for (i, &source) in neighbors.sources.iter().enumerate().filter(|(_, rank)| is_there(**rank)) {
        plan.receive_block(source as usize, i, incoming.buffer(i));
    }
    let order = (0..neighbors.destinations.len()).map(|i| if is_grid { i ^ 1 } else { i });
    for (i, destination) in order.map(|i| (i, neighbors.destinations[i])).filter(|(_, rank)| is_there(*rank))
    {
        plan.send_block(destination as usize, i, outgoing(i));
    }
}
