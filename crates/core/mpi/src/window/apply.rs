//! Accumulate calls on the memory of a target (MPI-5.0, 12.3.4 to 12.3.6), carried out by an origin
//! that has the memory mapped or that the kernel copies for, or by the target itself.
//!
//! Each predefined element changes at once (12.7). The target's [`Domain`] says how, and it must be
//! the same for all who do it:
//!
//! - *Processor*, if all have the memory mapped: an aligned integer of 1, 2, 4 or 8 bytes by a
//!   processor's atomic, any other element under its stripe, and a long row of such elements under
//!   one stripe after another.
//! - *Locked*: all elements under their stripes.
//!
//! Which of the two an element gets depends on its sort and its address modulo a page, so all
//! agree. They agree on its stripe too: by its place in the target's memory if all have that
//! mapped, else by its address modulo a page.

mod single;
#[cfg(test)]
mod tests;

pub use single::{compare_and_swap, compare_and_swap_word, fetch_and_op, fetch_word, width_to_compare};

use super::stripe::{Extent, Held, Holding, Stripes};
use crate::datatype::{Basic, Datatype, Element};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::op::change::Change;
use crate::op::{Builtin, Op};
use std::ops::Range;
use std::sync::Arc;
use verbena_memory::Region;
use verbena_memory::scratch::Scratch;

/// Bytes of a granule where all know an element's place in the target's memory: long rows take few
/// stripes, and two origins can be in one row.
const GRANULE_BYTES: u64 = 4096;
/// Bytes of a granule where all know an element's address modulo a page of 4 KiB only.
const GRANULE_BYTES_IN_PAGE: u64 = 256;

/// The most bytes of memory that is not mapped here, with those between them, that are copied while
/// their stripes are held.
const COPIED_BYTES_MAX: usize = 16 << 10;
/// The most pieces that are copied so. Each takes the kernel some 0.3 us.
const COPIED_PIECES_MAX: usize = 256;

/// The memory of a target, as far as a window exposes it.
pub trait TargetMemory {
    /// Fills `into` from place `at` on.
    ///
    /// # Errors
    /// The memory cannot be reached.
    fn read(&self, at: u64, into: Region) -> Result<()>;

    /// Copies `from` to place `at`.
    ///
    /// # Errors
    /// The memory cannot be reached.
    fn write(&self, at: u64, from: Region) -> Result<()>;

    /// Fills `into` from these pieces, place and length, one after the other.
    ///
    /// # Errors
    /// The memory cannot be reached.
    fn read_pieces(&self, pieces: &[(u64, usize)], into: Region) -> Result<()> {
        each_piece(pieces, into, |at, part| self.read(at, part))
    }

    /// Copies `from` to these pieces, one after the other.
    ///
    /// # Errors
    /// The memory cannot be reached.
    fn write_pieces(&self, pieces: &[(u64, usize)], from: Region) -> Result<()> {
        each_piece(pieces, from, |at, part| self.write(at, part))
    }

    /// The memory, if it is mapped here. Its places are then offsets, else they are addresses of
    /// the target.
    fn region(&self) -> Option<Region>;
}

/// Memory that is mapped here.
impl TargetMemory for Region {
    fn read(&self, at: u64, into: Region) -> Result<()> {
        into.put(0, self.part(at as usize, into.len()));
        Ok(())
    }

    fn write(&self, at: u64, from: Region) -> Result<()> {
        self.put(at as usize, from);
        Ok(())
    }

    fn region(&self) -> Option<Region> {
        Some(*self)
    }
}

/// The way in which elements of a target change at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// A processor's atomic where there is one, else the element's stripe.
    Processor,
    /// Always the element's stripe.
    Locked,
}

/// The means to change elements of a target at once.
#[derive(Clone, Copy)]
pub struct Guard<'a> {
    /// The target's domain.
    pub domain: Domain,
    /// The target's stripes.
    pub stripes: Stripes<'a>,
}

impl Guard<'_> {
    /// The bytes from place `at` of the memory on, as the stripes count them.
    #[inline]
    fn extent(&self, memory: Option<Region>, at: u64, bytes: u64) -> Extent {
        match self.domain {
            Domain::Processor => Extent { position: at, bytes, granule_bytes: GRANULE_BYTES },
            Domain::Locked => {
                let position = memory.map_or(at, |region| region.address().wrapping_add(at));
                Extent { position, bytes, granule_bytes: GRANULE_BYTES_IN_PAGE }
            }
        }
    }

    /// Keeps others from these bytes until what is returned goes.
    #[inline]
    fn hold(&self, memory: Option<Region>, at: u64, bytes: u64) -> Held<'_> {
        self.stripes.hold(self.extent(memory, at, bytes))
    }
}

/// The elements of a target that an operation changes.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The memory that they lie in.
    pub memory: &'a dyn TargetMemory,
    /// The place of the first element's origin.
    pub at: i64,
    /// The number of elements.
    pub count: usize,
    /// The datatype of each.
    pub datatype: &'a Arc<Datatype>,
    /// The means to change them at once.
    pub guard: &'a Guard<'a>,
}

/// Changes the target's elements by `source`, the origin's packed elements (of which `MPI_NO_OP`
/// has none). `former` gets what was there, packed.
///
/// # Errors
/// `MPI_ERR_OP` if the operation is not defined for the datatype, `MPI_ERR_RMA_RANGE` if elements
/// lie outside of the memory, `MPI_ERR_TYPE` if there are not as many packed bytes as elements; the
/// errors of the memory.
#[inline]
pub fn accumulate(
    op: &Op,
    target: &Target<'_>,
    source: Option<Region>,
    former: Option<Region>,
) -> Result<()> {
    if let Some(region) = target.memory.region()
        && let (Some(basic), Ok(at)) = (target.datatype.as_basic(), usize::try_from(target.at))
        && accumulate_row(op, (region, at), (target.count, basic), (source, former), target.guard)
    {
        return Ok(());
    }
    let bytes = target.datatype.size().checked_mul(target.count);
    accumulate_part(op, target, 0..bytes.unwrap_or(usize::MAX), source, former)
}

/// Changes elements of a basic datatype, side by side, in memory that is changed wherever it is
/// mapped. `source` are the origin's elements, `former` is room for the former ones, packed. False,
/// without a change, if they are others or anything is wrong.
#[inline]
pub fn accumulate_row(
    op: &Op,
    (region, at): (Region, usize),
    (count, basic): (usize, &'static Basic),
    (source, former): (Option<Region>, Option<Region>),
    guard: &Guard<'_>,
) -> bool {
    let change = op.builtin().and_then(|op| Change::new(op, Element::Basic(basic)));
    let Some(change) = change.filter(|_| guard.domain == Domain::Processor) else { return false };
    let source = if change.takes_input() { source } else { Some(Region::EMPTY) };
    let Some((source, bytes)) = source.zip(change.width().checked_mul(count)) else { return false };
    let fits = |operand: Region| operand.len() == bytes;
    if at.checked_add(bytes).is_none_or(|end| end > region.len())
        || (change.takes_input() && !fits(source))
        || !former.is_none_or(fits)
    {
        return false;
    }
    if change.is_word(region, at) {
        change.at_once(source, region.part(at, bytes), former);
    } else {
        let mut holding = Holding::new(&guard.stripes);
        under_stripes(&change, (region, at, bytes), (source, former), guard, &mut holding);
    }
    true
}

/// Changes elements that lie side by side in mapped memory, `bytes` bytes from `at` on: a piece
/// under a stripe at a time. `source`, unless it is empty, and `former` are as long.
fn under_stripes(
    change: &Change,
    (region, at, bytes): (Region, usize, usize),
    (source, former): (Region, Option<Region>),
    guard: &Guard<'_>,
    holding: &mut Holding<'_>,
) {
    let mut done = 0;
    while done < bytes {
        let rest = guard.extent(Some(region), (at + done) as u64, (bytes - done) as u64);
        let len = piece(&rest, change.width());
        holding.cover(Extent { bytes: len as u64, ..rest });
        let source = if source.is_empty() { source } else { source.part(done, len) };
        change.plainly(source, region.part(at + done, len), former.map(|former| former.part(done, len)));
        done += len;
    }
}

/// Changes some of the target's elements, of any sort: those in this range of their packed bytes,
/// which begins and ends where predefined elements do. `source` and `former` are as long.
///
/// # Errors
/// The errors of [`accumulate`].
pub fn accumulate_part(
    op: &Op,
    target: &Target<'_>,
    range: Range<usize>,
    source: Option<Region>,
    former: Option<Region>,
) -> Result<()> {
    op.check_accumulate(target.datatype)?;
    let (Some(op), true) = (op.builtin(), target.check()?) else { return Ok(()) };
    let bytes = range.len();
    if source.is_none() && op != Builtin::NoOp {
        return Err(mismatch(0, bytes));
    }
    for operand in [source.filter(|_| op != Builtin::NoOp), former].into_iter().flatten() {
        if operand.len() != bytes {
            return Err(mismatch(operand.len(), bytes));
        }
    }
    let (source, scratch) = (source.unwrap_or(Region::EMPTY), Scratch::default());
    let holding = Holding::new(&target.guard.stripes);
    let mut work = Work { target, first: range.start, source, former, scratch, holding };
    match target.datatype.element() {
        Some(element) => work.stretch(op, element, range.start, bytes),
        None => work.several_sorts(op, range),
    }
}

impl Target<'_> {
    /// Returns whether there are bytes. An error if they are not all exposed.
    fn check(&self) -> Result<bool> {
        let (low, high) = self.datatype.span(self.count)?;
        let first = self.at.checked_add(low as i64).filter(|&first| first >= 0);
        let end = self.at.checked_add(high as i64);
        let room = self.memory.region().map_or(i64::MAX, |region| region.len() as i64);
        match (first, end) {
            (Some(_), Some(end)) if end <= room => Ok(high > low),
            _ if high == low => Ok(false),
            _ => Err(out_of_range(self.at, (low, high), room)),
        }
    }
}

/// One call's work.
struct Work<'a> {
    target: &'a Target<'a>,
    /// The packed offset of the first byte of the origin's elements and of the former ones.
    first: usize,
    source: Region,
    former: Option<Region>,
    /// Room for elements of memory that is not mapped here.
    scratch: Scratch,
    /// The stripes of the last run in mapped memory.
    holding: Holding<'a>,
}

/// A run of elements in the memory: its place, the packed offset of its first byte, its bytes.
#[derive(Clone, Copy)]
struct Run {
    at: u64,
    packed: usize,
    len: usize,
}

impl Run {
    fn part(&self, first: usize, len: usize) -> Run {
        Run { at: self.at + first as u64, packed: self.packed + first, len }
    }
}

impl Work<'_> {
    /// Changes elements of several sorts, which only `MPI_REPLACE` and `MPI_NO_OP` may. Pairs among
    /// them count as two elements.
    fn several_sorts(&mut self, op: Builtin, range: Range<usize>) -> Result<()> {
        let datatype = self.target.datatype;
        let size = datatype.size().max(1);
        for packed in (range.start / size * size..range.end).step_by(size) {
            let part = range.start.saturating_sub(packed)..(range.end - packed).min(size);
            datatype.signature().for_each_in(&part, &mut |basic, bytes| {
                self.stretch(op, Element::Basic(basic), packed + bytes.start, bytes.len())
            })?;
        }
        Ok(())
    }

    /// Changes elements of one sort: `len` packed bytes from `first` on.
    fn stretch(&mut self, op: Builtin, element: Element, first: usize, len: usize) -> Result<()> {
        let change = Change::new(op, element);
        let change = change.ok_or_else(|| Op::of(op).undefined(self.target.datatype))?;
        if matches!(element, Element::Pair(pair) if pair.index_at != pair.value.size()) {
            return self.split_elements(&change, first, len);
        }
        let Some(region) = self.target.memory.region() else {
            return self.stretch_elsewhere(&change, first, len);
        };
        let (target, mut packed) = (self.target, first);
        target.datatype.layout().for_each_run(target.count, first, len, |at, len| {
            let run = Run { at: target.at.wrapping_add(at as i64) as u64, packed, len };
            packed += len;
            self.run(&change, region, run);
        });
        Ok(())
    }

    /// Changes whole elements of mapped memory, which lie side by side.
    #[inline]
    fn run(&mut self, change: &Change, region: Region, run: Run) {
        let guard = self.target.guard;
        let at = run.at as usize;
        let operands = self.operands(change, run);
        if guard.domain == Domain::Processor && change.is_word(region, at) {
            change.at_once(operands.0, region.part(at, run.len), operands.1);
        } else {
            under_stripes(change, (region, at, run.len), operands, guard, &mut self.holding);
        }
    }

    /// Changes elements of memory that is not mapped here: as many at once as lie near each other.
    fn stretch_elsewhere(&mut self, change: &Change, first: usize, len: usize) -> Result<()> {
        let (target, mut packed, mut outcome) = (self.target, first, Ok(()));
        let (mut pieces, mut all) = (Vec::new(), Run { at: 0, packed: first, len: 0 });
        let step = COPIED_BYTES_MAX / change.width() * change.width();
        target.datatype.layout().for_each_run(target.count, first, len, |at, len| {
            let run = Run { at: target.at.wrapping_add(at as i64) as u64, packed, len };
            packed += len;
            for first in (0..len).step_by(step) {
                let part = run.part(first, step.min(len - first));
                if !takes(&pieces, part) && outcome.is_ok() {
                    outcome = self.in_pieces(change, &pieces, all);
                    pieces.clear();
                }
                if pieces.is_empty() {
                    all = Run { len: 0, ..part };
                }
                pieces.push((part.at, part.len));
                all.len += part.len;
            }
        });
        match pieces.is_empty() {
            true => outcome,
            false => outcome.and_then(|()| self.in_pieces(change, &pieces, all)),
        }
    }

    /// Changes elements whose bytes do not lie side by side (`MPI_SHORT_INT`), one after another.
    fn split_elements(&mut self, change: &Change, first: usize, len: usize) -> Result<()> {
        let (target, mut pieces) = (self.target, Vec::new());
        for packed in (first..first + len).step_by(change.width()) {
            pieces.clear();
            target.datatype.layout().for_each_run(target.count, packed, change.width(), |at, len| {
                pieces.push((target.at.wrapping_add(at as i64) as u64, len));
            });
            self.in_pieces(change, &pieces, Run { at: 0, packed, len: change.width() })?;
        }
        Ok(())
    }

    /// Changes elements that lie in these pieces: place and length. It copies them, and copies back
    /// what they became.
    fn in_pieces(&mut self, change: &Change, pieces: &[(u64, usize)], run: Run) -> Result<()> {
        let Target { memory, guard, .. } = self.target;
        let low = pieces.iter().map(|piece| piece.0).min().unwrap_or(0);
        let high = pieces.iter().map(|piece| piece.0 + piece.1 as u64).max().unwrap_or(0);
        self.scratch.clear();
        let copy = self.scratch.take(run.len);
        let (source, former) = self.operands(change, run);
        self.holding.release();
        let _held = guard.hold(memory.region(), low, high - low);
        if change.takes_target() || former.is_some() {
            memory.read_pieces(pieces, copy)?;
        }
        change.plainly(source, copy, former);
        if change.takes_input() {
            memory.write_pieces(pieces, copy)?;
        }
        Ok(())
    }

    /// The origin's elements and the room for the former ones of a run.
    #[inline]
    fn operands(&self, change: &Change, run: Run) -> (Region, Option<Region>) {
        let part = |region: Region| region.part(run.packed - self.first, run.len);
        let source = if change.takes_input() { part(self.source) } else { Region::EMPTY };
        (source, self.former.map(part))
    }
}

/// Returns whether a run may be changed together with these pieces, which lie before it. Elements
/// that lie in one place change one after another.
fn takes(pieces: &[(u64, usize)], run: Run) -> bool {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return true };
    pieces.len() < COPIED_PIECES_MAX
        && run.at >= last.0 + last.1 as u64
        && run.at + run.len as u64 - first.0 <= COPIED_BYTES_MAX as u64
}

/// Calls `each` with the place and the packed bytes of each piece.
fn each_piece(
    pieces: &[(u64, usize)],
    packed: Region,
    mut each: impl FnMut(u64, Region) -> Result<()>,
) -> Result<()> {
    let mut first = 0;
    pieces.iter().try_for_each(|&(at, len)| {
        first += len;
        each(at, packed.part(first - len, len))
    })
}

/// The bytes at the beginning of `rest` that are changed under one stripe: whole elements up to the
/// granule's end, or one that lies across it.
#[inline]
fn piece(rest: &Extent, width: usize) -> usize {
    let room = (rest.granule_bytes - rest.position % rest.granule_bytes) as usize;
    (room / width * width).max(width).min(rest.bytes as usize)
}

#[cold]
fn out_of_range(at: i64, (low, high): (isize, isize), room: i64) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_RANGE,
        "the target's elements lie outside of its memory",
        format!("bytes {low} to {high} of place {at}, in memory of {room} bytes"),
        "the displacement, the count or the datatype is wrong",
        "check them against the size and the displacement unit of the target's window",
    )
}

#[cold]
fn mismatch(given: usize, bytes: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_TYPE,
        "the origin's elements are not as many bytes as the target's",
        format!("{given} packed bytes at the origin, {bytes} at the target"),
        "the counts or the datatypes of origin and target differ",
        "describe the same basic elements on both sides",
    )
}
