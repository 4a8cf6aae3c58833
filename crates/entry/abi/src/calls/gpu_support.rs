//! Questions about buffers in the memory of GPUs, of which this library takes none: the answer is
//! no. Programs written for MPICH or Open MPI ask before they pass such a buffer.

use std::ffi::c_int;

/// `MPIX_Query_cuda_support`, of MPICH and Open MPI.
pub fn query_cuda_support() -> c_int {
    0
}

/// `MPIX_Query_hip_support`, of MPICH.
pub fn query_hip_support() -> c_int {
    0
}

/// `MPIX_Query_rocm_support`, of Open MPI.
pub fn query_rocm_support() -> c_int {
    0
}

/// `MPIX_Query_ze_support`, of MPICH: GPUs of Level Zero.
pub fn query_ze_support() -> c_int {
    0
}
