//! The predefined communicators (MPI-5.0, 7.2.4).

use super::Comm;
use crate::generated::constants as mpi;
use crate::group::Group;
use crate::process::Process;
use std::sync::Arc;

/// Context of `MPI_COMM_WORLD`. Contexts that processes hand out begin behind the fixed ones.
const WORLD_CONTEXT: u64 = 0;
/// Context of `MPI_COMM_SELF`: only this process ever sees it.
const SELF_CONTEXT: u64 = 4;

/// Makes `MPI_COMM_WORLD`.
pub fn world(process: &Process) -> Comm {
    let group = Group::of_job(process.me(), process.size());
    let comm = Comm::new(WORLD_CONTEXT, Arc::new(group), None);
    comm.predefine(mpi::MPI_COMM_WORLD, "MPI_COMM_WORLD");
    comm
}

/// Makes `MPI_COMM_SELF`.
pub fn own(process: &Process) -> Comm {
    let group = Group::new(vec![process.me()], process.me());
    let comm = Comm::new(SELF_CONTEXT, Arc::new(group), None);
    comm.predefine(mpi::MPI_COMM_SELF, "MPI_COMM_SELF");
    comm
}
