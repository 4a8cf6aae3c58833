//! Partitioned communication (MPI-5.0, 4.2). No hint of the info arguments is known.

use crate::args::{self, Address, Out, OutFlag};
use crate::generated::types::MPI_Request;
use crate::handles::{REQUESTS, Ref};
use crate::process;
use crate::report::{Failed, Owner};
use std::ffi::c_int;
use std::sync::Arc;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::partitioned::{Handshake, Partitioned, Partitions, Receiving, Sending};
use verbena_mpi::request::Request;
use verbena_mpi::{Comm, Datatype, Error, Info, Result};

/// The buffer of `count` partitions of `elements` elements each. `MPI_ERR_ARG` if there is no
/// partition, `MPI_ERR_COUNT` if there are too many elements.
fn partitions(address: Address, count: c_int, elements: i64, datatype: &Arc<Datatype>) -> Result<Partitions> {
    if count == 0 {
        return Err(no_partitions());
    }
    let total = elements.checked_mul(count.into()).ok_or_else(|| too_many(count, elements))?;
    Ok(Partitions { buffer: args::buffer(address, total, datatype)?, count: count as usize })
}

fn publish(comm: &Arc<Comm>, partitioned: Partitioned, request: Out<MPI_Request>) {
    request.set(REQUESTS.insert(Arc::new(Request::partitioned(comm.clone(), partitioned))));
}

/// `MPI_Psend_init` (4.2.1).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn psend_init(
    buf: Address,
    partitions: c_int,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    let partitions = self::partitions(buf, partitions, count, datatype)?;
    let context = process().new_context();
    let (sending, announcement) = Sending::new(comm, partitions, (dest, tag), context, &mut process());
    process().tasks().start(process(), Box::new(announcement));
    publish(comm, Partitioned::Send(Arc::new(sending)), request);
    Ok(())
}

/// `MPI_Precv_init` (4.2.1).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn precv_init(
    buf: Address,
    partitions: c_int,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: Out<MPI_Request>,
) -> Result<()> {
    if source == mpi::MPI_ANY_SOURCE {
        return Err(any_source());
    }
    let partitions = self::partitions(buf, partitions, count, datatype)?;
    let receiving = Arc::new(Receiving::new(comm, partitions, (source, tag), &mut process()));
    process().tasks().start(process(), Box::new(Handshake(receiving.clone())));
    publish(comm, Partitioned::Receive(receiving), request);
    Ok(())
}

type Outcome = std::result::Result<(), Failed>;

/// The request, and the object whose error handler hears of its errors.
fn find(handle: MPI_Request) -> Result<(Ref<'static, Request>, Option<Owner>)> {
    let request = REQUESTS.get(handle)?;
    let owner = request.comm().map(|comm| Owner::Comm(comm.handle()));
    Ok((request, owner))
}

/// Calls `act` with the operation behind an active partitioned request.
fn on_active(handle: MPI_Request, act: impl FnOnce(&Partitioned) -> Result<()>) -> Outcome {
    let (request, owner) = find(handle)?;
    let partitioned = request.as_partitioned();
    let active = partitioned.and_then(|it| if request.is_active() { Ok(it) } else { Err(inactive()) });
    active.and_then(act).map_err(|error| Failed::of(error, owner))?;
    // A thread may wait for a request whose last partition needed no message.
    process().notify();
    Ok(())
}

/// `MPI_Pready` (4.2.1).
pub fn pready(partition: c_int, request: MPI_Request) -> Outcome {
    on_active(request, |partitioned| partitioned.ready(&mut process(), &[partition]))
}

/// `MPI_Pready_range` (4.2.1): from the low to the high partition, both included. `MPI_ERR_ARG` if
/// low is above high.
pub fn pready_range(partition_low: c_int, partition_high: c_int, request: MPI_Request) -> Outcome {
    on_active(request, |partitioned| {
        if partition_low > partition_high {
            return Err(range_backwards(partition_low, partition_high));
        }
        [partition_low, partition_high].into_iter().try_for_each(|end| partitioned.check(end))?;
        partitioned.ready(&mut process(), &(partition_low..=partition_high).collect::<Vec<_>>())
    })
}

/// `MPI_Pready_list` (4.2.1).
pub fn pready_list(_length: c_int, array_of_partitions: &[c_int], request: MPI_Request) -> Outcome {
    on_active(request, |partitioned| partitioned.ready(&mut process(), array_of_partitions))
}

/// `MPI_Parrived` (4.2.2). A null or inactive request counts as arrived.
pub fn parrived(request: MPI_Request, partition: c_int, flag: OutFlag) -> Outcome {
    if request == mpi::MPI_REQUEST_NULL {
        flag.set(true);
        return Ok(());
    }
    let (request, owner) = find(request)?;
    let look = || {
        let receiving = request.as_partitioned()?.receiving()?;
        let look = || receiving.has_arrived(&mut process(), partition);
        if look()? || !request.is_active() {
            return Ok(true);
        }
        process().poll();
        look()
    };
    flag.set(look().map_err(|error| Failed::of(error, owner))?);
    Ok(())
}

#[cold]
fn no_partitions() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "a partitioned message needs at least one partition",
        "0 partitions",
        "the number was not set, or the arguments partitions and count were mixed up",
        "give one partition or more; the number of elements may be 0",
    )
}

#[cold]
fn too_many(partitions: c_int, count: i64) -> Error {
    Error::new(
        mpi::MPI_ERR_COUNT,
        "a partitioned message has more elements than can be counted",
        format!(
            "{} of {}",
            verbena_fault::count(partitions, "partition"),
            verbena_fault::count(count, "element")
        ),
        "count is the number of elements of one partition, not of all",
        "divide the total by the number of partitions",
    )
}

#[cold]
fn range_backwards(low: c_int, high: c_int) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "a range of partitions ends before it begins",
        format!("partitions from {low} to {high}"),
        "the two numbers were swapped, or the range is meant to be empty",
        "give the lower number first; make no call for an empty range",
    )
}

#[cold]
fn any_source() -> Error {
    Error::new(
        mpi::MPI_ERR_RANK,
        "a partitioned receive must name its source",
        "the source MPI_ANY_SOURCE",
        "partitioned communication knows no wildcards",
        "give the sender's rank",
    )
}

#[cold]
fn inactive() -> Error {
    Error::new(
        mpi::MPI_ERR_REQUEST,
        "a partition was made ready of a request that is not active",
        "a partitioned send",
        "the request was not started, or has been completed since",
        "call MPI_Start before MPI_Pready",
    )
}
