//! Grids of processes (MPI-5.0, 8.5.2).

use std::ffi::c_int;
use verbena_mpi::{Result, dims as grid};

/// `MPI_Dims_create`.
pub fn dims_create(nnodes: c_int, _ndims: c_int, dims: &mut [c_int]) -> Result<()> {
    grid::create(nnodes, dims)
}
