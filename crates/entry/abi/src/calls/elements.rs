//! Counting elements in a status (MPI-5.0, 3.2.5, 5.1.11 and 13.3).

use crate::args::{InOut, Out, OutCount};
use crate::generated::types::MPI_Count;
use crate::status::Status;
use std::sync::Arc;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Error, Result};

/// A count, or `MPI_UNDEFINED` where there is none.
fn or_undefined(count: Option<u64>) -> i64 {
    count.and_then(|count| i64::try_from(count).ok()).unwrap_or(mpi::MPI_UNDEFINED.into())
}

/// `MPI_Get_count`.
pub fn get_count(status: &Status, datatype: &Arc<Datatype>, count: OutCount<'_>) -> Result<()> {
    count.set(or_undefined(datatype.count_in(status.bytes())));
    Ok(())
}

/// `MPI_Get_elements`.
pub fn get_elements(status: &Status, datatype: &Arc<Datatype>, count: OutCount<'_>) -> Result<()> {
    count.set(or_undefined(datatype.elements_in(status.bytes())));
    Ok(())
}

/// `MPI_Get_elements_x`.
pub fn get_elements_x(status: &Status, datatype: &Arc<Datatype>, count: Out<'_, MPI_Count>) -> Result<()> {
    count.set(or_undefined(datatype.elements_in(status.bytes())));
    Ok(())
}

/// `MPI_Status_set_elements`.
pub fn status_set_elements(status: InOut<'_, Status>, datatype: &Arc<Datatype>, count: i64) -> Result<()> {
    let bytes = u64::try_from(count).ok().and_then(|count| datatype.signature().bytes_of(count));
    let mut value = status.get();
    value.set_bytes(bytes.filter(|&bytes| i64::try_from(bytes).is_ok()).ok_or_else(|| cannot_hold(count))?);
    status.set(value);
    Ok(())
}

/// `MPI_Status_set_elements_x`.
pub fn status_set_elements_x(
    status: InOut<'_, Status>,
    datatype: &Arc<Datatype>,
    count: MPI_Count,
) -> Result<()> {
    status_set_elements(status, datatype, count)
}

#[cold]
fn cannot_hold(count: i64) -> Error {
    Error::new(
        mpi::MPI_ERR_COUNT,
        "a status cannot hold that many elements",
        format!("{count} basic elements"),
        "the count is negative or too large, or the datatype has no elements",
        "pass the number of basic elements that were transferred",
    )
}
