//! Finds `libmpi_abi.so.1` beside this library when that is loaded, and opens it for its table of
//! entry points.
//!
//! Both libraries export the same names (`MPI_Send`, `PMPI_Send` ...), so they cannot be linked:
//! the first one would get all calls. The standard face is opened with its names private, and gives
//! us one table ([`Entries`]). Calls go through a copy of it.

use crate::calls::rest;
use crate::table::{TABLE, entries};
use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use verbena_faces::{Entries, FINGERPRINT, SYMBOL};
use verbena_fault::Fault;

/// The file name of the standard face.
const FILE: &str = "libmpi_abi.so.1";

/// Calls `load` when this library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;

extern "C" fn load() {
    let place = TABLE.place();
    match find() {
        // SAFETY: nothing calls us yet; the fingerprint says that the table has this layout.
        Ok(table) => unsafe {
            place.write(MaybeUninit::new(table.read()));
            (entries().services.attach)(&rest::FALLBACKS);
        },
        Err(fault) => fill_with_refusal(place, fault),
    }
}

/// Finds the table of the standard face, if it is of this build.
fn find() -> Result<*const Entries, Fault> {
    let library = open()?;
    // SAFETY: `library` is open and stays so.
    let table = unsafe { libc::dlsym(library, SYMBOL.as_ptr()) }.cast::<Entries>();
    if table.is_null() {
        return Err(other_build("it has no table for this face".into()));
    }
    // SAFETY: the table begins with its fingerprint in every build.
    match unsafe { (&raw const (*table).fingerprint).read() } {
        FINGERPRINT => Ok(table),
        other => {
            Err(other_build(format!("its table is {other:016x}, and this face needs {FINGERPRINT:016x}")))
        }
    }
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
        "the MPICH ABI of Verbena (libmpi.so.12) cannot open its library",
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

fn other_build(difference: String) -> Fault {
    Fault::new(
        "the MPICH ABI of Verbena (libmpi.so.12) does not fit its library",
        format!("the {FILE} that was found: {difference}"),
        "it is of another version of Verbena, or of another MPI library",
        format!("install libmpi.so.12 and {FILE} together, and look at LD_LIBRARY_PATH"),
    )
}

/// The reason why there is no library, for [`refuse`].
static REFUSAL: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// Makes every entry report the fault: at load time it is too early to end the program.
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
