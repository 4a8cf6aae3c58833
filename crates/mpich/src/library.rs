//! `libmpi_abi.so.1`: found beside this library when that is loaded, and opened for its table of entry points.
//!
//! Both libraries export the same names (`MPI_Send`, `PMPI_Send` ...), so they cannot be linked: whoever came first would get all
//! calls. The standard face is opened with its names kept to itself, and hands out one table, `verbena_entries`
//! (`crates/abi/src/entries.rs`), whose layout both sides generate from the API table. Calls go through a copy of it.

use crate::calls::quick;
use crate::generated::entries::{Entries, FINGERPRINT};
use crate::handles::{FORMS, NATIVE_KIND_SHIFT};
use crate::status::{NativeStatus, Status};
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_int, c_void};
use std::mem::MaybeUninit;
use verbena_fault::Fault;

/// The standard face's file.
const FILE: &str = "libmpi_abi.so.1";

/// A function whose type the table does not tell.
pub type Function = *const c_void;

/// What the standard face hands out beside MPI's functions (`crates/abi/src/entries.rs`).
#[repr(C)]
pub struct Extras {
    /// Where the kind lies in a handle.
    pub kind_shift: usize,
    /// The handle of a send that was complete when it was started.
    pub sent: usize,
    /// The length of arrays that depends on a communicator: see [`Length`].
    pub length: unsafe extern "C" fn(usize, c_int) -> i64,
    /// An operation whose function is called with a word of ours first.
    pub create_op: unsafe extern "C" fn(Function, *mut c_void, c_int, c_int, *mut usize) -> c_int,
    /// An error handler whose function is called with a word of ours first.
    pub create_errhandler: unsafe extern "C" fn(c_int, Function, *mut c_void, *mut usize) -> c_int,
    /// The forms of requests that the standard face knows: ours.
    pub forms: [u32; 5],
    /// Takes what the functions below leave to us.
    pub attach: unsafe extern "C" fn(*const Others),
    /// The handle of the receive of the engine at this place, if the known bits of its generation are these; 0 if there is none.
    pub receive: extern "C" fn(u32, u32) -> usize,
    /// Ends a blocking receive that failed: index and generation of its request, communicator, status.
    pub end_recv: unsafe extern "C" fn(u32, u32, usize, *mut NativeStatus) -> c_int,
    /// `MPI_Send`. This and the others have all but communicator and datatype in our form.
    pub send: Send,
    /// `MPI_Isend`.
    pub isend: Isend,
    /// `MPI_Irecv`.
    pub irecv: Irecv,
    /// `MPI_Recv`.
    pub recv: Recv,
    /// `MPI_Wait`; the place of the request is not null.
    pub wait: Wait,
    /// `MPI_Iprobe`.
    pub iprobe: Iprobe,
}

/// `MPI_Send`, with communicator and datatype of the standard face.
pub type Send = unsafe extern "C" fn(*const c_void, c_int, usize, c_int, c_int, usize) -> c_int;
/// `MPI_Isend`, as [`Send`].
pub type Isend = unsafe extern "C" fn(*const c_void, c_int, usize, c_int, c_int, usize, *mut i32) -> c_int;
/// `MPI_Irecv`, as [`Send`].
pub type Irecv = unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, usize, *mut i32) -> c_int;
/// `MPI_Recv`, as [`Send`].
pub type Recv = unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, usize, *mut Status) -> c_int;
/// `MPI_Wait`.
pub type Wait = unsafe extern "C" fn(*mut i32, *mut Status) -> c_int;
/// `MPI_Iprobe`, as [`Send`].
pub type Iprobe = unsafe extern "C" fn(c_int, c_int, usize, *mut c_int, *mut Status) -> c_int;

/// What the standard face leaves to this one of the calls above: whatever has no quick way there.
#[repr(C)]
#[allow(missing_docs)]
pub struct Others {
    pub send: Send,
    pub isend: Isend,
    pub irecv: Irecv,
    pub recv: Recv,
    pub wait: Wait,
    pub iprobe: Iprobe,
    /// Ends a blocking receive that failed: index and generation of its request, communicator, status.
    pub end_recv: unsafe extern "C" fn(u32, u32, usize, *mut Status) -> c_int,
    /// An index does not fit into a handle.
    pub too_many: extern "C" fn() -> !,
}

/// What the length of an array may be.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum Length {
    /// Neighbours that a process receives from.
    Indegree,
    /// Neighbours that a process sends to.
    Outdegree,
    /// Processes that ranks mean.
    Remote,
    /// Processes of the local group.
    Local,
}

/// A length that depends on this communicator of the standard face; 0 if that is wrong.
pub fn length(comm: usize, which: Length) -> i64 {
    // SAFETY: plain numbers go in and out.
    unsafe { (entries().extras.length)(comm, which as c_int) }
}

struct Table(UnsafeCell<MaybeUninit<Entries>>);

// SAFETY: written once by `load`, before any function of this library can be called, and only read afterwards.
unsafe impl Sync for Table {}

static TABLE: Table = Table(UnsafeCell::new(MaybeUninit::zeroed()));

/// The functions of the standard face.
#[inline(always)]
pub fn entries() -> &'static Entries {
    // SAFETY: `load` filled it when the library was loaded.
    unsafe { (*TABLE.0.get()).assume_init_ref() }
}

/// Runs when this library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;

extern "C" fn load() {
    let place = TABLE.0.get();
    match find() {
        // SAFETY: nothing calls us yet; the fingerprint says that the table has this layout.
        Ok(table) => unsafe {
            place.write(MaybeUninit::new(table.read()));
            (entries().extras.attach)(&quick::OTHERS);
        },
        Err(fault) => fill_with_refusal(place, fault),
    }
}

/// The table of the standard face, if there is one of this build.
fn find() -> Result<*const Entries, Fault> {
    let library = open()?;
    // SAFETY: `library` is open and stays so.
    let table = unsafe { libc::dlsym(library, c"verbena_entries".as_ptr()) }.cast::<Entries>();
    // SAFETY: whatever the build, the table begins with its fingerprint, and the layout of handles comes next.
    let fits = |table: *const Entries| unsafe {
        (&raw const (*table).fingerprint).read() == FINGERPRINT
            && (&raw const (*table).extras.kind_shift).read() == NATIVE_KIND_SHIFT
            && (&raw const (*table).extras.forms).read() == FORMS
    };
    if table.is_null() || !fits(table) { Err(other_build()) } else { Ok(table) }
}

/// Opens the file beside this one, or else the one that the dynamic linker finds.
fn open() -> Result<*mut c_void, Fault> {
    let mut why = String::new();
    for path in folder().map(|folder| format!("{folder}/{FILE}")).into_iter().chain([FILE.to_string()]) {
        let Ok(name) = CString::new(path) else { continue };
        // SAFETY: a plain call; the library's constructors are ours.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !library.is_null() {
            return Ok(library);
        }
        // SAFETY: after a failure `dlerror` gives a string, or null.
        let text = unsafe { libc::dlerror() };
        if !text.is_null() && why.is_empty() {
            // SAFETY: as above; it lasts until the next call.
            why = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        }
    }
    Err(Fault::new(
        "the MPICH face of Verbena cannot open its library",
        format!("{FILE}: {why}"),
        "libmpi.so.12 was copied or installed without it",
        format!("keep {FILE} of the same installation in the folder of libmpi.so.12"),
    ))
}

/// The folder of this library.
fn folder() -> Option<String> {
    // SAFETY: all-zero is a valid value for a place that `dladdr` fills.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address of a function of this library, and a place for the answer.
    let found = unsafe { libc::dladdr(load as *const c_void, &mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: `dladdr` gives the path of a loaded file.
    let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_str().ok()?;
    path.rsplit_once('/').map(|(folder, _)| folder.to_string())
}

fn other_build() -> Fault {
    Fault::new(
        "the MPICH face of Verbena does not fit its library",
        format!("the {FILE} that was found"),
        "it is of another version of Verbena, or of another MPI library",
        format!("install libmpi.so.12 and {FILE} together, and look at LD_LIBRARY_PATH"),
    )
}

/// Why there is no library, for [`refuse`].
static REFUSAL: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// Lets every entry say what is wrong: loading a library is too early to end the program.
#[cold]
fn fill_with_refusal(place: *mut MaybeUninit<Entries>, fault: Fault) {
    REFUSAL.get_or_init(|| format!("verbena: {fault}\n"));
    let words = size_of::<Entries>() / size_of::<usize>();
    let place = place.cast::<usize>();
    for word in 0..words {
        // SAFETY: inside the table, which consists of words, and which nothing reads yet.
        unsafe { place.add(word).write(refuse as *const () as usize) };
    }
}

extern "C" fn refuse() -> ! {
    eprint!("{}", REFUSAL.get().map_or("", String::as_str));
    std::process::abort()
}
