//! The message rate of several threads (`MPI_THREAD_MULTIPLE`): the loop of the rate, by each
//! thread of rank 0 with its partner on rank 1, each pair on a communicator of its own. All
//! messages over the time from the first thread's start to the last one's end, on rank 0.

use super::metric::Point;
use super::pair::stream;
use super::timing::{Clock, Effort, measure};
use crate::buffer::Buffer;
use crate::mpi::{Communicator, Window, World};
use anyhow::{Context, Result};

/// Measures one point: samples in millions of messages a second, iterations.
///
/// # Errors
/// MPI fails, or the point is none of threads.
pub(crate) fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    let threads = point.metric.threads().context("a metric of threads")?;
    let comms = (0..threads).map(|_| world.duplicate()).collect::<Result<Vec<_>>>()?;
    let samples = measure(world, effort, Clock::Root, |world, iterations| {
        std::thread::scope(|scope| {
            let talk = |comm| scope.spawn(move || talk(world, comm, point.bytes, effort.window, iterations));
            let talking: Vec<_> = comms.iter().map(talk).collect();
            talking.into_iter().try_for_each(|thread| thread.join().expect("a thread that does not panic"))
        })
    })?;
    comms.into_iter().try_for_each(Communicator::free)?;
    let messages = (threads * effort.window) as f64;
    Ok((samples.seconds.iter().map(|seconds| messages / seconds / 1e6).collect(), samples.iterations))
}

fn talk(
    world: &World,
    comm: &Communicator<'_>,
    bytes: usize,
    messages: usize,
    iterations: u64,
) -> Result<()> {
    let (from, to) = (Buffer::new(bytes), Buffer::new(bytes));
    let mut window = Window::on(world, comm);
    (0..iterations).try_for_each(|_| stream(world.rank(), &mut window, &from, &to, bytes, messages))
}
