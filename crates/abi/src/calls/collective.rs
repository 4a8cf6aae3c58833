//! Blocking collectives (MPI-5.0, chapter 6).

// The parameters are those of the C functions.
#![allow(clippy::too_many_arguments)]

use crate::args::{Address, Counts};
use crate::collectives::{self, Form};
use std::sync::Arc;
use verbena_mpi::{Comm, Datatype, Op, Result};

/// `MPI_Barrier` (6.3).
#[inline]
pub fn barrier(comm: &Arc<Comm>) -> Result<()> {
    collectives::barrier(Form::Blocking, comm)
}

/// `MPI_Bcast` (6.4).
#[inline]
pub fn bcast(
    buffer: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::bcast(Form::Blocking, (buffer, count, datatype), root, comm)
}

/// `MPI_Gather` (6.5).
pub fn gather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::gather(
        Form::Blocking,
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        root,
        comm,
    )
}

/// `MPI_Gatherv` (6.5).
pub fn gatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::gatherv(
        Form::Blocking,
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcounts, displs, recvtype),
        root,
        comm,
    )
}

/// `MPI_Scatter` (6.6).
pub fn scatter(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::scatter(
        Form::Blocking,
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        root,
        comm,
    )
}

/// `MPI_Scatterv` (6.6).
pub fn scatterv(
    sendbuf: Address,
    sendcounts: Counts,
    displs: Counts,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Option<&Arc<Datatype>>,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::scatterv(
        Form::Blocking,
        (sendbuf, sendcounts, displs, sendtype),
        (recvbuf, recvcount, recvtype),
        root,
        comm,
    )
}

/// `MPI_Allgather` (6.7).
pub fn allgather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::allgather(
        Form::Blocking,
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        comm,
    )
}

/// `MPI_Allgatherv` (6.7).
pub fn allgatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::allgatherv(
        Form::Blocking,
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcounts, displs, recvtype),
        comm,
    )
}

/// `MPI_Alltoall` (6.8).
pub fn alltoall(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::alltoall(
        Form::Blocking,
        (sendbuf, sendcount, sendtype),
        (recvbuf, recvcount, recvtype),
        comm,
    )
}

/// `MPI_Alltoallv` (6.8).
pub fn alltoallv(
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Counts,
    sendtype: Option<&Arc<Datatype>>,
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Counts,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::alltoallv(
        Form::Blocking,
        (sendbuf, sendcounts, sdispls, sendtype),
        (recvbuf, recvcounts, rdispls, recvtype),
        comm,
    )
}

/// `MPI_Alltoallw` (6.8).
pub fn alltoallw(
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Counts,
    sendtypes: &[Arc<Datatype>],
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Counts,
    recvtypes: &[Arc<Datatype>],
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::alltoallw(
        Form::Blocking,
        (sendbuf, sendcounts, sdispls, sendtypes),
        (recvbuf, recvcounts, rdispls, recvtypes),
        comm,
    )
}

/// `MPI_Reduce` (6.9.1).
pub fn reduce(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::reduce(Form::Blocking, (sendbuf, recvbuf, count, datatype, op), root, comm)
}

/// `MPI_Allreduce` (6.9.6).
#[inline]
pub fn allreduce(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::allreduce(Form::Blocking, (sendbuf, recvbuf, count, datatype, op), comm)
}

/// `MPI_Reduce_scatter` (6.10.2).
pub fn reduce_scatter(
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: Counts,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::reduce_scatter(Form::Blocking, (sendbuf, recvbuf, 0, datatype, op), recvcounts, comm)
}

/// `MPI_Reduce_scatter_block` (6.10.1).
pub fn reduce_scatter_block(
    sendbuf: Address,
    recvbuf: Address,
    recvcount: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::reduce_scatter_block(Form::Blocking, (sendbuf, recvbuf, recvcount, datatype, op), comm)
}

/// `MPI_Scan` (6.11.1).
pub fn scan(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::scan(Form::Blocking, (sendbuf, recvbuf, count, datatype, op), comm)
}

/// `MPI_Exscan` (6.11.2).
pub fn exscan(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<()> {
    collectives::exscan(Form::Blocking, (sendbuf, recvbuf, count, datatype, op), comm)
}
