//! Functions of datatypes that MPI-3.0 removed and old programs still call.

use super::datatype;
use crate::args::{self, Counts, Out};
use crate::generated::types::{MPI_Aint, MPI_Datatype};
use std::ffi::c_int;
use std::sync::Arc;
use verbena_mpi::{Datatype, Result};

/// Block lengths, none negative.
fn lengths(values: &[c_int]) -> Result<Counts<'_>> {
    values.iter().try_for_each(|&length| args::count(length.into()).map(drop))?;
    Ok(Counts::Int(values))
}

/// `MPI_Type_hindexed`.
pub fn type_hindexed(
    count: c_int,
    array_of_blocklengths: &[c_int],
    array_of_displacements: Counts<'_>,
    oldtype: &Arc<Datatype>,
    newtype: Out<'_, MPI_Datatype>,
) -> Result<()> {
    let lengths = lengths(array_of_blocklengths)?;
    datatype::type_create_hindexed(count.into(), lengths, array_of_displacements, oldtype, newtype)
}

/// `MPI_Type_hvector`.
pub fn type_hvector(
    count: c_int,
    blocklength: c_int,
    stride: MPI_Aint,
    oldtype: &Arc<Datatype>,
    newtype: Out<'_, MPI_Datatype>,
) -> Result<()> {
    datatype::type_create_hvector(count.into(), blocklength.into(), stride, oldtype, newtype)
}

/// `MPI_Type_struct`.
pub fn type_struct(
    count: c_int,
    array_of_blocklengths: &[c_int],
    array_of_displacements: Counts<'_>,
    array_of_types: &[Arc<Datatype>],
    newtype: Out<'_, MPI_Datatype>,
) -> Result<()> {
    let lengths = lengths(array_of_blocklengths)?;
    datatype::type_create_struct(count.into(), lengths, array_of_displacements, array_of_types, newtype)
}

/// `MPI_Type_extent`.
pub fn type_extent(datatype: &Arc<Datatype>, extent: Out<'_, MPI_Aint>) -> Result<()> {
    extent.set(datatype.extent() as i64);
    Ok(())
}

/// `MPI_Type_lb`.
pub fn type_lb(datatype: &Arc<Datatype>, displacement: Out<'_, MPI_Aint>) -> Result<()> {
    displacement.set(datatype.lb() as i64);
    Ok(())
}

/// `MPI_Type_ub`.
pub fn type_ub(datatype: &Arc<Datatype>, displacement: Out<'_, MPI_Aint>) -> Result<()> {
    displacement.set((datatype.lb() + datatype.extent()) as i64);
    Ok(())
}
