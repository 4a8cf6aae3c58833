//! The versions of the library and of the standard ABI (MPI-5.0, 9.1.1 and 20.2).

use crate::values;
use std::ffi::{CStr, c_char, c_int};

/// Room for the version on both faces: `MPI_MAX_LIBRARY_VERSION_STRING`.
const ROOM: usize = 8192;

/// `MPI_Get_library_version`: names the library and this face of it.
pub unsafe fn get_library_version(version: *mut c_char, resultlen: *mut c_int) -> c_int {
    // SAFETY: the program's promise; after success a string with a final zero is there.
    unsafe {
        let code = native!(MPI_Get_library_version(version, resultlen));
        if code == 0 {
            let text = [CStr::from_ptr(version).to_bytes(), b", MPICH ABI 12"].concat();
            let len = text.len().min(ROOM - 1);
            version.copy_from_nonoverlapping(text.as_ptr().cast(), len);
            version.add(len).write(0);
            resultlen.write(len as c_int);
        }
        values::code(code)
    }
}

/// `MPI_Abi_get_version`: -1 for both numbers, because this face is not the standard ABI (MPI-5.0,
/// 20.2). mpi4py chooses among its builds by the answer.
pub unsafe fn abi_get_version(abi_major: *mut c_int, abi_minor: *mut c_int) -> c_int {
    // SAFETY: the program's promise; after success both numbers are there.
    unsafe {
        let code = native!(MPI_Abi_get_version(abi_major, abi_minor));
        if code == 0 {
            abi_major.write(-1);
            abi_minor.write(-1);
        }
        values::code(code)
    }
}
