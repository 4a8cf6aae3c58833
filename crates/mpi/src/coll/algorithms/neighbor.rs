//! The neighbourhood collectives (MPI-5.0, 8.6): one direct message along each edge of the topology.

use crate::coll::plan::Plan;
use verbena_channel::memory::Buffer;

/// Sends to the destinations and receives from the sources. A neighbour may occur several times; its messages
/// match in the order of the lists. `None` stands for `MPI_PROC_NULL`.
pub fn direct(
    plan: &mut Plan,
    sources: impl Iterator<Item = (Option<usize>, Buffer)>,
    destinations: impl Iterator<Item = (Option<usize>, Buffer)>,
) {
    for (source, buffer) in sources {
        if let Some(source) = source {
            plan.receive(source, buffer);
        }
    }
    for (destination, buffer) in destinations {
        if let Some(destination) = destination {
            plan.send(destination, buffer);
        }
    }
}
