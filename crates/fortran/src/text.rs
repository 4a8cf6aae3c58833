//! Strings: Fortran's have a length and are padded with blanks, C's end with a null byte (MPI-5.0,
//! 19.3.1).

use crate::descriptor::Descriptor;
use std::ffi::{CString, c_char, c_int};

/// A string of the program, without the blanks at its end.
///
/// # Safety
/// It has that many characters.
pub unsafe fn read(text: *const c_char, length: usize) -> CString {
    // SAFETY: the caller's promise.
    c_string(unsafe { characters(text, length) }.trim_ascii_end())
}

/// A string of the program, without the blanks at both ends.
///
/// # Safety
/// It has that many characters.
pub unsafe fn read_stripped(text: *const c_char, length: usize) -> CString {
    // SAFETY: the caller's promise.
    c_string(unsafe { characters(text, length) }.trim_ascii())
}

/// A string that came by descriptor.
///
/// # Safety
/// It is the descriptor of a string.
pub unsafe fn read_descriptor(text: *const Descriptor) -> CString {
    // SAFETY: the caller's promise.
    unsafe { read((*text).address().cast(), (*text).element_bytes()) }
}

/// Writes C's string where the program wants it, as much as fits, and pads with blanks.
///
/// # Safety
/// The program's string has that many characters.
pub unsafe fn write(of_c: &[c_char], text: *mut c_char, length: usize) {
    let end = of_c.iter().position(|&c| c == 0).unwrap_or(of_c.len()).min(length);
    // SAFETY: the caller's promise, and `end` is within both.
    unsafe {
        text.copy_from_nonoverlapping(of_c.as_ptr(), end);
        text.add(end).write_bytes(b' ', length - end);
    }
}

/// The room for a string whose length the program says.
pub fn room(length: c_int) -> usize {
    length.max(0) as usize
}

/// # Safety
/// There are that many; none are read from the null pointer.
unsafe fn characters<'a>(text: *const c_char, length: usize) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(text.cast(), length) }
}

/// C's string ends at a null byte that the program put into its own, as `"name"//C_NULL_CHAR` does.
fn c_string(text: &[u8]) -> CString {
    let end = text.iter().position(|&c| c == 0).unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
