//! The blocks of a vector collective: one for each rank, in the three ways in which MPI describes
//! them.

use std::sync::Arc;
use verbena_memory::Buffer;
use verbena_memory::elements::Elements;
use verbena_memory::layout::Layout;

/// An array of counts or displacements, as `int` or as `MPI_Count`.
#[derive(Clone, Copy, Debug)]
pub enum Counts<'a> {
    /// An array of `int`.
    Int(&'a [i32]),
    /// An array of `MPI_Count` or `MPI_Aint`.
    Large(&'a [i64]),
}

impl Counts<'_> {
    /// Returns entry `i`.
    #[inline]
    pub fn get(&self, i: usize) -> isize {
        match self {
            Counts::Int(values) => values[i] as isize,
            Counts::Large(values) => values[i] as isize,
        }
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Counts::Int(values) => values.len(),
            Counts::Large(values) => values.len(),
        }
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One block for each rank.
#[derive(Clone, Copy)]
pub enum Blocks<'a> {
    /// `count` elements a block, block `i` from element `i * count` on.
    Even {
        /// Element 0 of block 0.
        elements: Elements<'a>,
        /// The number of elements of one block.
        count: usize,
    },
    /// `counts[i]` elements in block `i`, from element `displacements[i]` on.
    Varied {
        /// Element 0.
        elements: Elements<'a>,
        /// The number of elements of each block.
        counts: Counts<'a>,
        /// First element of each block.
        displacements: Counts<'a>,
    },
    /// `counts[i]` elements of its own datatype in block `i`, from byte `displacements[i]` on.
    Typed {
        /// Byte 0; its layout is not used.
        base: Elements<'a>,
        /// The number of elements of each block.
        counts: Counts<'a>,
        /// First byte of each block.
        displacements: Counts<'a>,
        /// Layout of each block's elements.
        layouts: &'a [Arc<Layout>],
    },
}

impl<'a> Blocks<'a> {
    /// The beginning of block `i`, and its number of elements.
    #[inline]
    pub fn block(&self, i: usize) -> (Elements<'a>, usize) {
        match *self {
            Blocks::Even { elements, count } => (elements.from((i * count) as isize), count),
            Blocks::Varied { elements, counts, displacements } => {
                (elements.from(displacements.get(i)), counts.get(i) as usize)
            }
            Blocks::Typed { base, counts, displacements, layouts } => {
                (base.displaced(displacements.get(i)).laid_out(&layouts[i]), counts.get(i) as usize)
            }
        }
    }

    /// The bytes of block `i`.
    #[inline]
    pub fn buffer(&self, i: usize) -> Buffer {
        let (elements, count) = self.block(i);
        elements.buffer(0, count)
    }

    /// Packed bytes of block `i`.
    #[inline]
    pub fn bytes(&self, i: usize) -> usize {
        match self {
            Blocks::Even { elements, count } => elements.bytes(*count),
            Blocks::Varied { elements, counts, .. } => elements.bytes(counts.get(i) as usize),
            Blocks::Typed { counts, layouts, .. } => layouts[i].size() * counts.get(i) as usize,
        }
    }

    /// Packed bytes of the longest of the first `blocks` blocks.
    #[inline]
    pub fn longest(&self, blocks: usize) -> usize {
        (0..blocks).map(|i| self.bytes(i)).max().unwrap_or(0)
    }

    /// Blocks `first` to `first + blocks` as one buffer, if they follow each other evenly.
    #[inline]
    pub fn run(&self, first: usize, blocks: usize) -> Option<Buffer> {
        match self {
            Blocks::Even { elements, count } => {
                Some(elements.buffer((first * count) as isize, blocks * count))
            }
            _ if blocks == 1 => Some(self.buffer(first)),
            _ => None,
        }
    }
}
