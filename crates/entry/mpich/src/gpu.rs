//! MPICH's questions about buffers in the memory of GPUs, of which this library takes none: the
//! answer is no. Programs ask before they pass such a buffer.

#![allow(missing_docs, clippy::missing_safety_doc)]

use std::ffi::c_int;

/// The sorts of GPU that MPICH knows: CUDA, Level Zero, HIP.
const SORTS: std::ops::Range<c_int> = 0..3;
/// The class of a wrong argument.
const ERR_ARG: c_int = 12;

face! { MPIX_Query_cuda_support PMPIX_Query_cuda_support() -> c_int { 0 } }
face! { MPIX_Query_ze_support PMPIX_Query_ze_support() -> c_int { 0 } }
face! { MPIX_Query_hip_support PMPIX_Query_hip_support() -> c_int { 0 } }
face! {
    MPIX_GPU_query_support PMPIX_GPU_query_support(gpu_type: c_int, is_supported: *mut c_int) -> c_int {
        query(gpu_type, is_supported)
    }
}

/// # Safety
/// The pointer is null, or leads to a variable of the program.
unsafe fn query(sort: c_int, is_supported: *mut c_int) -> c_int {
    if !SORTS.contains(&sort) || is_supported.is_null() {
        return ERR_ARG;
    }
    // SAFETY: the caller's promise.
    unsafe { is_supported.write(0) };
    0
}
