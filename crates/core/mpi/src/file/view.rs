//! Views: which bytes of a file a process sees, and in which units it counts them (MPI-5.0, 14.3).
//!
//! The visible bytes form a *stream*: those of the filetype's copies, tiled from the displacement
//! on. The program's offsets count etypes of the stream; here offsets are bytes of it.

use super::fault::bad_value;
use super::representation::Representation;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::sync::Arc;

/// A view.
#[derive(Clone)]
pub struct View {
    /// The first byte of the first filetype.
    pub displacement: u64,
    /// The unit of offsets.
    pub etype: Arc<Datatype>,
    /// The type that says which bytes are visible.
    pub filetype: Arc<Datatype>,
    /// The form of elements in the file.
    pub representation: Representation,
    /// The filetype as it lies in the file.
    shape: Arc<Datatype>,
    /// Bytes of an etype in the file.
    unit: u64,
    /// True if no byte of the file is shown twice.
    is_distinct: bool,
    /// Copies of the filetype that may be used: one only, if a second would lie within the first;
    /// none of one without bytes.
    tiles_max: u64,
    /// Bytes of a run of bytes side by side, on average.
    run_bytes: u64,
}

impl View {
    /// The view with which every file begins: all bytes from the first on.
    pub fn bytes() -> View {
        let byte = Datatype::predefined(mpi::MPI_BYTE).expect("MPI_BYTE is predefined");
        View {
            displacement: 0,
            etype: byte.clone(),
            filetype: byte.clone(),
            representation: Representation::Native,
            shape: byte.clone(),
            unit: 1,
            is_distinct: true,
            tiles_max: u64::MAX,
            run_bytes: u64::MAX,
        }
    }

    /// Checks a view that the program asks for. `MPI_ERR_ARG` for a negative displacement or a
    /// filetype that is not made of etypes; `MPI_ERR_IO` (as in MPICH) for one whose bytes are not
    /// in order (or overlap, if `writes`); `MPI_ERR_UNSUPPORTED_DATAREP`; the code of an extent
    /// function of the program.
    ///
    /// A filetype may be longer than its extent, as HDF5 makes them: then its first copy is all
    /// that accesses may use, where the next one would not lie behind it.
    pub fn new(
        displacement: i64,
        etype: &Arc<Datatype>,
        filetype: &Arc<Datatype>,
        representation: &[u8],
        writes: bool,
    ) -> Result<View> {
        let displacement = u64::try_from(displacement)
            .map_err(|_| bad_value("displacement", displacement, "pass 0 or more bytes"))?;
        if etype.size() == 0 || !filetype.size().is_multiple_of(etype.size()) {
            return Err(not_of_etypes(etype, filetype));
        }
        let representation = Representation::named(representation)?;
        let (shape, unit) = (representation.shape(filetype)?, representation.bytes(etype)? as u64);
        let is_empty = filetype.size() == 0;
        if unit == 0 || (shape.size() == 0) != is_empty || !(shape.size() as u64).is_multiple_of(unit) {
            return Err(not_of_etypes(etype, filetype));
        }
        let (is_distinct, tiles_max) = match (order(&shape, true), order(&shape, false)) {
            // No byte is shown: a process that takes part in collective accesses without any.
            _ if is_empty => (true, 0),
            (Order::Tiled, _) => (true, u64::MAX),
            (_, Order::Tiled) if !writes => (false, u64::MAX),
            (Order::Alone, _) => (true, 1),
            (_, Order::Alone) if !writes => (false, 1),
            _ => return Err(out_of_order(filetype, writes)),
        };
        let run_bytes = run_bytes(&shape);
        let (etype, filetype) = (etype.clone(), filetype.clone());
        Ok(View {
            displacement,
            etype,
            filetype,
            representation,
            shape,
            unit,
            is_distinct,
            tiles_max,
            run_bytes,
        })
    }

    /// Bytes of an etype in the file.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// The number of copies of the filetype that accesses may use: all, one or none.
    pub fn copies_max(&self) -> u64 {
        self.tiles_max
    }

    /// Returns whether no byte of the file is shown twice.
    pub(super) fn is_distinct(&self) -> bool {
        self.is_distinct
    }

    /// Bytes of a run of visible bytes side by side, on average.
    pub(super) fn run_bytes(&self) -> u64 {
        self.run_bytes
    }

    /// Returns whether the visible bytes lie side by side, whatever their number.
    pub(super) fn is_solid(&self) -> bool {
        self.shape.layout().solid() > 0
    }

    /// The first byte in the stream of this offset in etypes; `MPI_ERR_ARG` if it is negative or
    /// too large.
    pub fn start(&self, offset: i64) -> Result<u64> {
        let start = u64::try_from(offset).ok().and_then(|offset| offset.checked_mul(self.unit));
        start.ok_or_else(|| bad_value("offset", offset, "pass an offset of 0 or more etypes"))
    }

    /// Calls `each` with the place in the file and the length of every run of `len` bytes of the
    /// stream from `start` on. `MPI_ERR_ARG` if they would lie beyond the largest file, or in a
    /// second copy of a filetype that has one only, or if the view shows no byte.
    pub fn for_each_run(&self, start: u64, len: usize, mut each: impl FnMut(u64, usize)) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let (size, extent) = (self.shape.size() as u64, self.extent());
        if size == 0 {
            return Err(no_bytes());
        }
        let tiles = start.checked_add(len as u64).map(|end| end.div_ceil(size));
        if tiles.is_some_and(|tiles| tiles > self.tiles_max) {
            return Err(no_second_copy(&self.filetype));
        }
        let end = tiles.and_then(|tiles| tiles.checked_mul(extent)?.checked_add(self.first()?));
        if end.is_none_or(|end| end > i64::MAX as u64) {
            return Err(bad_value("offset", start as i64, "stay below the largest size of a file"));
        }
        // Whole tiles before the first are left out, so that a long stream does not matter.
        let base = self.displacement + start / size * extent;
        let (first, count) = ((start % size) as usize, tiles.unwrap_or(0) - start / size);
        let layout = self.shape.layout();
        layout.for_each_run(count as usize, first, len, |at, len| each(base + at as u64, len));
        Ok(())
    }

    /// The bytes of the stream, if it has an end: where the filetype has one copy or no byte.
    fn last(&self) -> Option<u64> {
        let copies = (self.tiles_max < u64::MAX).then_some(self.tiles_max);
        copies.map(|copies| copies * self.shape.size() as u64)
    }

    /// The bytes that there can be from `start` on of `bytes` bytes that are to be read.
    pub(super) fn readable(&self, start: u64, bytes: usize) -> usize {
        let left = self.last().map_or(u64::MAX, |last| last.saturating_sub(start));
        left.min(bytes as u64) as usize
    }

    /// The place in the file of byte `start` of the stream; of its end that behind its last byte.
    pub fn place(&self, start: u64) -> Result<u64> {
        match self.last() {
            Some(0) if start == 0 => return Ok(self.displacement),
            Some(last) if start == last && last > 0 => return self.place(start - 1).map(|place| place + 1),
            _ => {}
        }
        let mut place = self.displacement;
        self.for_each_run(start, 1, |at, _| place = at)?;
        Ok(place)
    }

    /// The distance in bytes of a copy of the filetype from the one before it; where there is one
    /// only, its length, which may be more than its extent.
    fn extent(&self) -> u64 {
        if self.tiles_max == 1 { self.shape.true_extent().1 as u64 } else { self.shape.extent() as u64 }
    }

    /// The first visible byte of the file; `None` if it lies beyond all numbers.
    fn first(&self) -> Option<u64> {
        self.displacement.checked_add_signed(self.shape.true_extent().0 as i64)
    }

    /// The end of the stream of a file of `bytes` bytes, rounded up to whole etypes; no more than
    /// an `i64` can count.
    pub fn end(&self, bytes: u64) -> u64 {
        let unit = u128::from(self.unit);
        self.shown_before(bytes).next_multiple_of(unit).min(i64::MAX as u128 / unit * unit) as u64
    }

    /// The number of bytes of the stream that lie before a place in the file. In a view that shows
    /// each byte once, the stream's bytes from there on are those that lie at or behind it.
    pub(super) fn before(&self, place: u64) -> u64 {
        self.shown_before(place).min(u64::MAX.into()) as u64
    }

    fn shown_before(&self, bytes: u64) -> u128 {
        let (size, extent) = (self.shape.size(), self.extent());
        let (first, _) = self.shape.true_extent();
        let visible = self.first().map_or(0, |first| bytes.saturating_sub(first));
        if size == 0 || extent == 0 {
            return 0;
        }
        let tiles = if self.tiles_max == 1 { 0 } else { visible / extent };
        let rest = visible - tiles * extent;
        // Tiles that overlap show a byte more than once, so the stream may be longer than the
        // largest file.
        let mut end = u128::from(tiles) * size as u128;
        if self.is_solid() {
            return end + u128::from(rest);
        }
        if self.is_distinct {
            return end + self.shown_in_tile(rest) as u128;
        }
        self.shape.layout().for_each_run(1, 0, size, |at, len| {
            end += u128::from(rest.saturating_sub((at - first) as u64).min(len as u64));
        });
        end
    }
}

impl View {
    /// The number of bytes of a copy of the filetype that lie before a distance from its first one.
    /// They go up, so that it is found by halving, however many runs there are.
    fn shown_in_tile(&self, distance: u64) -> usize {
        let (first, layout) = (self.shape.true_extent().0, self.shape.layout());
        let (mut low, mut high) = (0, self.shape.size());
        while low < high {
            let middle = low + (high - low) / 2;
            let mut place = 0;
            layout.for_each_run(1, middle, 1, |at, _| place = (at - first) as u64);
            match place < distance {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

/// The order of the runs of a filetype and of its copies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// They go up from 0 on, as the standard asks (14.3), those of the copies too.
    Tiled,
    /// Those of one copy do; the second one would begin within the first.
    Alone,
    /// They do not.
    Out,
}

/// Returns the order of a filetype's runs; they may not overlap either if the file is written.
fn order(filetype: &Datatype, writes: bool) -> Order {
    let (size, first) = (filetype.size(), filetype.true_extent().0);
    let (mut last, mut ascending) = (0, true);
    filetype.layout().for_each_run(1, 0, size, |at, len| {
        ascending &= at >= last;
        last = if writes { at + len as isize } else { at };
    });
    match ascending {
        false => Order::Out,
        true if filetype.extent() >= (last - first).max(1) => Order::Tiled,
        true => Order::Alone,
    }
}

/// Bytes of a run of a filetype, on average.
fn run_bytes(filetype: &Datatype) -> u64 {
    let layout = filetype.layout();
    if layout.solid() > 0 {
        return u64::MAX;
    }
    let mut runs = 0;
    layout.for_each_run(1, 0, filetype.size(), |_, _| runs += 1);
    filetype.size() as u64 / runs.max(1)
}

#[cold]
fn not_of_etypes(etype: &Datatype, filetype: &Datatype) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "these datatypes make no view of a file",
        format!("an etype of {} bytes, a filetype of {}", etype.size(), filetype.size()),
        "the filetype is not made of etypes, or the etype is empty",
        "make the filetype of whole etypes",
    )
}

#[cold]
fn no_bytes() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the access is of a view that shows no byte",
        "a filetype of 0 bytes",
        "a process that has nothing to read or write set this view",
        "pass a count of 0, or set a view of some bytes first",
    )
}

#[cold]
fn no_second_copy(filetype: &Datatype) -> Error {
    let (low, length) = filetype.true_extent();
    Error::new(
        mpi::MPI_ERR_ARG,
        "the access reaches beyond the first copy of a view's filetype",
        format!("a filetype from {low} to {}, extent {}", low + length, filetype.extent()),
        "its extent is less than its length, so that the second copy would lie within the first",
        "stay within one filetype, or give it an extent that holds it whole (MPI_Type_create_resized)",
    )
}

#[cold]
fn out_of_order(filetype: &Datatype, writes: bool) -> Error {
    let (low, length) = filetype.true_extent();
    let overlap = if writes { ", or elements overlap in a file that is written" } else { "" };
    Error::new(
        mpi::MPI_ERR_IO,
        "the filetype of a view is not in the order of the file",
        format!(
            "a filetype of {} bytes from {low} to {}, extent {}",
            filetype.size(),
            low + length,
            filetype.extent()
        ),
        format!("displacements are negative or go down{overlap}"),
        "make the filetype in ascending order from 0 on",
    )
}
