//! An MPI library opened at run time, behind a safe interface.
//!
//! The benchmarks call MPI through pointers, so that one binary measures every library: Verbena's
//! `libmpi_abi.so.1`, any other library with the MPI-5.0 standard ABI (MPICH, Intel MPI), those of
//! the MPICH ABI (`libmpi.so.12`), and Open MPI's `libmpi.so.40`. For us they differ in little: a
//! handle is a small fixed number in the standard ABI (MPI-5.0 appendix A), the address of a symbol
//! in Open MPI, and an `int` in the MPICH ABI, which the processor takes from the low half of a
//! word. A status is ignored by a null pointer, or by one that is 1. [`Requests`] are as wide as
//! the ABI has them.
//!
//! This module is the crate's only room for foreign calls. No request leaves it: a nonblocking
//! transfer is started and completed within one method, so safe code cannot free a buffer under a
//! pending transfer.

use crate::buffer::Buffer;
use crate::witness::Witness;
use anyhow::{Context, Result, bail, ensure};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use serde::{Deserialize, Serialize};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::Mutex;

/// A handle of any ABI: two pass it as a pointer, and one as an `int`, for which the calling
/// conventions of 64-bit processors take the low half of the word.
type Handle = usize;
/// A buffer's address as MPI takes it.
type Address = *mut c_void;

/// `MPI_MAX_LIBRARY_VERSION_STRING` is 8192 in the standard ABI and 256 in Open MPI; the larger
/// fits both.
const VERSION_BYTES_MAX: usize = 8192;
/// `MPI_MAX_ERROR_STRING` is 512 in MPICH and 256 in Open MPI: more than any.
const ERROR_BYTES_MAX: usize = 8192;
/// The tag of every message of the benchmarks.
const TAG: c_int = 7;

/// Declares a table of MPI functions in use and how to look each of them up.
macro_rules! calls {
    ($table:ident: $($field:ident = $name:literal ($($argument:ty),*);)*) => {
        struct $table { $($field: unsafe extern "C" fn($($argument),*) -> c_int,)* }

        impl $table {
            fn load(library: &Library) -> Result<$table> {
                Ok($table { $(
                    // SAFETY: the type is the C signature that the MPI standard gives this
                    // function; handles are pointer-sized in both ABIs.
                    $field: *unsafe { library.get::<unsafe extern "C" fn($($argument),*) -> c_int>($name) }
                        .with_context(|| format!("the MPI library has no function {}", $name))?,
                )* })
            }
        }
    };
}

mod communicator;
mod counters;
mod files;
mod handles;
mod items;
mod one_sided;
mod requests;
mod window;
pub use communicator::Communicator;
pub use counters::Counters;
pub use files::{Files, Move, OpenFile};
use handles::Handles;
pub use one_sided::{Exposed, Exposure, Windows};
use requests::Requests;
pub use window::{Message, Window};

calls! { Calls:
    init_thread = "MPI_Init_thread"(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    finalize = "MPI_Finalize"();
    comm_rank = "MPI_Comm_rank"(Handle, *mut c_int);
    comm_size = "MPI_Comm_size"(Handle, *mut c_int);
    comm_dup = "MPI_Comm_dup"(Handle, *mut Handle);
    comm_free = "MPI_Comm_free"(*mut Handle);
    version = "MPI_Get_version"(*mut c_int, *mut c_int);
    library_version = "MPI_Get_library_version"(*mut c_char, *mut c_int);
    send = "MPI_Send"(Address, c_int, Handle, c_int, c_int, Handle);
    recv = "MPI_Recv"(Address, c_int, Handle, c_int, c_int, Handle, Address);
    iprobe = "MPI_Iprobe"(c_int, c_int, Handle, *mut c_int, Address);
    isend = "MPI_Isend"(Address, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    irecv = "MPI_Irecv"(Address, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    waitall = "MPI_Waitall"(c_int, *mut Handle, Address);
    barrier = "MPI_Barrier"(Handle);
    bcast = "MPI_Bcast"(Address, c_int, Handle, c_int, Handle);
    reduce = "MPI_Reduce"(Address, Address, c_int, Handle, Handle, c_int, Handle);
    allreduce = "MPI_Allreduce"(Address, Address, c_int, Handle, Handle, Handle);
    reduce_scatter_block = "MPI_Reduce_scatter_block"(Address, Address, c_int, Handle, Handle, Handle);
    scan = "MPI_Scan"(Address, Address, c_int, Handle, Handle, Handle);
    gather = "MPI_Gather"(Address, c_int, Handle, Address, c_int, Handle, c_int, Handle);
    scatter = "MPI_Scatter"(Address, c_int, Handle, Address, c_int, Handle, c_int, Handle);
    allgather = "MPI_Allgather"(Address, c_int, Handle, Address, c_int, Handle, Handle);
    alltoall = "MPI_Alltoall"(Address, c_int, Handle, Address, c_int, Handle, Handle);
    alltoallv = "MPI_Alltoallv"(Address, *const c_int, *const c_int, Handle, Address, *const c_int, *const c_int, Handle, Handle);
}

/// The binary interface that a library speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Abi {
    /// The MPI-5.0 standard ABI (`libmpi_abi.so.1`).
    Standard,
    /// Open MPI's own (`libmpi.so.40`).
    OpenMpi,
    /// That of MPICH, Intel MPI and others (`libmpi.so.12`).
    Mpich,
}

/// The name and version that a library reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The first line of `MPI_Get_library_version`.
    pub name: String,
    /// Version of the MPI standard, from `MPI_Get_version`.
    pub standard: (i32, i32),
    /// The binary interface through which it was called.
    pub abi: Abi,
}

/// `MPI_COMM_WORLD` of an initialised library; the process's only one.
pub struct World {
    calls: Calls,
    handles: Handles,
    abi: Abi,
    rank: i32,
    size: i32,
    library: &'static Library,
    counters: Option<Counters>,
    /// The circumstances of the last point, until somebody takes them.
    witness: Mutex<Option<Witness>>,
}

/// Opens the library at `path` for good: MPI libraries do not survive being closed.
fn open(path: &Path) -> Result<&'static Library> {
    // SAFETY: opening runs the library's initialisers; an MPI library's are meant to be run this
    // way. Its own plug-ins find its symbols only if they are global.
    let opened = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
    let opened = opened.with_context(|| {
        format!(
            "cannot open the MPI library\n  on: {}\n  likely cause: the file is missing, or a library that it \
             needs is\n  what to do: give --library the path of a libmpi_abi.so.1, libmpi.so.12 or libmpi.so.40",
            path.display()
        )
    })?;
    Ok(Box::leak(Box::new(opened)))
}

/// Finds the ABI by the symbols that the library exports. MPICH's `libmpi.so.12`, and ours, have
/// the function that asks for the standard ABI as well, and answer that they are not it.
fn detect(library: &Library) -> Result<Abi> {
    // SAFETY: only presence is asked; nothing is called or read.
    let has = |name: &str| unsafe { library.get::<*mut c_void>(name) }.is_ok();
    if has("ompi_mpi_comm_world") {
        return Ok(Abi::OpenMpi);
    }
    if has("MPI_Abi_get_version") && abi_version(library)?.0 > 0 {
        return Ok(Abi::Standard);
    }
    if has("MPI_Init_thread") {
        return Ok(Abi::Mpich);
    }
    bail!(
        "this is no MPI library\n  on: it exports neither MPI_Init_thread nor ompi_mpi_comm_world\n  likely cause: \
         it is a part of one, or another library\n  what to do: give --library the path of a libmpi_abi.so.1, \
         libmpi.so.12 or libmpi.so.40"
    )
}

/// The version of the standard ABI that a library says it has; -1 if it has another one. Allowed
/// before `MPI_Init`.
fn abi_version(library: &Library) -> Result<(i32, i32)> {
    type GetVersion = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    // SAFETY: the type is the C signature of MPI-5.0 section 20.2.
    let get = unsafe { library.get::<GetVersion>("MPI_Abi_get_version") }?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both results are valid integers; the call is allowed before MPI_Init.
    let code = unsafe { get(&mut major, &mut minor) };
    check(code, "MPI_Abi_get_version")?;
    Ok((major, minor))
}

/// Turns a return code into an error that names the function (MPI-5.0 section 9.4).
#[inline]
fn check(code: c_int, function: &str) -> Result<()> {
    if code == 0 { Ok(()) } else { failed(code, function) }
}

#[cold]
fn failed(code: c_int, function: &str) -> Result<()> {
    match text_of(code) {
        Some(text) => bail!("{function}: {text}"),
        None => bail!("{function} returned the error code {code}"),
    }
}

/// The library's own words for an error code (`MPI_Error_string`), which it may lack outside
/// `MPI_Init` and `MPI_Finalize`.
fn text_of(code: c_int) -> Option<String> {
    type ErrorString = unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;
    // SAFETY: the type is the C signature of MPI-5.0 section 9.4; MPI libraries are opened so that
    // their symbols are the process's, and stay.
    let error_string = unsafe { Library::this().get::<ErrorString>("MPI_Error_string").ok().map(|f| *f) }?;
    let mut text = vec![0u8; ERROR_BYTES_MAX];
    let mut length = 0;
    // SAFETY: the text has room for what any library calls MPI_MAX_ERROR_STRING.
    let told = unsafe { error_string(code, text.as_mut_ptr().cast(), &mut length) } == 0;
    text.truncate(usize::try_from(length).ok()?);
    told.then(|| String::from_utf8_lossy(&text).into_owned())
}

impl World {
    /// Opens the library and initialises MPI in this process (`MPI_Init_thread`), for one thread or
    /// for several that call at once.
    ///
    /// # Errors
    /// The library cannot be opened, is no MPI library of a known ABI, fails to start, or lacks the
    /// thread level.
    pub fn init(path: &Path, threads: bool) -> Result<World> {
        let library = open(path)?;
        let abi = detect(library)?;
        let handles = match abi {
            Abi::Standard => Handles::STANDARD,
            Abi::OpenMpi => Handles::open_mpi(library)?,
            Abi::Mpich => Handles::MPICH,
        };
        let (calls, counters, witness) = (Calls::load(library)?, None, Mutex::new(None));
        let mut world = World { calls, handles, abi, rank: 0, size: 0, library, counters, witness };
        let (level, mut provided) = (world.handles.levels[usize::from(threads)], 0);
        let none = std::ptr::null_mut::<*mut *mut c_char>();
        // SAFETY: null pointers are allowed for both arguments (MPI-5.0 section 11.2.1).
        let code = unsafe { (world.calls.init_thread)(none.cast(), none, level, &mut provided) };
        check(code, "MPI_Init_thread")?;
        ensure!(
            provided >= level,
            "the library offers no MPI_THREAD_MULTIPLE (level {provided}, not {level})"
        );
        // SAFETY: MPI is initialised, the handle is MPI_COMM_WORLD and the result pointers are
        // valid.
        let code = unsafe { (world.calls.comm_rank)(world.handles.world, &mut world.rank) };
        check(code, "MPI_Comm_rank")?;
        // SAFETY: as above.
        let code = unsafe { (world.calls.comm_size)(world.handles.world, &mut world.size) };
        check(code, "MPI_Comm_size")?;
        Ok(world)
    }

    /// Ends MPI in this process (`MPI_Finalize`).
    ///
    /// # Errors
    /// The library's error code.
    pub fn finalize(self) -> Result<()> {
        // SAFETY: MPI is initialised, and no transfer is pending because each method completes its
        // own.
        let code = unsafe { (self.calls.finalize)() };
        check(code, "MPI_Finalize")
    }

    /// Returns this process's rank in `MPI_COMM_WORLD`.
    pub fn rank(&self) -> i32 {
        self.rank
    }

    /// The number of processes in `MPI_COMM_WORLD`.
    pub fn size(&self) -> i32 {
        self.size
    }

    /// Keeps the circumstances of a point for whoever reports it.
    pub(crate) fn put_witness(&self, witness: Witness) {
        *self.witness.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(witness);
    }

    /// Takes the circumstances of the last point, if they are known.
    pub(crate) fn take_witness(&self) -> Option<Witness> {
        self.witness.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }

    /// Returns the identity that the library reports.
    ///
    /// # Errors
    /// The library's error code.
    pub fn identity(&self) -> Result<Identity> {
        identity(&self.calls, self.abi)
    }
}

/// Asks a library that is open. Allowed at any time (MPI-5.0 section 11.4.1).
fn identity(calls: &Calls, abi: Abi) -> Result<Identity> {
    let mut text = vec![0u8; VERSION_BYTES_MAX];
    let (mut len, mut major, mut minor) = (0, 0, 0);
    // SAFETY: the buffer holds the longest string that either ABI may write.
    let code = unsafe { (calls.library_version)(text.as_mut_ptr().cast(), &mut len) };
    check(code, "MPI_Get_library_version")?;
    // SAFETY: both results are valid integers.
    let code = unsafe { (calls.version)(&mut major, &mut minor) };
    check(code, "MPI_Get_version")?;
    text.truncate(usize::try_from(len).unwrap_or(0));
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next().unwrap_or("").trim_end_matches('\0');
    let name = line.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Identity { name, standard: (major, minor), abi })
}

/// Opens a library without starting MPI and asks what it is, and which version of the standard ABI
/// it has.
///
/// # Errors
/// The library cannot be opened or is no MPI library of a known ABI.
pub fn describe(path: &Path) -> Result<(Identity, Option<(i32, i32)>)> {
    let library = open(path)?;
    let abi = detect(library)?;
    let identity = identity(&Calls::load(library)?, abi)?;
    let version = (abi == Abi::Standard).then(|| abi_version(library)).transpose()?;
    Ok((identity, version))
}

/// Point-to-point. `bytes` may not exceed the buffer's length; `peer` is a rank.
impl World {
    /// `MPI_Send` of the buffer's first `bytes`.
    pub fn send(&self, buffer: &Buffer, bytes: usize, peer: i32) -> Result<()> {
        let count = buffer.count(bytes, 1);
        let Handles { byte, world, .. } = self.handles;
        // SAFETY: the buffer is valid for `bytes`; the call returns when it may be reused.
        let code = unsafe { (self.calls.send)(buffer.address(), count, byte, peer, TAG, world) };
        check(code, "MPI_Send")
    }

    /// `MPI_Recv` into the buffer's first `bytes`.
    pub fn recv(&self, buffer: &Buffer, bytes: usize, peer: i32) -> Result<()> {
        let count = buffer.count(bytes, 1);
        let Handles { byte, world, .. } = self.handles;
        let ignore = self.handles.ignored();
        // SAFETY: the buffer is valid for `bytes` and completely filled on return; the status is
        // ignored.
        let code = unsafe { (self.calls.recv)(buffer.address(), count, byte, peer, TAG, world, ignore) };
        check(code, "MPI_Recv")
    }

    /// `MPI_Recv` from `MPI_ANY_SOURCE` into the buffer's first `bytes`.
    pub fn recv_any(&self, buffer: &Buffer, bytes: usize) -> Result<()> {
        self.recv(buffer, bytes, self.handles.any_source)
    }

    /// `MPI_Iprobe`: returns whether a message of this rank is there.
    pub fn probe(&self, peer: i32) -> Result<bool> {
        let (mut there, world, ignore) = (0, self.handles.world, self.handles.ignored());
        // SAFETY: the flag is a valid integer, and the status is ignored.
        let code = unsafe { (self.calls.iprobe)(peer, TAG, world, &mut there, ignore) };
        check(code, "MPI_Iprobe")?;
        Ok(there != 0)
    }
}

/// Collectives on `MPI_COMM_WORLD`, rooted at rank 0 where there is a root. Reductions add doubles.
impl World {
    /// `MPI_Barrier`.
    pub fn barrier(&self) -> Result<()> {
        // SAFETY: no memory is passed.
        let code = unsafe { (self.calls.barrier)(self.handles.world) };
        check(code, "MPI_Barrier")
    }

    /// `MPI_Bcast` of `bytes`.
    pub fn bcast(&self, buffer: &Buffer, bytes: usize) -> Result<()> {
        let count = buffer.count(bytes, 1);
        // SAFETY: the buffer is valid for `bytes`.
        let code =
            unsafe { (self.calls.bcast)(buffer.address(), count, self.handles.byte, 0, self.handles.world) };
        check(code, "MPI_Bcast")
    }

    /// `MPI_Reduce` of `bytes / 8` doubles.
    pub fn reduce(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        let (count, Handles { double, sum, world, .. }) = (doubles(from, to, bytes), &self.handles);
        // SAFETY: both buffers are valid for `bytes` and distinct.
        let code =
            unsafe { (self.calls.reduce)(from.address(), to.address(), count, *double, *sum, 0, *world) };
        check(code, "MPI_Reduce")
    }

    /// `MPI_Allreduce` of `bytes / 8` doubles.
    pub fn allreduce(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        let (count, Handles { double, sum, world, .. }) = (doubles(from, to, bytes), &self.handles);
        // SAFETY: both buffers are valid for `bytes` and distinct.
        let code =
            unsafe { (self.calls.allreduce)(from.address(), to.address(), count, *double, *sum, *world) };
        check(code, "MPI_Allreduce")
    }

    /// The largest of the ranks' values, on every rank (`MPI_Allreduce` with `MPI_MAX`).
    pub fn max(&self, mut own: f64) -> Result<f64> {
        let mut largest = 0.0;
        let (from, to) = (&raw mut own, &raw mut largest);
        let Handles { double, max, world, .. } = self.handles;
        // SAFETY: both point to one double that lives until the call returns.
        let code = unsafe { (self.calls.allreduce)(from.cast(), to.cast(), 1, double, max, world) };
        check(code, "MPI_Allreduce")?;
        Ok(largest)
    }

    /// `MPI_Scan` of `bytes / 8` doubles.
    pub fn scan(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        let (count, Handles { double, sum, world, .. }) = (doubles(from, to, bytes), &self.handles);
        // SAFETY: both buffers are valid for `bytes` and distinct.
        let code = unsafe { (self.calls.scan)(from.address(), to.address(), count, *double, *sum, *world) };
        check(code, "MPI_Scan")
    }

    /// `MPI_Reduce_scatter_block`: each rank gets the sum of `bytes / 8` doubles.
    pub fn reduce_scatter_block(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        let _ = from.count(bytes, self.size as usize);
        let (count, Handles { double, sum, world, .. }) = (doubles(from, to, bytes), &self.handles);
        // SAFETY: `from` holds a block for each rank, `to` one block; they are distinct.
        let code = unsafe {
            (self.calls.reduce_scatter_block)(from.address(), to.address(), count, *double, *sum, *world)
        };
        check(code, "MPI_Reduce_scatter_block")
    }

    /// `MPI_Gather` of `bytes` from each rank.
    pub fn gather(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        let (own, Handles { byte, world, .. }) = (from.count(bytes, 1), &self.handles);
        let each = to.count(bytes, self.size as usize);
        // SAFETY: `to` holds a block for each rank, `from` one.
        let code =
            unsafe { (self.calls.gather)(from.address(), own, *byte, to.address(), each, *byte, 0, *world) };
        check(code, "MPI_Gather")
    }

    /// `MPI_Scatter` of `bytes` to each rank.
    pub fn scatter(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        let (each, Handles { byte, world, .. }) = (from.count(bytes, self.size as usize), &self.handles);
        let own = to.count(bytes, 1);
        // SAFETY: `from` holds a block for each rank, `to` one.
        let code =
            unsafe { (self.calls.scatter)(from.address(), each, *byte, to.address(), own, *byte, 0, *world) };
        check(code, "MPI_Scatter")
    }

    /// `MPI_Allgather` of `bytes` from each rank.
    pub fn allgather(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        let (own, Handles { byte, world, .. }) = (from.count(bytes, 1), &self.handles);
        let each = to.count(bytes, self.size as usize);
        // SAFETY: `to` holds a block for each rank, `from` one.
        let code =
            unsafe { (self.calls.allgather)(from.address(), own, *byte, to.address(), each, *byte, *world) };
        check(code, "MPI_Allgather")
    }

    /// `MPI_Alltoall` of `bytes` between each pair.
    pub fn alltoall(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        let (each, Handles { byte, world, .. }) = (from.count(bytes, self.size as usize), &self.handles);
        let _ = to.count(bytes, self.size as usize);
        // SAFETY: both buffers hold a block for each rank and are distinct.
        let code =
            unsafe { (self.calls.alltoall)(from.address(), each, *byte, to.address(), each, *byte, *world) };
        check(code, "MPI_Alltoall")
    }
}

/// The number of doubles in `bytes`, after checking that both buffers hold them.
fn doubles(from: &Buffer, to: &Buffer, bytes: usize) -> c_int {
    let _ = from.count(bytes, 1);
    to.count(bytes, 1) / size_of::<f64>() as c_int
}
