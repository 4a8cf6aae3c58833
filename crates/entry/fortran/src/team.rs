//! Lengths of arrays that only the communicator gives. A wrong communicator gives 0; the call that
//! follows reports what is wrong with it.

use crate::generated::c;
use crate::generated::constants as mpi;
use crate::handle::{self, Handle};
use std::ffi::c_int;

fn asked(ask: impl FnOnce(*mut c_int) -> c_int) -> c_int {
    let mut answer = 0;
    if ask(&mut answer) == mpi::MPI_SUCCESS { answer } else { 0 }
}

/// Converts a count to a length.
pub fn number(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// The number of ranks in the local group.
pub fn local(comm: c_int) -> usize {
    // SAFETY: a handle, and a place for the answer.
    number(asked(|size| unsafe { c::PMPI_Comm_size(handle::comm(comm), size) }).into())
}

/// The number of ranks in the group that rank arguments refer to.
pub fn remote(comm: c_int) -> usize {
    let of_c = handle::comm(comm);
    // SAFETY: a handle, and places for the answers.
    let inter = asked(|flag| unsafe { c::PMPI_Comm_test_inter(of_c, flag) }) != 0;
    if !inter {
        return local(comm);
    }
    // SAFETY: as above.
    number(asked(|size| unsafe { c::PMPI_Comm_remote_size(of_c, size) }).into())
}

/// The number of dimensions of a grid.
pub fn dims(comm: c_int) -> usize {
    // SAFETY: a handle, and a place for the answer.
    number(asked(|dims| unsafe { c::PMPI_Cartdim_get(handle::comm(comm), dims) }).into())
}

/// The numbers of neighbors that a rank receives from and sends to (MPI-5.0, 8.6).
pub fn degrees(comm: c_int) -> (usize, usize) {
    let of_c = handle::comm(comm);
    // SAFETY: a handle, and a place for the answer.
    match asked(|topology| unsafe { c::PMPI_Topo_test(of_c, topology) }) {
        mpi::MPI_CART => (2 * dims(comm), 2 * dims(comm)),
        mpi::MPI_GRAPH => graph(of_c),
        mpi::MPI_DIST_GRAPH => dist_graph(of_c),
        _ => (0, 0),
    }
}

fn graph(comm: Handle) -> (usize, usize) {
    // SAFETY: a handle, and a place for the answer.
    let rank = asked(|rank| unsafe { c::PMPI_Comm_rank(comm, rank) });
    // SAFETY: as above.
    let both = number(asked(|n| unsafe { c::PMPI_Graph_neighbors_count(comm, rank, n) }).into());
    (both, both)
}

fn dist_graph(comm: Handle) -> (usize, usize) {
    let (mut indegree, mut outdegree, mut weighted) = (0, 0, 0);
    // SAFETY: a handle, and places for the answers.
    unsafe { c::PMPI_Dist_graph_neighbors_count(comm, &mut indegree, &mut outdegree, &mut weighted) };
    (number(indegree.into()), number(outdegree.into()))
}
