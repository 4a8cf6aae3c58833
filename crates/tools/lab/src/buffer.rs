//! Page-aligned memory for the benchmarks' messages.
//!
//! MPI writes into a buffer through its address, so the contents are never borrowed as a Rust
//! slice: the type hands out addresses only, and fills and checks bytes by volatile access.

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::{c_int, c_void};
use std::num::NonZeroUsize;
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4096;
const LINE_BYTES: usize = 64;

/// The place that the memory came from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Allocator,
    Mapping,
}

/// Page-aligned memory. Every page has been written once.
pub struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
    origin: Origin,
}

impl Buffer {
    /// Allocates `bytes` (at least a page) and touches every page, so that no page fault is
    /// measured.
    pub fn new(bytes: usize) -> Buffer {
        let layout = pages(bytes);
        // SAFETY: the layout's size is at least a page.
        let start =
            NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        Buffer { start, layout, origin: Origin::Allocator }.touched()
    }

    /// Maps `bytes` (at least a page) that the allocator neither had before nor gets, and touches
    /// every page. They are unmapped when the buffer is dropped.
    pub fn mapped(bytes: usize) -> Buffer {
        let layout = pages(bytes);
        let length = NonZeroUsize::new(layout.size()).expect("a page at least");
        let (access, flags) = (ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_PRIVATE);
        // SAFETY: a new private mapping at an address of the kernel's choice touches no memory that
        // is in use.
        let start = unsafe { mmap_anonymous(None, length, access, flags) };
        let start = start.unwrap_or_else(|_| handle_alloc_error(layout)).cast();
        Buffer { start, layout, origin: Origin::Mapping }.touched()
    }

    fn touched(self) -> Buffer {
        (0..self.layout.size()).step_by(PAGE_BYTES).for_each(|at| self.set(at, 0));
        self
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

    /// Writes a byte of every line of the first `bytes`, so that the lines are this core's.
    #[inline]
    pub fn rewrite(&self, bytes: usize, value: u8) {
        (0..bytes).step_by(LINE_BYTES).for_each(|at| self.set(at, value));
    }

    /// Reads a byte of every line of the first `bytes`; returns their sum.
    #[inline]
    pub fn look_over(&self, bytes: usize) -> u64 {
        (0..bytes).step_by(LINE_BYTES).map(|at| u64::from(self.get(at))).sum()
    }

    /// Writes the first eight bytes.
    pub fn set_word(&self, word: u64) {
        word.to_le_bytes().into_iter().enumerate().for_each(|(at, byte)| self.set(at, byte));
    }

    /// Reads the first eight bytes.
    pub fn word(&self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|at| self.get(at)))
    }

    /// Reads the double at `index`.
    pub fn double(&self, index: usize) -> f64 {
        f64::from_le_bytes(std::array::from_fn(|at| self.get(index * 8 + at)))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match self.origin {
            // SAFETY: allocated with this very layout, and not freed before.
            Origin::Allocator => unsafe { dealloc(self.start.as_ptr(), self.layout) },
            Origin::Mapping => {
                // SAFETY: mapped with this very length, and not unmapped before.
                unsafe { munmap(self.start.cast(), self.layout.size()) }.expect("a mapping of ours");
            }
        }
    }
}

/// The whole pages that hold `bytes`, one at least.
fn pages(bytes: usize) -> Layout {
    let bytes = bytes.max(PAGE_BYTES).next_multiple_of(PAGE_BYTES);
    Layout::from_size_align(bytes, PAGE_BYTES).expect("the size of a benchmark's buffer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_rewritten_and_looked_at() {
        let buffer = Buffer::new(1000);
        buffer.rewrite(1000, 3);
        assert_eq!(buffer.look_over(1000), 16 * 3);
        assert_eq!((buffer.look_over(64), buffer.look_over(0)), (3, 0));
        assert!((0..1000).all(|at| buffer.get(at) == if at % 64 == 0 { 3 } else { 0 }));
    }

    #[test]
    fn numbers_survive_and_bounds_hold() {
        let buffer = Buffer::new(10);
        buffer.fill_doubles(1.5);
        assert_eq!((buffer.double(0), buffer.double(511)), (1.5, 1.5));
        assert_eq!(buffer.address() as usize % PAGE_BYTES, 0);
        assert!(std::panic::catch_unwind(|| Buffer::new(10).count(4096, 2)).is_err());
        let mapped = Buffer::mapped(PAGE_BYTES + 1);
        mapped.fill_doubles(2.5);
        assert_eq!((mapped.double(1023), mapped.address() as usize % PAGE_BYTES), (2.5, 0));
    }
}
