//! Attributes (MPI-5.0, 7.7 and 19.3.7). An attribute is a pointer in C, an INTEGER in Fortran. If
//! Fortran sets one, a cell of ours keeps it, and C gets the address of the cell. If C sets one,
//! Fortran gets the pointer itself. Predefined ones are pointers to integers in C and these
//! integers in Fortran.

use crate::generated::{c, constants as mpi};
use crate::handle::{self, Handle};
use crate::logical;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;

/// The addresses of the cells.
static CELLS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn cells() -> std::sync::MutexGuard<'static, BTreeSet<usize>> {
    CELLS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// C's pointer for an attribute that Fortran sets.
pub fn keep(value: i64) -> *mut c_void {
    let cell = Box::into_raw(Box::new(value));
    cells().insert(cell as usize);
    cell.cast()
}

/// Fortran's value of an attribute that C or Fortran has set.
pub fn value_of(of_c: *mut c_void) -> i64 {
    match cells().contains(&(of_c as usize)) {
        // SAFETY: a cell that is not forgotten.
        true => unsafe { *of_c.cast::<i64>() },
        false => of_c as i64,
    }
}

/// Frees the cell, if it is one. A cell under a key that C made is never freed.
pub fn forget(of_c: *mut c_void) {
    if cells().remove(&(of_c as usize)) {
        // SAFETY: a cell, which no attribute holds any more.
        drop(unsafe { Box::from_raw(of_c.cast::<i64>()) });
    }
}

type Get = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_int) -> c_int;
type Set = unsafe extern "C" fn(Handle, c_int, *mut c_void) -> c_int;

/// # Safety
/// The variables are the program's.
unsafe fn get(call: Get, object: Handle, keyval: c_int, flag: *mut c_int) -> (c_int, Option<i64>) {
    let (keyval, mut of_c) = (handle::keyval(keyval), std::ptr::null_mut::<c_void>());
    // SAFETY: the caller's promise, and a place for a pointer.
    unsafe {
        let code = call(object, keyval, (&raw mut of_c).cast(), flag);
        logical::tidy(flag, 1);
        let found = code == mpi::MPI_SUCCESS && *flag != logical::FALSE;
        (code, found.then(|| of_fortran(keyval, of_c)))
    }
}

/// # Safety
/// `of_c` is the attribute of this key.
unsafe fn of_fortran(keyval: c_int, of_c: *mut c_void) -> i64 {
    // SAFETY: the caller's promise: predefined attributes are pointers to these (MPI-5.0, 9.1.2 and
    // 12.2.6).
    unsafe {
        match keyval {
            mpi::MPI_WIN_SIZE => *of_c.cast::<i64>(),
            mpi::MPI_TAG_UB
            | mpi::MPI_HOST
            | mpi::MPI_IO
            | mpi::MPI_WTIME_IS_GLOBAL
            | mpi::MPI_APPNUM
            | mpi::MPI_LASTUSEDCODE
            | mpi::MPI_UNIVERSE_SIZE => i64::from(*of_c.cast::<c_int>()),
            mpi::MPI_WIN_DISP_UNIT | mpi::MPI_WIN_CREATE_FLAVOR | mpi::MPI_WIN_MODEL => {
                i64::from(*of_c.cast::<c_int>())
            }
            _ => value_of(of_c),
        }
    }
}

/// # Safety
/// `call` is of the kind of `object`.
unsafe fn set(call: Set, object: Handle, keyval: c_int, value: i64) -> c_int {
    let of_c = keep(value);
    // SAFETY: C takes any pointer.
    let code = unsafe { call(object, handle::keyval(keyval), of_c) };
    if code != mpi::MPI_SUCCESS {
        forget(of_c);
    }
    code
}

type Place = *mut i64;

/// # Safety
/// The variables are the program's.
unsafe fn get_new(call: Get, object: Handle, keyval: *const c_int, value: Place, flag: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let (code, found) = get(call, object, *keyval, flag);
        if let Some(found) = found {
            *value = found;
        }
        code
    }
}

/// `MPI_Comm_get_attr`.
pub unsafe fn comm_get_attr(
    call: c::Comm_get_attr,
    comm: *const c_int,
    keyval: *const c_int,
    value: Place,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe { get_new(call, handle::comm(*comm), keyval, value, flag) }
}

/// `MPI_Type_get_attr`.
pub unsafe fn type_get_attr(
    call: c::Type_get_attr,
    datatype: *const c_int,
    keyval: *const c_int,
    value: Place,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe { get_new(call, handle::datatype(*datatype), keyval, value, flag) }
}

/// `MPI_Win_get_attr`.
pub unsafe fn win_get_attr(
    call: c::Win_get_attr,
    win: *const c_int,
    keyval: *const c_int,
    value: Place,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe { get_new(call, handle::win(*win), keyval, value, flag) }
}

/// `MPI_Attr_get`, whose attribute is a default INTEGER: a wider value is cut off (MPI-5.0,
/// 19.3.7).
pub unsafe fn attr_get(
    call: c::Attr_get,
    comm: *const c_int,
    keyval: *const c_int,
    value: *mut c_int,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe {
        let (code, found) = get(call, handle::comm(*comm), *keyval, flag);
        if let Some(found) = found {
            *value = found as c_int;
        }
        code
    }
}

/// `MPI_Comm_set_attr`.
pub unsafe fn comm_set_attr(
    call: c::Comm_set_attr,
    comm: *const c_int,
    keyval: *const c_int,
    value: *const i64,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe { set(call, handle::comm(*comm), *keyval, *value) }
}

/// `MPI_Type_set_attr`.
pub unsafe fn type_set_attr(
    call: c::Type_set_attr,
    datatype: *const c_int,
    keyval: *const c_int,
    value: *const i64,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe { set(call, handle::datatype(*datatype), *keyval, *value) }
}

/// `MPI_Win_set_attr`.
pub unsafe fn win_set_attr(
    call: c::Win_set_attr,
    win: *const c_int,
    keyval: *const c_int,
    value: *const i64,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe { set(call, handle::win(*win), *keyval, *value) }
}

/// `MPI_Attr_put`.
pub unsafe fn attr_put(
    call: c::Attr_put,
    comm: *const c_int,
    keyval: *const c_int,
    value: *const c_int,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe { set(call, handle::comm(*comm), *keyval, i64::from(*value)) }
}
