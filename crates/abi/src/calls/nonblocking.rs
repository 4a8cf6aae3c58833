//! Nonblocking collectives (MPI-5.0, 6.12).

// The parameters are those of the C functions.
#![allow(clippy::too_many_arguments)]

use crate::args::{Address, Counts, Out};
use crate::collectives::{self, Form};
use crate::generated::types::MPI_Request;
use std::sync::Arc;
use verbena_mpi::{Comm, Datatype, Op, Result};

/// `MPI_Ibarrier` (6.3).
pub fn ibarrier(comm: &Arc<Comm>, request: Out<MPI_Request>) -> Result<()> {
    collectives::barrier(Form::Nonblocking(request), comm)
}

/// `MPI_Ibcast` (6.4).
pub fn ibcast(
    buffer: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    root: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::bcast(Form::Nonblocking(request), (buffer, count, datatype), root, comm)
}

/// `MPI_Igather` (6.5).
pub fn igather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::gather(
        Form::Nonblocking(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        root,
        comm,
    )
}

/// `MPI_Igatherv` (6.5).
pub fn igatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::gatherv(
        Form::Nonblocking(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcounts, displs, recvtype),
        root,
        comm,
    )
}

/// `MPI_Iscatter` (6.6).
pub fn iscatter(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::scatter(
        Form::Nonblocking(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        root,
        comm,
    )
}

/// `MPI_Iscatterv` (6.6).
pub fn iscatterv(
    sendbuf: Address,
    sendcounts: Counts,
    displs: Counts,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::scatterv(
        Form::Nonblocking(request),
        (sendbuf, sendcounts, displs, sendtype),
        (recvbuf, recvcount, recvtype),
        root,
        comm,
    )
}

/// `MPI_Iallgather` (6.7).
pub fn iallgather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::allgather(
        Form::Nonblocking(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        comm,
    )
}

/// `MPI_Iallgatherv` (6.7).
pub fn iallgatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::allgatherv(
        Form::Nonblocking(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcounts, displs, recvtype),
        comm,
    )
}

/// `MPI_Ialltoall` (6.8).
pub fn ialltoall(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::alltoall(
        Form::Nonblocking(request),
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        comm,
    )
}

/// `MPI_Ialltoallv` (6.8).
pub fn ialltoallv(
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Counts,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Counts,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::alltoallv(
        Form::Nonblocking(request),
        (sendbuf, sendcounts, sdispls, sendtype),
        (recvbuf, recvcounts, rdispls, recvtype),
        comm,
    )
}

/// `MPI_Ialltoallw` (6.8).
pub fn ialltoallw(
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Counts,
    sendtypes: &[Arc<Datatype>],
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Counts,
    recvtypes: &[Arc<Datatype>],
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::alltoallw(
        Form::Nonblocking(request),
        (sendbuf, sendcounts, sdispls, sendtypes),
        (recvbuf, recvcounts, rdispls, recvtypes),
        comm,
    )
}

/// `MPI_Ireduce` (6.9.1).
pub fn ireduce(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    root: i32,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::reduce(Form::Nonblocking(request), (sendbuf, recvbuf, count, datatype, op), root, comm)
}

/// `MPI_Iallreduce` (6.9.6).
pub fn iallreduce(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::allreduce(Form::Nonblocking(request), (sendbuf, recvbuf, count, datatype, op), comm)
}

/// `MPI_Ireduce_scatter` (6.10.2).
pub fn ireduce_scatter(
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: Counts,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::reduce_scatter(
        Form::Nonblocking(request),
        (sendbuf, recvbuf, 0, datatype, op),
        recvcounts,
        comm,
    )
}

/// `MPI_Ireduce_scatter_block` (6.10.1).
pub fn ireduce_scatter_block(
    sendbuf: Address,
    recvbuf: Address,
    recvcount: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::reduce_scatter_block(
        Form::Nonblocking(request),
        (sendbuf, recvbuf, recvcount, datatype, op),
        comm,
    )
}

/// `MPI_Iscan` (6.11.1).
pub fn iscan(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::scan(Form::Nonblocking(request), (sendbuf, recvbuf, count, datatype, op), comm)
}

/// `MPI_Iexscan` (6.11.2).
pub fn iexscan(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    collectives::exscan(Form::Nonblocking(request), (sendbuf, recvbuf, count, datatype, op), comm)
}
