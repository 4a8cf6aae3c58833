//! Info objects (MPI-5.0, chapter 10 and 11.2.1).

use crate::args::{InOut, Out, OutFlag, OutString};
use crate::generated::types::MPI_Info;
use crate::handles::INFOS;
use crate::info_env::{describe, environment};
use crate::memory_kinds;
use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Info, Result};

/// Makes a handle of an info object for the program.
pub(super) fn publish(info: Info, handle: Out<'_, MPI_Info>) -> Result<()> {
    handle.set(INFOS.insert(Arc::new(info)));
    Ok(())
}

/// Gives the program the hints of a communicator, a window or a file, and the kinds of memory.
pub(super) fn publish_with_kinds(hints: Info, handle: Out<'_, MPI_Info>) -> Result<()> {
    hints.set(memory_kinds::KEY, memory_kinds::of_object().as_bytes())?;
    publish(hints, handle)
}

/// `MPI_Info_create`.
pub fn info_create(info: Out<'_, MPI_Info>) -> Result<()> {
    publish(Info::new(), info)
}

/// `MPI_Info_create_env` (11.2.1): as `MPI_INFO_ENV`, with the command line that the program gives,
/// if any.
pub fn info_create_env(argc: c_int, argv: *mut *mut c_char, info: Out<'_, MPI_Info>) -> Result<()> {
    let new = Info::constant(environment).clone();
    // SAFETY: the program passes its argument vector of `argc` strings (MPI-5.0, 11.2.1), or null.
    let arguments = unsafe { command_line(argc, argv) };
    for (key, value) in describe(&arguments) {
        new.set(&key, &value)?;
    }
    publish(new, info)
}

/// The strings of `argv`, without the null pointers.
///
/// # Safety
/// Unless it is null, `argv` leads to `argc` pointers, each null or to a string.
unsafe fn command_line(argc: c_int, argv: *mut *mut c_char) -> Vec<Vec<u8>> {
    let count = if argv.is_null() { 0 } else { argc.max(0) as usize };
    // SAFETY: by the caller's promise.
    let pointers = (0..count).map(|i| unsafe { *argv.add(i) }).filter(|pointer| !pointer.is_null());
    // SAFETY: by the caller's promise.
    pointers.map(|pointer| unsafe { CStr::from_ptr(pointer) }.to_bytes().to_vec()).collect()
}

/// The name of a thread level, as info objects give it.
pub(crate) fn thread_level_name(level: c_int) -> &'static str {
    match level {
        mpi::MPI_THREAD_FUNNELED => "MPI_THREAD_FUNNELED",
        mpi::MPI_THREAD_SERIALIZED => "MPI_THREAD_SERIALIZED",
        mpi::MPI_THREAD_MULTIPLE => "MPI_THREAD_MULTIPLE",
        _ => "MPI_THREAD_SINGLE",
    }
}

/// `MPI_Info_set`.
pub fn info_set(info: &Arc<Info>, key: &CStr, value: &CStr) -> Result<()> {
    info.set(key.to_bytes(), value.to_bytes())
}

/// `MPI_Info_delete`.
pub fn info_delete(info: &Arc<Info>, key: &CStr) -> Result<()> {
    info.delete(key.to_bytes())
}

/// `MPI_Info_get` (deprecated): cuts the value to `valuelen` bytes.
pub fn info_get(
    info: &Arc<Info>,
    key: &CStr,
    _valuelen: c_int,
    value: OutString<'_>,
    flag: OutFlag<'_>,
) -> Result<()> {
    let found = info.get(key.to_bytes())?;
    flag.set(found.is_some());
    if let Some(found) = found {
        value.set(found);
    }
    Ok(())
}

/// `MPI_Info_get_valuelen` (deprecated).
pub fn info_get_valuelen(
    info: &Arc<Info>,
    key: &CStr,
    valuelen: Out<'_, c_int>,
    flag: OutFlag<'_>,
) -> Result<()> {
    let found = info.get(key.to_bytes())?;
    flag.set(found.is_some());
    if let Some(found) = found {
        valuelen.set(found.len() as c_int);
    }
    Ok(())
}

/// `MPI_Info_get_string`: `buflen` is the room, with the zero byte, and is set to what is needed.
pub fn info_get_string(
    info: &Arc<Info>,
    key: &CStr,
    buflen: InOut<'_, c_int>,
    value: *mut c_char,
    flag: OutFlag<'_>,
) -> Result<()> {
    let found = info.get(key.to_bytes())?;
    flag.set(found.is_some());
    match found {
        Some(found) => give_string(&found, buflen, value),
        None => Ok(()),
    }
}

/// Stores as much of a text as `buflen` (its zero byte included) has room for, and the length
/// needed.
pub(super) fn give_string(text: &[u8], buflen: InOut<'_, c_int>, place: *mut c_char) -> Result<()> {
    // SAFETY: the program passes room for `buflen` bytes (MPI-5.0, 10 and 11.3.2).
    let room = unsafe { OutString::new(place, buflen.get().into()) }?;
    room.set(text);
    buflen.set(text.len() as c_int + 1);
    Ok(())
}

/// `MPI_Info_get_nkeys`.
pub fn info_get_nkeys(info: &Arc<Info>, nkeys: Out<'_, c_int>) -> Result<()> {
    nkeys.set(info.len() as c_int);
    Ok(())
}

/// `MPI_Info_get_nthkey`.
pub fn info_get_nthkey(info: &Arc<Info>, n: c_int, key: OutString<'_>) -> Result<()> {
    key.set(info.nth_key(n)?);
    Ok(())
}

/// `MPI_Info_dup`.
pub fn info_dup(info: &Arc<Info>, newinfo: Out<'_, MPI_Info>) -> Result<()> {
    publish(Info::clone(info), newinfo)
}

/// `MPI_Info_free`.
pub fn info_free(info: InOut<'_, MPI_Info>) -> Result<()> {
    INFOS.remove(info.get())?;
    info.set(mpi::MPI_INFO_NULL);
    Ok(())
}
