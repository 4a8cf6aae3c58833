//! Split collective accesses to files (MPI-5.0, 14.4.5).

use super::file_access::data_together;
use crate::args::{Address, Checked, StatusOut};
use crate::generated::types::MPI_Offset;
use crate::process;
use crate::requests::status_of;
use std::sync::Arc;
use verbena_mpi::file::{Data, Direction, Place, Split, Way};
use verbena_mpi::{Datatype, File, Result};

/// Begins a collective access.
fn begin(fh: &Arc<File>, split: Split, place: Place, data: Result<Data>) -> Result<()> {
    fh.begin_split(split, || fh.start_all(process(), split.0, place, data))
}

/// Begins an access in the order of ranks.
fn begin_ordered(fh: &Arc<File>, direction: Direction, data: Result<Data>) -> Result<()> {
    let process = process();
    let start = || fh.start_ordered(process.waker().clone(), direction, data, process);
    fh.begin_split((direction, Way::Ordered), start)
}

/// Waits for the end of what was begun.
fn end(fh: &Arc<File>, split: Split, status: StatusOut<'_>) -> Result<()> {
    status.set(status_of(&fh.end_split(process(), split)?));
    Ok(())
}

/// `MPI_File_read_at_all_begin` (14.4.5).
pub fn file_read_at_all_begin(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
) -> Result<()> {
    begin(fh, (Direction::Read, Way::At), Place::At(offset), data_together(buf, count, datatype))
}

/// `MPI_File_read_at_all_end` (14.4.5).
pub fn file_read_at_all_end(fh: &Arc<File>, _buf: Address, status: StatusOut<'_>) -> Result<()> {
    end(fh, (Direction::Read, Way::At), status)
}

/// `MPI_File_read_all_begin` (14.4.5).
pub fn file_read_all_begin(
    fh: &Arc<File>,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
) -> Result<()> {
    begin(fh, (Direction::Read, Way::Individual), Place::Individual, data_together(buf, count, datatype))
}

/// `MPI_File_read_all_end` (14.4.5).
pub fn file_read_all_end(fh: &Arc<File>, _buf: Address, status: StatusOut<'_>) -> Result<()> {
    end(fh, (Direction::Read, Way::Individual), status)
}

/// `MPI_File_read_ordered_begin` (14.4.5).
pub fn file_read_ordered_begin(
    fh: &Arc<File>,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
) -> Result<()> {
    begin_ordered(fh, Direction::Read, data_together(buf, count, datatype))
}

/// `MPI_File_read_ordered_end` (14.4.5).
pub fn file_read_ordered_end(fh: &Arc<File>, _buf: Address, status: StatusOut<'_>) -> Result<()> {
    end(fh, (Direction::Read, Way::Ordered), status)
}

/// `MPI_File_write_at_all_begin` (14.4.5).
pub fn file_write_at_all_begin(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
) -> Result<()> {
    begin(fh, (Direction::Write, Way::At), Place::At(offset), data_together(buf, count, datatype))
}

/// `MPI_File_write_at_all_end` (14.4.5).
pub fn file_write_at_all_end(fh: &Arc<File>, _buf: Address, status: StatusOut<'_>) -> Result<()> {
    end(fh, (Direction::Write, Way::At), status)
}

/// `MPI_File_write_all_begin` (14.4.5).
pub fn file_write_all_begin(
    fh: &Arc<File>,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
) -> Result<()> {
    begin(fh, (Direction::Write, Way::Individual), Place::Individual, data_together(buf, count, datatype))
}

/// `MPI_File_write_all_end` (14.4.5).
pub fn file_write_all_end(fh: &Arc<File>, _buf: Address, status: StatusOut<'_>) -> Result<()> {
    end(fh, (Direction::Write, Way::Individual), status)
}

/// `MPI_File_write_ordered_begin` (14.4.5).
pub fn file_write_ordered_begin(
    fh: &Arc<File>,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
) -> Result<()> {
    begin_ordered(fh, Direction::Write, data_together(buf, count, datatype))
}

/// `MPI_File_write_ordered_end` (14.4.5).
pub fn file_write_ordered_end(fh: &Arc<File>, _buf: Address, status: StatusOut<'_>) -> Result<()> {
    end(fh, (Direction::Write, Way::Ordered), status)
}
