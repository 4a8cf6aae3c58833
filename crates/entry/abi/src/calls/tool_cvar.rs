//! Control variables (MPI-5.0, 15.3.6).

use super::tool::set;
use crate::args::{InOut, Out, TextOut};
use crate::generated::types::{MPI_Datatype, MPI_T_cvar_handle, MPI_T_enum};
use crate::state;
use crate::tool::{self as objects, Object};
use std::ffi::{CStr, c_int, c_void};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::tool::{Type, cvar, enumeration};
use verbena_mpi::{Result, tool};
use verbena_settings::Setting;

fn variable(handle: MPI_T_cvar_handle) -> Result<&'static Setting> {
    match objects::get(handle).as_deref() {
        Some(Object::Cvar(setting)) => Ok(setting),
        _ => Err(objects::wrong_handle()),
    }
}

/// `MPI_T_cvar_get_num`.
pub fn t_cvar_get_num(num_cvar: Out<'_, c_int>) -> Result<()> {
    num_cvar.set(cvar::ALL.len() as c_int);
    Ok(())
}

/// `MPI_T_cvar_get_info`.
#[allow(clippy::too_many_arguments)]
pub fn t_cvar_get_info(
    cvar_index: c_int,
    name: TextOut<'_>,
    _name_len: *mut c_int,
    verbosity: Option<Out<'_, c_int>>,
    datatype: Option<Out<'_, MPI_Datatype>>,
    enumtype: Option<Out<'_, MPI_T_enum>>,
    desc: TextOut<'_>,
    _desc_len: *mut c_int,
    bind: Option<Out<'_, c_int>>,
    scope: Option<Out<'_, c_int>>,
) -> Result<()> {
    let setting = tool::at(&cvar::ALL, cvar_index)?;
    name.set(setting.about.name);
    set(verbosity, cvar::verbosity(setting));
    set(datatype, cvar::shape(setting).0.handle());
    set(enumtype, objects::enum_handle(enumeration::of(setting)));
    desc.set(&cvar::description(setting));
    set(bind, mpi::MPI_T_BIND_NO_OBJECT);
    set(scope, cvar::scope(setting));
    Ok(())
}

/// `MPI_T_cvar_get_index`.
pub fn t_cvar_get_index(name: &CStr, cvar_index: Out<'_, c_int>) -> Result<()> {
    cvar_index.set(tool::index_of(&cvar::ALL, |setting| setting.about.name.as_bytes() == name.to_bytes())?);
    Ok(())
}

/// `MPI_T_cvar_handle_alloc`.
pub fn t_cvar_handle_alloc(
    cvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: Out<'_, MPI_T_cvar_handle>,
    count: Out<'_, c_int>,
) -> Result<()> {
    let setting = tool::at(&cvar::ALL, cvar_index)?;
    count.set(cvar::shape(setting).1 as c_int);
    handle.set(objects::insert(Object::Cvar(setting)));
    Ok(())
}

/// `MPI_T_cvar_handle_free`.
pub fn t_cvar_handle_free(handle: InOut<'_, MPI_T_cvar_handle>) -> Result<()> {
    variable(handle.get())?;
    objects::remove(handle.get());
    handle.set(mpi::MPI_T_CVAR_HANDLE_NULL);
    Ok(())
}

/// `MPI_T_cvar_read`.
pub fn t_cvar_read(handle: MPI_T_cvar_handle, buf: *mut c_void) -> Result<()> {
    objects::store(buf, &cvar::read(variable(handle)?))
}

/// `MPI_T_cvar_write`.
pub fn t_cvar_write(handle: MPI_T_cvar_handle, buf: *const c_void) -> Result<()> {
    let setting = variable(handle)?;
    let bytes = match cvar::shape(setting) {
        (Type::Char, count) => objects::fetch_text(buf, count)?,
        (one, count) => objects::fetch(buf, one.bytes() * count)?,
    };
    cvar::write(setting, &bytes, state::try_process())
}
