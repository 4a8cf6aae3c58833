//! `MPI_Alltoall`, `MPI_Alltoallv` and `MPI_Alltoallw` (MPI-5.0, 6.8).

use crate::coll::blocks::Blocks;
use crate::coll::plan::Plan;
use verbena_memory::{Buffer, Region};

/// Every pair exchanges its blocks directly; at most `window` pairs at once.
pub fn direct(plan: &mut Plan, send: Option<Blocks>, recv: Blocks, window: usize) {
    let (rank, size) = (plan.rank(), plan.size());
    let outgoing = Outgoing::new(plan, send, recv);
    plan.copy(outgoing.buffer(rank), if send.is_some() { recv.buffer(rank) } else { Buffer::EMPTY });
    for first in (1..size).step_by(window) {
        let steps = first..(first + window).min(size);
        for step in steps.clone() {
            let from = (rank + size - step) % size;
            plan.receive_block(from, from, recv.buffer(from));
        }
        for step in steps {
            let to = (rank + step) % size;
            plan.send_block(to, to, outgoing.buffer(to));
        }
        plan.fence();
    }
}

/// The blocks to send: the program's, or with `MPI_IN_PLACE` copies of the receive buffer's
/// contents.
struct Outgoing<'a> {
    send: Option<Blocks<'a>>,
    copies: Vec<Region>,
}

impl<'a> Outgoing<'a> {
    fn new(plan: &mut Plan, send: Option<Blocks<'a>>, recv: Blocks) -> Outgoing<'a> {
        let mut copies = Vec::new();
        if send.is_none() {
            let rank = plan.rank();
            for i in 0..plan.size() {
                let copy = plan.temporary(if i == rank { 0 } else { recv.bytes(i) });
                if i != rank {
                    plan.copy(recv.buffer(i), Buffer::Contiguous(copy));
                }
                copies.push(copy);
            }
        }
        Outgoing { send, copies }
    }

    fn buffer(&self, i: usize) -> Buffer {
        match &self.send {
            Some(send) => send.buffer(i),
            None => Buffer::Contiguous(self.copies[i]),
        }
    }
}

/// Bruck's algorithm (J. Bruck et al., 1997) for small even blocks: in round k every block whose
/// distance to its goal has bit k set moves on by 2^k ranks. Blocks are packed, `bytes` bytes each.
pub fn bruck(plan: &mut Plan, send: Option<Blocks>, recv: Blocks, bytes: usize) {
    let (rank, size) = (plan.rank(), plan.size());
    let source = send.unwrap_or(recv);
    let held = plan.temporary(size * bytes);
    let most = size.div_ceil(2).max(size.next_power_of_two() / 2) * bytes;
    let (leaving, arriving) = (plan.temporary(most), plan.temporary(most));
    let slot = |memory: Region, i: usize| Buffer::Contiguous(memory.part(i * bytes, bytes));
    for i in 0..size {
        plan.copy(source.buffer((rank + i) % size), slot(held, i));
    }
    let mut distance = 1;
    while distance < size {
        let moving = || (0..size).filter(move |i| i & distance != 0);
        moving().enumerate().for_each(|(at, i)| plan.copy(slot(held, i), slot(leaving, at)));
        let len = moving().count() * bytes;
        let whole = |memory: Region| Buffer::Contiguous(memory.part(0, len));
        plan.exchange(
            (rank + distance) % size,
            whole(leaving),
            (rank + size - distance) % size,
            whole(arriving),
        );
        moving().enumerate().for_each(|(at, i)| plan.copy(slot(arriving, at), slot(held, i)));
        distance *= 2;
    }
    for i in 0..size {
        plan.copy(slot(held, i), recv.buffer((rank + size - i) % size));
    }
}
