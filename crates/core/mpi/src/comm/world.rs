//! The predefined communicators (MPI-5.0, 7.2.4).

use super::Comm;
use crate::errhandler::{Handling, predefined};
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
    begun(Comm::new(WORLD_CONTEXT, Arc::new(group), None), mpi::MPI_COMM_WORLD, "MPI_COMM_WORLD")
}

/// Makes `MPI_COMM_SELF`.
pub fn own(process: &Process) -> Comm {
    let group = Group::new(vec![process.me()], process.me());
    begun(Comm::new(SELF_CONTEXT, Arc::new(group), None), mpi::MPI_COMM_SELF, "MPI_COMM_SELF")
}

fn begun(comm: Comm, handle: usize, name: &str) -> Comm {
    let comm = Comm { errhandling: Handling::new(predefined::initial()), ..comm };
    comm.predefine(handle, name);
    comm
}
