//! Communicators: what they are, and making and freeing them (MPI-5.0, 7.4, 7.6, 7.8).

use crate::args::{InOut, Out, OutFlag, OutString};
use crate::calls::hardware::places;
use crate::calls::info::publish_with_kinds;
use crate::generated::types::{MPI_Comm, MPI_Group, MPI_Info, MPI_Request};
use crate::handles::{COMMS, GROUPS};
use crate::requests::handle_of_object;
pub(super) use crate::survival::published;
use crate::{process, startup, survival};
use std::ffi::{CStr, c_int};
use std::sync::Arc;
use verbena_mpi::coll::{Kind, Making};
use verbena_mpi::comm::{Place, SplitType, idup};
use verbena_mpi::dynamic::spawn;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Error, Group, Info, Result};

/// The exchanges of a call of this kind.
pub(super) fn making(kind: Kind) -> Making<'static> {
    Making::new(process(), kind)
}

/// Makes a handle of a communicator for the program.
pub(super) fn publish(comm: Arc<Comm>, handle: Out<'_, MPI_Comm>) -> Result<()> {
    let number = COMMS.insert(comm.clone());
    handle.set(number);
    published(&comm, number);
    Ok(())
}

/// Makes a handle as [`publish`] does; `MPI_COMM_NULL` if the caller is no member.
pub(super) fn publish_if_member(comm: Option<Comm>, handle: Out<'_, MPI_Comm>) -> Result<()> {
    match comm {
        Some(comm) => publish(Arc::new(comm), handle),
        None => {
            handle.set(mpi::MPI_COMM_NULL);
            Ok(())
        }
    }
}

/// `MPI_Comm_size` (7.4.1).
pub fn comm_size(comm: &Arc<Comm>, size: Out<'_, c_int>) -> Result<()> {
    size.set(comm.size());
    Ok(())
}

/// `MPI_Comm_rank` (7.4.1).
pub fn comm_rank(comm: &Arc<Comm>, rank: Out<'_, c_int>) -> Result<()> {
    rank.set(comm.rank());
    Ok(())
}

/// `MPI_Comm_compare` (7.4.1).
pub fn comm_compare(comm1: &Arc<Comm>, comm2: &Arc<Comm>, result: Out<'_, c_int>) -> Result<()> {
    result.set(comm1.compare(comm2) as c_int);
    Ok(())
}

/// `MPI_Comm_test_inter` (7.6.1).
pub fn comm_test_inter(comm: &Arc<Comm>, flag: OutFlag<'_>) -> Result<()> {
    flag.set(comm.is_inter());
    Ok(())
}

/// `MPI_Comm_group` (7.3.2).
pub fn comm_group(comm: &Arc<Comm>, group: Out<'_, MPI_Group>) -> Result<()> {
    group.set(GROUPS.insert(comm.group().clone()));
    Ok(())
}

/// `MPI_Comm_remote_size` (7.6.1).
pub fn comm_remote_size(comm: &Arc<Comm>, size: Out<'_, c_int>) -> Result<()> {
    size.set(comm.remote_group()?.size());
    Ok(())
}

/// `MPI_Comm_remote_group` (7.6.1).
pub fn comm_remote_group(comm: &Arc<Comm>, group: Out<'_, MPI_Group>) -> Result<()> {
    group.set(GROUPS.insert(comm.remote_group()?.clone()));
    Ok(())
}

/// `MPI_Comm_get_name` (7.8): also of `MPI_COMM_NULL`.
pub fn comm_get_name(comm: MPI_Comm, comm_name: OutString<'_>, resultlen: Out<'_, c_int>) -> Result<()> {
    let name = match comm {
        mpi::MPI_COMM_NULL => b"MPI_COMM_NULL".to_vec(),
        _ => COMMS.get(comm)?.name(),
    };
    resultlen.set(comm_name.set(name) as c_int);
    Ok(())
}

/// `MPI_Comm_set_name` (7.8).
pub fn comm_set_name(comm: &Arc<Comm>, comm_name: &CStr) -> Result<()> {
    comm.set_name(comm_name.to_bytes());
    Ok(())
}

/// `MPI_Comm_set_info` (7.4.4).
pub fn comm_set_info(comm: &Arc<Comm>, info: &Arc<Info>) -> Result<()> {
    comm.hints().merge(info)?;
    comm.tell_hints(process())
}

/// `MPI_Comm_get_info` (7.4.4).
pub fn comm_get_info(comm: &Arc<Comm>, info_used: Out<'_, MPI_Info>) -> Result<()> {
    publish_with_kinds(comm.hints().clone(), info_used)
}

/// `MPI_Comm_dup` (7.4.2).
pub fn comm_dup(comm: &Arc<Comm>, newcomm: Out<'_, MPI_Comm>) -> Result<()> {
    publish(Arc::new(comm.duplicate(None, &making(Kind::CommDup))?), newcomm)
}

/// `MPI_Comm_dup_with_info` (7.4.2).
pub fn comm_dup_with_info(
    comm: &Arc<Comm>,
    info: Option<&Arc<Info>>,
    newcomm: Out<'_, MPI_Comm>,
) -> Result<()> {
    let new = Arc::new(comm.duplicate(info.map(Arc::as_ref), &making(Kind::CommDupWithInfo))?);
    new.tell_hints(process())?;
    publish(new, newcomm)
}

/// `MPI_Comm_idup` (7.4.2).
pub fn comm_idup(comm: &Arc<Comm>, newcomm: Out<'_, MPI_Comm>, request: Out<'_, MPI_Request>) -> Result<()> {
    comm_idup_with_info(comm, None, newcomm, request)
}

/// `MPI_Comm_idup_with_info` (7.4.2). The handle is there at once; it may be used once the request
/// is complete.
pub fn comm_idup_with_info(
    comm: &Arc<Comm>,
    info: Option<&Arc<Info>>,
    newcomm: Out<'_, MPI_Comm>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    // The others wait for this process even if one of its copy callbacks failed.
    let begun = comm.dup_begin(info.map(Arc::as_ref)).map(Arc::new);
    let active = idup::start(process(), comm.clone(), begun.as_ref().ok().cloned());
    publish(begun?, newcomm)?;
    request.set(handle_of_object(Some(comm), active));
    Ok(())
}

/// `MPI_Comm_create` (7.4.2).
pub fn comm_create(comm: &Arc<Comm>, group: &Arc<Group>, newcomm: Out<'_, MPI_Comm>) -> Result<()> {
    publish_if_member(comm.create(group, &making(Kind::CommCreate))?, newcomm)
}

/// `MPI_Comm_create_group` (7.4.2).
pub fn comm_create_group(
    comm: &Arc<Comm>,
    group: &Arc<Group>,
    tag: c_int,
    newcomm: Out<'_, MPI_Comm>,
) -> Result<()> {
    publish_if_member(comm.create_group(group, tag, process())?, newcomm)
}

/// `MPI_Comm_split` (7.4.2).
pub fn comm_split(comm: &Arc<Comm>, color: c_int, key: c_int, newcomm: Out<'_, MPI_Comm>) -> Result<()> {
    publish_if_member(comm.split(color, key, &making(Kind::CommSplit))?, newcomm)
}

/// `MPI_Comm_split_type` (7.4.2).
pub fn comm_split_type(
    comm: &Arc<Comm>,
    split_type: c_int,
    key: c_int,
    info: Option<&Arc<Info>>,
    newcomm: Out<'_, MPI_Comm>,
) -> Result<()> {
    let wanted = split_type_of(split_type, info);
    let place = Place { hardware: &places(), memory: process().memory() };
    let Some((new, hardware)) = comm.split_type(wanted, key, place, &making(Kind::CommSplitType))? else {
        return publish_if_member(None, newcomm);
    };
    if let Some(info) = info {
        let guides = [HARDWARE_HINT, PROCESS_SET_HINT];
        let hints = info.entries().into_iter().filter(|(key, _)| !guides.contains(&&key[..]));
        hints.into_iter().try_for_each(|(key, value)| new.hints().set(&key, &value))?;
        hardware.map_or(Ok(()), |sort| info.set(HARDWARE_HINT, sort.as_bytes()))?;
    }
    publish(Arc::new(new), newcomm)
}

/// The hints that say how to split.
const HARDWARE_HINT: &[u8] = b"mpi_hw_resource_type";
const PROCESS_SET_HINT: &[u8] = b"mpi_pset_name";

fn split_type_of(number: c_int, info: Option<&Arc<Info>>) -> Result<SplitType> {
    let hint = |key: &[u8]| info.map(|info| info.get(key)).transpose().map(Option::flatten);
    Ok(match number {
        mpi::MPI_UNDEFINED => SplitType::Out,
        mpi::MPI_COMM_TYPE_SHARED => SplitType::Shared,
        mpi::MPI_COMM_TYPE_HW_UNGUIDED => SplitType::NextLevel,
        mpi::MPI_COMM_TYPE_HW_GUIDED => SplitType::Hardware(hint(HARDWARE_HINT)?),
        mpi::MPI_COMM_TYPE_RESOURCE_GUIDED => match (hint(HARDWARE_HINT)?, hint(PROCESS_SET_HINT)?) {
            (Some(_), Some(_)) => return Err(two_guides()),
            (None, Some(set)) => SplitType::ProcessSet(set),
            (hardware, None) => SplitType::Hardware(hardware),
        },
        _ => return Err(wrong_split_type(number)),
    })
}

/// `MPI_Intercomm_create` (7.6.2). The peer communicator matters at the leader only, so it comes as
/// a handle.
pub fn intercomm_create(
    local_comm: &Arc<Comm>,
    local_leader: c_int,
    peer_comm: MPI_Comm,
    remote_leader: c_int,
    tag: c_int,
    newintercomm: Out<'_, MPI_Comm>,
) -> Result<()> {
    let peer = COMMS.get(peer_comm).ok();
    let peer = peer.as_ref().map(|peer| &***peer);
    let new = local_comm.intercomm_create(
        local_leader,
        peer,
        remote_leader,
        tag,
        &making(Kind::IntercommCreate),
    )?;
    publish(Arc::new(new), newintercomm)
}

/// `MPI_Intercomm_merge` (7.6.2).
pub fn intercomm_merge(intercomm: &Arc<Comm>, high: bool, newintracomm: Out<'_, MPI_Comm>) -> Result<()> {
    publish(Arc::new(intercomm.merge(high, &making(Kind::IntercommMerge))?), newintracomm)
}

/// `MPI_Comm_free` (7.4.3): attributes go first, so that their callbacks still see the
/// communicator; operations under way keep the object alive.
pub fn comm_free(comm: InOut<'_, MPI_Comm>) -> Result<()> {
    let handle = comm.get();
    let object = COMMS.get(handle)?.clone();
    if COMMS.is_predefined(handle) {
        return Err(predefined_comm(&object));
    }
    object.attributes().clear(handle)?;
    COMMS.remove(handle)?;
    comm.set(mpi::MPI_COMM_NULL);
    drop(object);
    // What cannot be parted from now is tried again later.
    process().part();
    survival::note_freed();
    spawn::part(startup::launch(), false)
}

#[cold]
fn predefined_comm(comm: &Comm) -> Error {
    Error::new(
        mpi::MPI_ERR_COMM,
        "a predefined communicator cannot be freed",
        String::from_utf8_lossy(&comm.name()),
        "the program frees all communicators that it knows, or a copy of the handle",
        "free only communicators that the program made",
    )
}

#[cold]
fn two_guides() -> Error {
    Error::new(
        mpi::MPI_ERR_INFO,
        "a communicator can be split by one sort of resource at a time",
        "an info object with both mpi_hw_resource_type and mpi_pset_name",
        "an info object of an earlier call was used again",
        "set one of the two keys only",
    )
}

#[cold]
fn wrong_split_type(number: c_int) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "there is no such way to split a communicator",
        format!("the split type {number}"),
        "the constant comes from another MPI library's header, or the arguments are in the wrong order",
        "give MPI_COMM_TYPE_SHARED, _HW_GUIDED, _HW_UNGUIDED, _RESOURCE_GUIDED or MPI_UNDEFINED",
    )
}
