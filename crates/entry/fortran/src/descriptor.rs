//! Arrays by descriptor (Fortran 2018, 18.5), as `mpi_f08` passes choice buffers. The layout is
//! that of gfortran's `ISO_Fortran_binding.h`.

use crate::dimension::{self, Dimension};
use std::ffi::{c_int, c_void};

/// The largest number of dimensions of an array.
const RANK_MAX: usize = 15;

/// C's `CFI_cdesc_t`.
#[repr(C)]
#[derive(Debug)]
pub struct Descriptor {
    base: *mut c_void,
    element_bytes: usize,
    version: c_int,
    rank: i8,
    attribute: i8,
    sort: i16,
    dimensions: [Dimension; RANK_MAX],
}

impl Descriptor {
    /// The address of the first element.
    pub fn address(&self) -> *mut c_void {
        self.base
    }

    /// The bytes of an element; for a string, its length.
    pub fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// The dimensions.
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.up_to_rank().to_vec()
    }

    /// The dimensions, up to the rank: memory holds no more.
    fn up_to_rank(&self) -> &[Dimension] {
        &self.dimensions[..usize::try_from(self.rank).unwrap_or(0).min(RANK_MAX)]
    }

    /// Returns whether the elements are contiguous.
    pub fn is_contiguous(&self) -> bool {
        dimension::are_contiguous(self.up_to_rank(), self.element_bytes)
    }
}

/// `MPI_Sizeof`: bytes of an element (MPI-5.0, 19.1.9).
///
/// # Safety
/// The arguments are a descriptor and two INTEGERs; IERROR may be left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpi_sizeof_ts_(x: *const Descriptor, size: *mut c_int, ierror: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        *size = (*x).element_bytes as c_int;
        if let Some(ierror) = ierror.as_mut() {
            *ierror = crate::generated::constants::MPI_SUCCESS;
        }
    }
}
