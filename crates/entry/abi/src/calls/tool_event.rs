//! Events and their sources (MPI-5.0, 15.3.8). There is one source, the library itself: its clock
//! counts nanoseconds, and it tells events in their order.

use super::info::publish;
use super::tool::set;
use crate::args::{InOut, Out, TextOut};
use crate::generated::types::*;
use crate::state;
use crate::tool::{self as objects, Object, clock_ns};
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::tool::event::{self, Callback, DroppedHandler, EventType, Instance, Registration};
use verbena_mpi::{Info, Result, tool};

/// The index of the one source.
const SOURCE: c_int = 0;
const SOURCES: &[&str] = &["library"];
const TICKS_PER_SECOND: i64 = 1_000_000_000;

fn registration(handle: MPI_T_event_registration) -> Result<Arc<Registration>> {
    match objects::get(handle).as_deref() {
        Some(Object::Registration(registration)) => Ok(registration.clone()),
        _ => Err(objects::wrong_handle()),
    }
}

fn instance(handle: MPI_T_event_instance) -> Result<Arc<Instance>> {
    match objects::get(handle).as_deref() {
        Some(Object::Instance(instance)) => Ok(instance.clone()),
        _ => Err(objects::wrong_handle()),
    }
}

/// `MPI_T_source_get_num`.
pub fn t_source_get_num(num_sources: Out<'_, c_int>) -> Result<()> {
    num_sources.set(SOURCES.len() as c_int);
    Ok(())
}

/// `MPI_T_source_get_info`.
#[allow(clippy::too_many_arguments)]
pub fn t_source_get_info(
    source_index: c_int,
    name: TextOut<'_>,
    _name_len: *mut c_int,
    desc: TextOut<'_>,
    _desc_len: *mut c_int,
    ordering: Option<Out<'_, c_int>>,
    ticks_per_second: Option<Out<'_, MPI_Count>>,
    max_ticks: Option<Out<'_, MPI_Count>>,
    info: Option<Out<'_, MPI_Info>>,
) -> Result<()> {
    name.set(tool::at(SOURCES, source_index)?);
    desc.set("what the library sees in this process; nanoseconds of the monotonic clock");
    set(ordering, mpi::MPI_T_SOURCE_ORDERED);
    set(ticks_per_second, TICKS_PER_SECOND);
    set(max_ticks, i64::MAX);
    info.map_or(Ok(()), |info| publish(Info::new(), info))
}

/// `MPI_T_source_get_timestamp`.
pub fn t_source_get_timestamp(source_index: c_int, timestamp: Out<'_, MPI_Count>) -> Result<()> {
    tool::at(SOURCES, source_index)?;
    timestamp.set(clock_ns());
    Ok(())
}

/// `MPI_T_event_get_num`.
pub fn t_event_get_num(num_events: Out<'_, c_int>) -> Result<()> {
    num_events.set(event::TYPES.len() as c_int);
    Ok(())
}

/// `MPI_T_event_get_index`.
pub fn t_event_get_index(name: &CStr, event_index: Out<'_, c_int>) -> Result<()> {
    event_index.set(tool::index_of(event::TYPES, |event| event.name.as_bytes() == name.to_bytes())?);
    Ok(())
}

/// `MPI_T_event_get_info`.
#[allow(clippy::too_many_arguments)]
pub fn t_event_get_info(
    event_index: c_int,
    name: TextOut<'_>,
    _name_len: *mut c_int,
    verbosity: Option<Out<'_, c_int>>,
    array_of_datatypes: *mut MPI_Datatype,
    array_of_displacements: *mut MPI_Aint,
    num_elements: Option<InOut<'_, c_int>>,
    enumtype: Option<Out<'_, MPI_T_enum>>,
    info: Option<Out<'_, MPI_Info>>,
    desc: TextOut<'_>,
    _desc_len: *mut c_int,
    bind: Option<Out<'_, c_int>>,
) -> Result<()> {
    let event = tool::at(event::TYPES, event_index)?;
    name.set(event.name);
    desc.set(event.help);
    set(verbosity, mpi::MPI_T_VERBOSITY_TUNER_DETAIL);
    set(enumtype, objects::enum_handle(None));
    set(bind, mpi::MPI_T_BIND_NO_OBJECT);
    if let Some(number) = num_elements {
        // SAFETY: the program gives room for this many elements in each array that is not null
        // (15.3.8).
        unsafe { store_elements(event, number.get(), array_of_datatypes, array_of_displacements) };
        number.set(event.elements.len() as c_int);
    }
    info.map_or(Ok(()), |info| publish(Info::new(), info))
}

/// Stores datatypes and displacements of the elements.
///
/// # Safety
/// Unless it is null, each pointer leads to room for `room` elements.
unsafe fn store_elements(
    event: &EventType,
    room: c_int,
    datatypes: *mut MPI_Datatype,
    displacements: *mut MPI_Aint,
) {
    let places = event.elements.iter().zip(event.displacements()).take(room.max(0) as usize);
    for (index, (element, displacement)) in places.enumerate() {
        if !datatypes.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { datatypes.add(index).write(element.element_type().handle()) };
        }
        if !displacements.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { displacements.add(index).write(displacement as MPI_Aint) };
        }
    }
}

/// `MPI_T_event_handle_alloc`. No hint is known.
pub fn t_event_handle_alloc(
    event_index: c_int,
    _obj_handle: *mut c_void,
    _info: Option<&Arc<Info>>,
    event_registration: Out<'_, MPI_T_event_registration>,
) -> Result<()> {
    let registration = Registration::new(tool::at(event::TYPES, event_index)?);
    event_registration.set(objects::insert(Object::Registration(registration)));
    Ok(())
}

/// `MPI_T_event_handle_set_info`. No hint is known.
pub fn t_event_handle_set_info(
    event_registration: MPI_T_event_registration,
    _info: Option<&Arc<Info>>,
) -> Result<()> {
    registration(event_registration).map(drop)
}

/// `MPI_T_event_handle_get_info`.
pub fn t_event_handle_get_info(
    event_registration: MPI_T_event_registration,
    info_used: Out<'_, MPI_Info>,
) -> Result<()> {
    registration(event_registration)?;
    publish(Info::new(), info_used)
}

/// `MPI_T_event_register_callback`. The null pointer takes the level's function away.
pub fn t_event_register_callback(
    event_registration: MPI_T_event_registration,
    cb_safety: c_int,
    _info: Option<&Arc<Info>>,
    user_data: *mut c_void,
    event_cb_function: MPI_T_event_cb_function,
) -> Result<()> {
    let level = event::level(cb_safety)?;
    let called = event_cb_function.map(|function| callback(event_registration, function));
    registration(event_registration)?.set_callback(level, called.map(|called| (called, user_data as usize)));
    if let Some(process) = state::try_process() {
        event::attach(process, clock_ns);
    }
    Ok(())
}

type EventFunction = unsafe extern "C" fn(MPI_T_event_instance, MPI_T_event_registration, c_int, *mut c_void);

/// Calls the program's function with a handle of the event that holds until it returns.
fn callback(registration: MPI_T_event_registration, function: EventFunction) -> Callback {
    Arc::new(move |instance, user_data| {
        let handle = objects::insert(Object::Instance(instance));
        // SAFETY: the program's function, of this type (15.3.8), and the data that it gave for it.
        unsafe { function(handle, registration, mpi::MPI_T_CB_REQUIRE_NONE, user_data as *mut c_void) };
        objects::remove(handle);
    })
}

/// `MPI_T_event_callback_set_info`. No hint is known.
pub fn t_event_callback_set_info(
    event_registration: MPI_T_event_registration,
    cb_safety: c_int,
    _info: Option<&Arc<Info>>,
) -> Result<()> {
    check_callback(event_registration, cb_safety)
}

/// `MPI_T_event_callback_get_info`.
pub fn t_event_callback_get_info(
    event_registration: MPI_T_event_registration,
    cb_safety: c_int,
    info_used: Out<'_, MPI_Info>,
) -> Result<()> {
    check_callback(event_registration, cb_safety)?;
    publish(Info::new(), info_used)
}

/// Returns `MPI_T_ERR_INVALID` if no function is registered for this level.
fn check_callback(handle: MPI_T_event_registration, cb_safety: c_int) -> Result<()> {
    let there = registration(handle)?.has_callback(event::level(cb_safety)?);
    let what = "no function is registered for this level of safety";
    if there { Ok(()) } else { Err(tool::refusal(mpi::MPI_T_ERR_INVALID, what)) }
}

/// `MPI_T_event_handle_free`: from now on only the function that is given here is called.
pub fn t_event_handle_free(
    event_registration: MPI_T_event_registration,
    user_data: *mut c_void,
    free_cb_function: MPI_T_event_free_cb_function,
) -> Result<()> {
    registration(event_registration)?.free();
    objects::remove(event_registration);
    if let Some(function) = free_cb_function {
        // SAFETY: the program's function, of this type (15.3.8), and its own data.
        unsafe { function(event_registration, mpi::MPI_T_CB_REQUIRE_NONE, user_data) };
    }
    Ok(())
}

/// `MPI_T_event_set_dropped_handler`. The null pointer takes it away.
pub fn t_event_set_dropped_handler(
    event_registration: MPI_T_event_registration,
    dropped_cb_function: MPI_T_event_dropped_cb_function,
) -> Result<()> {
    let handler = dropped_cb_function.map(|function| -> DroppedHandler {
        Arc::new(move |count, user_data| {
            let (safety, data) = (mpi::MPI_T_CB_REQUIRE_NONE, user_data as *mut c_void);
            // SAFETY: the program's function, of this type (15.3.8), and the data that it gave.
            unsafe { function(count, event_registration, SOURCE, safety, data) };
        })
    });
    registration(event_registration)?.set_dropped_handler(handler);
    Ok(())
}

/// `MPI_T_event_read`.
pub fn t_event_read(
    event_instance: MPI_T_event_instance,
    element_index: c_int,
    buffer: *mut c_void,
) -> Result<()> {
    objects::store(buffer, &instance(event_instance)?.element(element_index)?)
}

/// `MPI_T_event_copy`: all elements at their displacements.
pub fn t_event_copy(event_instance: MPI_T_event_instance, buffer: *mut c_void) -> Result<()> {
    objects::store(buffer, &instance(event_instance)?.bytes())
}

/// `MPI_T_event_get_timestamp`.
pub fn t_event_get_timestamp(
    event_instance: MPI_T_event_instance,
    event_timestamp: Out<'_, MPI_Count>,
) -> Result<()> {
    event_timestamp.set(instance(event_instance)?.timestamp);
    Ok(())
}

/// `MPI_T_event_get_source`.
pub fn t_event_get_source(event_instance: MPI_T_event_instance, source_index: Out<'_, c_int>) -> Result<()> {
    instance(event_instance)?;
    source_index.set(SOURCE);
    Ok(())
}
