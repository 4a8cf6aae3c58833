//! Strings: Fortran's have a length and are padded with blanks; C's end with a null byte (MPI-5.0,
//! 19.3.1).

use crate::descriptor::Descriptor;
use std::ffi::{CString, c_char, c_int};

/// Reads a string of the program, without the blanks at its end.
///
/// # Safety
/// The string has that many characters.
pub unsafe fn read(text: *const c_char, length: usize) -> CString {
    // SAFETY: the caller's promise.
    c_string(unsafe { characters(text, length) }.trim_ascii_end())
}

/// Reads a string of the program, without the blanks at both ends.
///
/// # Safety
/// The string has that many characters.
pub unsafe fn read_stripped(text: *const c_char, length: usize) -> CString {
    // SAFETY: the caller's promise.
    c_string(unsafe { characters(text, length) }.trim_ascii())
}

/// Reads a string that came by descriptor.
///
/// # Safety
/// The pointer leads to the descriptor of a string.
pub unsafe fn read_descriptor(text: *const Descriptor) -> CString {
    // SAFETY: the caller's promise.
    unsafe { read((*text).address().cast(), (*text).element_bytes()) }
}

/// Writes as much of C's string as fits to the program's, and pads it with blanks.
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

/// The room for a string whose length the program gives.
pub fn room(length: c_int) -> usize {
    length.max(0) as usize
}

/// # Safety
/// The string has that many characters; none are read from the null pointer.
unsafe fn characters<'a>(text: *const c_char, length: usize) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(text.cast(), length) }
}

/// Makes a C string. It ends at a null byte that the program added, as in `"name"//C_NULL_CHAR`.
fn c_string(text: &[u8]) -> CString {
    let end = text.iter().position(|&c| c == 0).unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
