//! Strings, in and out.

use super::out::{InOut, not_null, null_pointer};
use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::ptr::NonNull;
use verbena_mpi::Result;

/// A string that the program passes; null is `MPI_ERR_ARG`.
///
/// # Safety
/// Unless it is null, `pointer` leads to a string that ends with a zero byte and that no one writes
/// during `'a`.
#[inline]
pub unsafe fn string<'a>(pointer: *const c_char) -> Result<&'a CStr> {
    if pointer.is_null() {
        return Err(null_pointer());
    }
    // SAFETY: not null, and valid by the caller's promise.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// Room for a string.
#[derive(Clone, Copy, Debug)]
pub struct OutString<'a> {
    address: NonNull<c_char>,
    room: usize,
    memory: PhantomData<&'a mut c_char>,
}

impl OutString<'_> {
    /// Wraps a pointer to room for `room` bytes, the closing zero included; null is `MPI_ERR_ARG`
    /// unless there is no room.
    ///
    /// # Safety
    /// Unless it is null, `pointer` leads to `room` bytes that only this call uses.
    pub unsafe fn new<'a>(pointer: *mut c_char, room: i64) -> Result<OutString<'a>> {
        let room = room.max(0) as usize;
        let address = if room == 0 { NonNull::dangling() } else { not_null(pointer)? };
        Ok(OutString { address, room, memory: PhantomData })
    }

    /// Bytes of room, the closing zero included.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Stores as much of `text` as there is room for, and a closing zero. Returns the length
    /// stored, without the zero.
    pub fn set(&self, text: impl AsRef<[u8]>) -> usize {
        let text = text.as_ref();
        let Some(most) = self.room.checked_sub(1) else { return 0 };
        let len = text.len().min(most);
        // SAFETY: `len + 1` bytes fit into the room that `new` was promised, which is no memory of
        // ours.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), self.address.as_ptr(), len);
            self.address.add(len).write(0);
        }
        len
    }
}

/// Room for a string of the tool interface: the length says how much room there is, and is set to
/// what the whole string needs (MPI-5.0, 15.3.3).
#[derive(Clone, Copy, Debug)]
pub struct TextOut<'a> {
    text: *mut c_char,
    length: Option<InOut<'a, c_int>>,
}

impl TextOut<'_> {
    /// Wraps both pointers. Without a length nothing is stored; without room for text, only the
    /// length.
    ///
    /// # Safety
    /// Unless it is null, `length` leads to an integer that only this call uses, and unless it is
    /// null, `text` to as many bytes as that integer says.
    pub unsafe fn new<'a>(text: *mut c_char, length: *mut c_int) -> TextOut<'a> {
        // SAFETY: by the caller's promise.
        TextOut { text, length: unsafe { InOut::optional(length) } }
    }

    /// Stores as much of `text` as there is room for, with a closing zero, and the length of all of
    /// it with the zero.
    pub fn set(&self, text: &str) {
        let Some(length) = self.length else { return };
        let room = if self.text.is_null() { 0 } else { length.get() };
        // SAFETY: by the promise of `new` there are this many bytes.
        if let Ok(place) = unsafe { OutString::new(self.text, room.into()) } {
            place.set(text);
        }
        length.set(c_int::try_from(text.len() + 1).unwrap_or(c_int::MAX));
    }
}
