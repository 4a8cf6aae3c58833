//! Arrays by gfortran's own descriptor, since version 9 (`libgfortran.h`): procedures that are not
//! `BIND(C)` get it for a dummy argument of assumed rank.

use crate::dimension::{self, Dimension};
use std::ffi::{c_int, c_void};

/// The largest number of dimensions of an array.
const RANK_MAX: usize = 15;

/// One dimension, in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Bounds {
    stride: isize,
    lower: isize,
    upper: isize,
}

/// gfortran's descriptor.
#[repr(C)]
#[derive(Debug)]
pub struct Descriptor {
    base: *mut c_void,
    offset: usize,
    element_bytes: usize,
    version: c_int,
    rank: i8,
    sort: i8,
    attribute: i16,
    /// The bytes that a stride of 1 stands for; more than an element in an array of components.
    span: isize,
    bounds: [Bounds; RANK_MAX],
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

    /// The dimensions, with strides in bytes. Memory holds no more bounds than the rank.
    pub fn dimensions(&self) -> Vec<Dimension> {
        let rank = usize::try_from(self.rank).unwrap_or(0).min(RANK_MAX);
        let span = if self.span == 0 { self.element_bytes as isize } else { self.span };
        let of = |bounds: &Bounds| Dimension {
            lower_bound: bounds.lower,
            extent: bounds.upper - bounds.lower + 1,
            stride: bounds.stride * span,
        };
        self.bounds[..rank].iter().map(of).collect()
    }

    /// Returns whether the elements are contiguous.
    pub fn is_contiguous(&self) -> bool {
        self.rank == 0 || dimension::are_contiguous(&self.dimensions(), self.element_bytes)
    }
}
