//! Size, bounds and name of a datatype (MPI-5.0, 5.1.5, 5.1.7, 5.1.8 and 7.8).

use crate::args::{Out, OutCount, OutString};
use crate::generated::types::{MPI_Aint, MPI_Count, MPI_Datatype};
use crate::handles::DATATYPES;
use std::ffi::{CStr, c_int};
use std::sync::Arc;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Result};

/// `MPI_Type_size`.
pub fn type_size(datatype: &Arc<Datatype>, size: OutCount<'_>) -> Result<()> {
    size.set(datatype.size() as i64);
    Ok(())
}

/// `MPI_Type_size_x`.
pub fn type_size_x(datatype: &Arc<Datatype>, size: Out<'_, MPI_Count>) -> Result<()> {
    size.set(datatype.size() as i64);
    Ok(())
}

/// `MPI_Type_get_extent`.
pub fn type_get_extent(
    datatype: &Arc<Datatype>,
    lb: Out<'_, MPI_Aint>,
    extent: Out<'_, MPI_Aint>,
) -> Result<()> {
    lb.set(datatype.lb() as i64);
    extent.set(datatype.extent() as i64);
    Ok(())
}

/// `MPI_Type_get_extent_x`.
pub fn type_get_extent_x(
    datatype: &Arc<Datatype>,
    lb: Out<'_, MPI_Count>,
    extent: Out<'_, MPI_Count>,
) -> Result<()> {
    type_get_extent(datatype, lb, extent)
}

/// `MPI_Type_get_true_extent`.
pub fn type_get_true_extent(
    datatype: &Arc<Datatype>,
    true_lb: Out<'_, MPI_Aint>,
    true_extent: Out<'_, MPI_Aint>,
) -> Result<()> {
    let (low, len) = datatype.true_extent();
    true_lb.set(low as i64);
    true_extent.set(len as i64);
    Ok(())
}

/// `MPI_Type_get_true_extent_x`.
pub fn type_get_true_extent_x(
    datatype: &Arc<Datatype>,
    true_lb: Out<'_, MPI_Count>,
    true_extent: Out<'_, MPI_Count>,
) -> Result<()> {
    type_get_true_extent(datatype, true_lb, true_extent)
}

/// `MPI_Type_get_name`. The null handle has a name too.
pub fn type_get_name(
    datatype: MPI_Datatype,
    type_name: OutString<'_>,
    resultlen: Out<'_, c_int>,
) -> Result<()> {
    let name = match datatype {
        mpi::MPI_DATATYPE_NULL => "MPI_DATATYPE_NULL".to_string(),
        _ => DATATYPES.get(datatype)?.name(),
    };
    resultlen.set(type_name.set(name) as c_int);
    Ok(())
}

/// `MPI_Type_set_name`.
pub fn type_set_name(datatype: &Arc<Datatype>, type_name: &CStr) -> Result<()> {
    datatype.set_name(&type_name.to_string_lossy());
    Ok(())
}
