//! Strings whose length is both passed and returned. C counts the null byte at the end; Fortran has
//! none (MPI-5.0, 10 and 11.3.2).

use crate::generated::c;
use crate::{handle, logical, text};
use std::ffi::{c_char, c_int};

/// `MPI_Info_get_string`.
pub unsafe fn info_get_string(
    call: c::Info_get_string,
    info: *const c_int,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
    key_length: usize,
    value_length: usize,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe {
        let key = text::read_stripped(key, key_length);
        let mut room = Room::new(*buflen);
        let code = call(handle::info(*info), key.as_ptr(), &mut room.of_c, room.text.as_mut_ptr(), flag);
        logical::tidy(flag, 1);
        if code == 0 && *flag != 0 {
            room.give(buflen, value, value_length);
        }
        code
    }
}

/// `MPI_Session_get_nth_pset`.
pub unsafe fn session_get_nth_pset(
    call: c::Session_get_nth_pset,
    session: *const c_int,
    info: *const c_int,
    n: *const c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
    pset_name_length: usize,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe {
        let mut room = Room::new(*pset_len);
        let (session, info) = (handle::session(*session), handle::info(*info));
        let code = call(session, info, *n, &mut room.of_c, room.text.as_mut_ptr());
        if code == 0 {
            room.give(pset_len, pset_name, pset_name_length);
        }
        code
    }
}

/// The room for a string.
struct Room {
    /// The number of characters that the program has room for; 0 if it only asks for the length.
    wanted: usize,
    /// C's length, with the null byte: first of the room, afterwards of the whole string.
    of_c: c_int,
    text: Vec<c_char>,
}

impl Room {
    fn new(wanted: c_int) -> Room {
        let length = wanted.max(0) as usize;
        let of_c = if wanted <= 0 { wanted } else { wanted.saturating_add(1) };
        Room { wanted: length, of_c, text: vec![0; length + 1] }
    }

    /// # Safety
    /// An INTEGER and a string of the program.
    unsafe fn give(&self, length: *mut c_int, value: *mut c_char, value_length: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            *length = self.of_c - 1;
            if self.wanted > 0 {
                text::write(&self.text, value, value_length);
            }
        }
    }
}
