//! Handles: numbers that name objects, never pointers that must be trusted.
//!
//! `verbena_faces::standard` gives their layout. It tells a handle of another kind, a freed one and
//! garbage from a valid one; these give the standard's error class. The low 31 bits are the integer
//! of `MPI_Comm_toint` and its like (MPI-5.0, 20.3.4).

pub use crate::table::Ref;
use crate::table::{Place, Reserved, Table};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use verbena_engine::RequestId;
pub use verbena_faces::standard::Kind;
use verbena_faces::standard::{self, INDEX, KIND_SHIFT};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::request::Request;
use verbena_mpi::{Class, Comm, Datatype, Errhandler, Error, File, Group, Info, Op, Result, Session, Win};
use verbena_waiting::lock::SingleThread;

/// The end of the predefined handles of the ABI.
const PREDEFINED_END: usize = 0x1000;

/// The handle of the object at `place`.
#[inline]
pub const fn encode(kind: Kind, place: Place) -> usize {
    standard::handle(kind, place.index & INDEX as u32, place.generation)
}

/// The place that `handle` names, if it is a handle of this kind and not a predefined one.
#[inline]
pub const fn decode(kind: Kind, handle: usize) -> Option<Place> {
    let low = handle as u64 as u32;
    if low >> KIND_SHIFT != kind as u32 {
        return None;
    }
    Some(Place { index: low & INDEX as u32, generation: (handle as u64 >> 32) as u32 })
}

/// The handle of an operation that lives in the engine.
///
/// # Panics
/// If the engine's table has outgrown the 27 bits of an index.
#[inline]
pub fn encode_request(kind: Kind, id: RequestId) -> usize {
    assert!(id.index as u64 <= INDEX, "more than {INDEX} pending operations");
    encode(kind, Place { index: id.index, generation: id.generation })
}

/// The handle of a receive that lives in the engine, whose table keeps its indices within 27 bits.
#[inline(always)]
pub const fn handle_of_engine_receive(id: RequestId) -> usize {
    standard::handle(Kind::EngineReceive, id.index, id.generation)
}

/// The engine's id of a handle of kind [`Kind::EngineReceive`].
#[inline(always)]
pub const fn engine_receive(handle: usize) -> Option<RequestId> {
    match decode(Kind::EngineReceive, handle) {
        Some(place) => Some(RequestId { index: place.index, generation: place.generation }),
        None => None,
    }
}

/// The engine's id of a handle of kind [`Kind::EngineSend`] or [`Kind::EngineReceive`].
#[inline]
pub fn decode_request(handle: usize) -> Option<(Kind, RequestId)> {
    let kind = match (handle as u64 as u32) >> KIND_SHIFT {
        k if k == Kind::EngineSend as u32 => Kind::EngineSend,
        k if k == Kind::EngineReceive as u32 => Kind::EngineReceive,
        _ => return None,
    };
    let place = decode(kind, handle)?;
    Some((kind, RequestId { index: place.index, generation: place.generation }))
}

/// Returns whether a handle has the form of a request's.
fn may_be_request(handle: usize) -> bool {
    decode(Kind::Request, handle).is_some() || decode_request(handle).is_some()
}

/// The handles of one kind: `N` predefined ones from the null handle `NULL` on, and those that the
/// program made.
pub struct Registry<T, const NULL: usize, const N: usize> {
    kind: Kind,
    class: Class,
    name: &'static str,
    predefine: fn(usize) -> Option<Arc<T>>,
    predefined: [OnceLock<Arc<T>>; N],
    /// The predefined objects as bare pointers, null until made: a quick look is one load.
    ready: [AtomicPtr<T>; N],
    table: Table<T>,
}

impl<T, const NULL: usize, const N: usize> Registry<T, NULL, N> {
    /// An empty registry. `class` is the error of a wrong handle; `predefine` makes a predefined
    /// object when it is first asked for.
    pub const fn new(
        kind: Kind,
        name: &'static str,
        class: Class,
        predefine: fn(usize) -> Option<Arc<T>>,
    ) -> Registry<T, NULL, N> {
        Registry::over(Table::new(), kind, name, class, predefine)
    }

    const fn over(
        table: Table<T>,
        kind: Kind,
        name: &'static str,
        class: Class,
        predefine: fn(usize) -> Option<Arc<T>>,
    ) -> Registry<T, NULL, N> {
        let predefined = [const { OnceLock::new() }; N];
        let ready = [const { AtomicPtr::new(std::ptr::null_mut()) }; N];
        Registry { kind, class, name, predefine, predefined, ready, table }
    }

    /// Returns the object behind `handle`, or this kind's error class.
    // Always inlined: for a predefined handle it is one load and one test.
    #[inline(always)]
    pub fn get(&self, handle: usize) -> Result<Ref<'_, T>> {
        match self.predefined.get(handle.wrapping_sub(NULL)).and_then(OnceLock::get) {
            Some(object) => Ok(Ref::fixed(object)),
            None => self.get_made(handle),
        }
    }

    /// Gets an object without holding it, unlike [`Registry::get`]: for calls alone in MPI.
    ///
    /// # Safety
    /// While the object is used, no code of the program runs: nothing else could free it.
    #[inline(always)]
    pub unsafe fn peek(&self, alone: SingleThread, handle: usize) -> Option<&T> {
        match self.ready.get(handle.wrapping_sub(NULL)) {
            // SAFETY: null, or the object of the slot, which is never emptied.
            Some(slot) => unsafe { slot.load(Ordering::Acquire).as_ref() },
            // SAFETY: the caller's promise.
            None => unsafe { self.table.peek(alone, decode(self.kind, handle)?) },
        }
    }

    #[inline(never)]
    fn get_made(&self, handle: usize) -> Result<Ref<'_, T>> {
        match decode(self.kind, handle).and_then(|place| self.table.get(place)) {
            Some(object) => Ok(object),
            None => self.find_late(handle),
        }
    }

    /// Keeps the object from [`Registry::peek`] from now on.
    pub fn hide(&self, handle: usize) {
        match self.ready.get(handle.wrapping_sub(NULL)) {
            Some(slot) => slot.store(std::ptr::null_mut(), Ordering::Release),
            None => decode(self.kind, handle).map_or((), |place| self.table.hide(place)),
        }
    }

    /// Makes a handle for an object.
    pub fn insert(&self, object: Arc<T>) -> usize {
        encode(self.kind, self.table.insert(object))
    }

    /// Makes a handle for an object that is not there yet: see [`Registry::insert_at`].
    pub fn reserve(&self) -> (usize, Reserved) {
        let reserved = self.table.reserve();
        (encode(self.kind, reserved.place()), reserved)
    }

    /// Makes the handle valid that [`Registry::reserve`] gave.
    pub fn insert_at(&self, reserved: Reserved, object: Arc<T>) {
        self.table.insert_at(reserved, object);
    }

    /// Frees a handle that the program made and returns its object; a predefined handle is an
    /// error.
    pub fn remove(&self, handle: usize) -> Result<Arc<T>> {
        let object = decode(self.kind, handle).and_then(|place| self.table.remove(place));
        object.ok_or_else(|| self.wrong(handle))
    }

    /// Sets the object of a predefined handle, once.
    pub fn define(&self, handle: usize, object: Arc<T>) {
        let slot = &self.predefined[handle - NULL];
        assert!(slot.set(object).is_ok(), "the predefined {} {handle:#x} is defined twice", self.name);
        self.set_ready(handle);
    }

    /// Stores the pointer of a predefined object that is made.
    fn set_ready(&self, handle: usize) {
        if let Some(object) = self.predefined[handle - NULL].get() {
            self.ready[handle - NULL].store(Arc::as_ptr(object).cast_mut(), Ordering::Release);
        }
    }

    /// Returns whether the ABI predefines this handle (the null handle included).
    pub fn is_predefined(&self, handle: usize) -> bool {
        handle.wrapping_sub(NULL) < N
    }

    /// The handle of a live object with this property, the predefined ones first.
    pub fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<usize> {
        let predefined =
            self.predefined.iter().position(|slot| slot.get().is_some_and(|object| wanted(object)));
        match predefined {
            Some(index) => Some(NULL + index),
            None => self.table.find(wanted).map(|place| encode(self.kind, place)),
        }
    }

    /// Number of handles that the program made and has not freed.
    pub fn live(&self) -> usize {
        self.table.live()
    }

    /// The handle that `toint` made this number from; the null handle if there is none.
    pub fn from_int(&self, number: c_int) -> usize {
        let low = number as u32 as usize;
        if low < PREDEFINED_END {
            return low;
        }
        let Some(place) = decode(self.kind, low) else { return NULL };
        match self.table.generation(place.index) {
            Some(generation) => encode(self.kind, Place { generation, ..place }),
            None => NULL,
        }
    }

    #[cold]
    fn find_late(&self, handle: usize) -> Result<Ref<'_, T>> {
        let slot = self.predefined.get(handle.wrapping_sub(NULL)).filter(|_| handle != NULL);
        let Some(slot) = slot else { return Err(self.wrong(handle)) };
        match (self.predefine)(handle) {
            Some(object) => {
                slot.get_or_init(|| object);
                self.set_ready(handle);
                self.get(handle)
            }
            None => Err(self.wrong(handle)),
        }
    }

    #[cold]
    fn wrong(&self, handle: usize) -> Error {
        let cause = if handle == NULL {
            "the null handle was passed, which a call that frees an object leaves in its variable"
        } else if self.is_predefined(handle) {
            "a predefined object cannot be used here, or not at this time"
        } else if self.kind == Kind::Request && may_be_request(handle) {
            "the request was completed or freed already, and this is a copy of its old handle"
        } else if decode(self.kind, handle).is_some() {
            "the object was freed, and this is a copy of its old handle"
        } else {
            "the variable was never set, or holds a handle of another kind"
        };
        let on = name(handle).map_or_else(|| format!("handle {handle:#x}"), |name| format!("handle {name}"));
        Error::new(
            self.class,
            format!("not a valid {}", self.name),
            on,
            cause,
            "pass a live handle of this kind",
        )
    }
}

/// The name of a predefined handle, of whatever kind. Of two names for one handle it is the first.
#[cold]
pub fn name(handle: usize) -> Option<&'static str> {
    mpi::HANDLES.iter().find(|(predefined, _)| *predefined == handle).map(|(_, name)| *name)
}

/// The integer of a handle: its low 31 bits.
pub fn to_int(handle: usize) -> c_int {
    (handle & 0x7fff_ffff) as c_int
}

fn none<T>(_: usize) -> Option<Arc<T>> {
    None
}

/// Communicators. `MPI_COMM_WORLD` and `MPI_COMM_SELF` are defined by initialisation.
pub static COMMS: Registry<Comm, { mpi::MPI_COMM_NULL }, 3> =
    Registry::over(Table::apart(), Kind::Comm, "communicator", mpi::MPI_ERR_COMM, none);
/// Groups.
pub static GROUPS: Registry<Group, { mpi::MPI_GROUP_NULL }, 2> =
    Registry::new(Kind::Group, "group", mpi::MPI_ERR_GROUP, crate::predefined::group);
/// Datatypes.
pub static DATATYPES: Registry<Datatype, { mpi::MPI_DATATYPE_NULL }, 256> =
    Registry::new(Kind::Datatype, "datatype", mpi::MPI_ERR_TYPE, crate::predefined::datatype);
/// Reduction operations.
pub static OPS: Registry<Op, { mpi::MPI_OP_NULL }, 32> =
    Registry::new(Kind::Op, "operation", mpi::MPI_ERR_OP, crate::predefined::op);
/// Error handlers.
pub static ERRHANDLERS: Registry<Errhandler, { mpi::MPI_ERRHANDLER_NULL }, 4> =
    Registry::new(Kind::Errhandler, "error handler", mpi::MPI_ERR_ERRHANDLER, crate::predefined::errhandler);
/// Info objects.
pub static INFOS: Registry<Info, { mpi::MPI_INFO_NULL }, 2> =
    Registry::new(Kind::Info, "info object", mpi::MPI_ERR_INFO, crate::predefined::info);
/// Requests that have an object.
pub static REQUESTS: Registry<Request, { mpi::MPI_REQUEST_NULL }, 1> =
    Registry::new(Kind::Request, "request", mpi::MPI_ERR_REQUEST, none);
/// Sessions.
pub static SESSIONS: Registry<Session, { mpi::MPI_SESSION_NULL }, 1> =
    Registry::new(Kind::Session, "session", mpi::MPI_ERR_SESSION, none);
/// Windows.
pub static WINS: Registry<Win, { mpi::MPI_WIN_NULL }, 1> =
    Registry::new(Kind::Win, "window", mpi::MPI_ERR_WIN, none);
/// Files.
pub static FILES: Registry<File, { mpi::MPI_FILE_NULL }, 1> =
    Registry::new(Kind::File, "file", mpi::MPI_ERR_FILE, none);

/// Handles whose generation no table of ours can restore (requests, messages), by their integer.
static REMEMBERED: Mutex<Option<HashMap<c_int, usize>>> = Mutex::new(None);

/// The integer of a request or message, remembered for [`recall`].
pub fn remember(handle: usize) -> c_int {
    let number = to_int(handle);
    if handle >= PREDEFINED_END {
        REMEMBERED.lock().unwrap().get_or_insert_default().insert(number, handle);
    }
    number
}

/// The request or message that `remember` was last asked about with this integer; `null` if none.
pub fn recall(number: c_int, null: usize) -> usize {
    if (0..PREDEFINED_END as c_int).contains(&number) {
        return number as usize;
    }
    let remembered = REMEMBERED.lock().unwrap();
    remembered.as_ref().and_then(|map| map.get(&number).copied()).unwrap_or(null)
}

/// The communicator of a call that needs the other processes; `MPIX_ERR_REVOKED` if it was revoked.
#[inline]
pub fn usable(comm: usize) -> Result<Ref<'static, Comm>> {
    let comm = COMMS.get(comm)?;
    comm.check_usable()?;
    Ok(comm)
}

/// Like [`usable`], for a call that would give the program a request: if the communicator was
/// revoked, it gets the null one, since programs wait for it whatever the call returned.
///
/// # Safety
/// Unless it is null, `request` leads to memory for a handle that only this call uses.
pub unsafe fn usable_or_null(comm: usize, request: *mut usize) -> Result<Ref<'static, Comm>> {
    let usable = usable(comm);
    if usable.as_ref().is_err_and(|error| error.class == mpi::MPIX_ERR_REVOKED) && !request.is_null() {
        // SAFETY: the caller's promise.
        unsafe { request.write(mpi::MPI_REQUEST_NULL) };
    }
    usable
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_mpi::request::{Active, Outcome};

    static NUMBERS: Registry<u32, 0x20, 4> =
        Registry::new(Kind::Op, "number", mpi::MPI_ERR_OP, |h| (h == 0x21).then(|| Arc::new(21)));

    #[test]
    fn every_sort_of_wrong_handle_gives_the_class() {
        let freed = NUMBERS.insert(Arc::new(1));
        NUMBERS.remove(freed).unwrap();
        let other_kind = encode(Kind::Comm, decode(Kind::Op, freed).unwrap());
        for wrong in [0, 0x20, 0x22, 0x23, 0x24, freed, other_kind, usize::MAX, 0xdead_beef] {
            assert_eq!(NUMBERS.get(wrong).err().map(|e| e.class), Some(mpi::MPI_ERR_OP), "{wrong:#x}");
        }
        assert_eq!(**NUMBERS.get(0x21).unwrap(), 21);
        assert!(NUMBERS.remove(0x21).is_err());
    }

    #[test]
    fn a_copy_of_a_finished_request_is_told_from_garbage() {
        let id = RequestId { index: 77, generation: 3 };
        let own = REQUESTS.insert(Arc::new(Request::once(None, Active::Done(Outcome::EMPTY))));
        REQUESTS.remove(own).unwrap();
        for old in [encode_request(Kind::EngineSend, id), encode_request(Kind::EngineReceive, id), own] {
            let error = REQUESTS.get(old).err().expect("no such request");
            assert!(error.fault.cause.contains("completed or freed already"), "{error}");
        }
        let error = REQUESTS.get(0xdead_beef).err().expect("no such request");
        assert!(error.fault.cause.contains("never set"), "{error}");
    }

    #[test]
    fn a_null_handle_is_told_from_a_freed_one() {
        let null = COMMS.get(mpi::MPI_COMM_NULL).err().expect("no communicator");
        assert_eq!(null.fault.on, "handle MPI_COMM_NULL");
        assert!(null.fault.cause.starts_with("the null handle was passed"), "{null}");
        let freed = NUMBERS.insert(Arc::new(1));
        NUMBERS.remove(freed).unwrap();
        let error = NUMBERS.get(freed).err().expect("it was freed");
        assert!(error.fault.cause.starts_with("the object was freed"), "{error}");
        let other = COMMS.get(mpi::MPI_INT).err().expect("no communicator");
        assert_eq!(other.fault.on, "handle MPI_INT");
    }

    #[test]
    fn integers_lead_back_to_handles() {
        let handle = NUMBERS.insert(Arc::new(1));
        assert_eq!(NUMBERS.from_int(to_int(handle)), handle);
        assert_eq!(NUMBERS.from_int(0x21), 0x21);
        NUMBERS.remove(handle).unwrap();
        assert_eq!(NUMBERS.from_int(to_int(handle)), 0x20);
    }

    #[test]
    fn requests_of_the_engine_survive_the_round_trip() {
        let id = RequestId { index: 77, generation: 0xffff_0001 };
        let handle = encode_request(Kind::EngineReceive, id);
        assert_eq!(decode_request(handle), Some((Kind::EngineReceive, id)));
        assert_eq!(recall(remember(handle), mpi::MPI_REQUEST_NULL), handle);
        assert_eq!(decode_request(mpi::MPI_REQUEST_NULL), None);
    }
}
