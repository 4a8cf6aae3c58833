//! The part of MPI that the kernels need, so that their arithmetic can be tested without it.

use crate::mpi::World;
use anyhow::Result;

/// The ranks, and their messages to each other. Messages between two ranks match in the order in
/// which they are started.
pub(super) trait Comm {
    /// Returns this rank.
    fn rank(&self) -> usize;
    /// The number of ranks.
    fn size(&self) -> usize;
    /// Sends, and returns when the values may be reused: as late as when they are received.
    fn send(&self, values: &[f64], to: usize) -> Result<()>;
    /// Receives as many values as there is room for.
    fn recv(&self, values: &mut [f64], from: usize) -> Result<()>;
    /// Sends and receives all of these at once.
    fn exchange(&self, sends: &[(usize, &[f64])], receives: &mut [(usize, &mut [f64])]) -> Result<()>;
    /// A block of values for each rank and from each.
    fn alltoall(&self, own: &[f64], to: &mut [f64]) -> Result<()>;
    /// Exchanges one count with each rank.
    fn counts(&self, own: &[u64], to: &mut [u64]) -> Result<()>;
    /// Blocks of keys of those lengths for each rank and from each.
    fn keys(&self, own: &[u32], own_counts: &[usize], to: &mut [u32], to_counts: &[usize]) -> Result<()>;
    /// Adds up each value over all ranks.
    fn sum(&self, values: &mut [f64]) -> Result<()>;
}

impl Comm for World {
    fn rank(&self) -> usize {
        World::rank(self) as usize
    }

    fn size(&self) -> usize {
        World::size(self) as usize
    }

    fn send(&self, values: &[f64], to: usize) -> Result<()> {
        self.send_items(values, to)
    }

    fn recv(&self, values: &mut [f64], from: usize) -> Result<()> {
        self.recv_items(values, from)
    }

    fn exchange(&self, sends: &[(usize, &[f64])], receives: &mut [(usize, &mut [f64])]) -> Result<()> {
        self.exchange_items(sends, receives)
    }

    fn alltoall(&self, own: &[f64], to: &mut [f64]) -> Result<()> {
        self.alltoall_items(own, to)
    }

    fn counts(&self, own: &[u64], to: &mut [u64]) -> Result<()> {
        self.alltoall_items(own, to)
    }

    fn keys(&self, own: &[u32], own_counts: &[usize], to: &mut [u32], to_counts: &[usize]) -> Result<()> {
        self.alltoallv_items(own, own_counts, to, to_counts)
    }

    fn sum(&self, values: &mut [f64]) -> Result<()> {
        self.sum_items(values)
    }
}
