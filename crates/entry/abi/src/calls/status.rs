//! Statuses: reading and setting their fields (MPI-5.0, 3.2.5 and 13.3). Counts of elements are in
//! `elements.rs`.

use crate::args::{InOut, Out};
use crate::status::Status;
use std::ffi::c_int;
use verbena_mpi::Result;

/// Changes one field of a status.
fn change(status: InOut<Status>, f: impl FnOnce(&mut Status)) -> Result<()> {
    let mut value = status.get();
    f(&mut value);
    status.set(value);
    Ok(())
}

/// `MPI_Status_set_cancelled`.
pub fn status_set_cancelled(status: InOut<Status>, flag: bool) -> Result<()> {
    change(status, |status| status.set_cancelled(flag))
}

/// `MPI_Status_set_source`.
pub fn status_set_source(status: InOut<Status>, source: c_int) -> Result<()> {
    change(status, |status| status.MPI_SOURCE = source)
}

/// `MPI_Status_set_tag`.
pub fn status_set_tag(status: InOut<Status>, tag: c_int) -> Result<()> {
    change(status, |status| status.MPI_TAG = tag)
}

/// `MPI_Status_set_error`.
pub fn status_set_error(status: InOut<Status>, error: c_int) -> Result<()> {
    change(status, |status| status.MPI_ERROR = error)
}

/// `MPI_Status_get_source`.
pub fn status_get_source(status: &Status, source: Out<c_int>) -> Result<()> {
    source.set(status.MPI_SOURCE);
    Ok(())
}

/// `MPI_Status_get_tag`.
pub fn status_get_tag(status: &Status, tag: Out<c_int>) -> Result<()> {
    tag.set(status.MPI_TAG);
    Ok(())
}

/// `MPI_Status_get_error`.
pub fn status_get_error(status: &Status, error: Out<c_int>) -> Result<()> {
    error.set(status.MPI_ERROR);
    Ok(())
}
