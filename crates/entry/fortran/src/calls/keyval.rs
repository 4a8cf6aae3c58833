//! Attribute keys: the program's procedures that copy and delete attributes (MPI-5.0, 7.7).
//!
//! The predefined procedures, such as `MPI_COMM_DUP_FN`, are procedures of this library like the
//! program's own.

use super::attribute::{forget, keep, value_of};
use crate::generated::{c, constants as mpi};
use crate::handle::{self, Handle};
use crate::logical;
use std::ffi::{c_int, c_void};

type Copy<I> = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut I, *mut I, *mut I, *mut c_int, *mut c_int);
type Delete<I> = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut I, *mut I, *mut c_int);

/// The program's procedures for a key. They live as long as the process: attributes may outlive
/// their key.
struct Keyval {
    copy: usize,
    delete: usize,
    extra: i64,
    /// True for MPI-1's procedures, whose attributes are default INTEGERs.
    old: bool,
    out: fn(Handle) -> c_int,
}

impl Keyval {
    /// Asks the program for a copy of an attribute. Returns the copy, if it wants one, and its
    /// error code.
    fn copied(&self, object: Handle, keyval: c_int, value: i64) -> (Option<i64>, c_int) {
        if self.old {
            self.copied_as::<c_int>(object, keyval, value)
        } else {
            self.copied_as::<i64>(object, keyval, value)
        }
    }

    fn copied_as<I: Integer>(&self, object: Handle, mut keyval: c_int, value: i64) -> (Option<i64>, c_int) {
        let (mut number, mut extra, mut value) = ((self.out)(object), I::of(self.extra), I::of(value));
        let (mut copy, mut flag, mut code) = (value, logical::FALSE, mpi::MPI_SUCCESS);
        // SAFETY: the program's procedure, of this type.
        unsafe {
            let procedure = std::mem::transmute::<usize, Copy<I>>(self.copy);
            procedure(&mut number, &mut keyval, &mut extra, &mut value, &mut copy, &mut flag, &mut code);
        }
        ((flag != logical::FALSE).then_some(copy.into()), code)
    }

    /// Tells the program that an attribute is deleted. Returns its error code.
    fn deleted(&self, object: Handle, keyval: c_int, value: i64) -> c_int {
        if self.old {
            self.deleted_as::<c_int>(object, keyval, value)
        } else {
            self.deleted_as::<i64>(object, keyval, value)
        }
    }

    fn deleted_as<I: Integer>(&self, object: Handle, mut keyval: c_int, value: i64) -> c_int {
        let (mut number, mut extra, mut value) = ((self.out)(object), I::of(self.extra), I::of(value));
        let mut code = mpi::MPI_SUCCESS;
        // SAFETY: the program's procedure, of this type.
        unsafe {
            let procedure = std::mem::transmute::<usize, Delete<I>>(self.delete);
            procedure(&mut number, &mut keyval, &mut value, &mut extra, &mut code);
        }
        code
    }
}

/// The type of INTEGER that holds an attribute.
trait Integer: std::marker::Copy + Into<i64> {
    fn of(value: i64) -> Self;
}

impl Integer for i64 {
    fn of(value: i64) -> i64 {
        value
    }
}

impl Integer for c_int {
    /// Cuts the value off as a Fortran processor does: MPI-1's attributes are no wider (MPI-5.0,
    /// 19.3.7).
    fn of(value: i64) -> c_int {
        value as c_int
    }
}

unsafe extern "C" fn copy(
    object: Handle,
    keyval: c_int,
    state: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: C passes what `create` gave it, and places for the results.
    unsafe {
        let (wanted, code) = (*state.cast::<Keyval>()).copied(object, keyval, value_of(value));
        *flag = c_int::from(wanted.is_some());
        if let Some(wanted) = wanted {
            copy.cast::<*mut c_void>().write(keep(wanted));
        }
        code
    }
}

unsafe extern "C" fn delete(object: Handle, keyval: c_int, value: *mut c_void, state: *mut c_void) -> c_int {
    // SAFETY: as above.
    let code = unsafe { (*state.cast::<Keyval>()).deleted(object, keyval, value_of(value)) };
    if code == mpi::MPI_SUCCESS {
        forget(value);
    }
    code
}

type OfCopy = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type OfDelete = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;
type Create = unsafe extern "C" fn(Option<OfCopy>, Option<OfDelete>, *mut c_int, *mut c_void) -> c_int;

/// # Safety
/// `keyval` is an INTEGER.
unsafe fn create(call: Create, procedures: Keyval, keyval: *mut c_int) -> c_int {
    let state = Box::into_raw(Box::new(procedures));
    // SAFETY: the program's variable, and our own functions with what they expect.
    unsafe { call(Some(copy), Some(delete), keyval, state.cast()) }
}

/// # Safety
/// `keyval` is an INTEGER, `extra_state` one of kind MPI_ADDRESS_KIND.
unsafe fn create_new(
    call: Create,
    (copy, delete): (usize, usize),
    keyval: *mut c_int,
    extra_state: *const i64,
    out: fn(Handle) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { create(call, Keyval { copy, delete, extra: *extra_state, old: false, out }, keyval) }
}

/// `MPI_Comm_create_keyval`.
pub unsafe fn comm_create_keyval(
    call: c::Comm_create_keyval,
    copy: usize,
    delete: usize,
    keyval: *mut c_int,
    extra_state: *const i64,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe { create_new(call, (copy, delete), keyval, extra_state, handle::comm_out) }
}

/// `MPI_Type_create_keyval`.
pub unsafe fn type_create_keyval(
    call: c::Type_create_keyval,
    copy: usize,
    delete: usize,
    keyval: *mut c_int,
    extra_state: *const i64,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe { create_new(call, (copy, delete), keyval, extra_state, handle::datatype_out) }
}

/// `MPI_Win_create_keyval`.
pub unsafe fn win_create_keyval(
    call: c::Win_create_keyval,
    copy: usize,
    delete: usize,
    keyval: *mut c_int,
    extra_state: *const i64,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe { create_new(call, (copy, delete), keyval, extra_state, handle::win_out) }
}

/// `MPI_Keyval_create`, deprecated in MPI-2.0.
pub unsafe fn keyval_create(
    call: c::Keyval_create,
    copy: usize,
    delete: usize,
    keyval: *mut c_int,
    extra_state: *const c_int,
) -> c_int {
    // SAFETY: the program's variables.
    unsafe {
        let extra = i64::from(*extra_state);
        create(call, Keyval { copy, delete, extra, old: true, out: handle::comm_out }, keyval)
    }
}

macro_rules! predefined {
    ($integer:ty: $($never:ident)*; $($same:ident)*; $($nothing:ident)*) => {
        $(
            /// Copies no attribute.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $never(
                _: *const c_int,
                _: *const c_int,
                _: *const $integer,
                _: *const $integer,
                _: *mut $integer,
                flag: *mut c_int,
                ierror: *mut c_int,
            ) {
                // SAFETY: variables of the caller.
                unsafe { (*flag, *ierror) = (logical::FALSE, mpi::MPI_SUCCESS) };
            }
        )*
        $(
            /// Copies an attribute as it is.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $same(
                _: *const c_int,
                _: *const c_int,
                _: *const $integer,
                value: *const $integer,
                copy: *mut $integer,
                flag: *mut c_int,
                ierror: *mut c_int,
            ) {
                // SAFETY: variables of the caller.
                unsafe { (*copy, *flag, *ierror) = (*value, logical::TRUE, mpi::MPI_SUCCESS) };
            }
        )*
        $(
            /// Deletes an attribute.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $nothing(
                _: *const c_int,
                _: *const c_int,
                _: *const $integer,
                _: *const $integer,
                ierror: *mut c_int,
            ) {
                // SAFETY: a variable of the caller.
                unsafe { *ierror = mpi::MPI_SUCCESS };
            }
        )*
    };
}

predefined! { i64:
    mpi_comm_null_copy_fn_ mpi_type_null_copy_fn_ mpi_win_null_copy_fn_;
    mpi_comm_dup_fn_ mpi_type_dup_fn_ mpi_win_dup_fn_;
    mpi_comm_null_delete_fn_ mpi_type_null_delete_fn_ mpi_win_null_delete_fn_
}

predefined! { c_int: mpi_null_copy_fn_; mpi_dup_fn_; mpi_null_delete_fn_ }
