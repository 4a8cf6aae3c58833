//! Where the bytes of a datatype's elements lie (MPI-5.0, chapter 5: type maps), in a form made for copying.

/// The layout of one element: which bytes, relative to its origin, in packed order, and the distance
/// (extent) to the next element. (To be completed: see the datatype work.)
#[derive(Clone, Debug)]
pub struct Layout {
    size: usize,
    extent: isize,
    blocks: Vec<(isize, usize)>,
}

impl Layout {
    /// `blocks` are (byte displacement, bytes) in packed order.
    pub fn new(blocks: Vec<(isize, usize)>, extent: isize) -> Layout {
        Layout { size: blocks.iter().map(|b| b.1).sum(), extent, blocks }
    }

    /// Packed bytes of one element.
    pub fn size(&self) -> usize {
        self.size
    }

    /// If `count` elements are one run of bytes: its displacement from the origin and its length.
    pub fn contiguous_span(&self, count: usize) -> Option<(isize, usize)> {
        match self.blocks.as_slice() {
            _ if count == 0 || self.size == 0 => Some((0, 0)),
            [(first, len)] if count == 1 || *len as isize == self.extent => Some((*first, len * count)),
            _ => None,
        }
    }

    /// Packs from packed offset `offset` of `count` elements at `origin` into `out`.
    ///
    /// # Safety
    /// Every byte named by the layout for these elements is readable.
    pub unsafe fn pack(&self, origin: *const u8, count: usize, offset: usize, out: &mut [u8]) {
        let mut done = 0;
        self.runs(count, offset, out.len(), |at, len| {
            // SAFETY: the caller's promise; `out` has room since the runs sum to its length.
            unsafe { std::ptr::copy(origin.wrapping_offset(at), out.as_mut_ptr().add(done), len) };
            done += len;
        });
    }

    /// Unpacks `data` to packed offset `offset` of `count` elements at `origin`.
    ///
    /// # Safety
    /// Every byte named by the layout for these elements is writable.
    pub unsafe fn unpack(&self, origin: *mut u8, count: usize, offset: usize, data: &[u8]) {
        let mut done = 0;
        self.runs(count, offset, data.len(), |at, len| {
            // SAFETY: the caller's promise; `data` has that many bytes since the runs sum to its length.
            unsafe { std::ptr::copy(data.as_ptr().add(done), origin.wrapping_offset(at), len) };
            done += len;
        });
    }

    fn runs(&self, count: usize, offset: usize, len: usize, mut each: impl FnMut(isize, usize)) {
        assert!(offset + len <= self.size * count, "beyond the end of the message");
        if len == 0 {
            return;
        }
        let (mut element, mut skip, mut left) = (offset / self.size, offset % self.size, len);
        while left > 0 {
            for &(at, bytes) in &self.blocks {
                if skip >= bytes {
                    skip -= bytes;
                    continue;
                }
                let take = (bytes - skip).min(left);
                each(element as isize * self.extent + at + skip as isize, take);
                left -= take;
                skip = 0;
                if left == 0 {
                    return;
                }
            }
            element += 1;
        }
    }
}
