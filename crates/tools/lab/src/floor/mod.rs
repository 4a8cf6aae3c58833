//! The speed of the machine itself, measured without MPI: the yardstick for a run.
//!
//! - *Cache line*: two threads, pinned to the first two processors that this process may use, pass
//!   a counter to and fro through two cache lines; half the mean round trip. No message can be
//!   faster.
//! - *Copy*: one thread copies between two buffers with `memcpy`, or two threads copy a half each;
//!   bytes copied over time.
//! - *Read*: one process reads another's memory with `process_vm_readv`, or reads one half while
//!   the other writes the other half with `process_vm_writev`.
//! - *Pipe*: a byte from one process to another through a pipe; half the mean round trip. Each way
//!   wakes a process.
//! - *Polling set*: a look at some rings of the channel `rc` when nothing has come ([`rings`]).
//! - *Pipe fan-out*: a byte to each of many processes and back ([`fan_out`]).

mod across;
mod cache_line;
mod copy;
mod fan_out;
pub mod partner;
mod pipe;
mod repeat;
mod rings;

pub use rings::RING_BYTES;

use super::metric::{Metric, Point};
use super::timing::Effort;
use anyhow::{Context, Result, ensure};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Measures one point of the floor: samples in the metric's unit, iterations.
///
/// # Errors
/// There is only one processor, a thread cannot be pinned, or another process's memory cannot be
/// read.
pub fn run(point: Point, processes: usize, effort: Effort) -> Result<(Vec<f64>, u64)> {
    let (share, repetitions) = (effort.point / effort.repetitions as u32, effort.repetitions);
    match point.metric {
        Metric::CacheLine => cache_line::cache_line(share, repetitions),
        Metric::CopyBoth => copy::by_both(point.bytes, share, repetitions),
        Metric::Read => across::read(point.bytes, false, share, repetitions),
        Metric::ReadBoth => across::read(point.bytes, true, share, repetitions),
        Metric::PollingSet => Ok(rings::poll(point.bytes, share, repetitions)),
        Metric::Pipe => pipe::pipe(share, repetitions),
        Metric::PipeFanOut => fan_out::fan_out(processes, share, repetitions),
        _ => Ok(copy::by_one(point.bytes, share, repetitions)),
    }
}

/// The first two processors that this process may use.
fn two_processors() -> Result<[usize; 2]> {
    let processors = processors()?;
    ensure!(processors.len() >= 2, "it needs two processors; this process may use one");
    Ok([processors[0], processors[1]])
}

/// The processors that this process may use.
pub fn processors() -> Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("cannot read this process's affinity mask")?;
    Ok((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect())
}

fn pin(processor: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    sched_setaffinity(Pid::from_raw(0), &set)
        .with_context(|| format!("cannot pin a thread to processor {processor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_runs_somewhere() {
        assert!(!processors().expect("mask").is_empty());
    }
}
