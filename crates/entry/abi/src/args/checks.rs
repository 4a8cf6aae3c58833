//! Checks of single values: counts, tags, ranks, roots (MPI-5.0, 3.2 and 6.2).

use crate::handles::{DATATYPES, INFOS, Ref};
use std::ffi::c_int;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Class, Comm, Datatype, Error, Info, Result};

/// A handle that was looked up, or what is wrong with it: for calls in which all processes take
/// part whatever their arguments.
pub type Checked<T> = Result<Ref<'static, T>>;

/// An info object that may be absent, or what is wrong with it.
pub type Hints = Result<Option<Ref<'static, Info>>>;

/// The largest tag: what the attribute `MPI_TAG_UB` says.
pub const TAG_UB: c_int = c_int::MAX;

/// Checks a number of elements: negative is `MPI_ERR_COUNT`.
#[inline]
pub fn count(count: i64) -> Result<i64> {
    if count >= 0 { Ok(count) } else { Err(out_of_range(mpi::MPI_ERR_COUNT, "count", count, "0 or more")) }
}

/// Checks a number of requests or elements in an array of handles, as [`count`] does.
#[inline]
pub fn elements(number: c_int) -> Result<c_int> {
    count(number.into()).map(|_| number)
}

/// Checks a size in bytes, or an array's length that may be large: negative is `MPI_ERR_ARG`.
#[inline]
pub fn size(size: i64) -> Result<i64> {
    if size >= 0 { Ok(size) } else { Err(out_of_range(mpi::MPI_ERR_ARG, "size", size, "0 or more")) }
}

/// Checks an array's length: negative is `MPI_ERR_ARG`.
#[inline]
pub fn natural(number: c_int) -> Result<c_int> {
    size(number.into()).map(|_| number)
}

/// Checks the tag of a message that is sent.
#[inline]
pub fn tag(tag: c_int) -> Result<c_int> {
    if tag >= 0 { Ok(tag) } else { Err(out_of_range(mpi::MPI_ERR_TAG, "tag", tag.into(), "0 to MPI_TAG_UB")) }
}

/// Checks the tag of a receive, which may be `MPI_ANY_TAG`.
#[inline]
pub fn any_tag(tag: c_int) -> Result<c_int> {
    if tag >= 0 || tag == mpi::MPI_ANY_TAG {
        return Ok(tag);
    }
    Err(out_of_range(mpi::MPI_ERR_TAG, "tag", tag.into(), "0 to MPI_TAG_UB, or MPI_ANY_TAG"))
}

/// Checks a destination: a rank of the communicator (of the remote group of an intercommunicator),
/// or `MPI_PROC_NULL`.
#[inline]
pub fn dest(rank: c_int, comm: &Comm) -> Result<c_int> {
    if (rank as u32) < comm.targets().size() as u32 || rank == mpi::MPI_PROC_NULL {
        return Ok(rank);
    }
    Err(wrong_rank(mpi::MPI_ERR_RANK, "destination", rank, comm.targets().size()))
}

/// Checks a source: as [`dest`], or `MPI_ANY_SOURCE`.
#[inline]
pub fn source(rank: c_int, comm: &Comm) -> Result<c_int> {
    if (rank as u32) < comm.targets().size() as u32
        || rank == mpi::MPI_ANY_SOURCE
        || rank == mpi::MPI_PROC_NULL
    {
        return Ok(rank);
    }
    Err(wrong_rank(mpi::MPI_ERR_RANK, "source", rank, comm.targets().size()))
}

/// Checks a rank of the communicator's local group.
#[inline]
pub fn rank(rank: c_int, comm: &Comm) -> Result<c_int> {
    if (rank as u32) < comm.size() as u32 {
        return Ok(rank);
    }
    Err(wrong_rank(mpi::MPI_ERR_RANK, "rank", rank, comm.size()))
}

/// Checks the root of a collective; in an intercommunicator it is a rank of the remote group,
/// `MPI_ROOT` or `MPI_PROC_NULL`.
#[inline]
pub fn root(root: c_int, comm: &Comm) -> Result<c_int> {
    let group = comm.targets().size();
    if (root as u32) < group as u32
        || comm.is_inter() && (root == mpi::MPI_ROOT || root == mpi::MPI_PROC_NULL)
    {
        return Ok(root);
    }
    Err(wrong_rank(mpi::MPI_ERR_ROOT, "root", root, group))
}

/// Returns whether arguments that only the root must pass are significant here.
#[inline]
pub fn is_root(root: c_int, comm: &Comm) -> bool {
    if comm.is_inter() { root == mpi::MPI_ROOT } else { root == comm.rank() }
}

/// Returns whether arguments that all but the root of an intercommunicator pass count here.
#[inline]
pub fn is_leaf(root: c_int, comm: &Comm) -> bool {
    !comm.is_inter() || root >= 0
}

/// Returns whether the process takes part: it is not beside the root of an intercommunicator.
#[inline]
pub fn is_party(root: c_int, comm: &Comm) -> bool {
    !comm.is_inter() || root != mpi::MPI_PROC_NULL
}

/// Number of neighbours that a process receives from; `MPI_ERR_TOPOLOGY` if there is no topology.
pub fn indegree(comm: &Comm) -> Result<i64> {
    Ok(comm.neighbors()?.sources.len() as i64)
}

/// Number of neighbours that a process sends to; `MPI_ERR_TOPOLOGY` if there is no topology.
pub fn outdegree(comm: &Comm) -> Result<i64> {
    Ok(comm.neighbors()?.destinations.len() as i64)
}

/// An info argument that may be `MPI_INFO_NULL`.
#[inline]
pub fn optional_info(handle: usize) -> Hints {
    if handle == mpi::MPI_INFO_NULL { Ok(None) } else { INFOS.get(handle).map(Some) }
}

/// The datatype of a message, which must be committed.
#[inline]
pub fn transfer(handle: usize) -> Result<Ref<'static, Datatype>> {
    let datatype = DATATYPES.get(handle)?;
    datatype.check_committed()?;
    Ok(datatype)
}

/// The datatype of a message of `count` elements, as in [`transfer`]. The null handle is erroneous
/// (MPI-5.0, 2.5.1), but programs pass it with messages of no elements, and MPICH accepts it there.
/// Such a message is one of bytes.
#[inline]
pub fn transfer_of(count: i64, handle: usize) -> Result<Ref<'static, Datatype>> {
    if count == 0 && handle == mpi::MPI_DATATYPE_NULL { transfer(mpi::MPI_BYTE) } else { transfer(handle) }
}

#[cold]
fn wrong_rank(class: Class, what: &str, rank: c_int, size: c_int) -> Error {
    Error::new(
        class,
        format!("the {what} is not a rank of the communicator"),
        format!("{what} {rank}, communicator of {}", verbena_fault::count(size, "process")),
        "the program was started with fewer processes than it expects, or the rank was computed wrongly",
        verbena_fault::rank_below(size),
    )
}

#[cold]
fn out_of_range(class: Class, what: &str, value: i64, range: &str) -> Error {
    Error::new(
        class,
        format!("the {what} is out of range"),
        format!("{what} {value}"),
        "the value was never set, or an integer overflowed",
        format!("pass {range}"),
    )
}
