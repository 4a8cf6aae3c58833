//! The cost of a transfer for a computation beside it (paper 3, 4.1.2 and figure 4; paper 5).
//!
//! Rank 0 receives a message that rank 1 sends. First both only wait, which gives the time of the
//! transfer. Then rank 0 computes for [`COMPUTES`] times as long between `MPI_Irecv` and
//! `MPI_Wait`.
//!
//! - *Overlap loss*: how much longer, in percent, computation and wait together take than the
//!   computation alone. If nothing moves while the program is not in MPI, that is a whole transfer:
//!   25%.
//! - *Overlap time*: the overlap loss in microseconds.
//! - *Processor use*: the processor time of rank 0, all its threads together, beyond that of the
//!   computation, in percent of the transfer's time.

use super::metric::{Metric, Point};
use super::spent::Spent;
use super::timing::Effort;
use crate::buffer::Buffer;
use crate::mpi::{Window, World};
use anyhow::Result;
use std::time::{Duration, Instant};

/// The tag of the messages.
const TAG: i32 = 9;
/// The computation takes this many times as long as the transfer.
const COMPUTES: f64 = 4.0;
/// The computation is no shorter than this: scheduling is not as fine.
const COMPUTES_MIN: Duration = Duration::from_millis(2);
/// Transfers before the clock starts: memory is registered, connections are made.
const WARM: usize = 3;

/// Measures one point between two ranks: samples in percent, iterations.
///
/// # Errors
/// MPI fails.
pub(crate) fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    let buffer = Buffer::new(point.bytes);
    let mut window = Window::new(world, TAG);
    let mut transfer = |compute: &mut dyn FnMut()| -> Result<()> {
        world.barrier()?;
        match world.rank() {
            0 => window.receive_beside(&buffer, point.bytes, 1, compute),
            _ => window.send(&buffer, point.bytes, 1, 0),
        }
    };
    (0..WARM).try_for_each(|_| transfer(&mut || {}))?;
    let mut alone = Vec::new();
    for _ in 0..effort.repetitions {
        let start = Instant::now();
        transfer(&mut || {})?;
        alone.push(start.elapsed().as_secs_f64());
    }
    let transfer_s = super::timing::median(&alone).unwrap_or(0.0);
    let work = Work::lasting(Duration::from_secs_f64(transfer_s * COMPUTES).max(COMPUTES_MIN));
    let mut samples = Vec::new();
    for _ in 0..effort.repetitions {
        let bare = Spent::by(|| {
            work.do_it();
            Ok(())
        })?;
        world.barrier()?;
        let beside = Spent::by(|| transfer(&mut || work.do_it()))?;
        samples.push(match point.metric {
            Metric::Processor => (beside.processor_s - bare.processor_s) / transfer_s * 100.0,
            Metric::OverlapTime => (beside.wall_s - bare.wall_s) * 1e6,
            _ => (beside.wall_s / bare.wall_s - 1.0) * 100.0,
        });
    }
    Ok((samples, effort.repetitions as u64))
}

/// A computation of a fixed amount.
struct Work {
    steps: u64,
}

impl Work {
    /// Returns work that lasts about this long here, alone.
    fn lasting(time: Duration) -> Work {
        let mut work = Work { steps: 10_000 };
        loop {
            let start = Instant::now();
            work.do_it();
            let took = start.elapsed();
            if took >= time / 2 {
                let scale = time.as_secs_f64() / took.as_secs_f64();
                return Work { steps: (work.steps as f64 * scale) as u64 };
            }
            work.steps *= 2;
        }
    }

    fn do_it(&self) {
        let mut value = 1.0f64;
        for step in 0..self.steps {
            value = std::hint::black_box(value * 1.000_000_1 + step as f64 * 1e-12);
        }
        std::hint::black_box(value);
    }
}
