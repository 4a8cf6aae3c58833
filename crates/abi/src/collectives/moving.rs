//! Collectives that move data.

use super::{Form, elements, even, in_place, run, significant, try_board, varied};
use crate::args::{self, Address, Counts};
use std::sync::Arc;
use verbena_channel::layout::Layout;
use verbena_channel::memory::Buffer;
use verbena_mpi::coll::{Blocks, operations};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Datatype, Result};

/// One side of a call: address, count, datatype (`None` where not significant).
pub type Side<'a> = (Address, i64, Option<&'a Arc<Datatype>>);
/// One side of a vector call: address, counts, displacements, datatype.
pub type VectorSide<'a> = (Address, Counts<'a>, Counts<'a>, Option<&'a Arc<Datatype>>);
/// One side of `MPI_Alltoallw`: address, counts, displacements in bytes, datatypes.
pub type TypedSide<'a> = (Address, Counts<'a>, Counts<'a>, &'a [Arc<Datatype>]);

/// `MPI_Barrier` and its forms.
#[inline]
pub fn barrier(form: Form, comm: &Arc<Comm>) -> Result<()> {
    try_board!(form, barrier(comm));
    run(form, comm, None, |schedule| operations::barrier(schedule, comm))
}

/// `MPI_Bcast` and its forms.
#[inline]
pub fn bcast(
    form: Form,
    (address, count, datatype): (Address, i64, &Arc<Datatype>),
    root: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    let buffer = args::buffer(address, count, datatype)?;
    try_board!(form, bcast(comm, &buffer, root));
    run(form, comm, None, |schedule| operations::bcast(schedule, comm, buffer, root))
}

/// The block that this rank gives to or gets from a root; `None` if it is in place at the root.
fn own_block((address, count, datatype): Side, root: i32, comm: &Comm) -> Result<Option<Buffer>> {
    let at_root = args::is_root(root, comm);
    if !args::is_leaf(root, comm) || in_place(address, at_root && !comm.is_inter())? {
        return Ok(None);
    }
    args::buffer(address, count, significant(datatype)?).map(Some)
}

/// The blocks at a root, `None` elsewhere.
fn root_blocks<'a>(
    (address, count, datatype): Side<'a>,
    root: i32,
    comm: &Comm,
) -> Result<Option<Blocks<'a>>> {
    if !args::is_root(root, comm) {
        return Ok(None);
    }
    even(address, count, significant(datatype)?, comm.targets().size()).map(Some)
}

/// The blocks of a vector call at a root, `None` elsewhere.
fn root_vector<'a>(
    (address, counts, displacements, datatype): VectorSide<'a>,
    root: i32,
    comm: &Comm,
) -> Result<Option<Blocks<'a>>> {
    if !args::is_root(root, comm) {
        return Ok(None);
    }
    varied(address, counts, displacements, significant(datatype)?).map(Some)
}

/// `MPI_Gather` and its forms.
pub fn gather(form: Form, send: Side, recv: Side, root: i32, comm: &Arc<Comm>) -> Result<()> {
    let (mine, blocks) = (own_block(send, root, comm)?, root_blocks(recv, root, comm)?);
    try_board!(form, gather(comm, mine.as_ref(), blocks, root));
    run(form, comm, None, |schedule| operations::gather(schedule, comm, mine, blocks, root))
}

/// `MPI_Gatherv` and its forms.
pub fn gatherv(form: Form, send: Side, recv: VectorSide, root: i32, comm: &Arc<Comm>) -> Result<()> {
    let (mine, blocks) = (own_block(send, root, comm)?, root_vector(recv, root, comm)?);
    run(form, comm, None, |schedule| operations::gatherv(schedule, comm, mine, blocks, root))
}

/// `MPI_Scatter` and its forms.
pub fn scatter(form: Form, send: Side, recv: Side, root: i32, comm: &Arc<Comm>) -> Result<()> {
    let (blocks, mine) = (root_blocks(send, root, comm)?, own_block(recv, root, comm)?);
    try_board!(form, scatter(comm, blocks, mine.as_ref(), root));
    run(form, comm, None, |schedule| operations::scatter(schedule, comm, blocks, mine, root))
}

/// `MPI_Scatterv` and its forms.
pub fn scatterv(form: Form, send: VectorSide, recv: Side, root: i32, comm: &Arc<Comm>) -> Result<()> {
    let (blocks, mine) = (root_vector(send, root, comm)?, own_block(recv, root, comm)?);
    run(form, comm, None, |schedule| operations::scatterv(schedule, comm, blocks, mine, root))
}

/// The block that this rank gives to all; `None` if it is in place.
fn given_block((address, count, datatype): Side, comm: &Comm) -> Result<Option<Buffer>> {
    if in_place(address, !comm.is_inter())? {
        return Ok(None);
    }
    args::buffer(address, count, significant(datatype)?).map(Some)
}

/// `MPI_Allgather` and its forms.
pub fn allgather(
    form: Form,
    send: Side,
    (address, count, datatype): (Address, i64, &Arc<Datatype>),
    comm: &Arc<Comm>,
) -> Result<()> {
    let mine = given_block(send, comm)?;
    let blocks = even(address, count, datatype, comm.targets().size())?;
    try_board!(form, allgather(comm, mine.as_ref(), blocks));
    run(form, comm, None, |schedule| operations::allgather(schedule, comm, mine, blocks))
}

/// `MPI_Allgatherv` and its forms.
pub fn allgatherv(
    form: Form,
    send: Side,
    (address, counts, displacements, datatype): (Address, Counts, Counts, &Arc<Datatype>),
    comm: &Arc<Comm>,
) -> Result<()> {
    let mine = given_block(send, comm)?;
    let blocks = varied(address, counts, displacements, datatype)?;
    try_board!(form, allgather(comm, mine.as_ref(), blocks));
    run(form, comm, None, |schedule| operations::allgather(schedule, comm, mine, blocks))
}

/// `MPI_Alltoall` and its forms.
pub fn alltoall(
    form: Form,
    (address, count, datatype): Side,
    recv: (Address, i64, &Arc<Datatype>),
    comm: &Arc<Comm>,
) -> Result<()> {
    let ranks = comm.targets().size();
    let stays = in_place(address, !comm.is_inter())?;
    let send = if stays { None } else { Some(even(address, count, significant(datatype)?, ranks)?) };
    let recv = even(recv.0, recv.1, recv.2, ranks)?;
    try_board!(form, alltoall(comm, send, recv));
    run(form, comm, None, |schedule| operations::alltoall(schedule, comm, send, recv))
}

/// `MPI_Alltoallv` and its forms.
pub fn alltoallv(
    form: Form,
    (address, counts, displacements, datatype): VectorSide,
    recv: (Address, Counts, Counts, &Arc<Datatype>),
    comm: &Arc<Comm>,
) -> Result<()> {
    let stays = in_place(address, !comm.is_inter())?;
    let send =
        if stays { None } else { Some(varied(address, counts, displacements, significant(datatype)?)?) };
    let recv = varied(recv.0, recv.1, recv.2, recv.3)?;
    run(form, comm, None, |schedule| operations::alltoallv(schedule, comm, send, recv))
}

/// `MPI_Alltoallw` and its forms.
pub fn alltoallw(form: Form, send: TypedSide, recv: TypedSide, comm: &Arc<Comm>) -> Result<()> {
    let stays = in_place(send.0, !comm.is_inter())?;
    let (send_layouts, recv_layouts) = (layouts(send.3), layouts(recv.3));
    let outgoing = if stays { None } else { Some(typed(send, &send_layouts)?) };
    let incoming = typed(recv, &recv_layouts)?;
    run(form, comm, None, |schedule| operations::alltoallv(schedule, comm, outgoing, incoming))
}

pub(super) fn layouts(datatypes: &[Arc<Datatype>]) -> Vec<Arc<Layout>> {
    datatypes.iter().map(|datatype| datatype.layout().clone()).collect()
}

/// Blocks with a datatype each. The layouts are those of the datatypes.
pub(super) fn typed<'a>(
    (address, counts, displacements, datatypes): TypedSide<'a>,
    layouts: &'a [Arc<Layout>],
) -> Result<Blocks<'a>> {
    for (i, datatype) in datatypes.iter().enumerate().filter(|(i, _)| counts.get(*i) > 0) {
        let at = address.pointer().cast::<u8>().wrapping_offset(displacements.get(i) as isize);
        args::buffer(Address::new(at.cast()), counts.get(i), datatype)?;
    }
    let byte = Datatype::predefined(mpi::MPI_BYTE).expect("a predefined datatype");
    let base = elements(address, 0, byte)?;
    Ok(Blocks::Typed { base, counts: counts.into(), displacements: displacements.into(), layouts })
}
