//! Nonblocking access to files (MPI-5.0, 14.4). The data moves within the call, as the standard
//! allows, and the request is complete at once: local file systems offer no better.

use crate::args::{self, Address, Out};
use crate::generated::types::{MPI_Offset, MPI_Request};
use crate::requests::handle_of_object;
use std::sync::Arc;
use verbena_memory::Buffer;
use verbena_mpi::request::{Active, Outcome};
use verbena_mpi::{Datatype, File, Result};

/// Runs an access and makes the complete request that tells how many bytes it moved.
fn start(
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
    access: impl FnOnce(&Buffer) -> Result<usize>,
) -> Result<()> {
    let bytes = access(&args::buffer(buf, count, datatype)?)? as i64;
    request.set(handle_of_object(None, Active::Done(Outcome { bytes, ..Outcome::EMPTY })));
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
    start(buf, count, datatype, request, |into| fh.read_at(offset, into))
}

/// `MPI_File_iread_at_all` (14.4.2).
pub fn file_iread_at_all(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    file_iread_at(fh, offset, buf, count, datatype, request)
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
    start(buf, count, datatype, request, |from| fh.write_at(offset, from))
}

/// `MPI_File_iwrite_at_all` (14.4.2).
pub fn file_iwrite_at_all(
    fh: &Arc<File>,
    offset: MPI_Offset,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    file_iwrite_at(fh, offset, buf, count, datatype, request)
}

/// `MPI_File_iread` (14.4.3).
pub fn file_iread(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start(buf, count, datatype, request, |into| fh.read(into))
}

/// `MPI_File_iread_all` (14.4.3).
pub fn file_iread_all(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    file_iread(fh, buf, count, datatype, request)
}

/// `MPI_File_iwrite` (14.4.3).
pub fn file_iwrite(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    start(buf, count, datatype, request, |from| fh.write(from))
}

/// `MPI_File_iwrite_all` (14.4.3).
pub fn file_iwrite_all(
    fh: &Arc<File>,
    buf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    file_iwrite(fh, buf, count, datatype, request)
}
