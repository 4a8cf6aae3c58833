//! Attributes (MPI-5.0, 7.7) and the predefined ones (9.1.2).

use crate::args::{InOut, Out, OutFlag, TAG_UB};
use crate::generated::types::*;
use crate::startup;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use verbena_mpi::attribute::{
    Attributes, COMM_KEYVALS, CopyCallback, CopyRule, DeleteCallback, Keyvals, TYPE_KEYVALS, WIN_KEYVALS,
    callback_failed, no_keyval,
};
use verbena_mpi::codes::REGISTRY;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Class, Comm, Datatype, Error, Result, Win};

/// The C type of all copy callbacks: they differ only in name, since handles are pointer-sized.
type CopyFunction =
    Option<unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int>;
/// The C type of all delete callbacks.
type DeleteFunction = Option<unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int>;

/// The value of `MPI_COMM_DUP_FN` and its like; that of `MPI_COMM_NULL_COPY_FN` and its like is the
/// null pointer.
const DUP_FN: usize = 1;

/// Wraps a copy callback of the program.
fn copy_rule(function: CopyFunction, extra_state: *mut c_void) -> CopyRule {
    let Some(function) = function else { return CopyRule::Never };
    if function as usize == DUP_FN {
        return CopyRule::Same;
    }
    let extra_state = extra_state as usize;
    let callback: CopyCallback = Box::new(move |object, keyval, value| {
        let (mut copy, mut flag): (usize, c_int) = (0, 0);
        let place: *mut usize = &mut copy;
        // SAFETY: the program's function, of this type (MPI-5.0, 7.7.2); the places for results are
        // ours.
        let code = unsafe {
            let (extra, value) = (extra_state as *mut c_void, value as *mut c_void);
            function(object, keyval, extra, value, place.cast(), &mut flag)
        };
        succeeded(code, "copy", keyval)?;
        Ok((flag != 0).then_some(copy))
    });
    CopyRule::Call(callback)
}

/// Wraps a delete callback of the program; the null pointer is `MPI_COMM_NULL_DELETE_FN` and its
/// like.
fn delete_callback(function: DeleteFunction, extra_state: *mut c_void) -> Option<DeleteCallback> {
    let (function, extra_state) = (function?, extra_state as usize);
    Some(Box::new(move |object, keyval, value| {
        // SAFETY: the program's function, of this type (MPI-5.0, 7.7.2).
        let code = unsafe { function(object, keyval, value as *mut c_void, extra_state as *mut c_void) };
        succeeded(code, "delete", keyval)
    }))
}

fn succeeded(code: c_int, sort: &str, keyval: c_int) -> Result<()> {
    let known: Class = if REGISTRY.class(code).is_ok() { code } else { mpi::MPI_ERR_OTHER };
    if code == mpi::MPI_SUCCESS { Ok(()) } else { Err(callback_failed(known, sort, keyval)) }
}

fn create(
    keyvals: &Keyvals,
    copy: CopyFunction,
    delete: DeleteFunction,
    keyval: Out<'_, c_int>,
    extra_state: *mut c_void,
) -> Result<()> {
    keyval.set(keyvals.create(copy_rule(copy, extra_state), delete_callback(delete, extra_state)));
    Ok(())
}

fn free(keyvals: &Keyvals, keyval: InOut<'_, c_int>) -> Result<()> {
    keyvals.free(keyval.get())?;
    keyval.set(mpi::MPI_KEYVAL_INVALID);
    Ok(())
}

fn get(
    keyvals: &Keyvals,
    attributes: &Attributes,
    keyval: c_int,
    place: *mut c_void,
    flag: OutFlag<'_>,
) -> Result<()> {
    keyvals.get(keyval)?;
    give(attributes.get(keyval), place, flag)
}

/// Stores a value where the program wants it: `place` is the address of a pointer.
fn give(value: Option<usize>, place: *mut c_void, flag: OutFlag<'_>) -> Result<()> {
    if place.is_null() {
        return Err(no_place());
    }
    flag.set(value.is_some());
    if let Some(value) = value {
        // SAFETY: the program passes the address of a pointer as `void *` (MPI-5.0, 7.7.2).
        unsafe { place.cast::<usize>().write_unaligned(value) };
    }
    Ok(())
}

/// The predefined attribute's value, kept where the program may read it: these attributes are
/// pointers to integers (MPI-5.0, 9.1.2). Outer `None`: not a predefined key; inner: not set in
/// this run.
fn predefined(keyval: c_int) -> Option<Option<usize>> {
    static VALUES: [AtomicI32; 7] = [const { AtomicI32::new(0) }; 7];
    let number = |value: Option<u32>| value.map(|value| c_int::try_from(value).unwrap_or(c_int::MAX));
    let launch = startup::launch();
    let value = match keyval {
        mpi::MPI_TAG_UB => Some(TAG_UB),
        mpi::MPI_IO => Some(mpi::MPI_ANY_SOURCE),
        mpi::MPI_HOST => Some(mpi::MPI_PROC_NULL),
        mpi::MPI_WTIME_IS_GLOBAL => Some(0),
        mpi::MPI_APPNUM => number(launch.and_then(|launch| launch.appnum)),
        mpi::MPI_LASTUSEDCODE => Some(REGISTRY.last_used()),
        mpi::MPI_UNIVERSE_SIZE => number(launch.and_then(|launch| launch.universe_size)),
        _ => return None,
    };
    let place = &VALUES[(keyval - mpi::MPI_TAG_UB) as usize];
    Some(value.map(|value| {
        place.store(value, Ordering::Relaxed);
        place.as_ptr() as usize
    }))
}

/// Checks a key that the program sets or deletes; a predefined one is `MPI_ERR_KEYVAL`.
fn changeable(keyval: c_int) -> Result<c_int> {
    let of_comm = (mpi::MPI_TAG_UB..=mpi::MPI_UNIVERSE_SIZE).contains(&keyval);
    let of_window = (mpi::MPI_WIN_BASE..=mpi::MPI_WIN_MODEL).contains(&keyval);
    if of_comm || of_window { Err(predefined_key(keyval)) } else { Ok(keyval) }
}

/// `MPI_Comm_create_keyval`.
pub fn comm_create_keyval(
    comm_copy_attr_fn: MPI_Comm_copy_attr_function,
    comm_delete_attr_fn: MPI_Comm_delete_attr_function,
    comm_keyval: Out<'_, c_int>,
    extra_state: *mut c_void,
) -> Result<()> {
    create(&COMM_KEYVALS, comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, extra_state)
}

/// `MPI_Comm_free_keyval`.
pub fn comm_free_keyval(comm_keyval: InOut<'_, c_int>) -> Result<()> {
    free(&COMM_KEYVALS, comm_keyval)
}

/// `MPI_Comm_set_attr`.
pub fn comm_set_attr(comm: &Arc<Comm>, comm_keyval: c_int, attribute_val: *mut c_void) -> Result<()> {
    let key = COMM_KEYVALS.get(changeable(comm_keyval)?)?;
    comm.attributes().set(comm.handle(), key, attribute_val as usize)
}

/// `MPI_Comm_get_attr`. The predefined attributes are on every communicator.
pub fn comm_get_attr(
    comm: &Arc<Comm>,
    comm_keyval: c_int,
    attribute_val: *mut c_void,
    flag: OutFlag<'_>,
) -> Result<()> {
    match predefined(comm_keyval) {
        Some(value) => give(value, attribute_val, flag),
        None => get(&COMM_KEYVALS, comm.attributes(), comm_keyval, attribute_val, flag),
    }
}

/// `MPI_Comm_delete_attr`.
pub fn comm_delete_attr(comm: &Arc<Comm>, comm_keyval: c_int) -> Result<()> {
    COMM_KEYVALS.get(changeable(comm_keyval)?)?;
    comm.attributes().delete(comm.handle(), comm_keyval)
}

/// `MPI_Keyval_create` (deprecated).
pub fn keyval_create(
    copy_fn: MPI_Copy_function,
    delete_fn: MPI_Delete_function,
    keyval: Out<'_, c_int>,
    extra_state: *mut c_void,
) -> Result<()> {
    comm_create_keyval(copy_fn, delete_fn, keyval, extra_state)
}

/// `MPI_Keyval_free` (deprecated).
pub fn keyval_free(keyval: InOut<'_, c_int>) -> Result<()> {
    comm_free_keyval(keyval)
}

/// `MPI_Attr_put` (deprecated).
pub fn attr_put(comm: &Arc<Comm>, keyval: c_int, attribute_val: *mut c_void) -> Result<()> {
    comm_set_attr(comm, keyval, attribute_val)
}

/// `MPI_Attr_get` (deprecated).
pub fn attr_get(
    comm: &Arc<Comm>,
    keyval: c_int,
    attribute_val: *mut c_void,
    flag: OutFlag<'_>,
) -> Result<()> {
    comm_get_attr(comm, keyval, attribute_val, flag)
}

/// `MPI_Attr_delete` (deprecated).
pub fn attr_delete(comm: &Arc<Comm>, keyval: c_int) -> Result<()> {
    comm_delete_attr(comm, keyval)
}

/// `MPI_Type_create_keyval`.
pub fn type_create_keyval(
    type_copy_attr_fn: MPI_Type_copy_attr_function,
    type_delete_attr_fn: MPI_Type_delete_attr_function,
    type_keyval: Out<'_, c_int>,
    extra_state: *mut c_void,
) -> Result<()> {
    create(&TYPE_KEYVALS, type_copy_attr_fn, type_delete_attr_fn, type_keyval, extra_state)
}

/// `MPI_Type_free_keyval`.
pub fn type_free_keyval(type_keyval: InOut<'_, c_int>) -> Result<()> {
    free(&TYPE_KEYVALS, type_keyval)
}

/// `MPI_Type_set_attr`.
pub fn type_set_attr(datatype: &Arc<Datatype>, type_keyval: c_int, attribute_val: *mut c_void) -> Result<()> {
    let key = TYPE_KEYVALS.get(type_keyval)?;
    datatype.attributes().set(datatype.known_as(), key, attribute_val as usize)
}

/// `MPI_Type_get_attr`.
pub fn type_get_attr(
    datatype: &Arc<Datatype>,
    type_keyval: c_int,
    attribute_val: *mut c_void,
    flag: OutFlag<'_>,
) -> Result<()> {
    get(&TYPE_KEYVALS, datatype.attributes(), type_keyval, attribute_val, flag)
}

/// `MPI_Type_delete_attr`.
pub fn type_delete_attr(datatype: &Arc<Datatype>, type_keyval: c_int) -> Result<()> {
    TYPE_KEYVALS.get(type_keyval)?;
    datatype.attributes().delete(datatype.known_as(), type_keyval)
}

/// `MPI_Win_create_keyval`.
pub fn win_create_keyval(
    win_copy_attr_fn: MPI_Win_copy_attr_function,
    win_delete_attr_fn: MPI_Win_delete_attr_function,
    win_keyval: Out<'_, c_int>,
    extra_state: *mut c_void,
) -> Result<()> {
    create(&WIN_KEYVALS, win_copy_attr_fn, win_delete_attr_fn, win_keyval, extra_state)
}

/// `MPI_Win_free_keyval`.
pub fn win_free_keyval(win_keyval: InOut<'_, c_int>) -> Result<()> {
    free(&WIN_KEYVALS, win_keyval)
}

/// `MPI_Win_set_attr`.
pub fn win_set_attr(win: &Arc<Win>, win_keyval: c_int, attribute_val: *mut c_void) -> Result<()> {
    let key = WIN_KEYVALS.get(changeable(win_keyval)?)?;
    win.attributes().set(win.handle(), key, attribute_val as usize)
}

/// `MPI_Win_get_attr`. The predefined attributes are on every window (12.2.7): the base is the
/// value itself, the others lead to integers.
pub fn win_get_attr(
    win: &Arc<Win>,
    win_keyval: c_int,
    attribute_val: *mut c_void,
    flag: OutFlag<'_>,
) -> Result<()> {
    match of_window(win, win_keyval) {
        Some(value) => give(Some(value), attribute_val, flag),
        None => get(&WIN_KEYVALS, win.attributes(), win_keyval, attribute_val, flag),
    }
}

/// A predefined attribute of a window.
fn of_window(win: &Win, keyval: c_int) -> Option<usize> {
    let facts = win.facts();
    Some(match keyval {
        mpi::MPI_WIN_BASE => win.base(),
        mpi::MPI_WIN_SIZE => &raw const facts.size as usize,
        mpi::MPI_WIN_DISP_UNIT => &raw const facts.unit as usize,
        mpi::MPI_WIN_CREATE_FLAVOR => &raw const facts.flavor as usize,
        mpi::MPI_WIN_MODEL => &raw const facts.model as usize,
        _ => return None,
    })
}

/// `MPI_Win_delete_attr`.
pub fn win_delete_attr(win: &Arc<Win>, win_keyval: c_int) -> Result<()> {
    WIN_KEYVALS.get(changeable(win_keyval)?)?;
    win.attributes().delete(win.handle(), win_keyval)
}

#[cold]
fn no_place() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "there is no place for the attribute's value",
        "the argument attribute_val, which is null",
        "the pointer itself was passed instead of its address",
        "pass the address of a pointer",
    )
}

#[cold]
fn predefined_key(keyval: c_int) -> Error {
    let mut error = no_keyval(keyval);
    error.fault.what = "a predefined attribute cannot be set or deleted".into();
    error.fault.cause =
        "the key is one of MPI_TAG_UB, MPI_IO, MPI_APPNUM, MPI_WIN_BASE and their like".into();
    error
}
