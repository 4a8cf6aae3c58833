//! Blocking accesses to files (MPI-5.0, 14.4).

use crate::args::{self, Address, Checked, StatusOut};
use crate::generated::types::MPI_Offset;
use crate::process;
use crate::status::Status;
use std::sync::Arc;
use verbena_mpi::file::{Data, Direction, Place};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, File, Result};

/// The memory of an access.
pub(super) fn data(buf: Address, count: i64, datatype: &Arc<Datatype>) -> Result<Data> {
    let (buffer, address) = (args::buffer(buf, count, datatype)?, buf.pointer() as usize);
    Ok(Data { buffer, datatype: datatype.clone(), count: count as usize, address })
}

/// The memory of an access in which all processes take part, or what is wrong in its arguments.
pub(super) fn data_together(buf: Address, count: Result<i64>, datatype: Checked<Datatype>) -> Result<Data> {
    let (count, datatype) = (count?, datatype?);
    data(buf, count, &datatype)
}

/// Tells in a status how many bytes of memory were moved.
fn tell(status: StatusOut<'_>, bytes: usize) {
    status.set(Status::new(mpi::MPI_ANY_SOURCE, mpi::MPI_ANY_TAG, bytes as u64, false));
}

/// `MPI_File_read_at` (14.4.2).
pub fn file_read_at(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let moved =
        fh.access_with_progress(process(), Direction::Read, Place::At(offset), &data(buf, count, datatype)?)?;
    tell(status, moved);
    Ok(())
}

/// `MPI_File_read_at_all` (14.4.2).
pub fn file_read_at_all(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let data = data_together(buf, count, datatype);
    tell(status, fh.access_all(process(), Direction::Read, Place::At(offset), data)?);
    Ok(())
}

/// `MPI_File_read` (14.4.3).
pub fn file_read(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let moved =
        fh.access_with_progress(process(), Direction::Read, Place::Individual, &data(buf, count, datatype)?)?;
    tell(status, moved);
    Ok(())
}

/// `MPI_File_read_all` (14.4.3).
pub fn file_read_all(
    fh: &Arc<File>,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let data = data_together(buf, count, datatype);
    tell(status, fh.access_all(process(), Direction::Read, Place::Individual, data)?);
    Ok(())
}

/// `MPI_File_read_shared` (14.4.4).
pub fn file_read_shared(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let moved =
        fh.access_with_progress(process(), Direction::Read, Place::Shared, &data(buf, count, datatype)?)?;
    tell(status, moved);
    Ok(())
}

/// `MPI_File_read_ordered` (14.4.4).
pub fn file_read_ordered(
    fh: &Arc<File>,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let data = data_together(buf, count, datatype);
    tell(status, fh.access_ordered(Direction::Read, data, process())?);
    Ok(())
}

/// `MPI_File_write_at` (14.4.2).
pub fn file_write_at(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let moved = fh.access_with_progress(
        process(),
        Direction::Write,
        Place::At(offset),
        &data(buf, count, datatype)?,
    )?;
    tell(status, moved);
    Ok(())
}

/// `MPI_File_write_at_all` (14.4.2).
pub fn file_write_at_all(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let data = data_together(buf, count, datatype);
    tell(status, fh.access_all(process(), Direction::Write, Place::At(offset), data)?);
    Ok(())
}

/// `MPI_File_write` (14.4.3).
pub fn file_write(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let moved = fh.access_with_progress(
        process(),
        Direction::Write,
        Place::Individual,
        &data(buf, count, datatype)?,
    )?;
    tell(status, moved);
    Ok(())
}

/// `MPI_File_write_all` (14.4.3).
pub fn file_write_all(
    fh: &Arc<File>,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let data = data_together(buf, count, datatype);
    tell(status, fh.access_all(process(), Direction::Write, Place::Individual, data)?);
    Ok(())
}

/// `MPI_File_write_shared` (14.4.4).
pub fn file_write_shared(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let moved =
        fh.access_with_progress(process(), Direction::Write, Place::Shared, &data(buf, count, datatype)?)?;
    tell(status, moved);
    Ok(())
}

/// `MPI_File_write_ordered` (14.4.4).
pub fn file_write_ordered(
    fh: &Arc<File>,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
    status: StatusOut<'_>,
) -> Result<()> {
    let data = data_together(buf, count, datatype);
    tell(status, fh.access_ordered(Direction::Write, data, process())?);
    Ok(())
}
