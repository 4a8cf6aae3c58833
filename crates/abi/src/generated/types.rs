//! Types of the C interface. Generated from the API table in `api/`; do not edit.
#![allow(missing_docs, non_camel_case_types)]

use crate::status::Status;
use std::ffi::{c_int, c_void};

pub type MPI_Aint = i64;
pub type MPI_Count = i64;
pub type MPI_Offset = i64;
pub type MPI_Status = Status;
pub type MPI_Comm = usize;
pub type MPI_Datatype = usize;
pub type MPI_Errhandler = usize;
pub type MPI_File = usize;
pub type MPI_Group = usize;
pub type MPI_Info = usize;
pub type MPI_Message = usize;
pub type MPI_Op = usize;
pub type MPI_Request = usize;
pub type MPI_Session = usize;
pub type MPI_Win = usize;
pub type MPI_User_function =
    Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype)>;
