//! `MPI_Barrier` (MPI-5.0, 6.3).

use crate::coll::plan::Plan;
use verbena_memory::Buffer;

/// Dissemination (D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization,
/// 1988): in round k, a message goes to the rank 2^k further on.
pub fn dissemination(plan: &mut Plan) {
    let (rank, size) = (plan.rank(), plan.size());
    let mut distance = 1;
    while distance < size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        plan.exchange(to, Buffer::EMPTY, from, Buffer::EMPTY);
        distance *= 2;
    }
}
