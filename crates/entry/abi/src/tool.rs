//! The objects behind the handles of the tool information interface (MPI-5.0, 15.3), and the memory
//! that its calls read and write.
//!
//! All kinds share one table and one kind of handle: the object tells a wrong sort of handle from
//! the right one. Enumerations never go away, so their handles are fixed numbers.

use crate::handles::{Kind, decode, encode};
use crate::table::Table;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::tool::{self, enumeration, event, pvar};
use verbena_mpi::{Error, Result};
use verbena_settings::Setting;

/// The object that a handle names.
pub enum Object {
    /// `MPI_T_cvar_handle`
    Cvar(&'static Setting),
    /// `MPI_T_pvar_session`: the handles in it.
    Session(Mutex<Vec<usize>>),
    /// `MPI_T_pvar_handle`, and the session that it belongs to.
    Pvar(usize, Arc<pvar::Handle>),
    /// `MPI_T_event_registration`
    Registration(Arc<event::Registration>),
    /// `MPI_T_event_instance`
    Instance(Arc<event::Instance>),
}

static OBJECTS: Table<Object> = Table::new();

/// The handle of the first enumeration; the others follow.
const FIRST_ENUM: usize = 0x800;

/// Makes a handle.
pub fn insert(object: Object) -> usize {
    encode(Kind::Tool, OBJECTS.insert(Arc::new(object)))
}

/// The object behind a handle.
pub fn get(handle: usize) -> Option<Arc<Object>> {
    Some(OBJECTS.get(decode(Kind::Tool, handle)?)?.clone())
}

/// Frees a handle.
pub fn remove(handle: usize) {
    if let Some(place) = decode(Kind::Tool, handle) {
        drop(OBJECTS.remove(place));
    }
}

/// Frees everything: the last `MPI_T_finalize`.
pub fn clear() {
    while let Some(place) = OBJECTS.find(|_| true) {
        if let Some(Object::Registration(registration)) = OBJECTS.remove(place).as_deref() {
            registration.free();
        }
    }
}

/// `MPI_T_ERR_INVALID_HANDLE`.
pub fn wrong_handle() -> Error {
    tool::refusal(mpi::MPI_T_ERR_INVALID_HANDLE, "not a valid handle of this sort")
}

/// `MPI_T_ERR_INVALID_SESSION`.
pub fn wrong_session() -> Error {
    tool::refusal(mpi::MPI_T_ERR_INVALID_SESSION, "not a valid session")
}

/// Locks a mutex, even if a thread panicked while it held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The handle of an enumeration, by its place; `MPI_T_ENUM_NULL` for none.
pub fn enum_handle(place: Option<usize>) -> usize {
    place.map_or(mpi::MPI_T_ENUM_NULL, |place| FIRST_ENUM + place)
}

/// The enumeration behind a handle.
pub fn enumeration(handle: usize) -> Result<&'static enumeration::Enumeration> {
    let place = handle.checked_sub(FIRST_ENUM);
    place.and_then(|place| enumeration::ALL.get(place)).ok_or_else(wrong_handle)
}

/// Copies a value to the program; `MPI_T_ERR_INVALID` if it gave no place.
pub fn store(buffer: *mut c_void, bytes: &[u8]) -> Result<()> {
    check(buffer)?;
    // SAFETY: the program gives room for a value of the type and number that it was told (MPI-5.0,
    // 15.3.6 to 15.3.8), which is no memory of ours.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.cast(), bytes.len()) };
    Ok(())
}

/// Copies a value of `bytes` bytes from the program; `MPI_T_ERR_INVALID` if it gave none.
pub fn fetch(buffer: *const c_void, bytes: usize) -> Result<Vec<u8>> {
    check(buffer)?;
    // SAFETY: the program gives a value of the type and number that it was told (MPI-5.0, 15.3.6
    // and 15.3.7).
    Ok(unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), bytes) }.to_vec())
}

/// Copies a text from the program: up to its closing zero, and at most `bytes_max` bytes.
/// `MPI_T_ERR_INVALID` if it gave none.
pub fn fetch_text(buffer: *const c_void, bytes_max: usize) -> Result<Vec<u8>> {
    check(buffer)?;
    let first = buffer.cast::<u8>();
    // SAFETY: as in `fetch`; nothing behind a closing zero is read, should the program have given
    // only that.
    let bytes = (0..bytes_max).map(|at| unsafe { first.add(at).read() });
    Ok(bytes.take_while(|&byte| byte != 0).collect())
}

fn check(buffer: *const c_void) -> Result<()> {
    let what = "the buffer is a null pointer";
    if buffer.is_null() { Err(tool::refusal(mpi::MPI_T_ERR_INVALID, what)) } else { Ok(()) }
}

/// Stores as many of the indices as there is room for.
pub fn store_indices(indices: &[i32], room: &mut [c_int]) {
    room.iter_mut().zip(indices).for_each(|(place, index)| *place = *index);
}

/// Nanoseconds of the monotonic clock: the ticks of the one source of events.
pub fn clock_ns() -> i64 {
    let time = crate::calls::clock::now();
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
