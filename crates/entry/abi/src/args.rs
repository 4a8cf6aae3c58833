//! The arguments that a body receives for those of C, and the checks that come before.
//!
//! | in the API table | a body receives |
//! | --- | --- |
//! | handle in | `&Arc<Comm>`, `&Arc<Group>`, `&Arc<Datatype>` ... ; `Option<&Arc<_>>` where null is allowed or the argument may be insignificant |
//! | request, message, handle by pointer | [`InOut`] of the raw handle; [`Out`] when it is only set |
//! | buffer | [`Address`]; [`buffer`] makes the engine's buffer of it |
//! | count, displacement | `i64` in both forms; arrays are [`Counts`] |
//! | rank, root, tag | `i32`, checked against the communicator of the same call |
//! | scalar out | [`Out`], [`OutFlag`]; counts [`OutCount`] |
//! | status | [`StatusOut`], [`StatusesOut`] |
//! | string | `&CStr`; out [`OutString`] |
//! | logical | `bool` |
//! | callback | its `Option<fn>` type; [`Form`] of two where the large form has a type of its own |
//! | what only the `_c` form has | as in that form; in the other 0, `None` or an empty slice |
//! | a count, datatype, info or string of a call that is `together` | a `Result` of it ([`Checked`] of a handle) |
//! | anything else | as in C |
//!
//! The constructors that take raw pointers are `unsafe`. They ask only for MPI's own promise: what
//! the program passes is valid for the length of the call.

mod arrays;
mod checks;
mod out;
mod text;

pub use arrays::*;
pub use checks::*;
pub use out::*;
pub use text::*;

use std::ffi::c_void;
use std::sync::Arc;
use verbena_memory::{Buffer, Owned, Region};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Error, Result};

/// A callback whose type differs between the `int` and the large form.
#[derive(Clone, Copy, Debug)]
pub enum Form<I, L> {
    /// From a call without `_c`.
    Int(I),
    /// From a call with `_c`.
    Large(L),
}

/// The end of the zero page: no program has memory below this address.
const LOWEST_ADDRESS: isize = 4096;

/// The longest buffer, in bytes, that needs no closer look: no program has more memory.
pub const SOLID_BYTES_MAX: usize = 1 << 46;

/// A buffer argument as the program passed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(*mut c_void);

impl Address {
    /// Wraps an input buffer.
    #[inline]
    pub fn new(address: *const c_void) -> Address {
        Address(address.cast_mut())
    }

    /// Returns whether this is `MPI_IN_PLACE`.
    #[inline]
    pub fn is_in_place(&self) -> bool {
        self.0 as usize == mpi::MPI_IN_PLACE
    }

    /// Returns whether this is the null pointer, which is also `MPI_BOTTOM`.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The address itself.
    #[inline]
    pub fn pointer(&self) -> *mut c_void {
        self.0
    }
}

/// Returns the buffer of `count` elements of `datatype` at `address`; `MPI_ERR_BUFFER` if its bytes
/// would begin in the zero page (a null pointer) or leave the address space. `MPI_BOTTOM` with
/// absolute displacements is fine.
#[inline]
pub fn buffer(address: Address, count: i64, datatype: &Arc<Datatype>) -> Result<Buffer> {
    match solid(address, count, datatype) {
        Some(region) => Ok(Buffer::Contiguous(region)),
        None => scattered_buffer(address, count, datatype),
    }
}

/// The bytes of a plain buffer: elements without gaps, outside the zero page. Most messages have
/// such a buffer, and this takes one multiplication and three comparisons. After `None`, [`buffer`]
/// decides.
#[inline]
pub fn solid(address: Address, count: i64, datatype: &Datatype) -> Option<Region> {
    let bytes = datatype.layout().solid().checked_mul(count as usize)?;
    if bytes == 0 || bytes > SOLID_BYTES_MAX || (address.0 as usize) < LOWEST_ADDRESS as usize {
        return None;
    }
    // SAFETY: the program promises (MPI-5.0, 3.2.2 and 3.7.2) that the elements lie in its memory
    // until the operation completes; they do not touch the zero page and do not wrap around.
    Some(unsafe { Region::new(address.0.cast(), bytes) })
}

/// The bytes of a plain buffer, as in [`solid`], for elements of `element_bytes` bytes and a
/// message of at most `bytes_max`.
#[inline(always)]
pub fn solid_of(address: Address, count: i64, element_bytes: u8, bytes_max: usize) -> Option<Region> {
    let bytes = count.checked_mul(i64::from(element_bytes))? as usize;
    // One comparison finds counts that are negative, 0 or too large, and datatypes that are unknown
    // here.
    if bytes.wrapping_sub(1) >= bytes_max || (address.0 as usize) < LOWEST_ADDRESS as usize {
        return None;
    }
    // SAFETY: as in `solid`.
    Some(unsafe { Region::new(address.0.cast(), bytes) })
}

/// The rest of [`buffer`], for all that is not plain.
#[inline(never)]
fn scattered_buffer(address: Address, count: i64, datatype: &Arc<Datatype>) -> Result<Buffer> {
    if count == 0 || datatype.size() == 0 {
        return Ok(Buffer::EMPTY);
    }
    let (low, high) = datatype.span(count as usize)?;
    let origin = address.0 as isize;
    if origin.checked_add(low).is_none_or(|first| first < LOWEST_ADDRESS)
        || origin.checked_add(high).is_none()
    {
        return Err(wrong_span(address, count, datatype));
    }
    // SAFETY: the program promises (MPI-5.0, 3.2.2 and 3.7.2) that the elements lie in its memory
    // until the operation completes; that they do not wrap around or touch the zero page was
    // checked.
    Ok(unsafe { Buffer::strided(address.0.cast(), count as usize, datatype.layout()) })
}

#[cold]
fn wrong_span(address: Address, count: i64, datatype: &Datatype) -> Error {
    let cause = match address.0 as usize {
        0 => "the address is null (or MPI_BOTTOM with a datatype whose displacements are not absolute)",
        mpi::MPI_IN_PLACE => "MPI_IN_PLACE was passed where it has no meaning",
        _ => "the count is too large, or the address is garbage",
    };
    Error::new(
        mpi::MPI_ERR_BUFFER,
        "the buffer does not lie in the program's memory",
        format!(
            "address {:p}, {} of {}",
            address.0,
            verbena_fault::count(count, "element"),
            verbena_fault::count(datatype.size(), "byte")
        ),
        cause,
        "pass the address of memory that holds all elements",
    )
}

/// A copy of what goes to this rank. Nothing is read for `MPI_PROC_NULL`: the buffer may lie in a
/// GPU's memory.
pub fn copy_for(dest: i32, from: &Buffer) -> Owned {
    let copy = Owned::zeroed(from.len());
    if dest != mpi::MPI_PROC_NULL {
        from.pack(0, copy.lend());
    }
    copy
}
