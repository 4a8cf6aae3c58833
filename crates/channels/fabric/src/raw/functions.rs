//! The functions that the library exports, found by name at run time.

#![allow(missing_docs)]

use super::structures::*;
use super::tables::fid_fabric;
use libloading::Library;
use std::ffi::{c_char, c_int, c_void};

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// One pointer for each function.
        pub struct Functions { $(pub $name: unsafe extern "C" fn($($argument),*) -> $result,)* }

        impl Functions {
            /// Finds every function.
            ///
            /// # Errors
            /// The name of the first function that the library lacks.
            ///
            /// # Safety
            /// The library is libfabric, and stays open as long as the functions are used.
            pub unsafe fn find(library: &Library) -> Result<Functions, &'static str> {
                // SAFETY: by the caller's promise these are the functions of libfabric, with the
                // types above.
                Ok(unsafe { Functions { $($name: *library.get(stringify!($name)).map_err(|_| stringify!($name))?,)* } })
            }
        }
    };
}

functions! {
    fi_version: fn() -> u32;
    fi_getinfo: fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int;
    fi_freeinfo: fn(*mut fi_info) -> ();
    fi_dupinfo: fn(*const fi_info) -> *mut fi_info;
    fi_fabric: fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int;
    fi_strerror: fn(c_int) -> *const c_char;
}
