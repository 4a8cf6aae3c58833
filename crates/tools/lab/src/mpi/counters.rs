//! The counters of our library, by its performance variables (MPI-5.0 section 15.3.7). A comparison
//! proves by them that its variants differ.

use super::{Abi, Handle, World, check};
use anyhow::{Context, Result};
use libloading::os::unix::Library;
use std::ffi::{c_char, c_int, c_void};

/// `MPI_T_PVAR_CLASS_COUNTER` and `MPI_T_PVAR_CLASS_AGGREGATE` of the standard ABI.
const COUNTS: [c_int; 2] = [7, 8];
/// The longest name of a variable that is asked for.
const NAME_BYTES: usize = 256;

type Number = unsafe extern "C" fn(*mut c_int) -> c_int;
type Init = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type Start = unsafe extern "C" fn(Handle, Handle) -> c_int;
type Read = unsafe extern "C" fn(Handle, Handle, *mut c_void) -> c_int;
type Allocate = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut Handle, *mut c_int) -> c_int;
/// The description of a variable: of these places only the name and the class are asked for, and a
/// null pointer leaves a place out.
type Describe = unsafe extern "C" fn(
    c_int,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_void,
    *mut c_void,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> c_int;

/// The running counters of this process.
pub struct Counters {
    session: Handle,
    read: Read,
    variables: Vec<(String, Handle)>,
}

impl Counters {
    /// Starts every counter and every aggregate of the library.
    pub(super) fn open(library: &Library) -> Result<Counters> {
        // SAFETY: the types of these seven are the C signatures of MPI-5.0 section 15.3; handles
        // are as wide as pointers.
        let (init, number, describe, create, allocate, start, read) = unsafe {
            (
                symbol::<Init>(library, "MPI_T_init_thread")?,
                symbol::<Number>(library, "MPI_T_pvar_get_num")?,
                symbol::<Describe>(library, "MPI_T_pvar_get_info")?,
                symbol::<Create>(library, "MPI_T_pvar_session_create")?,
                symbol::<Allocate>(library, "MPI_T_pvar_handle_alloc")?,
                symbol::<Start>(library, "MPI_T_pvar_start")?,
                symbol::<Read>(library, "MPI_T_pvar_read")?,
            )
        };
        let (mut provided, mut session, mut variables) = (0, 0, 0);
        // SAFETY: the result is a valid integer; level 0 is `MPI_THREAD_SINGLE`.
        check(unsafe { init(0, &mut provided) }, "MPI_T_init_thread")?;
        // SAFETY: the result is a valid handle's place.
        check(unsafe { create(&mut session) }, "MPI_T_pvar_session_create")?;
        // SAFETY: the result is a valid integer.
        check(unsafe { number(&mut variables) }, "MPI_T_pvar_get_num")?;
        let mut all = Vec::new();
        for index in 0..variables {
            let Some(name) = counter(describe, index)? else { continue };
            let (mut handle, mut count) = (0, 0);
            // SAFETY: the variable is bound to no object, so that none is read; the results are
            // valid.
            let code = unsafe { allocate(session, index, std::ptr::null_mut(), &mut handle, &mut count) };
            check(code, "MPI_T_pvar_handle_alloc")?;
            // SAFETY: both handles were just made.
            check(unsafe { start(session, handle) }, "MPI_T_pvar_start")?;
            all.push((name, handle));
        }
        Ok(Counters { session, read, variables: all })
    }

    /// Returns the names, alike on all ranks of a job.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| name.as_str())
    }

    /// Returns what each has counted so far, in the order of the names.
    pub(crate) fn now(&self) -> Result<Vec<u64>> {
        self.variables.iter().map(|(_, handle)| self.value(*handle)).collect()
    }

    fn value(&self, handle: Handle) -> Result<u64> {
        let mut value = 0_u64;
        // SAFETY: our library's counters are one `MPI_UNSIGNED_LONG_LONG` each.
        let code = unsafe { (self.read)(self.session, handle, (&raw mut value).cast()) };
        check(code, "MPI_T_pvar_read")?;
        Ok(value)
    }
}

/// Returns a function of the library.
///
/// # Safety
/// `T` must be the type of the function.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T> {
    // SAFETY: the caller names the type.
    let found = unsafe { library.get::<T>(name) };
    Ok(*found.with_context(|| format!("the MPI library has no function {name}"))?)
}

/// The name of the variable, if it counts.
fn counter(describe: Describe, index: c_int) -> Result<Option<String>> {
    let mut name = vec![0_u8; NAME_BYTES];
    let (mut len, mut class, none) = (NAME_BYTES as c_int, 0, std::ptr::null_mut::<c_int>());
    // SAFETY: the name has as much room as its length says; null pointers leave the rest out.
    let code = unsafe {
        describe(
            index,
            name.as_mut_ptr().cast(),
            &mut len,
            none,
            &mut class,
            none.cast(),
            none.cast(),
            none.cast(),
            none,
            none,
            none,
            none,
            none,
        )
    };
    check(code, "MPI_T_pvar_get_info")?;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    Ok(COUNTS.contains(&class).then(|| String::from_utf8_lossy(&name[..end]).into_owned()))
}

impl World {
    /// Starts the counters of the library, if it is ours: another one's say something else.
    ///
    /// # Errors
    /// The library's error code.
    pub fn start_counters(&mut self) -> Result<()> {
        if self.abi == Abi::Standard && self.identity()?.name.starts_with("Verbena") {
            self.counters = Some(Counters::open(self.library)?);
        }
        Ok(())
    }

    /// Returns what the library's counters say now; nothing without them.
    pub(crate) fn count(&self) -> Result<Vec<u64>> {
        self.counters.as_ref().map_or(Ok(Vec::new()), Counters::now)
    }

    /// The names of those counters.
    pub(crate) fn counter_names(&self) -> impl Iterator<Item = String> {
        self.counters.iter().flat_map(Counters::names).map(str::to_string)
    }
}
