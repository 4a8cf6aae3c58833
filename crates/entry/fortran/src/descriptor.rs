//! Arrays by descriptor (Fortran 2018, 18.5), as `mpi_f08` passes choice buffers. The layout is
//! that of gfortran's `ISO_Fortran_binding.h`.

use std::ffi::{c_int, c_void};

/// The largest number of dimensions of an array.
const RANK_MAX: usize = 15;

/// One dimension of an array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    lower_bound: isize,
    /// The number of elements; -1 in the last dimension of an array of assumed size.
    pub extent: isize,
    /// The bytes from one element to the next.
    pub stride: isize,
}

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

    /// The dimensions, up to the rank: memory holds no more.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions[..usize::try_from(self.rank).unwrap_or(0).min(RANK_MAX)]
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        elements(self.dimensions())
    }

    /// Returns whether the elements are contiguous, as in scalars and arrays of assumed size.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = self.element_bytes as isize;
        for dimension in self.dimensions() {
            match dimension.extent {
                ..0 => return true,
                0 => return true,
                1 => {}
                _ if dimension.stride != expected => return false,
                _ => {}
            }
            expected *= dimension.extent;
        }
        true
    }

    /// The distances of the elements from the first, in bytes, in the order of Fortran.
    pub fn displacements(&self) -> impl Iterator<Item = isize> + '_ {
        displacements(self.dimensions())
    }
}

/// The distances of the elements from the first, in bytes, in an array with these dimensions.
pub fn displacements(dimensions: &[Dimension]) -> impl Iterator<Item = isize> + '_ {
    (0..elements(dimensions)).map(move |element| {
        let mut rest = element as isize;
        dimensions.iter().fold(0, |sum, d| {
            let at = rest % d.extent;
            rest /= d.extent;
            sum + at * d.stride
        })
    })
}

fn elements(dimensions: &[Dimension]) -> usize {
    dimensions.iter().map(|d| d.extent.max(0) as usize).product()
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
