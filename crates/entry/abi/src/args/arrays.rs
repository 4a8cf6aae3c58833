//! Array arguments.

use crate::generated::types::{MPI_Count, MPI_Datatype};
use crate::handles::DATATYPES;
use std::ffi::c_int;
use std::sync::Arc;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Error, Result};

/// Counts or displacements, in the `int` or the large form.
#[derive(Clone, Copy, Debug)]
pub enum Counts<'a> {
    /// From a call without `_c`.
    Int(&'a [c_int]),
    /// From a call with `_c`.
    Large(&'a [MPI_Count]),
}

impl Counts<'_> {
    /// No counts, for an argument that is not significant.
    pub const NONE: Counts<'static> = Counts::Int(&[]);

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Counts::Int(values) => values.len(),
            Counts::Large(values) => values.len(),
        }
    }

    /// Returns whether there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entry `i`. Panics if out of range.
    #[inline]
    pub fn get(&self, i: usize) -> i64 {
        match self {
            Counts::Int(values) => values[i].into(),
            Counts::Large(values) => values[i],
        }
    }

    /// All entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// All entries in a vector of their own, for operations that outlive the call.
    pub fn to_vec(&self) -> Vec<i64> {
        self.iter().collect()
    }
}

/// A type whose arrays come as [`Counts`].
pub trait Integer: Copy {
    /// Wraps a slice.
    fn counts(values: &[Self]) -> Counts<'_>;
}

impl Integer for c_int {
    #[inline]
    fn counts(values: &[c_int]) -> Counts<'_> {
        Counts::Int(values)
    }
}

impl Integer for MPI_Count {
    #[inline]
    fn counts(values: &[MPI_Count]) -> Counts<'_> {
        Counts::Large(values)
    }
}

/// Returns the `len` entries at `pointer`, to read.
///
/// # Safety
/// Unless it is null, `pointer` leads to `len` entries that no one writes during `'a`.
#[inline]
pub unsafe fn slice<'a, T>(pointer: *const T, len: i64) -> Result<&'a [T]> {
    if len <= 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null_array());
    }
    // SAFETY: not null, and valid by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len as usize) })
}

/// Returns the `len` entries at `pointer`, to write.
///
/// # Safety
/// Unless it is null, `pointer` leads to `len` entries that no one else uses during `'a`.
#[inline]
pub unsafe fn slice_mut<'a, T>(pointer: *mut T, len: i64) -> Result<&'a mut [T]> {
    if len <= 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() {
        return Err(null_array());
    }
    // SAFETY: not null, and valid by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, len as usize) })
}

/// Displacements or other numbers of any sign.
///
/// # Safety
/// As [`fn@slice`].
#[inline]
pub unsafe fn numbers<'a, T: Integer + 'a>(pointer: *const T, len: i64) -> Result<Counts<'a>> {
    // SAFETY: the caller's promise is the same.
    Ok(T::counts(unsafe { slice(pointer, len) }?))
}

/// Counts, none of them negative, else `MPI_ERR_COUNT`.
///
/// # Safety
/// As [`fn@slice`].
#[inline]
pub unsafe fn counts<'a, T: Integer + 'a>(pointer: *const T, len: i64) -> Result<Counts<'a>> {
    // SAFETY: the caller's promise is the same.
    let counts = unsafe { numbers(pointer, len) }?;
    counts.iter().try_for_each(|c| super::count(c).map(drop))?;
    Ok(counts)
}

/// The datatypes of an array of handles.
///
/// # Safety
/// As [`fn@slice`].
pub unsafe fn datatypes(pointer: *const MPI_Datatype, len: i64) -> Result<Vec<Arc<Datatype>>> {
    // SAFETY: the caller's promise is the same.
    let handles = unsafe { slice(pointer, len) }?;
    handles.iter().map(|&handle| Ok(DATATYPES.get(handle)?.clone())).collect()
}

/// The datatypes of an array of handles, each committed.
///
/// # Safety
/// As [`fn@slice`].
pub unsafe fn transfers(pointer: *const MPI_Datatype, len: i64) -> Result<Vec<Arc<Datatype>>> {
    // SAFETY: the caller's promise is the same.
    let handles = unsafe { slice(pointer, len) }?;
    handles.iter().map(|&handle| Ok(super::transfer(handle)?.clone())).collect()
}

#[cold]
fn null_array() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "an array argument is null",
        "an array that must have entries",
        "the array was not allocated",
        "pass an array of the length that the call asks for",
    )
}
