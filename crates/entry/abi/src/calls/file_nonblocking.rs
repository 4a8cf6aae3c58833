//! Nonblocking accesses to files (MPI-5.0, 14.4): threads of the library carry them out.

use super::file_access::{data, data_together};
use crate::args::{Address, Checked, Out};
use crate::generated::types::{MPI_Offset, MPI_Request};
use crate::process;
use crate::requests::handle_of_file;
use std::sync::Arc;
use verbena_mpi::file::{Data, Direction, Place};
use verbena_mpi::{Datatype, File, Result};

/// Starts an access and makes its request.
fn start(
    fh: &Arc<File>,
    direction: Direction,
    place: Place,
    data: &Data,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    let active = fh.start(process().waker().clone(), direction, place, data)?;
    request.set(handle_of_file(fh, active));
    Ok(())
}

/// Starts a collective access and makes its request.
fn start_all(
    fh: &Arc<File>,
    direction: Direction,
    place: Place,
    data: Result<Data>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    let active = fh.start_all(process(), direction, place, data)?;
    request.set(handle_of_file(fh, active));
    Ok(())
}

/// `MPI_File_iread_at` (14.4.2).
pub fn file_iread_at(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start(fh, Direction::Read, Place::At(offset), &data(buf, count, datatype)?, request)
}

/// `MPI_File_iread_at_all` (14.4.2).
pub fn file_iread_at_all(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start_all(fh, Direction::Read, Place::At(offset), data_together(buf, count, datatype), request)
}

/// `MPI_File_iread` (14.4.3).
pub fn file_iread(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start(fh, Direction::Read, Place::Individual, &data(buf, count, datatype)?, request)
}

/// `MPI_File_iread_all` (14.4.3).
pub fn file_iread_all(
    fh: &Arc<File>,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start_all(fh, Direction::Read, Place::Individual, data_together(buf, count, datatype), request)
}

/// `MPI_File_iread_shared` (14.4.4).
pub fn file_iread_shared(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start(fh, Direction::Read, Place::Shared, &data(buf, count, datatype)?, request)
}

/// `MPI_File_iwrite_at` (14.4.2).
pub fn file_iwrite_at(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start(fh, Direction::Write, Place::At(offset), &data(buf, count, datatype)?, request)
}

/// `MPI_File_iwrite_at_all` (14.4.2).
pub fn file_iwrite_at_all(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start_all(fh, Direction::Write, Place::At(offset), data_together(buf, count, datatype), request)
}

/// `MPI_File_iwrite` (14.4.3).
pub fn file_iwrite(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start(fh, Direction::Write, Place::Individual, &data(buf, count, datatype)?, request)
}

/// `MPI_File_iwrite_all` (14.4.3).
pub fn file_iwrite_all(
    fh: &Arc<File>,
    buf: Address,
    count: Result<i64>,
    datatype: Checked<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start_all(fh, Direction::Write, Place::Individual, data_together(buf, count, datatype), request)
}

/// `MPI_File_iwrite_shared` (14.4.4).
pub fn file_iwrite_shared(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start(fh, Direction::Write, Place::Shared, &data(buf, count, datatype)?, request)
}
