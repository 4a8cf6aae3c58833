//! Moves the bytes of the runs that a walk finds. Blocks of the usual small sizes have loops of
//! their own, in which a block is one or two machine moves.

use super::walk::Visitor;
use crate::Region;

/// Copies whole blocks with the loop for their length.
macro_rules! by_length {
    ($mover:expr, $places:expr, $len:expr) => {
        match $len {
            1 => $mover.fixed::<1>($places),
            2 => $mover.fixed::<2>($places),
            4 => $mover.fixed::<4>($places),
            8 => $mover.fixed::<8>($places),
            12 => $mover.fixed::<12>($places),
            16 => $mover.fixed::<16>($places),
            24 => $mover.fixed::<24>($places),
            32 => $mover.fixed::<32>($places),
            64 => $mover.fixed::<64>($places),
            len => $places.for_each(|at| $mover.long_run(at, len)),
        }
    };
}

/// Copies runs of the program's memory to packed bytes.
pub(super) struct Packer {
    origin: *const u8,
    out: *mut u8,
}

impl Packer {
    /// # Safety
    /// The runs visited are readable, relative to `origin`, and sum to at most `out.len()`.
    pub(super) unsafe fn new(origin: *const u8, out: Region) -> Packer {
        Packer { origin, out: out.pointer() }
    }

    fn fixed<const N: usize>(&mut self, places: impl Iterator<Item = isize>) {
        for at in places {
            let from = self.origin.wrapping_offset(at) as *const [u8; N];
            // SAFETY: the promise made to `new`: N readable bytes there, N more bytes of room here.
            unsafe {
                (self.out as *mut [u8; N]).write_unaligned(from.read_unaligned());
                self.out = self.out.add(N);
            }
        }
    }
}

impl Packer {
    fn long_run(&mut self, at: isize, len: usize) {
        // SAFETY: the promise made to `new`; `copy` allows that a wrong program lets them overlap.
        unsafe {
            std::ptr::copy(self.origin.wrapping_offset(at), self.out, len);
            self.out = self.out.add(len);
        }
    }
}

impl Visitor for Packer {
    #[inline]
    fn run(&mut self, at: isize, len: usize) {
        match len {
            4 => self.fixed::<4>(std::iter::once(at)),
            8 => self.fixed::<8>(std::iter::once(at)),
            16 => self.fixed::<16>(std::iter::once(at)),
            _ => self.long_run(at, len),
        }
    }

    fn strided(&mut self, at: isize, count: usize, stride: isize, len: usize) {
        let places = (0..count).map(|i| at.wrapping_add(stride.wrapping_mul(i as isize)));
        by_length!(self, places, len);
    }

    fn blocks(&mut self, base: isize, at: &[isize], len: usize) {
        let places = at.iter().map(|&a| base.wrapping_add(a));
        by_length!(self, places, len);
    }
}

/// Copies packed bytes to runs of the program's memory.
pub(super) struct Unpacker {
    origin: *mut u8,
    data: *const u8,
}

impl Unpacker {
    /// # Safety
    /// The runs visited are writable, relative to `origin`, and sum to at most `data.len()`.
    pub(super) unsafe fn new(origin: *mut u8, data: Region) -> Unpacker {
        Unpacker { origin, data: data.pointer() }
    }

    fn fixed<const N: usize>(&mut self, places: impl Iterator<Item = isize>) {
        for at in places {
            let to = self.origin.wrapping_offset(at) as *mut [u8; N];
            // SAFETY: the promise made to `new`: N writable bytes there, N more bytes of data here.
            unsafe {
                to.write_unaligned((self.data as *const [u8; N]).read_unaligned());
                self.data = self.data.add(N);
            }
        }
    }
}

impl Unpacker {
    fn long_run(&mut self, at: isize, len: usize) {
        // SAFETY: the promise made to `new`; `copy` allows that a wrong program lets them overlap.
        unsafe {
            std::ptr::copy(self.data, self.origin.wrapping_offset(at), len);
            self.data = self.data.add(len);
        }
    }
}

impl Visitor for Unpacker {
    #[inline]
    fn run(&mut self, at: isize, len: usize) {
        match len {
            4 => self.fixed::<4>(std::iter::once(at)),
            8 => self.fixed::<8>(std::iter::once(at)),
            16 => self.fixed::<16>(std::iter::once(at)),
            _ => self.long_run(at, len),
        }
    }

    fn strided(&mut self, at: isize, count: usize, stride: isize, len: usize) {
        let places = (0..count).map(|i| at.wrapping_add(stride.wrapping_mul(i as isize)));
        by_length!(self, places, len);
    }

    fn blocks(&mut self, base: isize, at: &[isize], len: usize) {
        let places = at.iter().map(|&a| base.wrapping_add(a));
        by_length!(self, places, len);
    }
}
