//! Collectives that move data (MPI-5.0, chapter 6), in all forms.

// The parameters are those of the C functions.
#![allow(clippy::too_many_arguments)]

use crate::args::{self, Address, Counts};
use crate::collectives::{
    Run, Type, even, in_place, layouts, over_board, significant, try_board, typed, varied,
};
use std::sync::Arc;
use verbena_channel::memory::Buffer;
use verbena_mpi::coll::operations;
use verbena_mpi::{Comm, Datatype, Result};

/// Number of ranks that get or give a block each.
fn ranks(comm: &Comm) -> i64 {
    comm.targets().size().into()
}

/// The block that this rank gives to or gets from a root; `None` if it is in place at the root.
fn own_block(address: Address, count: i64, datatype: Type, root: i32, comm: &Comm) -> Result<Option<Buffer>> {
    let at_root = args::is_root(root, comm);
    if !args::is_leaf(root, comm) || in_place(address, at_root && !comm.is_inter())? {
        return Ok(None);
    }
    args::buffer(address, count, significant(datatype)?).map(Some)
}

/// The block that this rank gives to all; `None` if it is in place.
fn given_block(address: Address, count: i64, datatype: Type, comm: &Comm) -> Result<Option<Buffer>> {
    if in_place(address, !comm.is_inter())? {
        return Ok(None);
    }
    args::buffer(address, count, significant(datatype)?).map(Some)
}

/// What `blocks` makes, where it is significant.
fn only<T>(wanted: bool, blocks: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
    if wanted { blocks().map(Some) } else { Ok(None) }
}

/// `MPI_Barrier` (6.3).
#[inline]
pub fn barrier(run: Run, comm: &Arc<Comm>) -> Result<()> {
    try_board!(run, over_board::barrier, comm);
    run.moving(comm, |schedule| operations::barrier(schedule, comm))
}

/// `MPI_Bcast` (6.4).
#[inline]
pub fn bcast(
    run: Run,
    buffer: Address,
    count: i64,
    datatype: Type,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    let buffer = datatype.map_or(Ok(Buffer::EMPTY), |datatype| args::buffer(buffer, count, datatype))?;
    try_board!(run, over_board::bcast, comm, &buffer, root);
    run.moving(comm, |schedule| operations::bcast(schedule, comm, buffer, root))
}

/// `MPI_Gather` (6.5).
pub fn gather(
    run: Run,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Type,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Type,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    let mine = own_block(sendbuf, sendcount, sendtype, root, comm)?;
    let blocks = || even(recvbuf, recvcount, significant(recvtype)?, ranks(comm));
    let blocks = only(args::is_root(root, comm), blocks)?;
    try_board!(run, over_board::gather, comm, mine.as_ref(), blocks, root);
    run.moving(comm, |schedule| operations::gather(schedule, comm, mine, blocks, root))
}

/// `MPI_Gatherv` (6.5).
pub fn gatherv(
    run: Run,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Type,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: Type,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    let mine = own_block(sendbuf, sendcount, sendtype, root, comm)?;
    let blocks = || varied(recvbuf, recvcounts, displs, significant(recvtype)?);
    let blocks = only(args::is_root(root, comm), blocks)?;
    run.moving(comm, |schedule| operations::gatherv(schedule, comm, mine, blocks, root))
}

/// `MPI_Scatter` (6.6).
pub fn scatter(
    run: Run,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Type,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Type,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    let blocks = || even(sendbuf, sendcount, significant(sendtype)?, ranks(comm));
    let blocks = only(args::is_root(root, comm), blocks)?;
    let mine = own_block(recvbuf, recvcount, recvtype, root, comm)?;
    try_board!(run, over_board::scatter, comm, blocks, mine.as_ref(), root);
    run.moving(comm, |schedule| operations::scatter(schedule, comm, blocks, mine, root))
}

/// `MPI_Scatterv` (6.6).
pub fn scatterv(
    run: Run,
    sendbuf: Address,
    sendcounts: Counts,
    displs: Counts,
    sendtype: Type,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Type,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    let blocks = || varied(sendbuf, sendcounts, displs, significant(sendtype)?);
    let blocks = only(args::is_root(root, comm), blocks)?;
    let mine = own_block(recvbuf, recvcount, recvtype, root, comm)?;
    run.moving(comm, |schedule| operations::scatterv(schedule, comm, blocks, mine, root))
}

/// `MPI_Allgather` (6.7).
pub fn allgather(
    run: Run,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Type,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    let mine = given_block(sendbuf, sendcount, sendtype, comm)?;
    let blocks = even(recvbuf, recvcount, recvtype, ranks(comm))?;
    try_board!(run, over_board::allgather, comm, mine.as_ref(), blocks);
    run.moving(comm, |schedule| operations::allgather(schedule, comm, mine, blocks))
}

/// `MPI_Allgatherv` (6.7).
pub fn allgatherv(
    run: Run,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Type,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    let mine = given_block(sendbuf, sendcount, sendtype, comm)?;
    let blocks = varied(recvbuf, recvcounts, displs, recvtype)?;
    try_board!(run, over_board::allgather, comm, mine.as_ref(), blocks);
    run.moving(comm, |schedule| operations::allgather(schedule, comm, mine, blocks))
}

/// `MPI_Alltoall` (6.8).
pub fn alltoall(
    run: Run,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Type,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    let given = !in_place(sendbuf, !comm.is_inter())?;
    let send = only(given, || even(sendbuf, sendcount, significant(sendtype)?, ranks(comm)))?;
    let recv = even(recvbuf, recvcount, recvtype, ranks(comm))?;
    try_board!(run, over_board::alltoall, comm, send, recv);
    run.moving(comm, |schedule| operations::alltoall(schedule, comm, send, recv))
}

/// `MPI_Alltoallv` (6.8).
pub fn alltoallv(
    run: Run,
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Counts,
    sendtype: Type,
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Counts,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    let given = !in_place(sendbuf, !comm.is_inter())?;
    let send = only(given, || varied(sendbuf, sendcounts, sdispls, significant(sendtype)?))?;
    let recv = varied(recvbuf, recvcounts, rdispls, recvtype)?;
    run.moving(comm, |schedule| operations::alltoallv(schedule, comm, send, recv))
}

/// `MPI_Alltoallw` (6.8).
pub fn alltoallw(
    run: Run,
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
    let (send_layouts, recv_layouts) = (layouts(sendtypes), layouts(recvtypes));
    let given = !in_place(sendbuf, !comm.is_inter())?;
    let send = only(given, || typed(sendbuf, (sendcounts, sdispls), sendtypes, &send_layouts))?;
    let recv = typed(recvbuf, (recvcounts, rdispls), recvtypes, &recv_layouts)?;
    run.moving(comm, |schedule| operations::alltoallv(schedule, comm, send, recv))
}
