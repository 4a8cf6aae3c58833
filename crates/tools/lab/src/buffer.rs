//! Page-aligned memory for the benchmarks' messages.
//!
//! MPI writes into a buffer through its address, so the contents are never borrowed as a Rust
//! slice: the type hands out addresses only, and fills and checks bytes by volatile access.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4096;

/// Page-aligned memory. Every page has been written once.
pub struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

impl Buffer {
    /// Allocates `bytes` (at least a page) and touches every page, so that no page fault is
    /// measured.
    pub fn new(bytes: usize) -> Buffer {
        let bytes = bytes.max(PAGE_BYTES).next_multiple_of(PAGE_BYTES);
        let layout = Layout::from_size_align(bytes, PAGE_BYTES).expect("the size of a benchmark's buffer");
        // SAFETY: the layout's size is at least a page.
        let start =
            NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        let buffer = Buffer { start, layout };
        (0..bytes).step_by(PAGE_BYTES).for_each(|at| buffer.set(at, 0));
        buffer
    }

    /// The address of the first byte.
    pub fn address(&self) -> *mut c_void {
        self.start.as_ptr().cast()
    }

    /// `bytes` as an MPI count, after checking that `blocks` blocks of it fit. Panics if they do
    /// not.
    pub fn count(&self, bytes: usize, blocks: usize) -> c_int {
        assert!(
            bytes.checked_mul(blocks).is_some_and(|all| all <= self.layout.size()),
            "larger than the buffer"
        );
        c_int::try_from(bytes).expect("a benchmark's message fits in an int")
    }

    /// Writes one byte.
    pub fn set(&self, offset: usize, value: u8) {
        assert!(offset < self.layout.size(), "outside of the buffer");
        // SAFETY: within the allocation, as just asserted; no slice of this memory exists anywhere.
        unsafe { self.start.as_ptr().add(offset).write_volatile(value) }
    }

    /// Reads one byte.
    pub fn get(&self, offset: usize) -> u8 {
        assert!(offset < self.layout.size(), "outside of the buffer");
        // SAFETY: as in `set`; the memory is initialised.
        unsafe { self.start.as_ptr().add(offset).read_volatile() }
    }

    /// Fills the buffer with a double that sums exactly, so that no reduction meets a denormal
    /// number.
    pub fn fill_doubles(&self, value: f64) {
        for (at, byte) in value.to_le_bytes().into_iter().cycle().take(self.layout.size()).enumerate() {
            self.set(at, byte);
        }
    }

    /// Reads the double at `index`.
    pub fn double(&self, index: usize) -> f64 {
        f64::from_le_bytes(std::array::from_fn(|at| self.get(index * 8 + at)))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout, and not freed before.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_and_bounds_hold() {
        let buffer = Buffer::new(10);
        buffer.fill_doubles(1.5);
        assert_eq!((buffer.double(0), buffer.double(511)), (1.5, 1.5));
        assert_eq!(buffer.address() as usize % PAGE_BYTES, 0);
        assert!(std::panic::catch_unwind(|| Buffer::new(10).count(4096, 2)).is_err());
    }
}
