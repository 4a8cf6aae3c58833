//! MPICH's question about buffers in the memory of GPUs of any sort, of which this library takes
//! none: the answer is no. Programs ask before they pass such a buffer. The questions about one
//! sort each are in the API table.

#![allow(missing_docs, clippy::missing_safety_doc)]

use std::ffi::c_int;

/// The sorts of GPU that MPICH knows: CUDA, Level Zero, HIP.
const SORTS: std::ops::Range<c_int> = 0..3;
/// The class of a wrong argument.
const ERR_ARG: c_int = 12;

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
