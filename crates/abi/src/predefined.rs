//! The objects behind predefined handles, made when first asked for (some are wanted before `MPI_Init`).

use std::sync::Arc;
use verbena_mpi::errhandler::predefined;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Errhandler, Group, Info, Op};

/// The predefined group of this handle: `MPI_GROUP_EMPTY`, of which no process is a member.
pub fn group(handle: usize) -> Option<Arc<Group>> {
    (handle == mpi::MPI_GROUP_EMPTY).then(|| Arc::new(Group::new(Vec::new(), 0)))
}

/// The predefined datatype of this handle.
pub fn datatype(handle: usize) -> Option<Arc<Datatype>> {
    Datatype::predefined(handle).cloned()
}

/// The predefined operation of this handle.
pub fn op(handle: usize) -> Option<Arc<Op>> {
    Op::predefined(handle).cloned()
}

/// The predefined error handler of this handle.
pub fn errhandler(handle: usize) -> Option<Arc<Errhandler>> {
    match handle {
        mpi::MPI_ERRORS_ARE_FATAL => Some(predefined::are_fatal()),
        mpi::MPI_ERRORS_ABORT => Some(predefined::abort()),
        mpi::MPI_ERRORS_RETURN => Some(predefined::returning()),
        _ => None,
    }
}

/// The predefined info object of this handle: `MPI_INFO_ENV` (MPI-5.0, 11.2.1).
pub fn info(handle: usize) -> Option<Arc<Info>> {
    (handle == mpi::MPI_INFO_ENV).then(|| Arc::new(Info::constant(crate::calls::info::environment)))
}
