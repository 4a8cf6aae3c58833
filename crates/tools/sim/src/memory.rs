//! Memory of the simulated programs, with buffers over it.

use std::sync::Arc;
use verbena_memory::layout::Layout;
use verbena_memory::{Buffer, Owned};

/// The layout of a message's bytes in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Side by side.
    Contiguous,
    /// Three of every five, in two runs.
    Strided,
}

/// Bytes of every element of [`Shape::Strided`], and those of them that are used.
const ELEMENT: usize = 5;
const USED: [(isize, usize); 2] = [(1, 2), (4, 1)];

/// Memory of a program; [`crate::Cluster::memory`] makes it and keeps it until the engines are
/// gone.
#[derive(Clone, Debug)]
pub struct Memory {
    bytes: Arc<Owned>,
    shape: Shape,
}

/// The value of the bytes that no message may touch.
const GUARD: u8 = 0xee;

impl Memory {
    /// Memory for `len` packed bytes; a strided one is rounded up to whole elements.
    pub(crate) fn new(len: usize, shape: Shape) -> Memory {
        let len = match shape {
            Shape::Contiguous => len,
            Shape::Strided => len.div_ceil(3) * ELEMENT,
        };
        let owned = Owned::zeroed(len);
        owned.lend().fill(GUARD);
        Memory { bytes: Arc::new(owned), shape }
    }

    /// The whole memory as a message buffer.
    pub fn buffer(&self) -> Buffer {
        let region = self.bytes.lend();
        if self.shape == Shape::Contiguous {
            return Buffer::Contiguous(region);
        }
        let layout = Arc::new(Layout::new(USED.to_vec(), ELEMENT as isize));
        // SAFETY: whole elements that lie within the region.
        unsafe { Buffer::strided(region.pointer(), region.len() / ELEMENT, &layout) }
    }

    /// Packed length.
    pub fn len(&self) -> usize {
        self.buffer().len()
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packed bytes.
    pub fn packed(&self) -> Vec<u8> {
        let buffer = self.buffer();
        let mut out = vec![0; buffer.len()];
        buffer.copy_out(0, &mut out);
        out
    }

    /// Puts these packed bytes in.
    pub fn fill(&self, packed: &[u8]) {
        self.buffer().copy_in(0, packed);
    }

    /// Overwrites everything, gaps too, as a program does that has its buffer back.
    pub fn scribble(&self, byte: u8) {
        self.bytes.lend().fill(byte);
    }

    /// Returns whether all is still as [`Memory::scribble`] left it.
    pub fn is_all(&self, byte: u8) -> bool {
        self.bytes.lend().to_vec().iter().all(|b| *b == byte)
    }

    /// Returns whether the bytes after the first `packed` ones, and those in gaps, were left alone.
    pub fn is_guarded_after(&self, packed: usize) -> bool {
        if self.packed()[packed..].iter().any(|b| *b != GUARD) {
            return false;
        }
        let in_gap = |i: &usize| !USED.iter().any(|(at, len)| (*at as usize..*at as usize + len).contains(i));
        let bytes = self.bytes.lend().to_vec();
        self.shape == Shape::Contiguous
            || bytes.chunks(ELEMENT).all(|e| (0..e.len()).filter(in_gap).all(|i| e[i] == GUARD))
    }
}
