//! Elements of a datatype in memory, addressed by number: the form in which collectives name their blocks.

use crate::layout::Layout;
use crate::memory::{Buffer, Region};
use crate::scratch::Scratch;
use std::sync::Arc;

/// What one element of a datatype occupies (MPI-5.0, 5.1: type map, lower bound, extent).
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// Which bytes belong to an element.
    pub layout: &'a Arc<Layout>,
    /// Distance in bytes from one element's origin to the next one's.
    pub extent: isize,
    /// Displacement in bytes of an element's first byte from its origin (the true lower bound).
    pub true_lb: isize,
    /// Bytes from an element's first byte to behind its last one (the true extent).
    pub true_extent: isize,
}

impl Shape<'_> {
    /// Packed bytes of `count` elements.
    #[inline]
    pub fn bytes(&self, count: usize) -> usize {
        self.layout.size() * count
    }

    /// The span of memory that `count` elements lie in: displacement from the first one's origin, and length.
    #[inline]
    pub fn span(&self, count: usize) -> (isize, usize) {
        if count == 0 {
            return (0, 0);
        }
        let last = (count as isize - 1) * self.extent;
        (self.true_lb + last.min(0), last.unsigned_abs() + self.true_extent as usize)
    }
}

/// Memory seen as a sequence of elements; element `k` has its origin `k` extents behind the first one's.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    origin: *mut u8,
    shape: Shape<'a>,
}

impl<'a> Elements<'a> {
    /// Elements of this shape, the first one's origin at `origin`.
    ///
    /// # Safety
    /// Every byte of every element that is asked for later obeys the promise of [`Region::new`]. For an
    /// MPI call these are the elements that its count and displacement arguments name.
    #[inline]
    pub unsafe fn new(origin: *mut u8, shape: Shape<'a>) -> Elements<'a> {
        Elements { origin, shape }
    }

    /// Room for `count` elements of this shape in scratch memory.
    pub fn in_scratch(scratch: &mut Scratch, shape: Shape<'a>, count: usize) -> Elements<'a> {
        let (first, len) = shape.span(count);
        let region = scratch.take(len);
        Elements { origin: (region.address() as *mut u8).wrapping_offset(-first), shape }
    }

    /// The shape of an element.
    #[inline]
    pub fn shape(&self) -> Shape<'a> {
        self.shape
    }

    /// Whether both begin at the same address.
    #[inline]
    pub fn is_at(&self, other: &Elements<'_>) -> bool {
        self.origin == other.origin
    }

    /// The same memory with element `first` as the first one.
    #[inline]
    pub fn from(&self, first: isize) -> Elements<'a> {
        self.displaced(first * self.shape.extent)
    }

    /// The same shape `bytes` further on.
    #[inline]
    pub fn displaced(&self, bytes: isize) -> Elements<'a> {
        Elements { origin: self.origin.wrapping_offset(bytes), shape: self.shape }
    }

    /// The same origin with another shape.
    #[inline]
    pub fn shaped(&self, shape: Shape<'a>) -> Elements<'a> {
        Elements { origin: self.origin, shape }
    }

    /// The bytes of `count` elements from element `first` on.
    #[inline]
    pub fn buffer(&self, first: isize, count: usize) -> Buffer {
        if count == 0 {
            return Buffer::EMPTY;
        }
        // SAFETY: the creator of these elements promised that every element asked for is valid.
        unsafe { Buffer::strided(self.from(first).origin, count, self.shape.layout) }
    }

    /// The origins of `count` elements, as user functions expect them: a region that begins at the first
    /// element's origin. Its bytes may not all belong to an element, nor all elements' bytes to it.
    #[inline]
    pub fn origins(&self, count: usize) -> Region {
        // SAFETY: only the bytes that the layout names are touched through it, which the creator promised.
        unsafe { Region::new(self.origin, (count * self.shape.extent.unsigned_abs()).max(1)) }
    }
}
