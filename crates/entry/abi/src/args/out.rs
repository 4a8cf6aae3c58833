//! Arguments that a call sets.

use crate::status::Status;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::NonNull;
use verbena_memory::Region;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Error, Result};

/// A place for one value.
#[derive(Clone, Copy, Debug)]
pub struct Out<'a, T>(NonNull<T>, PhantomData<&'a mut T>);

impl<T: Copy> Out<'_, T> {
    /// Wraps a pointer; null is `MPI_ERR_ARG`.
    ///
    /// # Safety
    /// Unless it is null, `pointer` leads to memory for a `T` that only this call uses.
    #[inline]
    pub unsafe fn new<'a>(pointer: *mut T) -> Result<Out<'a, T>> {
        Ok(Out(not_null(pointer)?, PhantomData))
    }

    /// Wraps a pointer that may be null: then the program does not want the value.
    ///
    /// # Safety
    /// As [`Out::new`].
    #[inline]
    pub unsafe fn optional<'a>(pointer: *mut T) -> Option<Out<'a, T>> {
        NonNull::new(pointer).map(|place| Out(place, PhantomData))
    }

    /// Stores the value.
    #[inline]
    pub fn set(&self, value: T) {
        // SAFETY: valid by the promise of `new`.
        unsafe { self.0.write(value) }
    }
}

/// A value that a call reads and sets.
#[derive(Clone, Copy, Debug)]
pub struct InOut<'a, T>(NonNull<T>, PhantomData<&'a mut T>);

impl<T: Copy> InOut<'_, T> {
    /// Wraps a pointer; null is `MPI_ERR_ARG`.
    ///
    /// # Safety
    /// Unless it is null, `pointer` leads to a `T` that only this call uses.
    #[inline]
    pub unsafe fn new<'a>(pointer: *mut T) -> Result<InOut<'a, T>> {
        Ok(InOut(not_null(pointer)?, PhantomData))
    }

    /// Wraps a pointer that may be null.
    ///
    /// # Safety
    /// As [`InOut::new`].
    #[inline]
    pub unsafe fn optional<'a>(pointer: *mut T) -> Option<InOut<'a, T>> {
        NonNull::new(pointer).map(|place| InOut(place, PhantomData))
    }

    /// The value.
    #[inline]
    pub fn get(&self) -> T {
        // SAFETY: valid and set by the promise of `new`.
        unsafe { self.0.read() }
    }

    /// Stores another value.
    #[inline]
    pub fn set(&self, value: T) {
        // SAFETY: valid by the promise of `new`.
        unsafe { self.0.write(value) }
    }

    /// The place as memory, for a call that sets the value when its request completes: until then
    /// the program leaves it to MPI.
    pub fn region(&self) -> Region {
        // SAFETY: valid by the promise of `new`, and by MPI's rules until the request is complete.
        unsafe { Region::new(self.0.as_ptr().cast(), size_of::<T>()) }
    }
}

/// A place for a logical value.
#[derive(Clone, Copy, Debug)]
pub struct OutFlag<'a>(Out<'a, c_int>);

impl OutFlag<'_> {
    /// Wraps a pointer; null is `MPI_ERR_ARG`.
    ///
    /// # Safety
    /// As [`Out::new`].
    #[inline]
    pub unsafe fn new<'a>(pointer: *mut c_int) -> Result<OutFlag<'a>> {
        // SAFETY: the caller's promise is the same.
        Ok(OutFlag(unsafe { Out::new(pointer) }?))
    }

    /// Stores 1 or 0.
    #[inline]
    pub fn set(&self, value: bool) {
        self.0.set(value.into());
    }
}

/// A count that is set (or read and set), an `int` or an `MPI_Count`.
#[derive(Clone, Copy, Debug)]
pub enum OutCount<'a> {
    /// From a call without `_c`.
    Int(InOut<'a, c_int>),
    /// From a call with `_c`.
    Large(InOut<'a, i64>),
}

impl OutCount<'_> {
    /// Stores the count; `MPI_UNDEFINED` if it does not fit (MPI-5.0, 3.2.5 and 5.1.5).
    #[inline]
    pub fn set(&self, count: i64) {
        match self {
            OutCount::Int(out) => out.set(c_int::try_from(count).unwrap_or(mpi::MPI_UNDEFINED)),
            OutCount::Large(out) => out.set(count),
        }
    }

    /// The value as it is, of an argument that is read and set.
    #[inline]
    pub fn get(&self) -> i64 {
        match self {
            OutCount::Int(out) => out.get().into(),
            OutCount::Large(out) => out.get(),
        }
    }

    /// Returns whether `count` can be stored.
    pub fn fits(&self, count: i64) -> bool {
        matches!(self, OutCount::Large(_)) || c_int::try_from(count).is_ok()
    }
}

/// A type whose pointers become [`OutCount`].
pub trait OutInteger: Sized {
    /// Wraps a pointer; null is `MPI_ERR_ARG`.
    ///
    /// # Safety
    /// As [`InOut::new`].
    unsafe fn out<'a>(pointer: *mut Self) -> Result<OutCount<'a>>;
}

impl OutInteger for c_int {
    #[inline]
    unsafe fn out<'a>(pointer: *mut c_int) -> Result<OutCount<'a>> {
        // SAFETY: the caller's promise is the same.
        Ok(OutCount::Int(unsafe { InOut::new(pointer) }?))
    }
}

impl OutInteger for i64 {
    #[inline]
    unsafe fn out<'a>(pointer: *mut i64) -> Result<OutCount<'a>> {
        // SAFETY: the caller's promise is the same.
        Ok(OutCount::Large(unsafe { InOut::new(pointer) }?))
    }
}

/// A count that is set; null is `MPI_ERR_ARG`.
///
/// # Safety
/// As [`InOut::new`].
#[inline]
pub unsafe fn out_count<'a, T: OutInteger>(pointer: *mut T) -> Result<OutCount<'a>> {
    // SAFETY: the caller's promise is the same.
    unsafe { T::out(pointer) }
}

/// The value that `pointer` leads to; null is `MPI_ERR_ARG`.
///
/// # Safety
/// Unless it is null, `pointer` leads to a `T` that no one writes during `'a`.
#[inline]
pub unsafe fn reference<'a, T>(pointer: *const T) -> Result<&'a T> {
    // SAFETY: valid by the caller's promise, if not null.
    unsafe { pointer.as_ref() }.ok_or_else(null_pointer)
}

/// The handle that `pointer` leads to, 0 if it is null.
///
/// # Safety
/// Unless it is null, `pointer` leads to a handle.
pub unsafe fn peek(pointer: *const usize) -> usize {
    // SAFETY: valid by the caller's promise, if not null.
    unsafe { pointer.as_ref() }.copied().unwrap_or(0)
}

/// A place for a status, or `MPI_STATUS_IGNORE`.
#[derive(Clone, Copy, Debug)]
pub struct StatusOut<'a>(Option<NonNull<Status>>, PhantomData<&'a mut Status>);

impl StatusOut<'_> {
    /// Wraps a pointer.
    ///
    /// # Safety
    /// Unless it is `MPI_STATUS_IGNORE`, `pointer` leads to a status that only this call uses.
    #[inline]
    pub unsafe fn new<'a>(pointer: *mut Status) -> StatusOut<'a> {
        StatusOut(NonNull::new(pointer), PhantomData)
    }

    /// Returns whether the program does not want the status.
    #[inline]
    pub fn is_ignored(&self) -> bool {
        self.0.is_none()
    }

    /// Stores everything but `MPI_ERROR`, which only calls that complete several operations set
    /// (MPI-5.0, 3.2.5).
    #[inline]
    pub fn set(&self, status: Status) {
        let Some(mut place) = self.0 else { return };
        // SAFETY: valid by the promise of `new`.
        let place = unsafe { place.as_mut() };
        *place = status.with_error(place.MPI_ERROR);
    }
}

impl StatusOut<'_> {
    /// Stores the empty status, its `MPI_ERROR` included (MPI-5.0, 3.7.3).
    pub fn set_empty(&self) {
        if let Some(place) = self.0 {
            // SAFETY: valid by the promise of `new`.
            unsafe { place.write(Status::EMPTY) };
        }
    }
}

/// An array of statuses, or `MPI_STATUSES_IGNORE`.
pub struct StatusesOut<'a>(Option<&'a mut [Status]>);

impl StatusesOut<'_> {
    /// Wraps an array of `len` statuses.
    ///
    /// # Safety
    /// Unless it is `MPI_STATUSES_IGNORE`, `pointer` leads to `len` statuses that only this call
    /// uses.
    #[inline]
    pub unsafe fn new<'a>(pointer: *mut Status, len: i64) -> StatusesOut<'a> {
        if pointer.is_null() || len <= 0 {
            return StatusesOut(None);
        }
        // SAFETY: valid by the caller's promise.
        StatusesOut(Some(unsafe { std::slice::from_raw_parts_mut(pointer, len as usize) }))
    }

    /// Returns whether the program does not want the statuses.
    #[inline]
    pub fn is_ignored(&self) -> bool {
        self.0.is_none()
    }

    /// Stores status `i`, all but `MPI_ERROR`.
    #[inline]
    pub fn set(&mut self, i: usize, status: Status) {
        if let Some(all) = &mut self.0 {
            all[i] = status.with_error(all[i].MPI_ERROR);
        }
    }

    /// Stores the empty status at `i`, its `MPI_ERROR` included.
    pub fn set_empty(&mut self, i: usize) {
        if let Some(all) = &mut self.0 {
            all[i] = Status::EMPTY;
        }
    }

    /// Stores `MPI_ERROR` of status `i` (when the call returns `MPI_ERR_IN_STATUS`).
    #[inline]
    pub fn set_error(&mut self, i: usize, code: c_int) {
        if let Some(all) = &mut self.0 {
            all[i].MPI_ERROR = code;
        }
    }
}

/// The pointer, or `MPI_ERR_ARG` if it is null.
#[inline]
pub fn not_null<T>(pointer: *mut T) -> Result<NonNull<T>> {
    NonNull::new(pointer).ok_or_else(null_pointer)
}

#[cold]
pub(super) fn null_pointer() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "an argument is a null pointer",
        "an argument that must lead to a value or to a place for a result",
        "the variable was not allocated, or the arguments are in the wrong order",
        "pass the address of a variable of the type that the call asks for",
    )
}
