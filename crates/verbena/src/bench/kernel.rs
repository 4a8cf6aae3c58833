//! The communication of three kernels of the NAS parallel benchmarks, and of a semicoarsening multigrid, without their arithmetic: what paper 1
//! asks of few slots (section 6.4), and paper 4 of datagrams (5.3.2), depends on who sends what to whom, and how much at once.
//!
//! - *IS* sorts integers: each round adds up a histogram (an allreduce), tells each rank what will come (a small alltoall) and
//!   moves the keys (a large alltoall; the size is that of the block of each pair).
//! - *CG* exchanges parts of a vector with one partner after another, and adds up two numbers (small allreduces); the size is
//!   that of the vector.
//! - *MG* exchanges the faces of a grid with both neighbours in each dimension, on ever coarser grids and back again; the size
//!   is that of the largest face, and each coarser one has a quarter of it, down to 8 bytes.
//! - *SMG* is a cycle in the manner of SMG2000, in [`semicoarsening`]; the size is that of the largest face.
//!
//! The value is the mean time of a round on the slowest rank.

mod semicoarsening;

use super::metric::{Metric, Point};
use super::timing::{Clock, Effort, measure};
use crate::buffer::Buffer;
use crate::mpi::{Window, World};
use anyhow::Result;

/// The histogram of IS, in bytes.
const HISTOGRAM_BYTES: usize = 4 << 10;
/// The smallest face of MG, and a number of CG.
const DOUBLE_BYTES: usize = size_of::<f64>();
/// Inner steps of CG between two looks at how far it is.
const CG_STEPS: usize = 5;
/// The tag of the windows.
const TAG: i32 = 9;

/// Measures one point: samples in microseconds, iterations.
///
/// # Errors
/// MPI fails.
pub fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    let room = (point.bytes * world.size() as usize).max(HISTOGRAM_BYTES);
    let (from, to) = (Buffer::new(room), Buffer::new(room));
    from.fill_doubles(1.0);
    let round = match point.metric {
        Metric::KernelIs => sort,
        Metric::KernelCg => gradient,
        Metric::KernelSmg => semicoarsening::round,
        _ => multigrid,
    };
    let mut window = Window::new(world, TAG);
    let samples = measure(world, effort, Clock::Slowest, |world, iterations| {
        (0..iterations).try_for_each(|_| round(world, &mut window, &from, &to, point.bytes))
    })?;
    Ok((samples.seconds.iter().map(|seconds| seconds * 1e6).collect(), samples.iterations))
}

fn sort(world: &World, _: &mut Window<'_>, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
    world.allreduce(from, to, HISTOGRAM_BYTES)?;
    world.alltoall(from, to, size_of::<i32>())?;
    world.alltoall(from, to, bytes)
}

fn gradient(world: &World, window: &mut Window<'_>, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
    for _ in 0..CG_STEPS {
        for partner in partners(world) {
            window.exchange(from, to, bytes, 1, partner)?;
        }
        (0..2).try_for_each(|_| world.allreduce(from, to, DOUBLE_BYTES))?;
    }
    Ok(())
}

fn multigrid(world: &World, window: &mut Window<'_>, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
    let faces: Vec<usize> = std::iter::successors(Some(bytes), |face| Some(face / 4))
        .take_while(|&face| face >= DOUBLE_BYTES)
        .collect();
    for &face in faces.iter().chain(faces.iter().rev()) {
        for partner in partners(world) {
            // The neighbours on both sides are one rank where the grid is two ranks wide.
            window.exchange(from, to, face, 2, partner)?;
        }
    }
    world.allreduce(from, to, DOUBLE_BYTES)
}

/// The ranks whose number differs in one bit: the neighbours in a grid that is two ranks wide in each dimension.
fn partners(world: &World) -> impl Iterator<Item = i32> {
    let (rank, size) = (world.rank(), world.size());
    (0..31)
        .map(|bit| 1 << bit)
        .take_while(move |&bit| bit < size)
        .map(move |bit| rank ^ bit)
        .filter(move |&peer| peer < size)
}
