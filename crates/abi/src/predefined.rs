//! The objects behind predefined handles, made when first asked for (some are wanted before `MPI_Init`).

use std::sync::Arc;
use verbena_mpi::{Datatype, Errhandler, Group, Info, Op};

/// The predefined group of this handle; `MPI_GROUP_EMPTY` is defined by initialisation.
pub fn group(_handle: usize) -> Option<Arc<Group>> {
    None
}

/// The predefined datatype of this handle.
pub fn datatype(_handle: usize) -> Option<Arc<Datatype>> {
    None
}

/// The predefined operation of this handle.
pub fn op(_handle: usize) -> Option<Arc<Op>> {
    None
}

/// The predefined error handler of this handle.
pub fn errhandler(_handle: usize) -> Option<Arc<Errhandler>> {
    None
}

/// The predefined info object of this handle.
pub fn info(_handle: usize) -> Option<Arc<Info>> {
    None
}
