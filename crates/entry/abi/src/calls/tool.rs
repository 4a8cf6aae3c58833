//! The tool information interface: initialisation, enumerations, categories (MPI-5.0, 15.3.4,
//! 15.3.5, 15.3.9).

use crate::args::{Out, TextOut};
use crate::generated::types::MPI_T_enum;
use crate::{state, tool as objects};
use std::ffi::{CStr, c_int};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::tool::category::{self, Category};
use verbena_mpi::{Result, tool};
use verbena_waiting::lock;

/// Checks that the interface is initialised, before every call but `MPI_T_init_thread` and
/// `MPI_T_finalize`.
pub fn running() -> Result<()> {
    tool::running()
}

/// `MPI_T_init_thread` (15.3.4).
pub fn t_init_thread(required: c_int, provided: Out<'_, c_int>) -> Result<()> {
    tool::enter();
    provided.set(provided_level(required));
    Ok(())
}

/// The level that is provided. Several threads may be inside at once if they may be in MPI; that
/// cannot be arranged any more once MPI has started for one.
fn provided_level(required: c_int) -> c_int {
    let level = super::init::provided_level(required);
    if level < mpi::MPI_THREAD_MULTIPLE {
        return level;
    }
    if state::try_process().is_none() {
        lock::share(false);
    }
    if lock::is_shared() { mpi::MPI_THREAD_MULTIPLE } else { mpi::MPI_THREAD_SERIALIZED }
}

/// `MPI_T_finalize` (15.3.4): the last call frees all handles.
pub fn t_finalize() -> Result<()> {
    if tool::leave()? {
        objects::clear();
    }
    Ok(())
}

/// `MPI_T_enum_get_info` (15.3.5).
pub fn t_enum_get_info(
    enumtype: MPI_T_enum,
    num: Option<Out<'_, c_int>>,
    name: TextOut<'_>,
    _name_len: *mut c_int,
) -> Result<()> {
    let enumeration = objects::enumeration(enumtype)?;
    set(num, enumeration.items.len() as c_int);
    name.set(&enumeration.name);
    Ok(())
}

/// `MPI_T_enum_get_item` (15.3.5).
pub fn t_enum_get_item(
    enumtype: MPI_T_enum,
    indx: c_int,
    value: Out<'_, c_int>,
    name: TextOut<'_>,
    _name_len: *mut c_int,
) -> Result<()> {
    let item = tool::at(objects::enumeration(enumtype)?.items, indx)?;
    value.set(indx);
    name.set(item);
    Ok(())
}

/// Stores a value that the program may not want.
pub(super) fn set<T: Copy>(place: Option<Out<'_, T>>, value: T) {
    if let Some(place) = place {
        place.set(value);
    }
}

fn category(index: c_int) -> Result<&'static Category> {
    tool::at(category::ALL, index)
}

/// `MPI_T_category_get_num`.
pub fn t_category_get_num(num_cat: Out<'_, c_int>) -> Result<()> {
    num_cat.set(category::ALL.len() as c_int);
    Ok(())
}

/// `MPI_T_category_get_info`.
#[allow(clippy::too_many_arguments)]
pub fn t_category_get_info(
    cat_index: c_int,
    name: TextOut<'_>,
    _name_len: *mut c_int,
    desc: TextOut<'_>,
    _desc_len: *mut c_int,
    num_cvars: Option<Out<'_, c_int>>,
    num_pvars: Option<Out<'_, c_int>>,
    num_categories: Option<Out<'_, c_int>>,
) -> Result<()> {
    let category = category(cat_index)?;
    name.set(category.name);
    desc.set(category.help);
    set(num_cvars, category.cvars().len() as c_int);
    set(num_pvars, category.pvars().len() as c_int);
    set(num_categories, category.categories().len() as c_int);
    Ok(())
}

/// `MPI_T_category_get_num_events`.
pub fn t_category_get_num_events(cat_index: c_int, num_events: Out<'_, c_int>) -> Result<()> {
    num_events.set(category(cat_index)?.events().len() as c_int);
    Ok(())
}

/// `MPI_T_category_get_index`.
pub fn t_category_get_index(name: &CStr, cat_index: Out<'_, c_int>) -> Result<()> {
    cat_index.set(tool::index_of(category::ALL, |category| category.name.as_bytes() == name.to_bytes())?);
    Ok(())
}

/// `MPI_T_category_get_cvars`.
pub fn t_category_get_cvars(cat_index: c_int, _len: c_int, indices: &mut [c_int]) -> Result<()> {
    objects::store_indices(&category(cat_index)?.cvars(), indices);
    Ok(())
}

/// `MPI_T_category_get_pvars`.
pub fn t_category_get_pvars(cat_index: c_int, _len: c_int, indices: &mut [c_int]) -> Result<()> {
    objects::store_indices(&category(cat_index)?.pvars(), indices);
    Ok(())
}

/// `MPI_T_category_get_events`.
pub fn t_category_get_events(cat_index: c_int, _len: c_int, indices: &mut [c_int]) -> Result<()> {
    objects::store_indices(&category(cat_index)?.events(), indices);
    Ok(())
}

/// `MPI_T_category_get_categories`.
pub fn t_category_get_categories(cat_index: c_int, _len: c_int, indices: &mut [c_int]) -> Result<()> {
    objects::store_indices(&category(cat_index)?.categories(), indices);
    Ok(())
}

/// `MPI_T_category_changed`: categories never change.
pub fn t_category_changed(update_number: Out<'_, c_int>) -> Result<()> {
    update_number.set(0);
    Ok(())
}
