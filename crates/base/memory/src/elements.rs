//! Elements of a datatype in memory, addressed by number: the form in which collectives name their
//! blocks.

use crate::layout::Layout;
use crate::scratch::Scratch;
use crate::{Buffer, Region};
use std::sync::Arc;

/// Memory seen as a sequence of elements; element `k` has its origin `k` extents behind the first
/// one's.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    origin: *mut u8,
    layout: &'a Arc<Layout>,
}

impl<'a> Elements<'a> {
    /// Elements of this layout, the first one's origin at `origin`.
    ///
    /// # Safety
    /// Every byte of every element that is asked for later obeys the promise of [`Region::new`].
    /// For an MPI call these are the elements that its count and displacement arguments name.
    #[inline]
    pub unsafe fn new(origin: *mut u8, layout: &'a Arc<Layout>) -> Elements<'a> {
        Elements { origin, layout }
    }

    /// The elements whose origins [`Elements::origins`] named.
    #[inline]
    pub fn at_origins(origins: Region, layout: &'a Arc<Layout>) -> Elements<'a> {
        Elements { origin: origins.pointer(), layout }
    }

    /// Room for `count` elements of this layout in scratch memory.
    pub fn in_scratch(scratch: &mut Scratch, layout: &'a Arc<Layout>, count: usize) -> Elements<'a> {
        let (low, high) = layout.span(count).expect("elements that exist once fit the address space");
        let region = scratch.take((high - low) as usize);
        Elements { origin: region.pointer().wrapping_offset(-low), layout }
    }

    /// The layout of an element.
    #[inline]
    pub fn layout(&self) -> &'a Arc<Layout> {
        self.layout
    }

    /// Packed bytes of `count` elements.
    #[inline]
    pub fn bytes(&self, count: usize) -> usize {
        self.layout.size() * count
    }

    /// Returns whether both begin at the same address.
    #[inline]
    pub fn is_at(&self, other: &Elements<'_>) -> bool {
        self.origin == other.origin
    }

    /// This memory, with element `first` as the first one.
    #[inline]
    pub fn from(&self, first: isize) -> Elements<'a> {
        self.displaced(first * self.layout.extent())
    }

    /// These elements, `bytes` further on.
    #[inline]
    pub fn displaced(&self, bytes: isize) -> Elements<'a> {
        Elements { origin: self.origin.wrapping_offset(bytes), ..*self }
    }

    /// This origin with another layout.
    #[inline]
    pub fn laid_out(&self, layout: &'a Arc<Layout>) -> Elements<'a> {
        Elements { layout, ..*self }
    }

    /// The bytes of `count` elements from element `first` on.
    #[inline]
    pub fn buffer(&self, first: isize, count: usize) -> Buffer {
        if count == 0 {
            return Buffer::EMPTY;
        }
        // SAFETY: the creator of these elements promised that every element asked for is valid.
        unsafe { Buffer::strided(self.from(first).origin, count, self.layout) }
    }

    /// The origins of `count` elements, as user functions expect them: a region that begins at the
    /// first element's origin. Its bytes may not all belong to an element, nor all elements' bytes
    /// to it.
    #[inline]
    pub fn origins(&self, count: usize) -> Region {
        // SAFETY: only the bytes that the layout names are touched through it, which the creator
        // promised.
        unsafe { Region::new(self.origin, (count * self.layout.extent().unsigned_abs()).max(1)) }
    }
}
