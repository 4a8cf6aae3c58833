//! The number of cells and their places.
//!
//! Behind the boards of the segment each rank has a slice: the lines of its cells, its small cells,
//! its large ones. Cells are numbered over all slices, and offsets count from the first slice.

use super::segment::PAGE_BYTES;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use verbena_settings::{CMA_BYTES_MIN, Origin, SHM_CELL_BYTES_MIN, SHM_CELLS};

/// Bytes of a small cell.
const SMALL_BYTES: usize = 8 << 10;

/// Bytes of a large cell, and of the longest message that goes in one.
const LARGE_BYTES: usize = 64 << 10;

/// The most bytes of a slice by default: a stream then touches more than twice the second-level
/// cache of most processors.
const SLICE_BYTES_MAX: usize = 6 << 20;

/// The bytes of all slices of a node by default.
const NODE_BYTES_MAX: usize = 16 << 20;

/// The most cells of one size that a process keeps as hot: enough for a megabyte.
const HOT_MAX: usize = 16;

/// The line of a cell: who owns it, and how much of its message is there.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct CellLine {
    /// The owner (`cells`, `owners.rs`).
    pub(crate) owner: AtomicU32,
    /// The length of the message, which the sender writes before it hands the cell over.
    bytes: AtomicU32,
    /// Bytes of the message that are there, of one that goes in chunks.
    ready: AtomicU64,
}

impl CellLine {
    /// Bytes of the message that are there (acquire).
    #[inline]
    pub(crate) fn ready(&self) -> usize {
        self.ready.load(Acquire) as usize
    }

    /// Notes the length of the message and how much of it is there.
    #[inline]
    pub(crate) fn begin(&self, bytes: usize, ready: usize) {
        self.bytes.store(bytes as u32, Relaxed);
        self.tell_ready(ready);
    }

    /// Returns whether nobody fills the cell any more: all of the message is there.
    pub(crate) fn is_whole(&self) -> bool {
        self.ready() >= self.bytes.load(Relaxed) as usize
    }

    /// Tells how many bytes are there (release).
    #[inline]
    pub(crate) fn tell_ready(&self, bytes: usize) {
        self.ready.store(bytes as u64, Release);
    }
}

/// The size of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Small = 0,
    Large = 1,
}

impl Size {
    pub(super) const ALL: [Size; 2] = [Size::Small, Size::Large];

    /// The size for a message of this length.
    #[inline]
    pub(super) fn of_message(bytes: usize) -> Size {
        if bytes <= SMALL_BYTES { Size::Small } else { Size::Large }
    }

    #[inline]
    pub(super) fn bytes(self) -> usize {
        match self {
            Size::Small => SMALL_BYTES,
            Size::Large => LARGE_BYTES,
        }
    }
}

/// The cells of each slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CellMeasures {
    /// The number of small cells.
    pub(crate) small: u32,
    /// The number of large cells.
    pub(crate) large: u32,
}

impl CellMeasures {
    /// The measures of a node with this number of ranks: as set, or as memory allows.
    pub(crate) fn chosen(ranks: u32, free_bytes: u64) -> CellMeasures {
        match SHM_CELLS.get() {
            Some(bytes) => CellMeasures::within(bytes),
            None => CellMeasures::within(default_bytes(ranks, free_bytes)),
        }
    }

    /// Cells of `bytes` bytes in all, a third of them in small ones; none if that is less than one
    /// of each.
    pub(crate) fn within(bytes: usize) -> CellMeasures {
        let small = bytes / 3 / SMALL_BYTES;
        let large = (bytes - small * SMALL_BYTES) / LARGE_BYTES;
        match (u32::try_from(small), u32::try_from(large)) {
            (Ok(small @ 1..), Ok(large @ 1..)) => CellMeasures { small, large },
            _ => CellMeasures::default(),
        }
    }

    /// Returns whether these can be measures of a segment.
    pub(crate) fn is_sound(&self) -> bool {
        self.small < 1 << 20 && self.large < 1 << 20
    }

    #[inline]
    pub(super) fn count(&self, size: Size) -> u32 {
        match size {
            Size::Small => self.small,
            Size::Large => self.large,
        }
    }

    /// The cells of a slice.
    #[inline]
    fn all(&self) -> u32 {
        self.small + self.large
    }

    /// The bytes of a slice's cells.
    pub(super) fn bytes(&self) -> usize {
        self.small as usize * SMALL_BYTES + self.large as usize * LARGE_BYTES
    }

    /// The bytes of the lines of a slice, whole pages.
    fn line_bytes(&self) -> usize {
        (self.all() as usize * size_of::<CellLine>()).next_multiple_of(PAGE_BYTES)
    }

    /// The bytes of a slice.
    pub(crate) fn slice_bytes(&self) -> usize {
        if self.all() == 0 { 0 } else { self.line_bytes() + self.bytes() }
    }

    /// The number of a cell.
    #[inline]
    pub(super) fn number(&self, home: u32, size: Size, index: u32) -> u32 {
        let before = if size == Size::Small { 0 } else { self.small };
        home * self.all() + before + index
    }

    /// The size of a cell that exists.
    #[inline]
    pub(super) fn size_of(&self, number: u32) -> Size {
        if number % self.all() < self.small { Size::Small } else { Size::Large }
    }

    fn slice_at(&self, home: u32) -> usize {
        home as usize * self.slice_bytes()
    }

    /// The home of a cell and its place there; `None` if there is no such cell among `ranks`
    /// slices.
    #[inline]
    fn place(&self, number: u32, ranks: u32) -> Option<(u32, u32)> {
        let home = number.checked_div(self.all())?;
        (home < ranks).then(|| (home, number % self.all()))
    }

    /// The place of the lines of a rank's cells, and their bytes.
    pub(super) fn lines_of(&self, home: u32) -> (usize, usize) {
        (self.slice_at(home), self.line_bytes())
    }

    /// The place of a cell's line; `None` if there is no such cell.
    #[inline]
    pub(super) fn line_at(&self, number: u32, ranks: u32) -> Option<usize> {
        let (home, index) = self.place(number, ranks)?;
        Some(self.slice_at(home) + index as usize * size_of::<CellLine>())
    }

    /// The place of a cell, and its bytes; `None` if there is no such cell.
    #[inline]
    pub(super) fn cell_at(&self, number: u32, ranks: u32) -> Option<(usize, usize)> {
        let (home, index) = self.place(number, ranks)?;
        let large = index.saturating_sub(self.small) as usize;
        let before = index.min(self.small) as usize * SMALL_BYTES + large * LARGE_BYTES;
        Some((self.slice_at(home) + self.line_bytes() + before, self.size_of(number).bytes()))
    }
}

/// The bytes of a slice by default: as many as a rank of a small node can use, a share of what all
/// ranks of a larger one may, and at most an eighth of the memory that is free.
fn default_bytes(ranks: u32, free_bytes: u64) -> usize {
    let affordable = usize::try_from(free_bytes / 8 / u64::from(ranks)).unwrap_or(usize::MAX);
    SLICE_BYTES_MAX.min(NODE_BYTES_MAX / ranks as usize).min(affordable)
}

/// The most cells of a size that a process keeps, where each slice has `count` of them: all others
/// together hold at most half of a slice.
pub(super) fn hot_max(count: u32, ranks: u32) -> usize {
    (count as usize / 2 / (ranks as usize - 1).max(1)).min(HOT_MAX)
}

/// The lengths of messages that go in cells, the shortest and the longest; from 1 to 0 if none do.
/// Where it was set from which length on the kernel copies, longer ones do not.
pub(super) fn message_bytes(cells: CellMeasures) -> (usize, usize) {
    if cells.all() == 0 {
        return (1, 0);
    }
    let by_kernel = (CMA_BYTES_MIN.origin() != Origin::Default).then(|| CMA_BYTES_MIN.get());
    (SHM_CELL_BYTES_MIN.get(), by_kernel.map_or(LARGE_BYTES, |bytes| LARGE_BYTES.min(bytes - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_follow_ranks_and_free_memory() {
        let bytes = |ranks| default_bytes(ranks, u64::MAX);
        assert_eq!([2, 4, 8, 64].map(bytes), [6 << 20, 4 << 20, 2 << 20, 256 << 10]);
        assert_eq!(default_bytes(2, 16 << 20), 1 << 20);
        assert_eq!(CellMeasures::within(6 << 20), CellMeasures { small: 256, large: 64 });
        assert_eq!(CellMeasures::within(256 << 10), CellMeasures { small: 10, large: 2 });
        assert_eq!(CellMeasures::within(70_000), CellMeasures::default());
        assert_eq!(CellMeasures::within(0).slice_bytes(), 0);
    }

    #[test]
    fn others_hold_at_most_half_of_a_slice() {
        for (count, ranks) in [(64, 2), (256, 2), (64, 4), (21, 8), (2, 64), (0, 2), (5, 1)] {
            assert!(hot_max(count, ranks) * (ranks as usize - 1) * 2 <= count as usize || ranks == 1);
        }
        assert_eq!((hot_max(64, 2), hot_max(2, 64)), (16, 0));
    }

    #[test]
    fn cells_and_lines_lie_apart_and_within_the_segment() {
        let cells = CellMeasures { small: 10, large: 2 };
        let mut spans: Vec<(usize, usize)> = (0..3).map(|home| cells.lines_of(home)).collect();
        spans.extend((0..36).filter_map(|number| cells.cell_at(number, 3)));
        assert_eq!(spans.len(), 39);
        spans.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0));
        assert_eq!((spans[0].0, spans[38].0 + spans[38].1), (0, 3 * cells.slice_bytes()));
        for number in [36, u32::MAX] {
            assert_eq!((cells.cell_at(number, 3), cells.line_at(number, 3)), (None, None));
        }
        for number in 0..36 {
            let (at, len) = cells.lines_of(number / 12);
            let line = cells.line_at(number, 3).unwrap();
            assert!(line >= at && line + size_of::<CellLine>() <= at + len);
        }
        let of_number = |home, size, index| {
            let number = cells.number(home, size, index);
            (cells.size_of(number), cells.cell_at(number, 3).unwrap().1)
        };
        assert_eq!(of_number(2, Size::Small, 9), (Size::Small, SMALL_BYTES));
        assert_eq!(of_number(1, Size::Large, 0), (Size::Large, LARGE_BYTES));
        let none = CellMeasures::default();
        assert_eq!((none.cell_at(0, 3), none.line_at(0, 3)), (None, None));
    }
}
