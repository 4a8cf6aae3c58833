//! The table between Verbena's two libraries: `libmpi_abi.so.1` (the standard ABI,
//! `crates/entry/abi`) fills it, and `libmpi.so.12` (the MPICH ABI, `crates/entry/mpich`) calls
//! through it.
//!
//! Both libraries export the same names, so the second cannot link to the first. It opens it, asks
//! for the symbol `verbena_entries`, compares the [`FINGERPRINT`], and copies the table. Both
//! compile this crate: within a build the layout cannot differ, and libraries of different builds
//! refuse each other.
//!
//! | module | what both libraries must agree on |
//! | --- | --- |
//! | this one | the table |
//! | [`standard`] | handles and statuses of the standard ABI |
//! | [`mpich`] | requests and statuses of the MPICH ABI |
//! | [`generated`] | the types of all functions, from the API table |
//!
//! No code of MPI lives here, only types, constants and the arithmetic of handles.

#[rustfmt::skip]
pub mod generated;
mod fingerprint;
pub mod mpich;
pub mod standard;

pub use fingerprint::FINGERPRINT;
pub use generated::calls::Calls;
pub use generated::functions::Functions;
pub use standard::Function;
use std::ffi::{c_int, c_void};

/// The symbol of the table in `libmpi_abi.so.1`, with the final zero.
pub const SYMBOL: &std::ffi::CStr = c"verbena_entries";

/// The table: a static of `libmpi_abi.so.1` that never changes.
#[repr(C)]
pub struct Entries {
    /// The [`FINGERPRINT`] of the library that owns the table. It stands first in every build.
    pub fingerprint: u64,
    /// The functions beside those of the standard.
    pub services: Services,
    /// The most frequent calls, with requests and statuses of the MPICH ABI.
    pub calls: Calls,
    /// The `PMPI_` functions of the standard ABI.
    pub functions: Functions,
}

/// A reduction with a word of its maker's own. Arguments: the word, operands, places of the count
/// (`int` or `MPI_Count`) and of the datatype's handle.
pub type Reduce = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void, *mut usize);

/// An error handler with a word of its maker's own. Arguments: the word, handle of the object,
/// error code. It returns the code that the call returns.
pub type Handler = unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int;

/// The functions that `libmpi_abi.so.1` offers beside MPI's.
#[repr(C)]
pub struct Services {
    /// The length of an array that depends on a communicator; 0 if that or its topology is wrong.
    pub length: extern "C" fn(usize, Length) -> i64,
    /// Makes an operation whose function gets a word first: function, word, whether its counts are
    /// large, whether it commutes, place of the handle.
    pub create_op: unsafe extern "C" fn(Option<Reduce>, *mut c_void, c_int, c_int, *mut usize) -> c_int,
    /// Makes an error handler whose function gets a word first: what it is for, function, word,
    /// place of the handle.
    pub create_errhandler: unsafe extern "C" fn(Handled, Option<Handler>, *mut c_void, *mut usize) -> c_int,
    /// Takes the functions that [`Calls`] fall back on. It is called before any of them.
    pub attach: unsafe extern "C" fn(*const Fallbacks),
    /// The standard handle of the engine's receive at this index, if these are the known bits of
    /// its generation; 0 if there is none.
    pub receive: extern "C" fn(u32, u32) -> usize,
    /// Ends a blocking receive that failed: index and generation of its request, communicator,
    /// status.
    pub end_receive: unsafe extern "C" fn(u32, u32, usize, *mut standard::Status) -> c_int,
    /// Finishes an `MPI_Waitall` after its first requests are complete: how many these are, and the
    /// arguments of the call.
    pub waitall_rest: unsafe extern "C" fn(usize, c_int, *mut usize, *mut standard::Status) -> c_int,
    /// The number of error codes that the last call of the calling thread to spawn has set.
    pub spawned: extern "C" fn() -> i64,
}

/// Functions of `libmpi.so.12` for what [`Entries::calls`] decline: what needs many instructions.
#[repr(C)]
pub struct Fallbacks {
    /// The calls of [`Entries::calls`], for everything else. Ranks, tags, requests and statuses are
    /// those of the MPICH ABI; communicators and datatypes are standard handles.
    pub calls: Calls,
    /// [`Services::end_receive`] with a status of the MPICH ABI.
    pub end_receive: unsafe extern "C" fn(u32, u32, usize, *mut mpich::Status) -> c_int,
    /// [`Services::waitall_rest`] with requests and statuses of the MPICH ABI.
    pub waitall_rest: unsafe extern "C" fn(usize, c_int, *mut i32, *mut mpich::Status) -> c_int,
    /// Ends the program: an index does not fit into a request of the MPICH ABI.
    pub too_many: extern "C" fn() -> !,
}

/// The number that [`Services::length`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Length {
    /// Neighbours that a process receives from.
    Indegree,
    /// Neighbours that a process sends to.
    Outdegree,
    /// Processes that ranks in a call name.
    Remote,
    /// Processes of the local group.
    Local,
}

/// The kind of object that an error handler of [`Services::create_errhandler`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Handled {
    /// Communicators.
    Comm,
    /// Windows.
    Win,
    /// Files.
    File,
    /// Sessions.
    Session,
}
