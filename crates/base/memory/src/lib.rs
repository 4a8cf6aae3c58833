//! The program's memory, wrapped once at the edge and handled safely from then on.
//!
//! MPI hands the library raw addresses that stay valid until an operation completes (MPI-5.0,
//! 3.7.2). That promise is taken at one place, [`Region::new`] and [`Buffer::strided`]; everything
//! above works with [`Buffer`], which copies packed bytes out of and into contiguous or scattered
//! memory.
//!
//! Safe code copies by address and never holds a Rust reference to such memory: the program,
//! another process or a device may write it, and one buffer may be given twice. Only `unsafe` at
//! the edges lends slices ([`Region::bytes`], [`Region::bytes_mut`]; `cargo xtask tidy` keeps them
//! out of `engine` and `mpi`).
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`layout`] | where the bytes of a datatype's elements lie |
//! | [`elements`] | elements of a datatype in memory, by number |
//! | [`copy`] | a contiguous copy, with the stores that suit its size |
//! | [`scratch`] | temporary memory of one operation |
//! | [`vacant`](mod@vacant) | tables of boxes, most of them not there |
//! | `owned` | memory of the library's own, which lends regions |
//! | `values` | plain values in regions, and loops over them |
//! | `vectors` | a copy of some kilobytes with wide registers |
//! | [`atomic`] | words that several processes change at once |

pub mod atomic;
pub mod copy;
pub mod elements;
pub mod layout;
mod owned;
pub mod scratch;
pub mod vacant;
mod values;
mod vectors;

use crate::layout::Layout;
pub use owned::Owned;
use std::sync::Arc;
pub use values::{Plain, combine, fold};

/// The bytes of a line of the processors' caches: the unit of copies, rings and receive buffers.
pub const LINE_BYTES: usize = 64;

/// A contiguous span of the program's memory.
///
/// `Copy` and `Send` because MPI itself orders accesses: the program promises not to touch the span
/// while an operation on it is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    address: *mut u8,
    len: usize,
}

// SAFETY: the creator of a Region promised that the memory is valid and not otherwise in use until
// the operation ends, whichever thread drives it (see `Region::new`).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// An empty span.
    pub const EMPTY: Region = Region { address: std::ptr::NonNull::dangling().as_ptr(), len: 0 };

    /// Wraps `len` bytes at `address`.
    ///
    /// # Safety
    /// The bytes must be readable (and writable, if the region is received into) until every
    /// operation that holds a copy of this region has completed, and no one else may write them
    /// meanwhile. If `len` is 0 any address will do.
    #[inline]
    pub unsafe fn new(address: *mut u8, len: usize) -> Region {
        if len == 0 { Region::EMPTY } else { Region { address, len } }
    }

    /// The memory of a slice that the library itself owns and keeps until the operation completes.
    ///
    /// # Safety
    /// As for [`Region::new`]: the slice must outlive every operation on the region.
    #[inline]
    pub unsafe fn of(slice: &mut [u8]) -> Region {
        // SAFETY: the caller's promise is the same.
        unsafe { Region::new(slice.as_mut_ptr(), slice.len()) }
    }

    /// The length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the span is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of the first byte, as a number.
    #[inline]
    pub fn address(&self) -> u64 {
        self.address as u64
    }

    /// The address of the first byte.
    #[inline]
    pub fn pointer(&self) -> *mut u8 {
        self.address
    }

    /// The part of `len` bytes from `offset` on.
    ///
    /// # Panics
    /// If the part does not lie within the region.
    #[inline(always)]
    pub fn part(&self, offset: usize, len: usize) -> Region {
        if offset > self.len || len > self.len - offset {
            self.has_no(offset, len);
        }
        // SAFETY: within the region by the check above, so the creator's promise covers it.
        unsafe { Region::new(self.address.add(offset), len) }
    }

    /// This region and one that begins where it ends, as one. `None` if that one lies elsewhere.
    pub fn joined(&self, next: Region) -> Option<Region> {
        let is_next = self.address.wrapping_add(self.len) == next.address;
        // SAFETY: both creators promised their bytes, which lie side by side.
        is_next.then(|| unsafe { Region::new(self.address, self.len + next.len) })
    }

    /// Panics. Out of line, so that the check alone is in the way of each packet.
    #[cold]
    #[inline(never)]
    fn has_no(&self, offset: usize, len: usize) -> ! {
        panic!("part {offset}+{len} of a region of {} bytes", self.len)
    }

    /// Copies from `offset` on into `out`. Panics if out of range.
    #[inline]
    pub fn read(&self, offset: usize, out: &mut [u8]) {
        let part = self.part(offset, out.len());
        // SAFETY: `part` is valid by the creator's promise; `copy` allows overlap.
        unsafe { std::ptr::copy(part.address, out.as_mut_ptr(), out.len()) }
    }

    /// Copies all bytes, at most 24, to `out` without a call.
    ///
    /// # Safety
    /// `out` leads to that many writable bytes.
    #[inline(always)]
    pub unsafe fn read_short(&self, out: *mut u8) {
        // SAFETY: this region is valid by its creator's promise, `out` by the caller's.
        unsafe { copy_short(self.address, out, self.len) }
    }

    /// Copies `data` to `offset`. Panics if out of range.
    #[inline]
    pub fn write(&self, offset: usize, data: &[u8]) {
        let part = self.part(offset, data.len());
        // SAFETY: as in `read`.
        unsafe {
            match data.len() {
                0..=SHORT_BYTES_MAX => copy_short(data.as_ptr(), part.address, data.len()),
                vectors::WIDE_BYTES_MIN..=vectors::WIDE_BYTES_MAX => {
                    vectors::copy_any(data.as_ptr(), part.address, data.len());
                }
                _ => std::ptr::copy(data.as_ptr(), part.address, data.len()),
            }
        }
    }

    /// Copies `data` to `offset` (overlap allowed). Panics if out of range.
    #[inline]
    pub fn put(&self, offset: usize, data: Region) {
        let part = self.part(offset, data.len);
        // SAFETY: both are valid by their creators' promises.
        unsafe {
            match data.len {
                0..=SHORT_BYTES_MAX => copy_short(data.address, part.address, data.len),
                _ => std::ptr::copy(data.address, part.address, data.len),
            }
        }
    }

    /// Copies `data`, at most 24 bytes, to offset 0 without a call.
    ///
    /// # Panics
    /// If they are more, or do not fit.
    #[inline(always)]
    pub fn write_short(&self, data: &[u8]) {
        assert!(data.len() <= SHORT_BYTES_MAX && data.len() <= self.len);
        // SAFETY: as in `read`, and by the check.
        unsafe { copy_short(data.as_ptr(), self.address, data.len()) }
    }

    /// Copies `other`, of the same length, into this region (overlap allowed).
    #[inline]
    pub fn copy_from(&self, other: Region) {
        assert_eq!(self.len, other.len);
        // SAFETY: both are valid by their creators' promises; `copy` allows overlap.
        unsafe { std::ptr::copy(other.address, self.address, self.len) }
    }

    /// Sets every byte.
    pub fn fill(&self, byte: u8) {
        // SAFETY: valid by the creator's promise.
        unsafe { std::ptr::write_bytes(self.address, byte, self.len) }
    }

    /// A copy of the bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        self.read(0, &mut bytes);
        bytes
    }

    /// The bytes themselves, to read.
    ///
    /// # Safety
    /// The memory is valid, and nobody writes it, while the slice is used.
    #[inline]
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.address, self.len) }
    }

    /// The bytes themselves, to write.
    ///
    /// # Safety
    /// The memory is valid, and nobody else reads or writes it, while the slice is used.
    #[inline]
    pub unsafe fn bytes_mut<'a>(self) -> &'a mut [u8] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.len) }
    }
}

/// The most bytes that [`copy_short`] copies.
const SHORT_BYTES_MAX: usize = 24;

/// Copies at most [`SHORT_BYTES_MAX`] bytes (overlap allowed): a call of `memcpy` costs more than
/// such a copy.
///
/// # Safety
/// `from` leads to `len` readable and `to` to `len` writable bytes.
#[inline(always)]
unsafe fn copy_short(from: *const u8, to: *mut u8, len: usize) {
    debug_assert!(len <= SHORT_BYTES_MAX);
    // SAFETY: every access lies within `len` bytes by the comparison around it; all are read before
    // any is written.
    unsafe {
        if len > 16 {
            let (first, second, last) =
                (word::<u64>(from, 0), word::<u64>(from, 8), word::<u64>(from, len - 8));
            to.cast::<u64>().write_unaligned(first);
            to.add(8).cast::<u64>().write_unaligned(second);
            to.add(len - 8).cast::<u64>().write_unaligned(last);
        } else if len >= 8 {
            let (first, last) = (word::<u64>(from, 0), word::<u64>(from, len - 8));
            to.cast::<u64>().write_unaligned(first);
            to.add(len - 8).cast::<u64>().write_unaligned(last);
        } else if len >= 4 {
            let (first, last) = (word::<u32>(from, 0), word::<u32>(from, len - 4));
            to.cast::<u32>().write_unaligned(first);
            to.add(len - 4).cast::<u32>().write_unaligned(last);
        } else if len > 0 {
            let bytes = [*from, *from.add(len / 2), *from.add(len - 1)];
            *to = bytes[0];
            *to.add(len / 2) = bytes[1];
            *to.add(len - 1) = bytes[2];
        }
    }
}

/// # Safety
/// A `T` can be read at `from + offset`, aligned or not.
#[inline(always)]
unsafe fn word<T: Copy>(from: *const u8, offset: usize) -> T {
    // SAFETY: the caller's promise.
    unsafe { from.add(offset).cast::<T>().read_unaligned() }
}

/// The memory of one message: `count` elements of a datatype, seen as packed bytes.
#[derive(Clone, Debug)]
pub enum Buffer {
    /// All bytes lie side by side.
    Contiguous(Region),
    /// The bytes are scattered as a layout says.
    Strided(Strided),
}

/// Elements of a scattered datatype, or a part of their packed bytes.
#[derive(Clone, Debug)]
pub struct Strided {
    origin: *mut u8,
    count: usize,
    layout: Arc<Layout>,
    /// Packed bytes before the part.
    first: usize,
    /// Packed bytes of the part.
    len: usize,
}

// SAFETY: as for Region.
unsafe impl Send for Strided {}
// SAFETY: as for Region.
unsafe impl Sync for Strided {}

impl Buffer {
    /// A buffer of no bytes.
    pub const EMPTY: Buffer = Buffer::Contiguous(Region::EMPTY);

    /// `count` elements laid out by `layout`, the first one's origin at `origin`.
    ///
    /// # Safety
    /// Every byte that the layout names, for each element, obeys the promise of [`Region::new`].
    pub unsafe fn strided(origin: *mut u8, count: usize, layout: &Arc<Layout>) -> Buffer {
        if let Some((first, len)) = layout.contiguous_span(count) {
            // SAFETY: the layout says that exactly these bytes are named.
            return Buffer::Contiguous(unsafe { Region::new(origin.wrapping_offset(first), len) });
        }
        let len = layout.size() * count;
        Buffer::Strided(Strided { origin, count, layout: layout.clone(), first: 0, len })
    }

    /// The packed length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Buffer::Contiguous(region) => region.len(),
            Buffer::Strided(s) => s.len,
        }
    }

    /// Returns whether there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The region, if the bytes lie side by side.
    #[inline]
    pub fn region(&self) -> Option<Region> {
        match self {
            Buffer::Contiguous(region) => Some(*region),
            Buffer::Strided(_) => None,
        }
    }

    /// The part of `len` packed bytes from packed offset `offset` on.
    ///
    /// # Panics
    /// If the part does not lie within the buffer.
    pub fn part(&self, offset: usize, len: usize) -> Buffer {
        match self {
            Buffer::Contiguous(region) => Buffer::Contiguous(region.part(offset, len)),
            Buffer::Strided(s) => {
                let first = s.first + s.within(offset, len);
                Buffer::Strided(Strided { first, len, ..s.clone() })
            }
        }
    }

    /// Packs the bytes from packed offset `offset` on into `out`. Panics if out of range.
    #[inline]
    pub fn copy_out(&self, offset: usize, out: &mut [u8]) {
        match self {
            Buffer::Contiguous(region) => region.read(offset, out),
            // SAFETY: the slice is there until this function ends.
            Buffer::Strided(s) => s.pack(offset, unsafe { Region::of(out) }),
        }
    }

    /// Packs the bytes from packed offset `offset` on into a region (overlap allowed).
    #[inline]
    pub fn pack(&self, offset: usize, out: Region) {
        match self {
            Buffer::Contiguous(region) => out.put(0, region.part(offset, out.len)),
            Buffer::Strided(s) => s.pack(offset, out),
        }
    }

    /// Unpacks `data` to packed offset `offset`. Panics if out of range.
    #[inline]
    pub fn copy_in(&self, offset: usize, data: &[u8]) {
        match self {
            Buffer::Contiguous(region) => region.write(offset, data),
            Buffer::Strided(s) => {
                // SAFETY: the slice is there until this function ends, and is only read.
                let data = unsafe { Region::new(data.as_ptr().cast_mut(), data.len()) };
                s.unpack(offset, data)
            }
        }
    }

    /// Copies the bytes of `other`, of the same packed length, into this buffer.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn copy_from(&self, other: &Buffer) {
        assert_eq!(self.len(), other.len());
        match (other, self) {
            (Buffer::Contiguous(from), Buffer::Contiguous(to)) => to.put(0, *from),
            (from, Buffer::Contiguous(to)) => from.pack(0, *to),
            (Buffer::Contiguous(from), to) => to.unpack(0, *from),
            (from, to) => layout::copy_packed(from, to),
        }
    }

    /// The runs of bytes in packed order.
    pub fn runs(&self) -> Vec<Region> {
        match self {
            Buffer::Contiguous(region) => vec![*region],
            Buffer::Strided(s) => {
                let mut runs = Vec::new();
                s.layout.for_each_run(s.count, s.first, s.len, |at, len| {
                    // SAFETY: `Buffer::strided` took the promise for every byte that is named.
                    runs.push(unsafe { Region::new(s.origin.wrapping_offset(at), len) });
                });
                runs
            }
        }
    }

    /// Unpacks a region to packed offset `offset` (overlap allowed).
    #[inline]
    pub fn unpack(&self, offset: usize, data: Region) {
        match self {
            Buffer::Contiguous(region) => region.put(offset, data),
            Buffer::Strided(s) => s.unpack(offset, data),
        }
    }
}

impl Strided {
    fn pack(&self, offset: usize, out: Region) {
        let first = self.first + self.within(offset, out.len);
        // SAFETY: `Buffer::strided` took the promise that every byte named is valid.
        unsafe { self.layout.pack(self.origin, self.count, first, out) }
    }

    fn unpack(&self, offset: usize, data: Region) {
        let first = self.first + self.within(offset, data.len);
        // SAFETY: as in `pack`.
        unsafe { self.layout.unpack(self.origin, self.count, first, data) }
    }

    /// Checks that `len` bytes from packed offset `offset` on lie within, and returns the offset.
    #[inline]
    fn within(&self, offset: usize, len: usize) -> usize {
        assert!(
            offset <= self.len && len <= self.len - offset,
            "part {offset}+{len} of a scattered buffer of {} bytes",
            self.len
        );
        offset
    }
}

#[cfg(test)]
mod tests;
