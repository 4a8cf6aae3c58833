//! The loops of the collectives: the same call on `MPI_COMM_WORLD`, again and again, rooted at rank
//! 0.
//!
//! The value is the mean time a call on the slowest rank. There is no barrier between the calls, as
//! in a program that calls a collective in a loop; a rooted collective may therefore overlap with
//! the next one. The size is what one rank contributes: for gather, scatter, allgather and alltoall
//! the block of each rank (or pair), for reduce-scatter the block that each rank gets. Reductions
//! add doubles.
//!
//! *Fan-out* is no collective of MPI: rank 0 sends a byte to each other rank, which answers with
//! one. With more ranks than cores it shows the cost of waking a rank. Its floor is the same
//! exchange over pipes, without MPI.

use super::metric::{Metric, Point};
use super::timing::{Clock, Effort, measure};
use crate::buffer::Buffer;
use crate::mpi::World;
use anyhow::{Result, ensure};

/// Measures one point: samples in microseconds, iterations.
///
/// # Errors
/// MPI fails, or a reduction yields a wrong sum.
pub(crate) fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    let room = point.bytes * blocks(point.metric, world.size() as usize);
    let (from, to) = (Buffer::new(room), Buffer::new(room));
    from.fill_doubles(1.0);
    call(world, point, &from, &to)?;
    verify(world, point, &to)?;
    let samples = measure(world, effort, Clock::Slowest, |world, iterations| {
        for _ in 0..iterations {
            call(world, point, &from, &to)?;
        }
        Ok(())
    })?;
    Ok((samples.seconds.iter().map(|seconds| seconds * 1e6).collect(), samples.iterations))
}

/// The number of blocks of the point's size in the larger of the two buffers.
fn blocks(metric: Metric, ranks: usize) -> usize {
    match metric {
        Metric::Gather | Metric::Scatter | Metric::Allgather | Metric::Alltoall | Metric::ReduceScatter => {
            ranks
        }
        _ => 1,
    }
}

#[inline]
fn call(world: &World, point: Point, from: &Buffer, to: &Buffer) -> Result<()> {
    let bytes = point.bytes;
    match point.metric {
        Metric::Barrier => world.barrier(),
        Metric::Bcast => world.bcast(from, bytes),
        Metric::Reduce => world.reduce(from, to, bytes),
        Metric::Allreduce => world.allreduce(from, to, bytes),
        Metric::ReduceScatter => world.reduce_scatter_block(from, to, bytes),
        Metric::Scan => world.scan(from, to, bytes),
        Metric::Gather => world.gather(from, to, bytes),
        Metric::Scatter => world.scatter(from, to, bytes),
        Metric::Allgather => world.allgather(from, to, bytes),
        Metric::Alltoall => world.alltoall(from, to, bytes),
        Metric::FanOut => fan_out(world, from, to),
        other => anyhow::bail!("{} is no collective", other.name()),
    }
}

/// A byte from rank 0 to each other rank in turn, and one back from each.
fn fan_out(world: &World, from: &Buffer, to: &Buffer) -> Result<()> {
    if world.rank() > 0 {
        world.recv(to, 1, 0)?;
        return world.send(from, 1, 0);
    }
    (1..world.size()).try_for_each(|rank| world.send(from, 1, rank))?;
    (1..world.size()).try_for_each(|rank| world.recv(to, 1, rank))
}

/// Checks the last double of the result: every rank contributed ones.
fn verify(world: &World, point: Point, to: &Buffer) -> Result<()> {
    let expected = match point.metric {
        Metric::Allreduce | Metric::ReduceScatter => f64::from(world.size()),
        Metric::Scan => f64::from(world.rank() + 1),
        Metric::Allgather | Metric::Alltoall if point.bytes >= 8 => 1.0,
        _ => return Ok(()),
    };
    let last = match point.metric {
        Metric::Allgather | Metric::Alltoall => point.bytes * world.size() as usize / 8 - 1,
        _ => point.bytes / 8 - 1,
    };
    let got = to.double(last);
    ensure!(got == expected, "{} gave {got} where {expected} is right", point.metric.name());
    Ok(())
}
