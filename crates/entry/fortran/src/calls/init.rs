//! Start-up. After it, the C library is told Fortran's types (MPI-5.0, 20.4): MPICH takes them no
//! earlier.

use crate::generated::{c, constants as mpi};
use crate::handle::{self, Handle};
use crate::logical;
use std::ffi::{CString, c_int};
use std::sync::Once;

unsafe extern "C" {
    fn PMPI_Abi_get_fortran_booleans(
        size: c_int,
        yes: *mut c_int,
        no: *mut c_int,
        is_set: *mut c_int,
    ) -> c_int;
    fn PMPI_Abi_set_fortran_booleans(size: c_int, yes: *mut c_int, no: *mut c_int) -> c_int;
    fn PMPI_Abi_set_fortran_info(info: Handle) -> c_int;
}

/// `MPI_Init`.
pub unsafe fn init(call: c::Init) -> c_int {
    // SAFETY: both may be null.
    announced(unsafe { call(std::ptr::null_mut(), std::ptr::null_mut()) })
}

/// `MPI_Init_thread`.
pub unsafe fn init_thread(call: c::Init_thread, required: *const c_int, provided: *mut c_int) -> c_int {
    // SAFETY: the program's variables; the others may be null.
    announced(unsafe { call(std::ptr::null_mut(), std::ptr::null_mut(), *required, provided) })
}

/// `MPI_Info_create_env`.
pub unsafe fn info_create_env(call: c::Info_create_env, info: *mut c_int) -> c_int {
    let mut of_c = mpi::MPI_INFO_NULL;
    // SAFETY: there are no arguments; the program's variable.
    unsafe {
        let code = call(0, std::ptr::null_mut(), &mut of_c);
        *info = handle::info_out(of_c);
        code
    }
}

/// Tells the C library once, unless that is done; `code` is that of the start-up.
fn announced(code: c_int) -> c_int {
    static ONCE: Once = Once::new();
    if code == mpi::MPI_SUCCESS {
        ONCE.call_once(|| {
            announce_logicals();
            announce_sizes();
        });
    }
    code
}

fn announce_logicals() {
    let size = size_of::<c_int>() as c_int;
    let (mut yes, mut no, mut is_set) = (0, 0, 0);
    // SAFETY: variables of that size.
    unsafe {
        PMPI_Abi_get_fortran_booleans(size, &mut yes, &mut no, &mut is_set);
        if is_set == 0 {
            (yes, no) = (logical::TRUE, logical::FALSE);
            PMPI_Abi_set_fortran_booleans(size, &mut yes, &mut no);
        }
    }
}

/// Sizes in bytes of gfortran's default types and of the optional ones that it has.
const SIZES: [(&str, &str); 19] = [
    ("mpi_logical_size", "4"),
    ("mpi_integer_size", "4"),
    ("mpi_real_size", "4"),
    ("mpi_double_precision_size", "8"),
    ("mpi_logical1_supported", "true"),
    ("mpi_logical2_supported", "true"),
    ("mpi_logical4_supported", "true"),
    ("mpi_logical8_supported", "true"),
    ("mpi_integer1_supported", "true"),
    ("mpi_integer2_supported", "true"),
    ("mpi_integer4_supported", "true"),
    ("mpi_integer8_supported", "true"),
    ("mpi_real2_supported", "false"),
    ("mpi_real4_supported", "true"),
    ("mpi_real8_supported", "true"),
    ("mpi_complex4_supported", "false"),
    ("mpi_complex8_supported", "true"),
    ("mpi_complex16_supported", "true"),
    ("mpi_double_complex_supported", "true"),
];

fn announce_sizes() {
    let mut info = mpi::MPI_INFO_NULL;
    // SAFETY: places for handles; strings that end with a null byte.
    unsafe {
        c::PMPI_Abi_get_fortran_info(&mut info);
        if info != mpi::MPI_INFO_NULL {
            c::PMPI_Info_free(&mut info);
            return;
        }
        c::PMPI_Info_create(&mut info);
        for (key, value) in SIZES {
            let (key, value) = (CString::new(key), CString::new(value));
            let (key, value) = (key.unwrap_or_default(), value.unwrap_or_default());
            c::PMPI_Info_set(info, key.as_ptr(), value.as_ptr());
        }
        PMPI_Abi_set_fortran_info(info);
        c::PMPI_Info_free(&mut info);
    }
}
