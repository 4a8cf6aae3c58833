//! Integers of handles (MPI-5.0, 20.3.4).

use crate::generated::types::*;
use crate::handles::*;
use std::ffi::c_int;
use verbena_mpi::generated::constants as mpi;

/// `MPI_Comm_toint`.
pub fn comm_toint(handle: MPI_Comm) -> c_int {
    to_int(handle)
}

/// `MPI_Comm_fromint`.
pub fn comm_fromint(number: c_int) -> MPI_Comm {
    COMMS.from_int(number)
}

/// `MPI_Group_toint`.
pub fn group_toint(handle: MPI_Group) -> c_int {
    to_int(handle)
}

/// `MPI_Group_fromint`.
pub fn group_fromint(number: c_int) -> MPI_Group {
    GROUPS.from_int(number)
}

/// `MPI_Type_toint`.
pub fn type_toint(handle: MPI_Datatype) -> c_int {
    to_int(handle)
}

/// `MPI_Type_fromint`.
pub fn type_fromint(number: c_int) -> MPI_Datatype {
    DATATYPES.from_int(number)
}

/// `MPI_Op_toint`.
pub fn op_toint(handle: MPI_Op) -> c_int {
    to_int(handle)
}

/// `MPI_Op_fromint`.
pub fn op_fromint(number: c_int) -> MPI_Op {
    OPS.from_int(number)
}

/// `MPI_Errhandler_toint`.
pub fn errhandler_toint(handle: MPI_Errhandler) -> c_int {
    to_int(handle)
}

/// `MPI_Errhandler_fromint`.
pub fn errhandler_fromint(number: c_int) -> MPI_Errhandler {
    ERRHANDLERS.from_int(number)
}

/// `MPI_Info_toint`.
pub fn info_toint(handle: MPI_Info) -> c_int {
    to_int(handle)
}

/// `MPI_Info_fromint`.
pub fn info_fromint(number: c_int) -> MPI_Info {
    INFOS.from_int(number)
}

/// `MPI_Session_toint`.
pub fn session_toint(handle: MPI_Session) -> c_int {
    to_int(handle)
}

/// `MPI_Session_fromint`.
pub fn session_fromint(number: c_int) -> MPI_Session {
    SESSIONS.from_int(number)
}

/// `MPI_Win_toint`.
pub fn win_toint(handle: MPI_Win) -> c_int {
    to_int(handle)
}

/// `MPI_Win_fromint`.
pub fn win_fromint(number: c_int) -> MPI_Win {
    WINS.from_int(number)
}

/// `MPI_File_toint`.
pub fn file_toint(handle: MPI_File) -> c_int {
    to_int(handle)
}

/// `MPI_File_fromint`.
pub fn file_fromint(number: c_int) -> MPI_File {
    FILES.from_int(number)
}

/// `MPI_Request_toint`.
pub fn request_toint(handle: MPI_Request) -> c_int {
    remember(handle)
}

/// `MPI_Request_fromint`.
pub fn request_fromint(number: c_int) -> MPI_Request {
    recall(number, mpi::MPI_REQUEST_NULL)
}

/// `MPI_Message_toint`.
pub fn message_toint(handle: MPI_Message) -> c_int {
    remember(handle)
}

/// `MPI_Message_fromint`.
pub fn message_fromint(number: c_int) -> MPI_Message {
    recall(number, mpi::MPI_MESSAGE_NULL)
}
