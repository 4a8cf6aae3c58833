//! The parts of the tool interface that pass objects and callbacks (MPI-5.0, 15.3).
//!
//! Callbacks of events are passed on as they are: they get no handle of a kind that differs, and
//! the library always calls them with the safety level `MPI_T_CB_REQUIRE_NONE`, which is 0 on both
//! faces.

use crate::arrays::{Handles, Out};
use crate::generated::types::*;
use crate::handles::{
    Comm, Datatype, Errhandler, File, Group, Handle, Info, Message, Op, Request, Session, Win,
};
use crate::table::Function;
use crate::values::{self, bind_face, safety_native, verbosity_face};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

/// The handle at `object`, by the binding (as on the standard face) of the variable that it is for.
unsafe fn object_native(bind: c_int, object: *mut c_void) -> usize {
    if object.is_null() {
        return 0;
    }
    // SAFETY: the program passes the address of a handle of the variable's kind.
    let integer = || unsafe { object.cast::<i32>().read() };
    // The order is that of MPI_T_BIND_NO_OBJECT and those after it.
    match bind {
        2 => Comm::native(integer()),
        3 => Datatype::native(integer()),
        4 => Errhandler::native(integer()),
        // SAFETY: as above.
        5 => File::native(unsafe { object.cast::<usize>().read() }),
        6 => Group::native(integer()),
        7 => Op::native(integer()),
        8 => Request::native(integer()),
        9 => Win::native(integer()),
        10 => Message::native(integer()),
        11 => Info::native(integer()),
        12 => Session::native(integer()),
        _ => 0,
    }
}

/// `MPI_T_cvar_handle_alloc`.
pub unsafe fn t_cvar_handle_alloc(
    cvar_index: c_int,
    object: *mut c_void,
    handle: *mut MPI_T_cvar_handle,
    count: *mut c_int,
) -> c_int {
    let [mut verbosity, mut bind, mut scope, mut name_len, mut desc_len] = [0; 5];
    let (mut datatype, mut enumtype) = (0, 0);
    // SAFETY: places of our own; the rest is the program's. A wrong index is refused by the second
    // call, too.
    values::code(unsafe {
        native!(MPI_T_cvar_get_info(
            cvar_index,
            null_mut(),
            &mut name_len,
            &mut verbosity,
            &mut datatype,
            &mut enumtype,
            null_mut(),
            &mut desc_len,
            &mut bind,
            &mut scope,
        ));
        let mut native = object_native(bind, object);
        native!(MPI_T_cvar_handle_alloc(cvar_index, place(&mut native, object), handle, count))
    })
}

/// The address of the translated handle for the standard face; null if the program passed none.
fn place(native: &mut usize, object: *mut c_void) -> *mut c_void {
    if object.is_null() { null_mut() } else { (&raw mut *native).cast() }
}

/// `MPI_T_pvar_handle_alloc`.
pub unsafe fn t_pvar_handle_alloc(
    session: MPI_T_pvar_session,
    pvar_index: c_int,
    object: *mut c_void,
    handle: *mut MPI_T_pvar_handle,
    count: *mut c_int,
) -> c_int {
    let [mut verbosity, mut class, mut bind, mut name_len, mut desc_len] = [0; 5];
    let [mut readonly, mut continuous, mut atomic] = [0; 3];
    let (mut datatype, mut enumtype) = (0, 0);
    // SAFETY: as above.
    values::code(unsafe {
        native!(MPI_T_pvar_get_info(
            pvar_index,
            null_mut(),
            &mut name_len,
            &mut verbosity,
            &mut class,
            &mut datatype,
            &mut enumtype,
            null_mut(),
            &mut desc_len,
            &mut bind,
            &mut readonly,
            &mut continuous,
            &mut atomic,
        ));
        let mut native = object_native(bind, object);
        native!(MPI_T_pvar_handle_alloc(session, pvar_index, place(&mut native, object), handle, count))
    })
}

/// `MPI_T_event_handle_alloc`. No event is bound to an object.
pub unsafe fn t_event_handle_alloc(
    event_index: c_int,
    object: *mut c_void,
    info: i32,
    registration: *mut MPI_T_event_registration,
) -> c_int {
    let mut native = 0;
    // SAFETY: the program's promise.
    values::code(unsafe {
        native!(MPI_T_event_handle_alloc(
            event_index,
            place(&mut native, object),
            Info::native(info),
            registration
        ))
    })
}

/// `MPI_T_event_get_info`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn t_event_get_info(
    event_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    datatypes: *mut i32,
    displacements: *mut MPI_Aint,
    num_elements: *mut c_int,
    enumtype: *mut MPI_T_enum,
    info: *mut i32,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
) -> c_int {
    // SAFETY: the program's promise; null places are allowed.
    unsafe {
        let elements = num_elements.as_ref().copied().unwrap_or(0);
        let mut handles = Handles::<Datatype>::unset(datatypes, elements.into());
        let mut info = Out::<Info>::new(info);
        let code = native!(MPI_T_event_get_info(
            event_index,
            name,
            name_len,
            verbosity,
            handles.native(),
            displacements,
            num_elements,
            enumtype,
            info.native(),
            desc,
            desc_len,
            bind,
        ));
        handles.store(datatypes);
        info.store();
        values::set(code, verbosity, verbosity_face);
        values::set(code, bind, bind_face);
        values::code(code)
    }
}

fn address(function: Option<Function>) -> Function {
    function.unwrap_or(std::ptr::null())
}

/// `MPI_T_event_handle_free`.
pub unsafe fn t_event_handle_free(
    registration: MPI_T_event_registration,
    user_data: *mut c_void,
    function: MPI_T_event_free_cb_function,
) -> c_int {
    let function = address(function.map(|f| f as Function));
    // SAFETY: the program's promise.
    values::code(unsafe { native!(MPI_T_event_handle_free(registration, user_data, function)) })
}

/// `MPI_T_event_register_callback`.
pub unsafe fn t_event_register_callback(
    registration: MPI_T_event_registration,
    safety: c_int,
    info: i32,
    user_data: *mut c_void,
    function: MPI_T_event_cb_function,
) -> c_int {
    let function = address(function.map(|f| f as Function));
    let (safety, info) = (safety_native(safety), Info::native(info));
    // SAFETY: the program's promise.
    values::code(unsafe {
        native!(MPI_T_event_register_callback(registration, safety, info, user_data, function))
    })
}

/// `MPI_T_event_set_dropped_handler`.
pub unsafe fn t_event_set_dropped_handler(
    registration: MPI_T_event_registration,
    function: MPI_T_event_dropped_cb_function,
) -> c_int {
    let function = address(function.map(|f| f as Function));
    // SAFETY: the program's promise.
    values::code(unsafe { native!(MPI_T_event_set_dropped_handler(registration, function)) })
}
