//! Small computations with the communication of the NAS parallel benchmarks and of SMG2000, whose
//! results are checked: a substitute for the originals that the papers ran. They were written from
//! the descriptions of the problems (D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007; R.
//! Falgout and J. Jones, Multigrid on massively parallel architectures), not from their code.
//!
//! | module | computes | speaks | is right if |
//! | --- | --- | --- | --- |
//! | [`sort`] | IS: sorts integers | a histogram by allreduce, counts by alltoall, keys by alltoallv | order, number and sums of the keys are kept |
//! | [`gradient`] | CG: conjugate gradients on a sparse matrix | halves of rows of a grid of ranks, its transpose, sums of 8 bytes | the known solution comes out |
//! | [`multigrid`] | MG: cycles on a periodic cube | six faces of ever coarser grids | the residual falls |
//! | [`wavefront`] | LU: a lower and an upper sweep | a line of each plane to two neighbours, one after the other | the known solution comes out |
//! | [`transform`] | FT: a Fourier transform in three dimensions | transposes by alltoall | its inverse gives the field back, and the energy is kept |
//! | [`lines`] | SP and BT: lines in all directions, scalar or of blocks | faces, and the end of each line's part to the next rank; a square of ranks | the known solution comes out |
//! | [`semicoarse`] | SMG: planes of planes of lines | very many short messages, to ranks ever further away | the residual falls |
//!
//! [`script`] writes down which messages a kernel sends; ranks are threads there, as in the tests.
//!
//! The size of a point is bytes of the main array on a rank; shapes are powers of two below it. A
//! round computes everything anew, so that all rounds are alike; the value is its mean time on the
//! slowest rank, with the arithmetic. Every rank checks its part after the time is taken.

mod comm;
mod gradient;
mod grid;
mod lines;
mod multigrid;
pub mod partners;
pub mod script;
mod semicoarse;
mod sort;
mod threads;
mod transform;
mod wavefront;

use super::metric::{Metric, Point};
use super::timing::{Clock, Effort, measure};
use crate::mpi::World;
use anyhow::{Context, Result, bail};
use comm::Comm;

/// A computation that all ranks take part in.
trait Kernel {
    /// Computes once, from the beginning.
    ///
    /// # Errors
    /// A message fails.
    fn round(&mut self, comm: &dyn Comm) -> Result<()>;

    /// Checks what the last round computed. All ranks take part.
    ///
    /// # Errors
    /// What is wrong, or a message fails.
    fn verify(&mut self, comm: &dyn Comm) -> Result<()>;
}

/// Creates the kernel of a metric on this rank, with this many bytes in its main array.
fn kernel(metric: Metric, bytes: usize, rank: usize, ranks: usize) -> Result<Box<dyn Kernel>> {
    Ok(match metric {
        Metric::KernelIs => Box::new(sort::Sort::new(bytes, rank, ranks)),
        Metric::KernelCg => Box::new(gradient::Gradient::new(bytes, rank, ranks)?),
        Metric::KernelMg => Box::new(multigrid::Multigrid::new(bytes, rank, ranks)?),
        Metric::KernelLu => Box::new(wavefront::Wavefront::new(bytes, rank, ranks)?),
        Metric::KernelFt => Box::new(transform::Transform::new(bytes, rank, ranks)?),
        Metric::KernelSp => Box::new(lines::Lines::new(bytes, rank, ranks, lines::Kind::Scalar)?),
        Metric::KernelBt => Box::new(lines::Lines::new(bytes, rank, ranks, lines::Kind::Blocks)?),
        Metric::KernelSmg => Box::new(semicoarse::Semicoarse::new(bytes, rank, ranks)?),
        other => bail!("{} is no kernel", other.name()),
    })
}

/// Measures one point: samples in microseconds, iterations.
///
/// # Errors
/// MPI fails, the kernel cannot be divided among this many ranks, or its result is wrong.
pub fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let mut kernel = kernel(point.metric, point.bytes, rank, ranks)?;
    kernel.round(world)?;
    kernel.verify(world).context("after the first round")?;
    let samples = measure(world, effort, Clock::Slowest, |world, iterations| {
        (0..iterations).try_for_each(|_| kernel.round(world))
    })?;
    kernel.verify(world).context("after the last round")?;
    Ok((samples.seconds.iter().map(|seconds| seconds * 1e6).collect(), samples.iterations))
}

/// Returns why a point cannot be measured with this many ranks; none if it can.
pub fn refusal(point: Point, ranks: usize) -> Option<String> {
    kernel(point.metric, point.bytes, 0, ranks).err().map(|error| format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: [Metric; 8] = [
        Metric::KernelIs,
        Metric::KernelCg,
        Metric::KernelMg,
        Metric::KernelLu,
        Metric::KernelFt,
        Metric::KernelSp,
        Metric::KernelBt,
        Metric::KernelSmg,
    ];

    fn runs(metric: Metric, bytes: usize, ranks: usize) {
        threads::run(ranks, |comm| {
            let mut kernel = kernel(metric, bytes, comm.rank(), ranks).expect("a kernel");
            for _ in 0..2 {
                kernel.round(comm).expect("a round");
                kernel
                    .verify(comm)
                    .unwrap_or_else(|error| panic!("{} with {ranks}: {error:#}", metric.name()));
            }
        });
    }

    #[test]
    fn every_kernel_is_right_at_several_sizes_and_numbers_of_ranks() {
        for metric in KERNELS {
            for ranks in [1, 2, 4, 8, 16] {
                for bytes in [2 << 10, 16 << 10] {
                    if refusal(Point { metric, bytes }, ranks).is_none() {
                        runs(metric, bytes, ranks);
                    }
                }
            }
        }
    }

    #[test]
    fn a_message_that_is_lost_or_changed_is_noticed() {
        for metric in KERNELS {
            let noticed = threads::garbled::run_garbled(4, |comm| {
                let mut kernel = kernel(metric, 16 << 10, comm.rank(), 4).expect("a kernel");
                kernel.round(comm).is_err() || kernel.verify(comm).is_err()
            });
            assert!(noticed.iter().any(|noticed| *noticed), "{}", metric.name());
        }
    }

    #[test]
    fn lines_need_a_square_and_the_others_a_power_of_two() {
        let of = |metric, ranks| refusal(Point { metric, bytes: 4096 }, ranks);
        assert!(of(Metric::KernelSp, 2).is_some_and(|why| why.contains("square")));
        assert!(of(Metric::KernelBt, 9).is_none());
        assert!(of(Metric::KernelCg, 3).is_some_and(|why| why.contains("power of two")));
        assert!(of(Metric::KernelIs, 3).is_none());
    }
}
