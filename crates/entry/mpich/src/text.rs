//! Strings with less room in the program than on the standard face (such as
//! `MPI_MAX_PROCESSOR_NAME`).

use std::ffi::{c_char, c_int};

/// Room as on the standard face, for a string that then goes to the program's place.
pub struct Text<const NATIVE: usize> {
    user: *mut c_char,
    room: usize,
    native: [c_char; NATIVE],
}

impl<const NATIVE: usize> Text<NATIVE> {
    /// Wraps the program's `room` bytes.
    pub fn new(user: *mut c_char, room: usize) -> Text<NATIVE> {
        Text { user, room, native: [0; NATIVE] }
    }

    /// The place for the standard face; null if the program's is.
    pub fn native(&mut self) -> *mut c_char {
        if self.user.is_null() { std::ptr::null_mut() } else { self.native.as_mut_ptr() }
    }

    /// Gives the program as much as fits, and its length if the program asks for it.
    ///
    /// # Safety
    /// The program's places are valid, or null.
    pub unsafe fn store(&self, length: *mut c_int) {
        if self.user.is_null() {
            return;
        }
        let bytes = self.native.iter().position(|&c| c == 0).unwrap_or(NATIVE).min(self.room - 1);
        // SAFETY: by the caller's promise; `bytes` and the final zero fit on both sides.
        unsafe {
            self.user.copy_from_nonoverlapping(self.native.as_ptr(), bytes);
            self.user.add(bytes).write(0);
            if !length.is_null() {
                length.write(bytes as c_int);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_that_is_too_long_is_cut() {
        let (mut user, mut length) = ([1; 8], 0);
        let mut text = Text::<16>::new(user.as_mut_ptr(), 4);
        let place = text.native();
        // SAFETY: the places are our own.
        unsafe {
            place.copy_from_nonoverlapping(c"standard".as_ptr(), 9);
            text.store(&mut length);
        }
        assert_eq!((user, length), ([b's', b't', b'a', 0, 1, 1, 1, 1].map(|c| c as c_char), 3));
    }
}
