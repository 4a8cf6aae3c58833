//! The calls on one element: `MPI_Fetch_and_op` and `MPI_Compare_and_swap`.

use super::{Domain, Guard, Target, TargetMemory, accumulate, mismatch};
use crate::datatype::{Basic, Datatype, Family};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::op::{Builtin, Op};
use std::sync::Arc;
use verbena_memory::Region;
use verbena_memory::atomic::{Native, WORD_BYTES_MAX};

/// The widest element that may be compared and swapped, in bytes.
const ELEMENT_BYTES_MAX: usize = 16;

/// Changes one element at offset `at` of mapped memory by `origin`, which `MPI_NO_OP` does not
/// read. `former` gets what was there (`MPI_Fetch_and_op`).
///
/// # Errors
/// The errors of [`accumulate`].
#[inline]
pub fn fetch_and_op(
    op: &Op,
    memory: Region,
    at: usize,
    datatype: &Arc<Datatype>,
    origin: Region,
    former: Region,
    guard: &Guard<'_>,
) -> Result<()> {
    if guard.domain == Domain::Processor && fetch_word(op, (memory, at), datatype, (origin, former)) {
        return Ok(());
    }
    let target = Target { memory: &memory, at: at as i64, count: 1, datatype, guard };
    accumulate(op, &target, Some(origin), Some(former))
}

/// Does [`fetch_and_op`] for an aligned integer of 4 or 8 bytes, by one instruction, where the
/// domain is [`Domain::Processor`]. False, without a change, if it is none, if there is no such
/// instruction, or if anything is wrong.
#[inline(always)]
pub fn fetch_word(
    op: &Op,
    (memory, at): (Region, usize),
    datatype: &Datatype,
    (origin, former): (Region, Region),
) -> bool {
    let (Some(op), Some(basic)) = (op.builtin(), datatype.as_basic()) else { return false };
    let integer = matches!(basic.family, Family::CInteger | Family::FortranInteger | Family::MultiLanguage);
    integer
        && match basic.size() {
            8 => fetch_wide(op, memory, at, 8, (origin, former)),
            4 => fetch_wide(op, memory, at, 4, (origin, former)),
            _ => false,
        }
}

#[inline(always)]
fn fetch_wide(
    op: Builtin,
    memory: Region,
    at: usize,
    width: usize,
    (origin, former): (Region, Region),
) -> bool {
    if !is_word(memory, at, width) || former.len() < width || (origin.len() < width && op != Builtin::NoOp) {
        return false;
    }
    let fetch = |native, value| memory.fetch(native, at, width, value);
    let was = match op {
        Builtin::Sum => fetch(Native::Add, load(origin, width)),
        Builtin::Replace => memory.swap(at, width, load(origin, width)),
        Builtin::NoOp => memory.peek(at, width),
        Builtin::Band => fetch(Native::And, load(origin, width)),
        Builtin::Bor => fetch(Native::Or, load(origin, width)),
        Builtin::Bxor => fetch(Native::Xor, load(origin, width)),
        _ => return false,
    };
    store(former, width, was);
    true
}

/// Returns whether the memory has a word of this width there, which processors change at once.
#[inline(always)]
fn is_word(memory: Region, at: usize, width: usize) -> bool {
    width <= WORD_BYTES_MAX
        && at.checked_add(width).is_some_and(|end| end <= memory.len())
        && memory.is_aligned(at, width)
}

/// Writes `origin` to the element at place `at` if it has the bits of `compare`. `result` gets what
/// was there (`MPI_Compare_and_swap`).
///
/// # Errors
/// `MPI_ERR_TYPE` unless the datatype is one of integers, logical values or bytes,
/// `MPI_ERR_RMA_RANGE` if the element lies outside of the memory; the errors of the memory.
pub fn compare_and_swap(
    memory: &dyn TargetMemory,
    at: i64,
    datatype: &Arc<Datatype>,
    origin: Region,
    compare: Region,
    result: Region,
    guard: &Guard<'_>,
) -> Result<()> {
    let width = width_to_compare(datatype).ok_or_else(|| not_comparable(datatype))?;
    if let Some(short) = [origin, compare, result].into_iter().find(|operand| operand.len() < width) {
        return Err(mismatch(short.len(), width));
    }
    if guard.domain == Domain::Processor
        && let (Some(region), Ok(at)) = (memory.region(), usize::try_from(at))
        && swap_word((region, at), width, [origin, compare, result])
    {
        return Ok(());
    }
    Target { memory, at, count: 1, datatype, guard }.check()?;
    let _held = guard.hold(memory.region(), at as u64, width as u64);
    swap_plainly(memory, at as u64, origin.part(0, width), compare, result.part(0, width))
}

/// Does [`compare_and_swap`] (`operands`: origin, compare, result) for an aligned element by one
/// instruction, where the domain is [`Domain::Processor`]. False, without a change, if it is none,
/// or if anything is wrong.
#[inline]
pub fn compare_and_swap_word(place: (Region, usize), datatype: &Datatype, operands: [Region; 3]) -> bool {
    width_to_compare(datatype).is_some_and(|width| swap_word(place, width, operands))
}

#[inline(always)]
fn swap_word((memory, at): (Region, usize), width: usize, operands: [Region; 3]) -> bool {
    if !is_word(memory, at, width) || operands.iter().any(|operand| operand.len() < width) {
        return false;
    }
    let [origin, compare, result] = operands;
    let was = memory.compare_exchange(at, width, load(compare, width), load(origin, width));
    store(result, width, was.unwrap_or_else(|was| was));
    true
}

/// Compares and swaps as [`compare_and_swap`], while nobody else changes the element.
fn swap_plainly(
    memory: &dyn TargetMemory,
    at: u64,
    origin: Region,
    compare: Region,
    result: Region,
) -> Result<()> {
    let (mut expected, mut was) = ([0; ELEMENT_BYTES_MAX], [0; ELEMENT_BYTES_MAX]);
    let width = origin.len();
    compare.read(0, &mut expected[..width]);
    memory.read(at, result)?;
    result.read(0, &mut was[..width]);
    if was == expected { memory.write(at, origin) } else { Ok(()) }
}

/// The integer of `width` bytes in an origin's memory.
#[inline(always)]
fn load(element: Region, width: usize) -> u64 {
    match width {
        1 => element.load::<u8>(0).into(),
        2 => element.load::<u16>(0).into(),
        4 => element.load::<u32>(0).into(),
        _ => element.load(0),
    }
}

/// Writes an integer of `width` bytes to an origin's memory.
#[inline(always)]
fn store(element: Region, width: usize, value: u64) {
    match width {
        1 => element.store(0, value as u8),
        2 => element.store(0, value as u16),
        4 => element.store(0, value as u32),
        _ => element.store(0, value),
    }
}

/// The bytes of an element, if `MPI_Compare_and_swap` allows it (MPI-5.0, 12.3.4).
#[inline]
pub fn width_to_compare(datatype: &Datatype) -> Option<usize> {
    use Family::{Byte, CInteger, FortranInteger, Logical, MultiLanguage};
    let takes = |family| matches!(family, CInteger | FortranInteger | Logical | MultiLanguage | Byte);
    datatype.as_basic().filter(|basic| takes(basic.family)).map(Basic::size)
}

#[cold]
fn not_comparable(datatype: &Datatype) -> Error {
    Error::new(
        mpi::MPI_ERR_TYPE,
        "elements of the datatype cannot be compared and swapped",
        format!("{datatype:?}"),
        "MPI-5.0, 12.3.4 allows integers, logical values, MPI_AINT and its like, and MPI_BYTE",
        "use an integer type of the same size",
    )
}
