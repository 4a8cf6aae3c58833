//! Persistent collectives (MPI-5.0, 6.13). The hints of the info argument are not used.

// The parameters are those of the C functions.
#![allow(clippy::too_many_arguments)]

use crate::args::{Address, Counts, Out};
use crate::collectives::{self, Form};
use crate::generated::types::MPI_Request;
use std::sync::Arc;
use verbena_mpi::{Comm, Datatype, Info, Op, Result};

/// `MPI_Barrier_init` (6.3).
pub fn barrier_init(comm: &Arc<Comm>, _info: Option<&Arc<Info>>, request: Out<MPI_Request>) -> Result<()> {
    collectives::barrier(Form::Persistent(request), comm)
}

/// `MPI_Bcast_init` (6.4).
pub fn bcast_init(
    buffer: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    root: i32,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::bcast(Form::Persistent(request), (buffer, count, datatype), root, comm)
}

/// `MPI_Gather_init` (6.5).
pub fn gather_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::gather(
        Form::Persistent(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        root,
        comm,
    )
}

/// `MPI_Gatherv_init` (6.5).
pub fn gatherv_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::gatherv(
        Form::Persistent(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcounts, displs, recvtype),
        root,
        comm,
    )
}

/// `MPI_Scatter_init` (6.6).
pub fn scatter_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::scatter(
        Form::Persistent(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        root,
        comm,
    )
}

/// `MPI_Scatterv_init` (6.6).
pub fn scatterv_init(
    sendbuf: Address,
    sendcounts: Counts,
    displs: Counts,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::scatterv(
        Form::Persistent(request),
        (sendbuf, sendcounts, displs, sendtype),
        (recvbuf, recvcount, recvtype),
        root,
        comm,
    )
}

/// `MPI_Allgather_init` (6.7).
pub fn allgather_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::allgather(
        Form::Persistent(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        comm,
    )
}

/// `MPI_Allgatherv_init` (6.7).
pub fn allgatherv_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::allgatherv(
        Form::Persistent(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcounts, displs, recvtype),
        comm,
    )
}

/// `MPI_Alltoall_init` (6.8).
pub fn alltoall_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::alltoall(
        Form::Persistent(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        comm,
    )
}

/// `MPI_Alltoallv_init` (6.8).
pub fn alltoallv_init(
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Counts,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Counts,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::alltoallv(
        Form::Persistent(request),
        (sendbuf, sendcounts, sdispls, sendtype),
        (recvbuf, recvcounts, rdispls, recvtype),
        comm,
    )
}

/// `MPI_Alltoallw_init` (6.8).
pub fn alltoallw_init(
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Counts,
    sendtypes: &[Arc<Datatype>],
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Counts,
    recvtypes: &[Arc<Datatype>],
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::alltoallw(
        Form::Persistent(request),
        (sendbuf, sendcounts, sdispls, sendtypes),
        (recvbuf, recvcounts, rdispls, recvtypes),
        comm,
    )
}

/// `MPI_Reduce_init` (6.9.1).
pub fn reduce_init(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    root: i32,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::reduce(Form::Persistent(request), (sendbuf, recvbuf, count, datatype, op), root, comm)
}

/// `MPI_Allreduce_init` (6.9.6).
pub fn allreduce_init(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::allreduce(Form::Persistent(request), (sendbuf, recvbuf, count, datatype, op), comm)
}

/// `MPI_Reduce_scatter_init` (6.10.2).
pub fn reduce_scatter_init(
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: Counts,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::reduce_scatter(
        Form::Persistent(request),
        (sendbuf, recvbuf, 0, datatype, op),
        recvcounts,
        comm,
    )
}

/// `MPI_Reduce_scatter_block_init` (6.10.1).
pub fn reduce_scatter_block_init(
    sendbuf: Address,
    recvbuf: Address,
    recvcount: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::reduce_scatter_block(
        Form::Persistent(request),
        (sendbuf, recvbuf, recvcount, datatype, op),
        comm,
    )
}

/// `MPI_Scan_init` (6.11.1).
pub fn scan_init(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::scan(Form::Persistent(request), (sendbuf, recvbuf, count, datatype, op), comm)
}

/// `MPI_Exscan_init` (6.11.2).
pub fn exscan_init(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::exscan(Form::Persistent(request), (sendbuf, recvbuf, count, datatype, op), comm)
}
