//! Handles as integers, as Fortran and programs in several languages pass them (MPI-4.1, 18.2): in
//! this ABI a handle is its own integer, except for files. And statuses, whose Fortran forms have
//! the layout of the C one.

#![allow(missing_docs, clippy::missing_safety_doc)]

use crate::handles::{File, Handle};
use crate::status::Status;
use std::ffi::c_int;

/// `MPI_FILE_NULL`, in C and in Fortran.
const FILE_NULL: c_int = 0;

/// The file of an integer.
pub fn file_of(number: c_int) -> usize {
    if number == FILE_NULL {
        return FILE_NULL as usize;
    }
    // SAFETY: plain numbers go in and out.
    File::face(unsafe { native!(MPI_File_fromint(number)) })
}

/// The integer of a file.
pub fn integer_of(file: usize) -> c_int {
    if file == FILE_NULL as usize {
        return FILE_NULL;
    }
    // SAFETY: plain numbers go in and out.
    unsafe { native!(MPI_File_toint(File::native(file))) }
}

macro_rules! identities {
    ($($c2f:ident $pc2f:ident $f2c:ident $pf2c:ident)*) => { $(
        face! { $c2f $pc2f(handle: c_int) -> c_int { handle } }
        face! { $f2c $pf2c(handle: c_int) -> c_int { handle } }
    )* };
}

identities! {
    MPI_Comm_c2f PMPI_Comm_c2f MPI_Comm_f2c PMPI_Comm_f2c
    MPI_Errhandler_c2f PMPI_Errhandler_c2f MPI_Errhandler_f2c PMPI_Errhandler_f2c
    MPI_Group_c2f PMPI_Group_c2f MPI_Group_f2c PMPI_Group_f2c
    MPI_Info_c2f PMPI_Info_c2f MPI_Info_f2c PMPI_Info_f2c
    MPI_Message_c2f PMPI_Message_c2f MPI_Message_f2c PMPI_Message_f2c
    MPI_Op_c2f PMPI_Op_c2f MPI_Op_f2c PMPI_Op_f2c
    MPI_Request_c2f PMPI_Request_c2f MPI_Request_f2c PMPI_Request_f2c
    MPI_Session_c2f PMPI_Session_c2f MPI_Session_f2c PMPI_Session_f2c
    MPI_Type_c2f PMPI_Type_c2f MPI_Type_f2c PMPI_Type_f2c
    MPI_Win_c2f PMPI_Win_c2f MPI_Win_f2c PMPI_Win_f2c
}

face! { MPI_File_c2f PMPI_File_c2f(file: usize) -> c_int { integer_of(file) } }
face! { MPI_File_f2c PMPI_File_f2c(file: c_int) -> usize { file_of(file) } }

/// Copies a status; returns `MPI_ERR_ARG` if either side has none.
unsafe fn copy(from: *const Status, to: *mut Status) -> c_int {
    const ERR_ARG: c_int = 12;
    if from as usize <= crate::values::STATUS_IGNORE || to as usize <= crate::values::STATUS_IGNORE {
        return ERR_ARG;
    }
    // SAFETY: the program's promise.
    unsafe { to.write(from.read()) };
    0
}

macro_rules! copies {
    ($($mpi:ident $pmpi:ident)*) => { $(
        face! { $mpi $pmpi(from: *const Status, to: *mut Status) -> c_int { copy(from, to) } }
    )* };
}

copies! {
    MPI_Status_c2f PMPI_Status_c2f
    MPI_Status_f2c PMPI_Status_f2c
    MPI_Status_c2f08 PMPI_Status_c2f08
    MPI_Status_f082c PMPI_Status_f082c
    MPI_Status_f082f PMPI_Status_f082f
    MPI_Status_f2f08 PMPI_Status_f2f08
}
