//! Ranks that wait for their turn without a processor: rank 0 calls each when it is to talk.
//!
//! Where there are as many processors as ranks that talk at a time, and more ranks, one that waits
//! in MPI would spin on the processor of those that are measured. So it naps, and looks between two
//! naps whether it was called.

use crate::buffer::Buffer;
use crate::mpi::World;
use anyhow::Result;
use std::time::Duration;

/// The time between two looks of a rank that naps: so long that even in an emulated guest some of
/// them take little of its processors.
const NAP: Duration = Duration::from_millis(1);

/// Calls a rank that naps; to be called by rank 0.
pub(crate) fn call(world: &World, buffer: &Buffer, peer: i32) -> Result<()> {
    world.send(buffer, 0, peer)
}

/// Naps until rank 0 calls.
pub(crate) fn nap(world: &World, buffer: &Buffer) -> Result<()> {
    while !world.probe(0)? {
        std::thread::sleep(NAP);
    }
    world.recv(buffer, 0, 0)
}

/// Runs `talk` on rank 0 and on `peer`; all others nap meanwhile.
pub(crate) fn alone_with(
    world: &World,
    buffer: &Buffer,
    peer: i32,
    talk: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let others = || (1..world.size()).filter(move |rank| *rank != peer);
    match world.rank() {
        0 => {
            talk()?;
            others().try_for_each(|rank| call(world, buffer, rank))
        }
        rank if rank == peer => talk(),
        _ => nap(world, buffer),
    }
}
