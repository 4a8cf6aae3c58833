//! Error classes and codes (MPI-5.0, 9.4 and 9.5). The program's own come after the predefined
//! ones.

use crate::args::{Out, OutString};
use crate::last_errors;
use std::ffi::{CStr, c_int};
use verbena_mpi::Result;
use verbena_mpi::codes::REGISTRY;

/// `MPI_Error_class`.
pub fn error_class(errorcode: c_int, errorclass: Out<'_, c_int>) -> Result<()> {
    errorclass.set(REGISTRY.class(errorcode)?);
    Ok(())
}

/// `MPI_Error_string`: the words for the calling thread's last error of this code, if there was
/// one; else what the code means.
pub fn error_string(errorcode: c_int, string: OutString<'_>, resultlen: Out<'_, c_int>) -> Result<()> {
    let text = REGISTRY.string(errorcode)?;
    let text = last_errors::of(errorcode).map_or(text, String::into_bytes);
    resultlen.set(string.set(text) as c_int);
    Ok(())
}

/// `MPI_Add_error_class`.
pub fn add_error_class(errorclass: Out<'_, c_int>) -> Result<()> {
    errorclass.set(REGISTRY.add_class());
    Ok(())
}

/// `MPI_Add_error_code`.
pub fn add_error_code(errorclass: c_int, errorcode: Out<'_, c_int>) -> Result<()> {
    errorcode.set(REGISTRY.add_code(errorclass)?);
    Ok(())
}

/// `MPI_Add_error_string`.
pub fn add_error_string(errorcode: c_int, string: &CStr) -> Result<()> {
    REGISTRY.add_string(errorcode, string.to_bytes())
}

/// `MPI_Remove_error_class`.
pub fn remove_error_class(errorclass: c_int) -> Result<()> {
    REGISTRY.remove_class(errorclass)
}

/// `MPI_Remove_error_code`.
pub fn remove_error_code(errorcode: c_int) -> Result<()> {
    REGISTRY.remove_code(errorcode)
}

/// `MPI_Remove_error_string`.
pub fn remove_error_string(errorcode: c_int) -> Result<()> {
    REGISTRY.remove_string(errorcode)
}
