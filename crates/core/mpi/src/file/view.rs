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
    /// True if the places of the stream's bytes go up, so that no byte of the file is shown twice.
    goes_up: bool,
    /// True if those of each copy do.
    copy_goes_up: bool,
    /// Copies of the filetype that may be used: one only, if a second would show bytes of the first
    /// again in a file that is written; none of one without bytes.
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
            goes_up: true,
            copy_goes_up: true,
            tiles_max: u64::MAX,
            run_bytes: u64::MAX,
        }
    }

    /// Checks a view that the program asks for. `MPI_ERR_ARG` for a negative displacement or a
    /// filetype that is not made of etypes; `MPI_ERR_IO` (as in MPICH) for one whose bytes are not
    /// in order (or overlap, if `writes`); `MPI_ERR_UNSUPPORTED_DATAREP`; `MPI_ERR_CONVERSION`
    /// if an extent function of the program fails.
    ///
    /// A filetype may be longer than its extent, as HDF5 makes them. Then its copies are mixed. In
    /// a file that is written, its first copy is all that accesses may use if others would show
    /// bytes of it again; so it is in any file if they would not lie behind it.
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
        let orders = (order(&shape, true), order(&shape, false));
        let (goes_up, tiles_max) = match orders {
            // No byte is shown: a process that takes part in collective accesses without any.
            _ if is_empty => (true, 0),
            (Order::Tiled, _) => (true, u64::MAX),
            (_, Order::Tiled) if !writes => (false, u64::MAX),
            (Order::Alone, _) if writes && are_apart(&shape) => (false, u64::MAX),
            (_, Order::Alone) if !writes && shape.extent() > 0 => (false, u64::MAX),
            (Order::Alone, _) => (true, 1),
            (_, Order::Alone) if !writes => (false, 1),
            _ => return Err(out_of_order(filetype, writes)),
        };
        let copy_goes_up = is_empty || orders.0 != Order::Out;
        let run_bytes = run_bytes(&shape);
        let (etype, filetype) = (etype.clone(), filetype.clone());
        Ok(View {
            displacement,
            etype,
            filetype,
            representation,
            shape,
            unit,
            goes_up,
            copy_goes_up,
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

    /// Returns whether the places of the stream's bytes go up, so that no byte is shown twice.
    pub(super) fn goes_up(&self) -> bool {
        self.goes_up
    }

    /// The view for `bytes` bytes of the stream from `start` on: of the first copy alone where it
    /// has them all, since its bytes go up though those of all copies may not.
    pub(super) fn of_access(mut self, start: u64, bytes: usize) -> View {
        let is_in_first = start.saturating_add(bytes as u64) <= self.shape.size() as u64;
        if !self.goes_up && self.copy_goes_up && is_in_first {
            (self.goes_up, self.tiles_max) = (true, 1);
        }
        self
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
        let reach = extent.max(self.shape.true_extent().1 as u64);
        let end = tiles.and_then(|tiles| {
            (tiles - 1).checked_mul(extent)?.checked_add(reach)?.checked_add(self.first()?)
        });
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

    /// The bytes that there can be of `bytes` bytes that are to be read: none in a view that shows
    /// no byte.
    pub(super) fn readable(&self, bytes: usize) -> usize {
        if self.tiles_max == 0 { 0 } else { bytes }
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

    /// The number of bytes of the stream before its first one at or behind a place in the file. If
    /// they go up, all from there on lie there.
    pub(super) fn before(&self, place: u64) -> u64 {
        self.shown_before(place).min(u64::MAX.into()) as u64
    }

    fn shown_before(&self, bytes: u64) -> u128 {
        let (size, (first, length)) = (self.shape.size(), self.shape.true_extent());
        if size == 0 {
            return 0;
        }
        let visible = self.first().map_or(0, |first| bytes.saturating_sub(first));
        // Copies before the first one that reaches as far lie before the place.
        let tiles = match visible.checked_sub(length as u64) {
            Some(beyond) if self.tiles_max > 1 => beyond / self.extent() + 1,
            _ => 0,
        };
        let rest = visible.saturating_sub(tiles.saturating_mul(self.extent()));
        let before = u128::from(tiles) * size as u128;
        if self.is_solid() {
            return before + u128::from(rest);
        }
        if self.copy_goes_up {
            return before + self.shown_in_tile(rest) as u128;
        }
        let (mut in_tile, mut is_found) = (0, false);
        self.shape.layout().for_each_run(1, 0, size, |at, len| {
            let there = rest.saturating_sub((at - first) as u64).min(len as u64);
            in_tile += if is_found { 0 } else { there };
            is_found |= there < len as u64;
        });
        before + u128::from(in_tile)
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
    /// Those of one copy do; the second one begins within the first, or before it.
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

/// Returns whether copies of a filetype show no byte twice, though they are mixed: its runs, by
/// their places in an extent, are apart from each other.
fn are_apart(filetype: &Datatype) -> bool {
    let (size, extent) = (filetype.size(), filetype.extent());
    if extent <= 0 || size > extent as usize {
        return false;
    }
    let (mut runs, extent) = (Vec::new(), extent as usize);
    filetype.layout().for_each_run(1, 0, size, |at, len| {
        let at = at as usize % extent;
        let here = len.min(extent - at);
        runs.extend([(at, here), (0, len - here)]);
    });
    runs.retain(|run| run.1 > 0);
    runs.sort_unstable();
    runs.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
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
        "its extent is less than its length, so that the second copy would show bytes of the first",
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
