//! `MPI_Allgather` and `MPI_Allgatherv` (MPI-5.0, 6.7).

use crate::coll::blocks::Blocks;
use crate::coll::plan::Plan;
use verbena_memory::Buffer;

/// Goes around a ring, block by block. `mine` is `None` if the own block is in place.
pub fn ring(plan: &mut Plan, mine: Option<Buffer>, recv: Blocks) {
    let (rank, size) = (plan.rank(), plan.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut given = mine.clone().unwrap_or_else(|| recv.buffer(rank));
    let mut own = mine;
    for step in 1..size {
        let taken = recv.buffer((rank + size - step) % size);
        plan.receive_some(previous, taken.clone());
        plan.send_some(next, given);
        if let Some(mine) = own.take() {
            plan.copy(mine, recv.buffer(rank));
        }
        plan.fence();
        given = taken;
    }
    if let Some(mine) = own {
        plan.copy(mine, recv.buffer(rank));
    }
}

/// Recursive doubling, for a power of two of ranks and even blocks.
pub fn recursive_doubling(plan: &mut Plan, mine: Option<Buffer>, recv: Blocks) {
    let (rank, size) = (plan.rank(), plan.size());
    assert!(size.is_power_of_two(), "recursive doubling needs a power of two of ranks");
    if let Some(mine) = mine {
        plan.copy(mine, recv.buffer(rank));
    }
    let run = |first, blocks| recv.run(first, blocks).expect("even blocks follow each other");
    let mut distance = 1;
    while distance < size {
        let partner = rank ^ distance;
        let held = |of: usize| run(of & !(distance - 1), distance);
        plan.exchange(partner, held(rank), partner, held(partner));
        distance *= 2;
    }
}

/// Bruck's algorithm (J. Bruck et al.: Efficient algorithms for all-to-all communications in
/// multiport message-passing systems, 1997): log2 rounds for any number of ranks and any blocks,
/// through packed temporary memory that holds the blocks from this rank's own on.
pub fn bruck(plan: &mut Plan, mine: Option<Buffer>, recv: Blocks) {
    let (rank, size) = (plan.rank(), plan.size());
    let bytes = |i: usize| recv.bytes((rank + i) % size);
    let total: usize = (0..size).map(bytes).sum();
    let held = plan.temporary(total);
    let piece = |first: usize, len: usize| Buffer::Contiguous(held.part(first, len));
    plan.copy(mine.clone().unwrap_or_else(|| recv.buffer(rank)), piece(0, bytes(0)));
    let (mut distance, mut have) = (1, bytes(0));
    while distance < size {
        let blocks = distance.min(size - distance);
        let given: usize = (0..blocks).map(bytes).sum();
        let taken: usize = (distance..distance + blocks).map(bytes).sum();
        plan.receive_some((rank + distance) % size, piece(have, taken));
        plan.send_some((rank + size - distance) % size, piece(0, given));
        plan.fence();
        have += taken;
        distance *= 2;
    }
    let mut at = 0;
    for i in 0..size {
        if i > 0 || mine.is_some() {
            plan.copy(piece(at, bytes(i)), recv.buffer((rank + i) % size));
        }
        at += bytes(i);
    }
}
