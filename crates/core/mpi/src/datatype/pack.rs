//! `MPI_Pack` and `MPI_Unpack` (MPI-5.0, 5.2): packed data is the bare bytes, without a header.

use super::Datatype;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use verbena_memory::{Buffer, Region};

/// Packs `input` into `out` from `position` on and returns the position after it.
pub fn pack(input: &Buffer, out: Region, position: usize) -> Result<usize> {
    let part = room(out, position, input.len(), "pack")?;
    input.pack(0, part);
    Ok(position + input.len())
}

/// Unpacks as many bytes as `output` holds from `input`, from `position` on, and returns the
/// position after them.
pub fn unpack(input: Region, position: usize, output: &Buffer) -> Result<usize> {
    let part = room(input, position, output.len(), "unpack")?;
    output.unpack(0, part);
    Ok(position + output.len())
}

/// Bytes that `count` packed elements take at most (`MPI_Pack_size`); `MPI_ERR_COUNT` on overflow.
pub fn pack_size(datatype: &Datatype, count: usize) -> Result<usize> {
    let bytes = datatype.size().checked_mul(count).filter(|&bytes| i64::try_from(bytes).is_ok());
    bytes.ok_or_else(|| datatype.too_many(count))
}

/// The `len` bytes of `region` from `position` on; `MPI_ERR_TRUNCATE` if it is too short.
pub(super) fn room(region: Region, position: usize, len: usize, verb: &str) -> Result<Region> {
    match region.len().checked_sub(position) {
        Some(left) if left >= len => Ok(region.part(position, len)),
        _ => Err(too_short(region.len(), position, len, verb)),
    }
}

#[cold]
fn too_short(size: usize, position: usize, len: usize, verb: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_TRUNCATE,
        format!("the packed buffer is too short to {verb} {len} bytes"),
        format!("a buffer of {size} bytes at position {position}"),
        "its size was computed for fewer elements, or the position is wrong",
        "ask MPI_Pack_size for each piece and add them up",
    )
}
