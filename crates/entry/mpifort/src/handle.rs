//! Handles. In this ABI an INTEGER of Fortran is C's handle, except for files, which are pointers
//! in C.

use crate::generated::constants as mpi;
use std::ffi::c_int;

/// A handle of C: all kinds but files are alike.
pub type Handle = c_int;
/// C's handle of a file.
pub type FileHandle = usize;

unsafe extern "C" {
    fn MPI_File_f2c(number: c_int) -> FileHandle;
    fn MPI_File_c2f(file: FileHandle) -> c_int;
}

macro_rules! kinds {
    ($($word:ident $out:ident)*) => {
        $(
            /// C's handle of this INTEGER.
            #[inline]
            pub fn $word(number: c_int) -> Handle {
                number
            }

            /// The INTEGER of C's handle.
            #[inline]
            pub fn $out(handle: Handle) -> c_int {
                handle
            }
        )*
    };
}

kinds! {
    comm comm_out
    group group_out
    datatype datatype_out
    op op_out
    errhandler errhandler_out
    info info_out
    session session_out
    win win_out
    message message_out
    request request_out
}

/// C's key of an attribute. Predefined attributes have two keys in this ABI: the first gives C a
/// pointer, the next, which `mpif.h` and the modules have, gives Fortran the value.
pub fn keyval(number: c_int) -> c_int {
    match number.wrapping_sub(1) {
        predefined @ (mpi::MPI_TAG_UB
        | mpi::MPI_HOST
        | mpi::MPI_IO
        | mpi::MPI_WTIME_IS_GLOBAL
        | mpi::MPI_APPNUM
        | mpi::MPI_LASTUSEDCODE
        | mpi::MPI_UNIVERSE_SIZE
        | mpi::MPI_WIN_BASE
        | mpi::MPI_WIN_SIZE
        | mpi::MPI_WIN_DISP_UNIT
        | mpi::MPI_WIN_CREATE_FLAVOR
        | mpi::MPI_WIN_MODEL) => predefined,
        _ => number,
    }
}

/// C's handle of the file with this INTEGER.
pub fn file(number: c_int) -> FileHandle {
    // SAFETY: any number may be asked about; a wrong one gives a null handle.
    unsafe { MPI_File_f2c(number) }
}

/// The INTEGER of C's handle of a file.
pub fn file_out(handle: FileHandle) -> c_int {
    // SAFETY: the C library made this handle.
    unsafe { MPI_File_c2f(handle) }
}
