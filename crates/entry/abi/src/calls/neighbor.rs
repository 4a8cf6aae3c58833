//! Neighbourhood collectives (MPI-5.0, 8.6 to 8.9), in all forms. There is no `MPI_IN_PLACE` here.

// The parameters are those of the C functions.
#![allow(clippy::too_many_arguments)]

use crate::args::{self, Address, Counts};
use crate::collectives::{Run, even, in_place, layouts, of_all, tell_blocks, typed, varied};
use std::sync::Arc;
use verbena_memory::Buffer;
use verbena_mpi::coll::{Blocks, Call, Kind, operations};
use verbena_mpi::{Comm, Datatype, Result};

/// The datatypes of what is sent and received: one for each block, or one for all.
type Types<'a> = (&'a [Arc<Datatype>], &'a [Arc<Datatype>]);

/// The block that this rank gives to all neighbours.
fn given_block(address: Address, count: i64, datatype: &Arc<Datatype>) -> Result<Buffer> {
    in_place(address, false)?;
    args::buffer(address, count, datatype)
}

fn run_allgather(
    run: Run,
    (kind, types): (Kind, Types),
    comm: &Arc<Comm>,
    mine: Buffer,
    recv: Blocks,
) -> Result<()> {
    let neighbors = comm.neighbors()?;
    let call = Call::new(kind, comm).mark();
    run.moving(comm, call, |schedule| {
        tell_blocks(schedule, true, types.0, types.1);
        operations::neighbor_allgather(schedule, comm, neighbors, &mine, recv);
    })
}

fn run_alltoall(
    run: Run,
    (kind, types): (Kind, Types),
    comm: &Arc<Comm>,
    send: Blocks,
    recv: Blocks,
) -> Result<()> {
    let neighbors = comm.neighbors()?;
    let call = Call::new(kind, comm).mark();
    run.moving(comm, call, |schedule| {
        tell_blocks(schedule, true, types.0, types.1);
        operations::neighbor_alltoall(schedule, comm, neighbors, send, recv);
    })
}

/// `MPI_Neighbor_allgather` (8.6.1).
pub fn neighbor_allgather(
    run: Run,
    sendbuf: Address,
    sendcount: i64,
    sendtype: &Arc<Datatype>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    let mine = given_block(sendbuf, sendcount, sendtype)?;
    run_allgather(
        run,
        (Kind::NeighborAllgather, (of_all(Some(sendtype)), of_all(Some(recvtype)))),
        comm,
        mine,
        even(recvbuf, recvcount, recvtype, args::indegree(comm)?)?,
    )
}

/// `MPI_Neighbor_allgatherv` (8.6.1).
pub fn neighbor_allgatherv(
    run: Run,
    sendbuf: Address,
    sendcount: i64,
    sendtype: &Arc<Datatype>,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    let mine = given_block(sendbuf, sendcount, sendtype)?;
    run_allgather(
        run,
        (Kind::NeighborAllgatherv, (of_all(Some(sendtype)), of_all(Some(recvtype)))),
        comm,
        mine,
        varied(recvbuf, recvcounts, displs, recvtype)?,
    )
}

/// `MPI_Neighbor_alltoall` (8.6.2).
pub fn neighbor_alltoall(
    run: Run,
    sendbuf: Address,
    sendcount: i64,
    sendtype: &Arc<Datatype>,
    recvbuf: Address,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    in_place(sendbuf, false)?;
    let send = even(sendbuf, sendcount, sendtype, args::outdegree(comm)?)?;
    run_alltoall(
        run,
        (Kind::NeighborAlltoall, (of_all(Some(sendtype)), of_all(Some(recvtype)))),
        comm,
        send,
        even(recvbuf, recvcount, recvtype, args::indegree(comm)?)?,
    )
}

/// `MPI_Neighbor_alltoallv` (8.6.2).
pub fn neighbor_alltoallv(
    run: Run,
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Counts,
    sendtype: &Arc<Datatype>,
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Counts,
    recvtype: &Arc<Datatype>,
    comm: &Arc<Comm>,
) -> Result<()> {
    in_place(sendbuf, false)?;
    let send = varied(sendbuf, sendcounts, sdispls, sendtype)?;
    run_alltoall(
        run,
        (Kind::NeighborAlltoallv, (of_all(Some(sendtype)), of_all(Some(recvtype)))),
        comm,
        send,
        varied(recvbuf, recvcounts, rdispls, recvtype)?,
    )
}

/// `MPI_Neighbor_alltoallw` (8.6.3).
pub fn neighbor_alltoallw(
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
    in_place(sendbuf, false)?;
    let (send_layouts, recv_layouts) = (layouts(sendtypes), layouts(recvtypes));
    let send = typed(sendbuf, (sendcounts, sdispls), sendtypes, &send_layouts)?;
    let recv = typed(recvbuf, (recvcounts, rdispls), recvtypes, &recv_layouts)?;
    run_alltoall(run, (Kind::NeighborAlltoallw, (sendtypes, recvtypes)), comm, send, recv)
}
