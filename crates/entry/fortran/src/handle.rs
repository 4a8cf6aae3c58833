//! Handles. One is an INTEGER in Fortran, converted by the C library's own `toint` and `fromint`
//! (MPI-5.0, 20.3.4). Predefined ones have the same small number on both sides and need no call.

use std::ffi::c_int;

/// A handle of C: all kinds are alike.
pub type Handle = usize;
/// C's handle of a file, which is of another type in the MPICH ABI.
pub type FileHandle = usize;

/// C's key of an attribute: the same INTEGER, which the MPICH ABI has otherwise.
#[inline]
pub fn keyval(number: c_int) -> c_int {
    number
}

/// The end of the ABI's predefined handles: all are below.
const PREDEFINED_END: usize = 0x400;

macro_rules! kinds {
    ($($word:ident $out:ident $from:ident $to:ident)*) => {
        unsafe extern "C" {
            $(
                fn $from(number: c_int) -> usize;
                fn $to(handle: usize) -> c_int;
            )*
        }
        $(
            /// C's handle of this INTEGER.
            #[inline]
            pub fn $word(number: c_int) -> usize {
                match number as usize {
                    predefined @ 0..PREDEFINED_END => predefined,
                    // SAFETY: any number may be asked about; a wrong one gives a null handle.
                    _ => unsafe { $from(number) },
                }
            }

            /// The INTEGER of C's handle.
            #[inline]
            pub fn $out(handle: usize) -> c_int {
                match handle {
                    0..PREDEFINED_END => handle as c_int,
                    // SAFETY: the C library made this handle.
                    _ => unsafe { $to(handle) },
                }
            }
        )*
    };
}

kinds! {
    comm comm_out MPI_Comm_fromint MPI_Comm_toint
    group group_out MPI_Group_fromint MPI_Group_toint
    datatype datatype_out MPI_Type_fromint MPI_Type_toint
    op op_out MPI_Op_fromint MPI_Op_toint
    errhandler errhandler_out MPI_Errhandler_fromint MPI_Errhandler_toint
    info info_out MPI_Info_fromint MPI_Info_toint
    session session_out MPI_Session_fromint MPI_Session_toint
    win win_out MPI_Win_fromint MPI_Win_toint
    file file_out MPI_File_fromint MPI_File_toint
    message message_out MPI_Message_fromint MPI_Message_toint
    request request_out MPI_Request_fromint MPI_Request_toint
}

macro_rules! operators {
    ($($equal:ident $differ:ident)*) => {
        $(
            /// `==` of two handles in `mpi_f08`.
            ///
            /// # Safety
            /// Both are handles.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $equal(first: *const c_int, second: *const c_int) -> c_int {
                // SAFETY: the program's variables.
                unsafe { c_int::from(*first == *second) }
            }

            /// `/=` of two handles in `mpi_f08`.
            ///
            /// # Safety
            /// Both are handles.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $differ(first: *const c_int, second: *const c_int) -> c_int {
                // SAFETY: the program's variables.
                unsafe { c_int::from(*first != *second) }
            }
        )*
    };
}

operators! {
    verbena_comm_eq_ verbena_comm_ne_
    verbena_group_eq_ verbena_group_ne_
    verbena_datatype_eq_ verbena_datatype_ne_
    verbena_op_eq_ verbena_op_ne_
    verbena_errhandler_eq_ verbena_errhandler_ne_
    verbena_info_eq_ verbena_info_ne_
    verbena_session_eq_ verbena_session_ne_
    verbena_win_eq_ verbena_win_ne_
    verbena_file_eq_ verbena_file_ne_
    verbena_message_eq_ verbena_message_ne_
    verbena_request_eq_ verbena_request_ne_
}
