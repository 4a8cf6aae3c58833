//! The loops of one-sided communication.
//!
//! | metric | an iteration |
//! | --- | --- |
//! | put, get | one operation and `MPI_Win_flush` |
//! | bandwidth and rate of both | [`Effort::window`] operations, then one flush |
//! | accumulate, fetch and op, compare and swap | one operation at rank 0 and a flush, by every rank |
//! | lock-put-unlock | the same with an exclusive lock around a put of 8 bytes |
//! | fence, pscw | a put of 8 bytes to the next rank in a ring, and the synchronisation, by every rank |
//! | window | `MPI_Win_allocate` and `MPI_Win_free` |
//!
//! Puts and gets go from rank 0 to the last rank, while all others wait in a collective; rank 0's
//! clock counts. Of what every rank does, the slowest rank's clock counts. All within an epoch of
//! `MPI_Win_lock_all`, but for the last three lines. The memory is the window's own
//! (`MPI_Win_allocate`), or for the metrics that say *created* the program's (`MPI_Win_create`).
//!
//! *Computing*: rank 0 accumulates at the last rank, which computes for [`COMPUTES`] and does not
//! call MPI meanwhile. The time of accumulate and flush counts.
//!
//! The result of each is checked: a library that loses an update is not measured.

use super::metric::{Metric, Point};
use super::timing::{Clock, Effort, Samples, measure};
use crate::buffer::Buffer;
use crate::mpi::{Exposed, Exposure, Windows, World};
use anyhow::{Result, bail, ensure};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The bytes of an operation whose metric has no size, and of each rank's part then.
const WORD: usize = 8;
/// The bytes of each rank's part of a window that is made and freed.
const MADE: usize = 4096;
/// The time for which a target computes.
const COMPUTES: Duration = Duration::from_millis(200);
/// The time that it gets to begin with that, while the origin computes too.
const BEGINS: Duration = Duration::from_millis(10);

/// Measures one point: samples in the metric's unit, iterations.
///
/// # Errors
/// MPI fails, or what arrived is wrong. The world must have two ranks at least.
pub(crate) fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    let windows = Windows::of(world)?;
    if point.metric == Metric::Window {
        let samples = measure(world, effort, Clock::Slowest, |_, iterations| {
            (0..iterations).try_for_each(|_| windows.allocate_and_free(MADE))
        })?;
        return Ok((in_unit(point, effort.window, &samples), samples.iterations));
    }
    let bytes = if point.metric.has_size() { point.bytes } else { WORD };
    let exposed = windows.make(exposure(point.metric), bytes.max(WORD))?;
    let bench = Bench { world, exposed: &exposed, bytes, buffer: Buffer::new(bytes.max(WORD)) };
    let measured = match point.metric {
        Metric::AccumulateComputing | Metric::CreatedAccumulateComputing => bench.computing(effort)?,
        Metric::LockPutUnlock | Metric::Fence | Metric::Pscw => bench.epochs(point, effort)?,
        Metric::Accumulate | Metric::FetchAndOp | Metric::CompareAndSwap => bench.updates(point, effort)?,
        _ => bench.transfers(point, effort)?,
    };
    exposed.free()?;
    Ok(measured)
}

/// The origin of the memory that a metric's window exposes.
fn exposure(metric: Metric) -> Exposure {
    match metric.name().starts_with("created_") {
        true => Exposure::Created,
        false => Exposure::Allocated,
    }
}

/// A window, and the memory of its operations at this rank.
struct Bench<'w> {
    world: &'w World,
    exposed: &'w Exposed<'w>,
    bytes: usize,
    buffer: Buffer,
}

impl Bench<'_> {
    /// The last rank.
    fn target(&self) -> i32 {
        self.world.size() - 1
    }

    /// Puts and gets of rank 0.
    fn transfers(&self, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
        let (exposed, bytes, target) = (self.exposed, self.bytes, self.target());
        let (is_get, times) = match point.metric {
            Metric::Put | Metric::CreatedPut => (false, 1),
            Metric::Get | Metric::CreatedGet => (true, 1),
            Metric::GetBandwidth | Metric::CreatedGetBandwidth | Metric::GetRate => (true, effort.window),
            _ => (false, effort.window),
        };
        exposed.lock_all()?;
        self.verify()?;
        let samples =
            measure(self.world, effort, Clock::Root, |world, iterations| match (world.rank(), is_get) {
                (0, true) => {
                    (0..iterations).try_for_each(|_| exposed.get(&self.buffer, bytes, target, times))
                }
                (0, false) => {
                    (0..iterations).try_for_each(|_| exposed.put(&self.buffer, bytes, target, times))
                }
                _ => Ok(()),
            })?;
        exposed.unlock_all()?;
        Ok((in_unit(point, effort.window, &samples), samples.iterations))
    }

    /// Puts and gets once, and checks the last byte at both sides.
    fn verify(&self) -> Result<()> {
        let Some(last) = self.bytes.checked_sub(1) else { return Ok(()) };
        if self.world.rank() == 0 {
            self.buffer.set(last, 0xa5);
            self.exposed.put(&self.buffer, self.bytes, self.target(), 1)?;
            self.buffer.set(last, 0);
            self.exposed.get(&self.buffer, self.bytes, self.target(), 1)?;
            let got = self.buffer.get(last);
            ensure!(got == 0xa5, "a get of {} bytes brought {got:#x} where 0xa5 is right", self.bytes);
        }
        self.world.barrier()?;
        if self.world.rank() == self.target() {
            let put = self.exposed.byte(last);
            ensure!(put == 0xa5, "the last byte of a put of {} bytes did not arrive", self.bytes);
        }
        Ok(())
    }

    /// Atomic operations of all ranks at rank 0, each of which adds 1 or fails.
    fn updates(&self, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
        let (exposed, done, seen) = (self.exposed, Cell::new(0_u64), Cell::new(0_u64));
        self.buffer.fill_doubles(1.0);
        exposed.lock_all()?;
        let samples = measure(self.world, effort, Clock::Slowest, |_, iterations| {
            for _ in 0..iterations {
                let added = match point.metric {
                    Metric::Accumulate => exposed.accumulate(&self.buffer, self.bytes, 0).map(|()| true)?,
                    Metric::FetchAndOp => exposed.fetch_and_add(1, 0).map(|_| true)?,
                    Metric::CompareAndSwap => {
                        let compare = seen.get();
                        let was = exposed.compare_and_swap(compare + 1, compare, 0)?;
                        seen.set(if was == compare { compare + 1 } else { was });
                        was == compare
                    }
                    other => bail!("{} is no atomic operation", other.name()),
                };
                done.set(done.get() + u64::from(added));
            }
            Ok(())
        })?;
        exposed.unlock_all()?;
        self.verify_updates(point.metric, done.get())?;
        Ok((in_unit(point, effort.window, &samples), samples.iterations))
    }

    /// Checks that the last element at rank 0 is the number of all updates.
    fn verify_updates(&self, metric: Metric, own: u64) -> Result<()> {
        let mut all = [own as f64];
        self.world.sum_items(&mut all)?;
        if self.world.rank() == 0 {
            let word = self.exposed.word(self.bytes - WORD);
            let got = if metric == Metric::Accumulate { f64::from_bits(word) } else { word as f64 };
            let name = metric.name();
            ensure!(got == all[0], "{name}: {got} updates are there where {} were made", all[0]);
        }
        Ok(())
    }

    /// Puts of all ranks in epochs of their own.
    fn epochs(&self, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
        let (exposed, near) = (self.exposed, self.exposed.neighbors()?);
        self.buffer.set(WORD - 1, 0xa5);
        if point.metric == Metric::Fence {
            exposed.fence()?;
        }
        let samples = measure(self.world, effort, Clock::Slowest, |_, iterations| {
            (0..iterations).try_for_each(|_| match point.metric {
                Metric::Fence => exposed.put_fence(&self.buffer, WORD, near.target),
                Metric::Pscw => exposed.post_put_wait(&self.buffer, WORD, &near),
                _ => exposed.lock_put_unlock(&self.buffer, WORD, 0),
            })
        })?;
        self.world.barrier()?;
        let is_target = self.world.rank() == 0 || point.metric != Metric::LockPutUnlock;
        let put = exposed.byte(WORD - 1);
        ensure!(!is_target || put == 0xa5, "{}: the last byte did not arrive", point.metric.name());
        Ok((in_unit(point, effort.window, &samples), samples.iterations))
    }

    /// Accumulates of rank 0 at a rank that computes.
    fn computing(&self, effort: Effort) -> Result<(Vec<f64>, u64)> {
        self.buffer.fill_doubles(1.0);
        self.exposed.lock_all()?;
        let mut samples = Vec::new();
        // The first is not counted: locks are taken and ways are found.
        for repetition in 0..=effort.repetitions {
            self.world.barrier()?;
            let mut took = 0.0;
            if self.world.rank() == 0 {
                compute(BEGINS);
                let start = Instant::now();
                self.exposed.accumulate(&self.buffer, WORD, self.target())?;
                took = start.elapsed().as_secs_f64();
            } else if self.world.rank() == self.target() {
                compute(COMPUTES);
            }
            let took = self.world.max(took)?;
            samples.extend((repetition > 0).then_some(took * 1e6));
        }
        self.exposed.unlock_all()?;
        self.world.barrier()?;
        let (got, all) = (f64::from_bits(self.exposed.word(0)), effort.repetitions as f64 + 1.0);
        let is_target = self.world.rank() == self.target();
        ensure!(!is_target || got == all, "{got} updates are there where {all} were made");
        Ok((samples, effort.repetitions as u64))
    }
}

/// Computes for so long.
fn compute(time: Duration) {
    let start = Instant::now();
    let mut value = 1.0_f64;
    while start.elapsed() < time {
        for _ in 0..1000 {
            value = std::hint::black_box(value * 1.000_000_1);
        }
    }
}

/// Seconds an iteration, in the metric's unit.
fn in_unit(point: Point, window: usize, samples: &Samples) -> Vec<f64> {
    let many = window as f64;
    let convert = |seconds: &f64| match point.metric.unit() {
        "Mop/s" => many / seconds / 1e6,
        "GB/s" => many * point.bytes as f64 / seconds / 1e9,
        _ => seconds * 1e6,
    };
    samples.seconds.iter().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_from_the_time_of_an_iteration() {
        let samples = Samples { seconds: vec![64e-6], iterations: 1 };
        let value = |metric, bytes| in_unit(Point { metric, bytes }, 64, &samples)[0];
        assert!((value(Metric::Put, 8) - 64.0).abs() < 1e-9);
        assert!((value(Metric::PutRate, 8) - 1.0).abs() < 1e-9);
        assert!((value(Metric::CreatedGetBandwidth, 1000) - 1.0).abs() < 1e-9);
        assert!((value(Metric::Fence, 0) - 64.0).abs() < 1e-9);
    }

    #[test]
    fn created_memory_is_the_programs() {
        assert_eq!(exposure(Metric::CreatedPut), Exposure::Created);
        assert_eq!(exposure(Metric::CreatedAccumulateComputing), Exposure::Created);
        assert_eq!(exposure(Metric::CompareAndSwap), Exposure::Allocated);
    }
}
