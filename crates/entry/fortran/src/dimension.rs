//! The dimensions of an array section, as the compiler's descriptor has them in any form.

/// One dimension of an array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    pub(crate) lower_bound: isize,
    /// The number of elements; -1 in the last dimension of an array of assumed size.
    pub extent: isize,
    /// The bytes from one element to the next.
    pub stride: isize,
}

/// Returns whether elements of so many bytes are contiguous, as in scalars and arrays of assumed
/// size.
pub fn are_contiguous(dimensions: &[Dimension], element_bytes: usize) -> bool {
    let mut expected = element_bytes as isize;
    for dimension in dimensions {
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

/// The number of elements.
pub fn elements(dimensions: &[Dimension]) -> usize {
    dimensions.iter().map(|d| d.extent.max(0) as usize).product()
}
