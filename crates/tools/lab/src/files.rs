//! The loops of files, which all ranks open together.
//!
//! | metric | an iteration |
//! | --- | --- |
//! | file open | `MPI_File_open` and `MPI_File_close` |
//! | file write all, read all | a block of each rank, side by side, by one collective call |
//! | file strided write all, read all | [`STRIDED`] bytes of each rank in pieces that take turns, by one collective call |
//! | file strided write | the same, each rank by itself |
//! | file write shared, ordered | a record of each rank at the shared file pointer |
//!
//! The file lies in the folder of [`FOLDER`] (else that for temporary files) and is deleted in the
//! end; nothing is synchronised, so caches count. The slowest rank's clock counts. Speeds count the
//! bytes of all ranks. What was written is read back and checked: a library that loses a byte is
//! not measured.

use super::metric::{Metric, Point};
use super::timing::{Clock, Effort, Samples, measure};
use crate::buffer::Buffer;
use crate::mpi::{Files, Move, OpenFile, World};
use anyhow::{Result, bail, ensure};
use std::cell::Cell;
use std::path::PathBuf;

/// The variable that names the folder of the file.
pub const FOLDER: &str = "VERBENA_BENCH_FOLDER";
/// Bytes of a rank in a strided access.
const STRIDED: usize = 1 << 20;
/// Bytes of the file, about, in which blocks are written.
const FILE_BYTES: usize = 64 << 20;

/// Measures one point: samples in the metric's unit, iterations.
///
/// # Errors
/// MPI fails, or what was read is wrong.
pub(crate) fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    let files = Files::of(world)?;
    let folder = std::env::var_os(FOLDER).map_or_else(std::env::temp_dir, PathBuf::from);
    // Rank 0's number: all ranks need the same name.
    let mut number = [f64::from(if world.rank() == 0 { std::process::id() } else { 0 })];
    world.sum_items(&mut number)?;
    let path = folder.join(format!("verbena-bench-{}", number[0]));
    if point.metric == Metric::FileOpen {
        let samples = measure(world, effort, Clock::Slowest, |_, iterations| {
            (0..iterations).try_for_each(|_| files.open(&path)?.close())
        })?;
        return Ok((in_unit(world, point, 0, &samples), samples.iterations));
    }
    let file = files.open(&path)?;
    let bench = Bench { world, file: &file, bytes: point.bytes, turn: Cell::new(0) };
    let measured = match point.metric {
        Metric::FileWriteAll => bench.blocks(point, effort, Move::WriteAll)?,
        Metric::FileReadAll => bench.blocks(point, effort, Move::ReadAll)?,
        Metric::FileStridedWriteAll => bench.strided(point, effort, Move::WriteAll)?,
        Metric::FileStridedReadAll => bench.strided(point, effort, Move::ReadAll)?,
        Metric::FileStridedWrite => bench.strided(point, effort, Move::Write)?,
        Metric::FileWriteShared => bench.shared(point, effort, false)?,
        Metric::FileWriteOrdered => bench.shared(point, effort, true)?,
        other => bail!("{} is no metric of files", other.name()),
    };
    file.close()?;
    Ok(measured)
}

struct Bench<'w> {
    world: &'w World,
    file: &'w OpenFile<'w>,
    /// Bytes of a block, a piece or a record.
    bytes: usize,
    turn: Cell<usize>,
}

impl Bench<'_> {
    fn ranks(&self) -> usize {
        self.world.size() as usize
    }

    /// A byte that no other rank writes.
    fn mark(&self) -> u8 {
        0x40 + self.world.rank() as u8 % 0x40
    }

    /// Blocks side by side: that of the next rank follows.
    fn blocks(&self, point: Point, effort: Effort, way: Move) -> Result<(Vec<f64>, u64)> {
        let (bytes, row) = (self.bytes, self.bytes * self.ranks());
        let rows = (FILE_BYTES / row.max(1)).max(1);
        let buffer = self.marked(bytes);
        let place = |turn: usize| turn % rows * row + self.world.rank() as usize * bytes;
        for turn in 0..rows {
            self.file.transfer(Move::WriteAll, place(turn), &buffer, bytes)?;
        }
        self.check(&buffer, place(rows - 1), bytes)?;
        self.measured(point, effort, bytes, |turn| self.file.transfer(way, place(turn), &buffer, bytes))
    }

    /// Pieces of all ranks in turn.
    fn strided(&self, point: Point, effort: Effort, way: Move) -> Result<(Vec<f64>, u64)> {
        ensure!(self.bytes > 0 && self.bytes <= STRIDED, "pieces have 1 byte to {STRIDED}");
        let bytes = STRIDED / self.bytes * self.bytes;
        let rows = (FILE_BYTES / (bytes * self.ranks())).max(1);
        let buffer = self.marked(bytes);
        self.file.set_view(self.bytes)?;
        for turn in 0..rows {
            self.file.transfer(Move::WriteAll, turn * bytes, &buffer, bytes)?;
        }
        self.check(&buffer, 0, bytes)?;
        self.measured(point, effort, bytes, |turn| {
            self.file.transfer(way, turn % rows * bytes, &buffer, bytes)
        })
    }

    /// Records at the shared file pointer.
    fn shared(&self, point: Point, effort: Effort, is_ordered: bool) -> Result<(Vec<f64>, u64)> {
        let buffer = self.marked(self.bytes);
        self.measured(point, effort, 0, |_| self.file.write_shared(is_ordered, &buffer, self.bytes))
    }

    fn marked(&self, bytes: usize) -> Buffer {
        let buffer = Buffer::new(bytes);
        (0..bytes).for_each(|at| buffer.set(at, self.mark()));
        buffer
    }

    /// Reads back what was written there.
    fn check(&self, buffer: &Buffer, place: usize, bytes: usize) -> Result<()> {
        self.world.barrier()?;
        (0..bytes).for_each(|at| buffer.set(at, 0));
        self.file.transfer(Move::ReadAll, place, buffer, bytes)?;
        let wrong = (0..bytes).find(|&at| buffer.get(at) != self.mark());
        ensure!(wrong.is_none(), "byte {} of {bytes} was not what had been written", wrong.unwrap_or(0));
        Ok(())
    }

    fn measured(
        &self,
        point: Point,
        effort: Effort,
        bytes: usize,
        body: impl Fn(usize) -> Result<()>,
    ) -> Result<(Vec<f64>, u64)> {
        let samples = measure(self.world, effort, Clock::Slowest, |_, iterations| {
            (0..iterations).try_for_each(|_| body(self.turn.replace(self.turn.get() + 1)))
        })?;
        Ok((in_unit(self.world, point, bytes, &samples), samples.iterations))
    }
}

/// The samples in the metric's unit, for so many bytes of each rank.
fn in_unit(world: &World, point: Point, bytes: usize, samples: &Samples) -> Vec<f64> {
    let all = (bytes * world.size() as usize) as f64;
    let convert = |seconds: &f64| match point.metric.unit() {
        "GB/s" => all / seconds / 1e9,
        _ => seconds * 1e6,
    };
    samples.seconds.iter().map(convert).collect()
}
