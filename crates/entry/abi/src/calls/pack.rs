//! Packing and unpacking (MPI-5.0, 5.2 and 5.3).

use crate::args::{self, Address, InOut, Out, OutCount};
use crate::generated::types::{MPI_Aint, MPI_Count};
use std::ffi::CStr;
use std::sync::Arc;
use verbena_memory::Region;
use verbena_mpi::datatype::{external, pack as packing};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Datatype, Error, Result};

/// The packed buffer of `size` bytes.
fn packed(address: Address, size: i64) -> Result<Region> {
    if size > 0 && (address.is_null() || address.is_in_place()) {
        return Err(no_buffer(address));
    }
    // SAFETY: the program promises that many bytes at the address for the length of the call.
    Ok(unsafe { Region::new(address.pointer().cast(), size as usize) })
}

/// Checks a position in a packed buffer: negative is `MPI_ERR_ARG`.
fn position_of(position: i64) -> Result<usize> {
    args::size(position).map(|position| position as usize)
}

/// `MPI_Pack`.
pub fn pack(
    inbuf: Address,
    incount: i64,
    datatype: &Arc<Datatype>,
    outbuf: Address,
    outsize: i64,
    position: OutCount<'_>,
    _comm: &Arc<Comm>,
) -> Result<()> {
    let (input, out) = (args::buffer(inbuf, incount, datatype)?, packed(outbuf, outsize)?);
    position.set(packing::pack(&input, out, position_of(position.get())?)? as i64);
    Ok(())
}

/// `MPI_Unpack`.
pub fn unpack(
    inbuf: Address,
    insize: i64,
    position: OutCount<'_>,
    outbuf: Address,
    outcount: i64,
    datatype: &Arc<Datatype>,
    _comm: &Arc<Comm>,
) -> Result<()> {
    let (input, output) = (packed(inbuf, insize)?, args::buffer(outbuf, outcount, datatype)?);
    position.set(packing::unpack(input, position_of(position.get())?, &output)? as i64);
    Ok(())
}

/// `MPI_Pack_size`.
pub fn pack_size(
    incount: i64,
    datatype: &Arc<Datatype>,
    _comm: &Arc<Comm>,
    size: OutCount<'_>,
) -> Result<()> {
    size.set(packing::pack_size(datatype, incount as usize)? as i64);
    Ok(())
}

/// `MPI_Pack_external`.
#[allow(clippy::too_many_arguments)]
pub fn pack_external(
    datarep: &CStr,
    inbuf: Address,
    incount: i64,
    datatype: &Arc<Datatype>,
    outbuf: Address,
    outsize: i64,
    position: InOut<'_, MPI_Aint>,
) -> Result<()> {
    external::check_name(&datarep.to_string_lossy())?;
    let (input, out) = (args::buffer(inbuf, incount, datatype)?, packed(outbuf, outsize)?);
    let start = position_of(position.get())?;
    position.set(external::pack_external(&input, datatype, incount as usize, out, start)? as i64);
    Ok(())
}

/// `MPI_Unpack_external`.
#[allow(clippy::too_many_arguments)]
pub fn unpack_external(
    datarep: &CStr,
    inbuf: Address,
    insize: i64,
    position: InOut<'_, MPI_Aint>,
    outbuf: Address,
    outcount: i64,
    datatype: &Arc<Datatype>,
) -> Result<()> {
    external::check_name(&datarep.to_string_lossy())?;
    let (input, output) = (packed(inbuf, insize)?, args::buffer(outbuf, outcount, datatype)?);
    let start = position_of(position.get())?;
    position.set(external::unpack_external(input, start, &output, datatype, outcount as usize)? as i64);
    Ok(())
}

/// `MPI_Pack_external_size`.
pub fn pack_external_size(
    datarep: &CStr,
    incount: i64,
    datatype: &Arc<Datatype>,
    size: Out<'_, MPI_Count>,
) -> Result<()> {
    external::check_name(&datarep.to_string_lossy())?;
    size.set(external::size(datatype, incount as usize)? as i64);
    Ok(())
}

#[cold]
fn no_buffer(address: Address) -> Error {
    Error::new(
        mpi::MPI_ERR_BUFFER,
        "the packed buffer does not lie in the program's memory",
        format!("address {:p}", address.pointer()),
        "the buffer was not allocated",
        "pass the address of a buffer of the size that the call gets",
    )
}
