//! Keys of attributes: the program's copy and delete functions are called with its own handles
//! (MPI-5.0, 7.7).

use crate::generated::types::*;
use crate::handles::{Comm, Datatype, Handle, Win};
use crate::table::Function;
use crate::values::{self, error_native, keyval_face};
use std::ffi::{c_int, c_void};

type Copy =
    Option<unsafe extern "C" fn(i32, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int>;
type Delete = Option<unsafe extern "C" fn(i32, c_int, *mut c_void, *mut c_void) -> c_int>;

/// The standard face's `MPI_COMM_DUP_FN` and its kin.
const NATIVE_DUP_FN: Function = 1 as Function;

/// `MPI_DUP_FN` and its kin: a function in this ABI.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _: i32,
    _: c_int,
    _: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes the places that a copy function gets (MPI-5.0, 7.7.2).
    unsafe {
        copy.cast::<*mut c_void>().write(value);
        flag.write(1);
    }
    0
}

/// The program's side of a key. It lives as long as the process, since attributes may outlive their
/// key.
struct Keyval {
    copy: Copy,
    delete: Delete,
    extra_state: *mut c_void,
}

unsafe extern "C" fn copy<K: Handle<Face = i32>>(
    object: usize,
    keyval: c_int,
    state: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: `create` made the state, and it is never freed.
    let key = unsafe { &*state.cast::<Keyval>() };
    let Some(function) = key.copy else { return 0 };
    // SAFETY: the program's own function and state.
    error_native(unsafe {
        function(K::face(object), keyval_face(keyval), key.extra_state, value, copy, flag)
    })
}

unsafe extern "C" fn delete<K: Handle<Face = i32>>(
    object: usize,
    keyval: c_int,
    value: *mut c_void,
    state: *mut c_void,
) -> c_int {
    // SAFETY: as in `copy`.
    let key = unsafe { &*state.cast::<Keyval>() };
    let Some(function) = key.delete else { return 0 };
    // SAFETY: the program's own function and state.
    error_native(unsafe { function(K::face(object), keyval_face(keyval), value, key.extra_state) })
}

/// The copy function to give the library: for predefined ones, its own.
fn native_copy<K: Handle<Face = i32>>(function: Copy) -> Function {
    match function {
        None => std::ptr::null(),
        Some(function) if function as usize == MPIR_Dup_fn as *const () as usize => NATIVE_DUP_FN,
        Some(_) => copy::<K> as Function,
    }
}

macro_rules! creates {
    ($($(#[$doc:meta])* pub unsafe fn $name:ident($native:ident, $handle:ident, $copy:ident, $delete:ident);)*) => { $(
        $(#[$doc])*
        pub unsafe fn $name(
            copy_fn: $copy,
            delete_fn: $delete,
            keyval: *mut c_int,
            extra_state: *mut c_void,
        ) -> c_int {
            let state = Box::leak(Box::new(Keyval { copy: copy_fn, delete: delete_fn, extra_state }));
            let delete_fn = delete_fn.map_or(std::ptr::null(), |_| delete::<$handle> as Function);
            // SAFETY: our own functions, which fit this state; the place is the program's.
            unsafe {
                let copy_fn = native_copy::<$handle>(copy_fn);
                let code = native!($native(copy_fn, delete_fn, keyval, (&raw mut *state).cast()));
                values::set(code, keyval, keyval_face);
                values::code(code)
            }
        }
    )* };
}

creates! {
    /// `MPI_Comm_create_keyval`.
    pub unsafe fn comm_create_keyval(MPI_Comm_create_keyval, Comm, MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function);
    /// `MPI_Type_create_keyval`.
    pub unsafe fn type_create_keyval(MPI_Type_create_keyval, Datatype, MPI_Type_copy_attr_function, MPI_Type_delete_attr_function);
    /// `MPI_Win_create_keyval`.
    pub unsafe fn win_create_keyval(MPI_Win_create_keyval, Win, MPI_Win_copy_attr_function, MPI_Win_delete_attr_function);
    /// `MPI_Keyval_create` (deprecated).
    pub unsafe fn keyval_create(MPI_Keyval_create, Comm, MPI_Copy_function, MPI_Delete_function);
}
