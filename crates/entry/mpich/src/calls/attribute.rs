//! Predefined attributes whose values are constants, ranks or codes (MPI-5.0, 9.1.2 and 12.2.6):
//! the program gets a pointer to a translated copy.

use crate::handles::{Comm, Handle, Win};
use crate::values::{self, error_face, flavor_face, keyval_native, model_face, rank_face};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

// The predefined keys of this ABI whose values are translated (`api/mpich/constants.toml`).
const HOST: c_int = 0x6440_0003;
const IO: c_int = 0x6440_0005;
const LASTUSEDCODE: c_int = 0x6440_000b;
const WIN_CREATE_FLAVOR: c_int = 0x6600_0007;
const WIN_MODEL: c_int = 0x6600_0009;

/// The translated values. Those of windows have two or four values each, with a place for each, so
/// that one window's attribute does not change with another's.
static PLACES: [AtomicI32; 9] = [const { AtomicI32::new(0) }; 9];

/// The place that holds this value of the attribute from now on.
fn place(keyval: c_int, value: c_int) -> *mut c_int {
    let index = match keyval {
        HOST => 0,
        IO => 1,
        LASTUSEDCODE => 2,
        WIN_CREATE_FLAVOR => 2 + value.clamp(1, 4) as usize,
        _ => 6 + value.clamp(1, 2) as usize,
    };
    PLACES[index].store(value, Ordering::Relaxed);
    PLACES[index].as_ptr()
}

/// Replaces the pointer that the library stored at `attribute` by one to the translated value.
unsafe fn translate(keyval: c_int, attribute: *mut c_void) {
    let face: fn(c_int) -> c_int = match keyval {
        HOST | IO => rank_face,
        LASTUSEDCODE => error_face,
        WIN_CREATE_FLAVOR => flavor_face,
        WIN_MODEL => model_face,
        _ => return,
    };
    // SAFETY: the library just stored a pointer to an integer there.
    unsafe {
        let attribute = attribute.cast::<*mut c_int>();
        let value = face(attribute.read_unaligned().read());
        attribute.write_unaligned(place(keyval, value));
    }
}

/// Translates the attribute that a call found.
unsafe fn found(code: c_int, keyval: c_int, attribute: *mut c_void, flag: *mut c_int) -> c_int {
    // SAFETY: after success both places are valid.
    unsafe {
        if code == 0 && flag.read() != 0 {
            translate(keyval, attribute);
        }
    }
    values::code(code)
}

/// `MPI_Comm_get_attr`.
pub unsafe fn comm_get_attr(comm: i32, keyval: c_int, attribute: *mut c_void, flag: *mut c_int) -> c_int {
    // SAFETY: the program's promise.
    unsafe {
        let code = native!(MPI_Comm_get_attr(Comm::native(comm), keyval_native(keyval), attribute, flag));
        found(code, keyval, attribute, flag)
    }
}

/// `MPI_Attr_get` (deprecated).
pub unsafe fn attr_get(comm: i32, keyval: c_int, attribute: *mut c_void, flag: *mut c_int) -> c_int {
    // SAFETY: the program's promise.
    unsafe { comm_get_attr(comm, keyval, attribute, flag) }
}

/// `MPI_Win_get_attr`.
pub unsafe fn win_get_attr(win: i32, keyval: c_int, attribute: *mut c_void, flag: *mut c_int) -> c_int {
    // SAFETY: the program's promise.
    unsafe {
        let code = native!(MPI_Win_get_attr(Win::native(win), keyval_native(keyval), attribute, flag));
        found(code, keyval, attribute, flag)
    }
}
