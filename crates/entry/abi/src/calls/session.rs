//! Sessions, process sets and communicators made from them (MPI-5.0, 11.3, 7.4.2, 7.6.2).

use crate::args::{InOut, Out};
use crate::calls::comm;
use crate::calls::info::{give_string, publish, thread_level_name};
use crate::generated::types::{MPI_Comm, MPI_Group, MPI_Info, MPI_Session};
use crate::handles::{GROUPS, SESSIONS};
use crate::{memory_kinds, process, startup, state};
use std::ffi::{CStr, c_char, c_int};
use std::sync::{Arc, OnceLock};
use verbena_channel::trace::calls::Starting;
use verbena_mpi::comm::from_group::Other;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::process_sets::{PROCESS_SETS, nth_process_set, process_set, process_set_info};
use verbena_mpi::{Comm, Errhandler, Error, Group, Info, Result, Session};

/// `MPI_Session_init` (11.3.1).
pub fn session_init(
    info: Option<&Arc<Info>>,
    errhandler: &Arc<Errhandler>,
    session: Out<'_, MPI_Session>,
) -> Result<()> {
    let starting = Starting::begin("MPI_Session_init");
    // The level of the process holds for each of its sessions.
    let level = wanted_level(info)?.max(state::thread_level());
    let hints = info.map_or_else(Info::new, |info| Info::clone(info));
    hints.set(b"thread_level", thread_level_name(level).as_bytes())?;
    let kinds = memory_kinds::of_session(hints.get(memory_kinds::KEY)?.as_deref());
    hints.set(memory_kinds::KEY, kinds.as_bytes())?;
    let object = Arc::new(Session::new(errhandler.clone(), hints)?);
    startup::enter(level)?;
    let handle = SESSIONS.insert(object.clone());
    object.set_handle(handle);
    session.set(handle);
    starting.end();
    Ok(())
}

/// The thread level that the hint `thread_level` asks for.
fn wanted_level(info: Option<&Arc<Info>>) -> Result<c_int> {
    let Some(hint) = info.map(|info| info.get(b"thread_level")).transpose()?.flatten() else {
        return Ok(mpi::MPI_THREAD_SINGLE);
    };
    let levels = [
        mpi::MPI_THREAD_FUNNELED,
        mpi::MPI_THREAD_SERIALIZED,
        mpi::MPI_THREAD_MULTIPLE,
        mpi::MPI_THREAD_SINGLE,
    ];
    levels
        .into_iter()
        .find(|&level| thread_level_name(level).as_bytes() == hint)
        .ok_or_else(|| no_level(&hint))
}

/// `MPI_Session_finalize` (11.3.1).
pub fn session_finalize(session: InOut<'_, MPI_Session>) -> Result<()> {
    SESSIONS.remove(session.get())?;
    session.set(mpi::MPI_SESSION_NULL);
    startup::leave()
}

/// `MPI_Session_get_info` (11.3.2).
pub fn session_get_info(session: &Arc<Session>, info_used: Out<'_, MPI_Info>) -> Result<()> {
    publish(session.hints().clone(), info_used)
}

/// `MPI_Session_get_num_psets` (11.3.2).
pub fn session_get_num_psets(
    _session: &Arc<Session>,
    _info: Option<&Arc<Info>>,
    npset_names: Out<'_, c_int>,
) -> Result<()> {
    npset_names.set(PROCESS_SETS.len() as c_int);
    Ok(())
}

/// `MPI_Session_get_nth_pset` (11.3.2).
pub fn session_get_nth_pset(
    _session: &Arc<Session>,
    _info: Option<&Arc<Info>>,
    n: c_int,
    pset_len: InOut<'_, c_int>,
    pset_name: *mut c_char,
) -> Result<()> {
    give_string(nth_process_set(n)?, pset_len, pset_name)
}

/// `MPI_Session_get_pset_info` (11.3.2).
pub fn session_get_pset_info(
    _session: &Arc<Session>,
    pset_name: &CStr,
    info: Out<'_, MPI_Info>,
) -> Result<()> {
    publish(process_set_info(pset_name.to_bytes(), process().me(), process().size())?, info)
}

/// `MPI_Group_from_session_pset` (7.3.2).
pub fn group_from_session_pset(
    session: &Arc<Session>,
    pset_name: &CStr,
    newgroup: Out<'_, MPI_Group>,
) -> Result<()> {
    let group = process_set(pset_name.to_bytes(), process().me(), process().size())?;
    newgroup.set(GROUPS.insert(Arc::new(group.of_session(session.clone()))));
    Ok(())
}

/// The library's own communicator of all processes.
fn universe() -> &'static Comm {
    static UNIVERSE: OnceLock<Comm> = OnceLock::new();
    UNIVERSE.get_or_init(|| Comm::universe(process().me(), process().size()))
}

/// `MPI_Comm_create_from_group` (7.4.2).
pub fn comm_create_from_group(
    group: &Arc<Group>,
    stringtag: &CStr,
    info: Option<&Arc<Info>>,
    errhandler: &Arc<Errhandler>,
    newcomm: Out<'_, MPI_Comm>,
) -> Result<()> {
    if group.size() == 0 {
        newcomm.set(mpi::MPI_COMM_NULL);
        return Ok(());
    }
    let new = universe().create_from_group(group, tag_of(stringtag)?, process())?;
    equip(new, info, errhandler, newcomm)
}

/// `MPI_Intercomm_create_from_groups` (7.6.2). The remote group and leader matter at the leader
/// only, but nobody waits for anybody if a group is empty.
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn intercomm_create_from_groups(
    local_group: &Arc<Group>,
    local_leader: c_int,
    remote_group: &Arc<Group>,
    remote_leader: c_int,
    stringtag: &CStr,
    info: Option<&Arc<Info>>,
    errhandler: &Arc<Errhandler>,
    newintercomm: Out<'_, MPI_Comm>,
) -> Result<()> {
    if local_group.size() == 0 || remote_group.size() == 0 {
        newintercomm.set(mpi::MPI_COMM_NULL);
        return Ok(());
    }
    let is_leader = local_group.rank() == Some(local_leader);
    let other = is_leader.then_some(Other { group: remote_group, leader: remote_leader });
    let tag = tag_of(stringtag)?;
    let new = universe().intercomm_from_groups(local_group, local_leader, other, tag, process())?;
    equip(new, info, errhandler, newintercomm)
}

/// The tag that keeps concurrent calls apart. `MPI_ERR_ARG` if it is too long.
fn tag_of(stringtag: &CStr) -> Result<&[u8]> {
    let tag = stringtag.to_bytes();
    if tag.len() < mpi::MPI_MAX_STRINGTAG_LEN { Ok(tag) } else { Err(long_tag(tag.len())) }
}

fn equip(
    new: Comm,
    info: Option<&Arc<Info>>,
    errhandler: &Arc<Errhandler>,
    handle: Out<'_, MPI_Comm>,
) -> Result<()> {
    new.set_errhandler(errhandler.clone())?;
    if let Some(info) = info {
        new.hints().merge(info)?;
    }
    comm::publish(Arc::new(new), handle)
}

#[cold]
fn no_level(hint: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_INFO_VALUE,
        "there is no such thread level",
        format!("the hint thread_level with the value \"{}\"", String::from_utf8_lossy(hint)),
        "the value is misspelt: it is the constant's full name",
        "give MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED or _MULTIPLE",
    )
}

#[cold]
fn long_tag(bytes: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the tag of a communicator to be made is too long",
        format!("a string of {bytes} bytes"),
        "the tag is made of something of any length, such as a path",
        format!("give at most {} bytes", mpi::MPI_MAX_STRINGTAG_LEN - 1),
    )
}
