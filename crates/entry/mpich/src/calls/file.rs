//! Data representations: conversion functions are called with the program's own handles (MPI-5.0,
//! 14.5.3).

use crate::generated::types::*;
use crate::handles::{Datatype, Handle};
use crate::table::Function;
use crate::values::{self, error_native};
use std::ffi::{c_char, c_int, c_void};

/// The program's side of a data representation. It lives as long as the process, like the
/// representation.
struct Representation<F> {
    read: F,
    write: F,
    extent: MPI_Datarep_extent_function,
    extra_state: *mut c_void,
}

unsafe extern "C" fn extent<F>(datatype: usize, extent: *mut MPI_Aint, state: *mut c_void) -> c_int {
    // SAFETY: `register` made the state, and it is never freed.
    let own = unsafe { &*state.cast::<Representation<F>>() };
    own.extent.map_or(0, |function| {
        // SAFETY: the program's own function and state.
        error_native(unsafe { function(Datatype::face(datatype), extent, own.extra_state) })
    })
}

/// Defines a form of `MPI_Register_datarep`, by its types of counts and conversion functions.
macro_rules! registers {
    ($($(#[$doc:meta])* pub unsafe fn $name:ident($native:ident, $function:ident, $count:ty, $read:ident, $write:ident);)*) => { $(
        unsafe extern "C" fn $read(
            user: *mut c_void,
            datatype: usize,
            count: $count,
            file: *mut c_void,
            position: MPI_Offset,
            state: *mut c_void,
        ) -> c_int {
            // SAFETY: as in `extent`.
            let own = unsafe { &*state.cast::<Representation<$function>>() };
            own.read.map_or(0, |function| {
                let datatype = Datatype::face(datatype);
                // SAFETY: the program's own function and state.
                error_native(unsafe { function(user, datatype, count, file, position, own.extra_state) })
            })
        }

        unsafe extern "C" fn $write(
            user: *mut c_void,
            datatype: usize,
            count: $count,
            file: *mut c_void,
            position: MPI_Offset,
            state: *mut c_void,
        ) -> c_int {
            // SAFETY: as in `extent`.
            let own = unsafe { &*state.cast::<Representation<$function>>() };
            own.write.map_or(0, |function| {
                let datatype = Datatype::face(datatype);
                // SAFETY: the program's own function and state.
                error_native(unsafe { function(user, datatype, count, file, position, own.extra_state) })
            })
        }

        $(#[$doc])*
        pub unsafe fn $name(
            datarep: *const c_char,
            read: $function,
            write: $function,
            extent_fn: MPI_Datarep_extent_function,
            extra_state: *mut c_void,
        ) -> c_int {
            let none = std::ptr::null();
            let native_read = read.map_or(none, |_| $read as Function);
            let native_write = write.map_or(none, |_| $write as Function);
            let native_extent = extent_fn.map_or(none, |_| extent::<$function> as Function);
            let state = Box::leak(Box::new(Representation { read, write, extent: extent_fn, extra_state }));
            // SAFETY: our own functions, which fit this state.
            values::code(unsafe {
                native!($native(datarep, native_read, native_write, native_extent, (&raw mut *state).cast()))
            })
        }
    )* };
}

registers! {
    /// `MPI_Register_datarep`.
    pub unsafe fn register_datarep(MPI_Register_datarep, MPI_Datarep_conversion_function, c_int, read_int, write_int);
    /// `MPI_Register_datarep_c`.
    pub unsafe fn register_datarep_c(MPI_Register_datarep_c, MPI_Datarep_conversion_function_c, MPI_Count, read_large, write_large);
}
