//! Collectives that move data (MPI-5.0, chapter 6), in all forms.

// The parameters are those of the C functions.
#![allow(clippy::too_many_arguments)]

use crate::args::{self, Address, Counts};
use crate::collectives::{
    Run, Type, blocking, even, first_byte, in_place, layouts, of_all, significant, tell_blocks, try_board,
    typed, varied,
};
use std::sync::Arc;
use verbena_memory::Buffer;
use verbena_mpi::coll::schedule::Schedule;
use verbena_mpi::coll::{Call, Kind, operations};
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

/// The datatype and count of the elements: at the root those of all blocks, elsewhere those of this
/// rank's block.
fn at_leaf_or<'a>(
    root: i32,
    comm: &Comm,
    (address, datatype, count): (Address, Type<'a>, i64),
    (all, of_each): (Type<'a>, i64),
) -> (Option<&'a Datatype>, i64) {
    let (datatype, count) = match args::is_root(root, comm) || address.is_in_place() {
        true => (all, of_each),
        false => (datatype, count),
    };
    (datatype.map(Arc::as_ref), count)
}

/// The block that this rank gives to all; `None` if it is in place.
fn given_block(address: Address, count: i64, datatype: Type, comm: &Comm) -> Result<Option<Buffer>> {
    if in_place(address, !comm.is_inter())? {
        return Ok(None);
    }
    args::buffer(address, count, significant(datatype)?).map(Some)
}

/// Tells what goes each way between the groups of an intercommunicator; within one group all send
/// the same, and the call's mark says it.
fn tell_blocks_between(schedule: &mut Schedule, comm: &Comm, sent: Type, received: &Arc<Datatype>) {
    if comm.is_inter() {
        tell_blocks(schedule, true, of_all(sent), of_all(Some(received)));
    }
}

/// The count for this rank's own block.
fn own_count(counts: Counts, comm: &Comm) -> i64 {
    counts.get(comm.rank() as usize)
}

/// Calls `blocks` where its result is significant.
fn only<T>(wanted: bool, blocks: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
    if wanted { blocks().map(Some) } else { Ok(None) }
}

/// `MPI_Barrier` (6.3).
#[inline]
pub fn barrier(run: Run, comm: &Arc<Comm>) -> Result<()> {
    let call = Call::new(Kind::Barrier, comm).mark();
    try_board!(run, blocking::barrier, comm, call);
    run.moving(comm, call, |schedule| operations::barrier(schedule, comm))
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
    let call = Call::new(Kind::Bcast, comm).root(root).elements(datatype.map(Arc::as_ref), count).mark();
    try_board!(run, blocking::bcast, comm, call, &buffer, root);
    run.moving(comm, call, |schedule| operations::bcast(schedule, comm, buffer, root))
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
    if let Some(all) = recvtype.filter(|_| args::is_root(root, comm) && !comm.is_inter()) {
        let count = recvcount;
        let place = i64::from(comm.rank()).wrapping_mul(recvcount).wrapping_mul(all.extent() as i64);
        let own = sendtype.and_then(|own| first_byte(sendbuf, 0, sendcount, own));
        run.check_distinct(comm, own, first_byte(recvbuf, place, count, all))?;
    }
    let own = at_leaf_or(root, comm, (sendbuf, sendtype, sendcount), (recvtype, recvcount));
    let call = Call::new(Kind::Gather, comm).root(root).elements(own.0, own.1).mark();
    try_board!(run, blocking::gather, comm, call, mine.as_ref(), blocks, root);
    run.moving(comm, call, |schedule| operations::gather(schedule, comm, mine, blocks, root))
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
    if let Some(all) = recvtype.filter(|_| args::is_root(root, comm) && !comm.is_inter()) {
        let count = own_count(recvcounts, comm);
        let place = displs.get(comm.rank() as usize).wrapping_mul(all.extent() as i64);
        let own = sendtype.and_then(|own| first_byte(sendbuf, 0, sendcount, own));
        run.check_distinct(comm, own, first_byte(recvbuf, place, count, all))?;
    }
    let own = at_leaf_or(root, comm, (sendbuf, sendtype, sendcount), (recvtype, 1));
    let call = Call::new(Kind::Gatherv, comm).root(root).elements(own.0, own.1).mark();
    run.moving(comm, call, |schedule| operations::gatherv(schedule, comm, mine, blocks, root))
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
    if let Some(all) = sendtype.filter(|_| args::is_root(root, comm) && !comm.is_inter()) {
        let count = sendcount;
        let place = i64::from(comm.rank()).wrapping_mul(sendcount).wrapping_mul(all.extent() as i64);
        let own = recvtype.and_then(|own| first_byte(recvbuf, 0, recvcount, own));
        run.check_distinct(comm, first_byte(sendbuf, place, count, all), own)?;
    }
    let own = at_leaf_or(root, comm, (recvbuf, recvtype, recvcount), (sendtype, sendcount));
    let call = Call::new(Kind::Scatter, comm).root(root).elements(own.0, own.1).mark();
    try_board!(run, blocking::scatter, comm, call, blocks, mine.as_ref(), root);
    run.moving(comm, call, |schedule| operations::scatter(schedule, comm, blocks, mine, root))
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
    if let Some(all) = sendtype.filter(|_| args::is_root(root, comm) && !comm.is_inter()) {
        let count = own_count(sendcounts, comm);
        let place = displs.get(comm.rank() as usize).wrapping_mul(all.extent() as i64);
        let own = recvtype.and_then(|own| first_byte(recvbuf, 0, recvcount, own));
        run.check_distinct(comm, first_byte(sendbuf, place, count, all), own)?;
    }
    let own = at_leaf_or(root, comm, (recvbuf, recvtype, recvcount), (sendtype, 1));
    let call = Call::new(Kind::Scatterv, comm).root(root).elements(own.0, own.1).mark();
    run.moving(comm, call, |schedule| operations::scatterv(schedule, comm, blocks, mine, root))
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
    let place = i64::from(comm.rank()).wrapping_mul(recvcount).wrapping_mul(recvtype.extent() as i64);
    let own = sendtype.and_then(|own| first_byte(sendbuf, 0, sendcount, own));
    run.check_distinct(comm, own, first_byte(recvbuf, place, recvcount, recvtype))?;
    let call = Call::new(Kind::Allgather, comm).elements(Some(recvtype), recvcount).mark();
    try_board!(run, blocking::allgather, comm, call, mine.as_ref(), blocks);
    run.moving(comm, call, |schedule| {
        tell_blocks_between(schedule, comm, sendtype, recvtype);
        operations::allgather(schedule, comm, mine, blocks);
    })
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
    if !comm.is_inter() {
        let place = displs.get(comm.rank() as usize).wrapping_mul(recvtype.extent() as i64);
        let own = sendtype.and_then(|own| first_byte(sendbuf, 0, sendcount, own));
        run.check_distinct(comm, own, first_byte(recvbuf, place, own_count(recvcounts, comm), recvtype))?;
    }
    let call = Call::new(Kind::Allgatherv, comm).elements(Some(recvtype), 1).mark();
    try_board!(run, blocking::allgather, comm, call, mine.as_ref(), blocks);
    run.moving(comm, call, |schedule| {
        tell_blocks_between(schedule, comm, sendtype, recvtype);
        operations::allgather(schedule, comm, mine, blocks);
    })
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
    let out = sendtype.and_then(|sent| first_byte(sendbuf, 0, sendcount, sent));
    run.check_distinct(comm, out, first_byte(recvbuf, 0, recvcount, recvtype))?;
    let call = Call::new(Kind::Alltoall, comm).elements(Some(recvtype), recvcount).mark();
    try_board!(run, blocking::alltoall, comm, call, send, recv);
    run.moving(comm, call, |schedule| {
        tell_blocks_between(schedule, comm, sendtype, recvtype);
        operations::alltoall(schedule, comm, send, recv);
    })
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
    if let Some(sendtype) = sendtype.filter(|_| given && !comm.is_inter()) {
        let me = comm.rank() as usize;
        let out = sdispls.get(me).wrapping_mul(sendtype.extent() as i64);
        let into = rdispls.get(me).wrapping_mul(recvtype.extent() as i64);
        let out = first_byte(sendbuf, out, sendcounts.get(me), sendtype);
        run.check_distinct(comm, out, first_byte(recvbuf, into, recvcounts.get(me), recvtype))?;
    }
    let call = Call::new(Kind::Alltoallv, comm).mark();
    run.moving(comm, call, |schedule| {
        tell_blocks(schedule, given, of_all(sendtype), of_all(Some(recvtype)));
        operations::alltoallv(schedule, comm, send, recv);
    })
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
    if given && !comm.is_inter() {
        let me = comm.rank() as usize;
        let out = first_byte(sendbuf, sdispls.get(me), sendcounts.get(me), &sendtypes[me]);
        let into = first_byte(recvbuf, rdispls.get(me), recvcounts.get(me), &recvtypes[me]);
        run.check_distinct(comm, out, into)?;
    }
    let call = Call::new(Kind::Alltoallw, comm).mark();
    run.moving(comm, call, |schedule| {
        tell_blocks(schedule, given, sendtypes, recvtypes);
        operations::alltoallv(schedule, comm, send, recv);
    })
}
