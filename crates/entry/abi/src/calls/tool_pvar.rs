//! Performance variables (MPI-5.0, 15.3.7).

use super::tool::set;
use crate::args::{InOut, Out, TextOut};
use crate::generated::types::{MPI_Datatype, MPI_T_enum, MPI_T_pvar_handle, MPI_T_pvar_session};
use crate::state;
use crate::tool::{self as objects, Object};
use std::ffi::{CStr, c_int, c_void};
use std::sync::{Arc, Mutex};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::tool::pvar::{self, Handle};
use verbena_mpi::tool::{Type, refusal};
use verbena_mpi::{Class, Process, Result, tool};

/// The type of every variable.
const TYPE: Type = Type::UnsignedLongLong;

/// Calls `f` with the handles of a session.
fn with_session<T>(session: MPI_T_pvar_session, f: impl FnOnce(&mut Vec<usize>) -> T) -> Result<T> {
    match objects::get(session).as_deref() {
        Some(Object::Session(handles)) => Ok(f(&mut objects::lock(handles))),
        _ => Err(objects::wrong_session()),
    }
}

/// The variable behind a handle of this session.
fn variable(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Result<Arc<Handle>> {
    with_session(session, |_| ())?;
    match objects::get(handle).as_deref() {
        Some(Object::Pvar(owner, variable)) if *owner == session => Ok(variable.clone()),
        _ => Err(objects::wrong_handle()),
    }
}

/// Calls `act` for one handle, or for all of the session for which it makes sense
/// (`MPI_T_PVAR_ALL_HANDLES`): then all are tried, and `failure` tells that one failed.
fn each(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    makes_sense: fn(&Handle) -> bool,
    failure: Class,
    act: fn(&Handle, Option<&Process>) -> Result<()>,
) -> Result<()> {
    let process = state::try_process();
    if handle != mpi::MPI_T_PVAR_ALL_HANDLES {
        return act(&*variable(session, handle)?, process);
    }
    let mut failed = false;
    for handle in with_session(session, |handles| handles.clone())? {
        let variable = variable(session, handle)?;
        failed |= makes_sense(&variable) && act(&variable, process).is_err();
    }
    if failed { Err(refusal(failure, "not all of the session's variables can do that")) } else { Ok(()) }
}

/// `MPI_T_pvar_get_num`.
pub fn t_pvar_get_num(num_pvar: Out<'_, c_int>) -> Result<()> {
    num_pvar.set(pvar::ALL.len() as c_int);
    Ok(())
}

/// `MPI_T_pvar_get_info`.
#[allow(clippy::too_many_arguments)]
pub fn t_pvar_get_info(
    pvar_index: c_int,
    name: TextOut<'_>,
    _name_len: *mut c_int,
    verbosity: Option<Out<'_, c_int>>,
    var_class: Option<Out<'_, c_int>>,
    datatype: Option<Out<'_, MPI_Datatype>>,
    enumtype: Option<Out<'_, MPI_T_enum>>,
    desc: TextOut<'_>,
    _desc_len: *mut c_int,
    bind: Option<Out<'_, c_int>>,
    readonly: Option<Out<'_, c_int>>,
    continuous: Option<Out<'_, c_int>>,
    atomic: Option<Out<'_, c_int>>,
) -> Result<()> {
    let variable = tool::at(&pvar::ALL, pvar_index)?;
    name.set(&variable.name);
    set(verbosity, mpi::MPI_T_VERBOSITY_TUNER_BASIC);
    set(var_class, variable.class());
    set(datatype, TYPE.handle());
    set(enumtype, objects::enum_handle(None));
    desc.set(&variable.help);
    set(bind, mpi::MPI_T_BIND_NO_OBJECT);
    set(readonly, variable.is_readonly().into());
    set(continuous, variable.is_continuous().into());
    // A variable that can be reset can be read and reset in one step.
    set(atomic, (!variable.is_readonly()).into());
    Ok(())
}

/// `MPI_T_pvar_get_index`.
pub fn t_pvar_get_index(name: &CStr, var_class: c_int, pvar_index: Out<'_, c_int>) -> Result<()> {
    pvar_index.set(tool::index_of(&pvar::ALL, |variable| {
        variable.name.as_bytes() == name.to_bytes() && variable.class() == var_class
    })?);
    Ok(())
}

/// `MPI_T_pvar_session_create`.
pub fn t_pvar_session_create(session: Out<'_, MPI_T_pvar_session>) -> Result<()> {
    session.set(objects::insert(Object::Session(Mutex::default())));
    Ok(())
}

/// `MPI_T_pvar_session_free`: frees its handles too.
pub fn t_pvar_session_free(session: InOut<'_, MPI_T_pvar_session>) -> Result<()> {
    with_session(session.get(), std::mem::take)?.into_iter().for_each(objects::remove);
    objects::remove(session.get());
    session.set(mpi::MPI_T_PVAR_SESSION_NULL);
    Ok(())
}

/// `MPI_T_pvar_handle_alloc`.
pub fn t_pvar_handle_alloc(
    session: MPI_T_pvar_session,
    pvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: Out<'_, MPI_T_pvar_handle>,
    count: Out<'_, c_int>,
) -> Result<()> {
    with_session(session, |_| ())?;
    let variable = Handle::new(tool::at(&pvar::ALL, pvar_index)?, state::try_process());
    let new = objects::insert(Object::Pvar(session, variable));
    with_session(session, |handles| handles.push(new))?;
    handle.set(new);
    count.set(1);
    Ok(())
}

/// `MPI_T_pvar_handle_free`.
pub fn t_pvar_handle_free(session: MPI_T_pvar_session, handle: InOut<'_, MPI_T_pvar_handle>) -> Result<()> {
    variable(session, handle.get())?;
    with_session(session, |handles| handles.retain(|other| *other != handle.get()))?;
    objects::remove(handle.get());
    handle.set(mpi::MPI_T_PVAR_HANDLE_NULL);
    Ok(())
}

/// `MPI_T_pvar_start`.
pub fn t_pvar_start(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Result<()> {
    let startable = |handle: &Handle| !handle.variable.is_continuous();
    each(session, handle, startable, mpi::MPI_T_ERR_PVAR_NO_STARTSTOP, Handle::start)
}

/// `MPI_T_pvar_stop`.
pub fn t_pvar_stop(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Result<()> {
    let startable = |handle: &Handle| !handle.variable.is_continuous();
    each(session, handle, startable, mpi::MPI_T_ERR_PVAR_NO_STARTSTOP, Handle::stop)
}

/// `MPI_T_pvar_reset`.
pub fn t_pvar_reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Result<()> {
    let writable = |handle: &Handle| !handle.variable.is_readonly();
    each(session, handle, writable, mpi::MPI_T_ERR_PVAR_NO_WRITE, Handle::reset)
}

/// `MPI_T_pvar_read`.
pub fn t_pvar_read(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *mut c_void) -> Result<()> {
    let value = variable(session, handle)?.read(state::try_process());
    objects::store(buf, &value.to_ne_bytes())
}

/// `MPI_T_pvar_write`.
pub fn t_pvar_write(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    buf: *const c_void,
) -> Result<()> {
    let variable = variable(session, handle)?;
    let bytes = objects::fetch(buf, TYPE.bytes())?;
    let value = bytes.try_into().map_or(0, u64::from_ne_bytes);
    variable.write(value, state::try_process())
}

/// `MPI_T_pvar_readreset`.
pub fn t_pvar_readreset(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    buf: *mut c_void,
) -> Result<()> {
    let variable = variable(session, handle)?;
    if variable.variable.is_readonly() {
        return Err(refusal(mpi::MPI_T_ERR_PVAR_NO_ATOMIC, "the variable cannot be reset"));
    }
    // Checks the buffer before the value is gone.
    objects::fetch(buf, 0)?;
    objects::store(buf, &variable.read_and_reset(state::try_process())?.to_ne_bytes())
}
