//! The places of the bytes of a datatype's elements (MPI-5.0, chapter 5: type maps), in a form made
//! for copying.
//!
//! A [`Layout`] is a small tree of shapes ([`tree`]): one run of bytes, equal blocks at a constant
//! stride, equal blocks at listed places, runs at listed places, a repeated shape, a list of
//! shapes. It is normalised while it is built ([`list`]): neighbouring runs are joined, a regular
//! list becomes a stride, so that `MPI_Type_vector` of ten million blocks is one node. A packed
//! offset is found by division or binary search, so a message cut into fragments is walked once in
//! all. [`walk`] finds the runs, [`copy`] moves their bytes.

mod copy;
mod list;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

use crate::{Buffer, Region};
use list::List;
use std::sync::Arc;
use tree::Tree;

/// The layout of one element: which bytes, relative to its origin, in packed order, and the
/// distance (extent) to the next element.
#[derive(Clone, Debug)]
pub struct Layout {
    extent: isize,
    tree: Arc<Tree>,
    /// The bytes of an element if it is solid and has any, else 0: nearly every message asks this
    /// first.
    solid: usize,
}

impl Layout {
    /// A layout of `blocks`: (byte displacement, bytes) in packed order.
    ///
    /// # Panics
    /// If the end of a block does not fit `isize`.
    pub fn new(blocks: Vec<(isize, usize)>, extent: isize) -> Layout {
        let mut list = List::default();
        for (at, len) in blocks {
            list.run(at, len).expect("blocks within the address space");
        }
        Layout::of(extent, list.finish().expect("blocks within the address space"))
    }

    /// A layout of `len` bytes at the origin, each element right after the one before.
    pub fn contiguous(len: usize) -> Layout {
        Layout::new(vec![(0, len)], len as isize)
    }

    /// Packed bytes of one element.
    #[inline]
    pub fn size(&self) -> usize {
        self.tree.size
    }

    /// Distance in bytes from one element's origin to the next one's.
    #[inline]
    pub fn extent(&self) -> isize {
        self.extent
    }

    /// The lowest byte's displacement and the one after the highest byte's (MPI's true bounds);
    /// `(0, 0)` for an element of no bytes.
    #[inline]
    pub fn bounds(&self) -> (isize, isize) {
        (self.tree.low, self.tree.high)
    }

    /// The range of bytes, relative to the first origin, in which `count` elements lie. `None` if
    /// it does not fit the address space.
    pub fn span(&self, count: usize) -> Option<(isize, isize)> {
        if count == 0 || self.size() == 0 {
            return Some((0, 0));
        }
        let last = self.extent.checked_mul(isize::try_from(count - 1).ok()?)?;
        self.size().checked_mul(count).filter(|&bytes| bytes <= isize::MAX as usize)?;
        let low = self.tree.low.checked_add(last.min(0))?;
        let high = self.tree.high.checked_add(last.max(0))?;
        high.checked_sub(low).map(|_| (low, high))
    }

    /// This layout with another distance between elements (`MPI_Type_create_resized`).
    pub fn with_extent(&self, extent: isize) -> Layout {
        Layout::of(extent, self.tree.clone())
    }

    /// `count` elements, `stride` bytes apart, as one. `None` if the bounds overflow.
    pub fn repeat(&self, count: usize, stride: isize, extent: isize) -> Option<Layout> {
        Some(Layout::of(extent, Tree::repeat(&self.tree, count, stride)?))
    }

    fn of(extent: isize, tree: Arc<Tree>) -> Layout {
        let solid = tree.as_run().filter(|&(at, len)| at == 0 && len as isize == extent);
        Layout { extent, solid: solid.map_or(0, |(_, len)| len), tree }
    }

    /// The bytes of one element, if elements are solid: all bytes from the origin on, each element
    /// right after the one before, so that `n` elements are `n` times as many bytes at the first
    /// origin. 0 if they are not.
    #[inline]
    pub fn solid(&self) -> usize {
        self.solid
    }

    /// The displacement from the origin and the length of `count` elements, if they are one run of
    /// bytes.
    #[inline]
    pub fn contiguous_span(&self, count: usize) -> Option<(isize, usize)> {
        if count == 0 || self.tree.size == 0 {
            return Some((0, 0));
        }
        let (at, len) = self.tree.as_run()?;
        (count == 1 || len as isize == self.extent).then(|| (at, len * count))
    }

    /// Packs from packed offset `offset` of `count` elements at `origin` into `out`.
    ///
    /// # Panics
    /// If the packed range goes beyond the elements.
    ///
    /// # Safety
    /// Every byte named by the layout for these elements is readable.
    pub unsafe fn pack(&self, origin: *const u8, count: usize, offset: usize, out: Region) {
        let range = self.checked_range(count, offset, out.len());
        // SAFETY: the caller's promise about `origin`; `range` is exactly as long as `out`.
        let mut packer = unsafe { copy::Packer::new(origin, out) };
        walk::repeated(&self.tree, self.extent, 0, range, &mut packer);
    }

    /// Unpacks `data` to packed offset `offset` of `count` elements at `origin`.
    ///
    /// # Panics
    /// If the packed range goes beyond the elements.
    ///
    /// # Safety
    /// Every byte named by the layout for these elements is writable.
    pub unsafe fn unpack(&self, origin: *mut u8, count: usize, offset: usize, data: Region) {
        let range = self.checked_range(count, offset, data.len());
        // SAFETY: the caller's promise about `origin`; `range` is exactly as long as `data`.
        let mut unpacker = unsafe { copy::Unpacker::new(origin, data) };
        walk::repeated(&self.tree, self.extent, 0, range, &mut unpacker);
    }

    /// Calls `each` with displacement and length of every run of bytes in `len` packed bytes from
    /// `offset` of `count` elements on, in packed order.
    ///
    /// # Panics
    /// If the packed range goes beyond the elements.
    pub fn for_each_run(&self, count: usize, offset: usize, len: usize, each: impl FnMut(isize, usize)) {
        let range = self.checked_range(count, offset, len);
        walk::repeated(&self.tree, self.extent, 0, range, &mut walk::Each(each));
    }

    fn checked_range(&self, count: usize, offset: usize, len: usize) -> std::ops::Range<usize> {
        let total = self.size().checked_mul(count).expect("the message fits the address space");
        assert!(
            offset <= total && len <= total - offset,
            "{offset}+{len} is beyond the {total} bytes of the message"
        );
        offset..offset + len
    }
}

/// Collects elements of other layouts at given places into one layout (the indexed and struct
/// constructors of MPI).
#[derive(Default)]
pub struct Builder {
    list: List,
    bytes: usize,
}

impl Builder {
    /// Adds `count` elements of `layout`, one extent apart, the first one's origin at `at`. `None`
    /// if the bounds or the size overflow.
    pub fn add(&mut self, at: isize, count: usize, layout: &Layout) -> Option<()> {
        if count == 0 || layout.size() == 0 {
            return Some(());
        }
        layout.span(count)?;
        self.bytes = self.bytes.checked_add(layout.size() * count).filter(|&b| b <= isize::MAX as usize)?;
        match layout.contiguous_span(count) {
            Some((first, len)) => self.list.run(at.checked_add(first)?, len),
            None => self.list.tree(at, &Tree::repeat(&layout.tree, count, layout.extent)?),
        }
    }

    /// The layout of all that was added. `None` if its size overflows.
    pub fn finish(self, extent: isize) -> Option<Layout> {
        Some(Layout::of(extent, self.list.finish()?))
    }
}

/// Copies the bytes of `count` elements of `layout`, and no others. The regions begin at the first
/// origins, as [`Elements::origins`](crate::elements::Elements::origins) makes them, whose creator
/// promised all bytes that the layout names even where they lie outside of the region.
pub fn copy_elements(from: Region, to: Region, count: usize, layout: &Arc<Layout>) {
    let buffer = |region: Region| {
        // SAFETY: the maker of the origins promised every byte of the elements.
        unsafe { Buffer::strided(region.pointer(), count, layout) }
    };
    buffer(to).copy_from(&buffer(from));
}

/// Copies between buffers of the same length by way of a small piece.
pub(crate) fn copy_packed(from: &Buffer, to: &Buffer) {
    let mut piece = [0; 8192];
    for offset in (0..from.len()).step_by(piece.len()) {
        let part = &mut piece[..(from.len() - offset).min(8192)];
        from.copy_out(offset, part);
        to.copy_in(offset, part);
    }
}
