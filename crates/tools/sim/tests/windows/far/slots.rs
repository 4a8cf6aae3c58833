//! The places of an origin's slots in a window, and the bytes of elements there.

use crate::exposed::UNIT;
use std::sync::Arc;
use verbena_mpi::Datatype;
use verbena_mpi::window::Remote;

/// Slots of an origin in each window, and bytes of a slot.
pub(super) const SLOTS: usize = 10;
pub(super) const SLOT: usize = 8000;

/// The first byte of a slot of `me`.
fn start_of(me: usize, slot: usize) -> usize {
    (me * SLOTS + slot) * SLOT
}

pub(super) fn remote(
    me: usize,
    target: usize,
    slot: usize,
    count: usize,
    datatype: &Arc<Datatype>,
) -> Remote<'_> {
    let displacement = start_of(me, slot) as i64 / UNIT;
    Remote { rank: target as i32, displacement, count: count as i64, datatype }
}

fn for_each_run(remote: &Remote, me: usize, slot: usize, mut each: impl FnMut(usize, usize)) {
    let (layout, count) = (remote.datatype.layout(), remote.count as usize);
    layout.for_each_run(count, 0, remote.datatype.size() * count, |at, len| {
        each(start_of(me, slot).wrapping_add_signed(at), len);
    });
}

/// Packs the elements' bytes in `memory`.
pub(super) fn pack(remote: &Remote, me: usize, slot: usize, memory: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    for_each_run(remote, me, slot, |at, len| packed.extend(&memory[at..at + len]));
    packed
}

/// Unpacks bytes to the elements in `memory`.
pub(super) fn unpack(remote: &Remote, me: usize, slot: usize, packed: &[u8], memory: &mut [u8]) {
    let mut from = 0;
    for_each_run(remote, me, slot, |at, len| {
        memory[at..at + len].copy_from_slice(&packed[from..from + len]);
        from += len;
    });
}
