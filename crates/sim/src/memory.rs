//! Memory of the simulated programs, with buffers over it.

use std::sync::Arc;
use verbena_channel::layout::Layout;
use verbena_channel::memory::{Buffer, Region};

/// How the bytes of a message lie in its memory.
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

/// Memory of a program; [`crate::Cluster::memory`] makes it and keeps it until the engines are gone.
#[derive(Clone, Debug)]
pub struct Memory {
    bytes: Arc<Bytes>,
    shape: Shape,
}

#[derive(Debug)]
struct Bytes {
    region: Region,
    /// Owns what `region` names; nothing else touches it.
    _memory: Box<[u8]>,
}

/// What fills the bytes that no message may touch.
const GUARD: u8 = 0xee;

impl Memory {
    /// Memory for `len` packed bytes; a strided one is rounded up to whole elements.
    pub(crate) fn new(len: usize, shape: Shape) -> Memory {
        let len = match shape {
            Shape::Contiguous => len,
            Shape::Strided => len.div_ceil(3) * ELEMENT,
        };
        let mut memory = vec![GUARD; len].into_boxed_slice();
        // SAFETY: the box is not moved or touched while the region lives in the same struct, and the cluster
        // keeps a share of that struct until its engines are gone.
        let region = unsafe { Region::of(&mut memory) };
        Memory { bytes: Arc::new(Bytes { region, _memory: memory }), shape }
    }

    /// The whole memory as a message buffer.
    pub fn buffer(&self) -> Buffer {
        let region = self.bytes.region;
        if self.shape == Shape::Contiguous {
            return Buffer::Contiguous(region);
        }
        let layout = Arc::new(Layout::new(USED.to_vec(), ELEMENT as isize));
        let origin = region.bytes_mut().as_mut_ptr();
        // SAFETY: whole elements that lie within the region.
        unsafe { Buffer::strided(origin, region.len() / ELEMENT, &layout) }
    }

    /// Packed length.
    pub fn len(&self) -> usize {
        self.buffer().len()
    }

    /// Whether there are no bytes.
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
        self.bytes.region.bytes_mut().fill(byte);
    }

    /// Whether all is still as [`Memory::scribble`] left it.
    pub fn is_all(&self, byte: u8) -> bool {
        self.bytes.region.bytes().iter().all(|b| *b == byte)
    }

    /// Whether the bytes after the first `packed` ones, and those in gaps, were left alone.
    pub fn is_guarded_after(&self, packed: usize) -> bool {
        if self.packed()[packed..].iter().any(|b| *b != GUARD) {
            return false;
        }
        let in_gap = |i: &usize| !USED.iter().any(|(at, len)| (*at as usize..*at as usize + len).contains(i));
        let bytes = self.bytes.region.bytes();
        self.shape == Shape::Contiguous
            || bytes.chunks(ELEMENT).all(|e| (0..e.len()).filter(in_gap).all(|i| e[i] == GUARD))
    }
}
