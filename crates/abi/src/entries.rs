//! What the MPICH face (`crates/mpich`, `libmpi.so.12`) needs of this library: all entry points in one table, and the
//! few things that the standard's functions do not say.
//!
//! Both libraries export the same names, so the other one cannot link to them. It opens this library, asks for
//! `verbena_entries`, and checks that the table is of the same build.

use crate::args::Out;
use crate::calls::{errhandler, op};
use crate::generated::entries::{FINGERPRINT, FUNCTIONS};
use crate::handles::{COMMS, KIND_SHIFT};
use crate::report::{Failed, Owner, raise};
use crate::status::Status;
use crate::told;
use crate::{requests, state};
use std::ffi::{c_int, c_void};
use verbena_mpi::errhandler::Kind;
use verbena_mpi::generated::constants as mpi;

/// The table. `crates/mpich/src/library.rs` declares the same layout.
#[repr(C)]
pub struct Entries {
    fingerprint: u64,
    kind_shift: usize,
    sent: usize,
    length: extern "C" fn(usize, c_int) -> i64,
    create_op: unsafe extern "C" fn(Option<Reduce>, *mut c_void, c_int, c_int, *mut usize) -> c_int,
    create_errhandler: unsafe extern "C" fn(c_int, Option<Handle>, *mut c_void, *mut usize) -> c_int,
    forms: told::Forms,
    attach: unsafe extern "C" fn(*const told::Others),
    receive: extern "C" fn(u32, u32) -> usize,
    end_recv: unsafe extern "C" fn(u32, u32, usize, *mut Status) -> c_int,
    send: told::Send,
    isend: told::Isend,
    irecv: told::Irecv,
    recv: told::Recv,
    wait: told::Wait,
    iprobe: told::Iprobe,
    functions: [*const (); FUNCTIONS.len()],
}

// SAFETY: addresses of functions, which never change.
unsafe impl Sync for Entries {}

/// The one table of this library.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static verbena_entries: Entries = Entries {
    fingerprint: FINGERPRINT,
    kind_shift: KIND_SHIFT as usize,
    sent: requests::SENT_HANDLE,
    length,
    create_op,
    create_errhandler,
    forms: told::FORMS,
    attach: told::attach,
    receive: told::receive,
    end_recv: told::end_recv,
    send: told::send,
    isend: told::isend,
    irecv: told::irecv,
    recv: told::recv,
    wait: told::wait,
    iprobe: told::iprobe,
    functions: FUNCTIONS,
};

/// A reduction with a word of its maker's own: state, operands, places of the count (`int` or `MPI_Count`) and of the
/// datatype's handle.
type Reduce = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void, *mut usize);

/// An error handler with a word of its maker's own: state, handle of the object, error code; gives
/// the code to return.
type Handle = unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int;

/// The length of arrays that depends on a communicator; 0 if that, or its topology, is wrong.
extern "C" fn length(comm: usize, which: c_int) -> i64 {
    let Ok(comm) = COMMS.get(comm) else { return 0 };
    match which {
        0 => crate::args::indegree(&comm).unwrap_or(0),
        1 => crate::args::outdegree(&comm).unwrap_or(0),
        2 => comm.targets().size().into(),
        _ => comm.size().into(),
    }
}

/// `MPI_Op_create` and, with `large`, `MPI_Op_create_c`.
///
/// # Safety
/// `call` may be called with `state` from any thread; `op` is valid, or null.
unsafe extern "C" fn create_op(
    call: Option<Reduce>,
    state: *mut c_void,
    large: c_int,
    commute: c_int,
    op: *mut usize,
) -> c_int {
    let state = state as usize;
    let make = || -> Result<(), Failed> {
        state::running()?;
        let call = call.ok_or_else(op::no_function)?;
        // SAFETY: the caller promises that the function reduces vectors of this datatype.
        let reduce = move |input, inout, count: *mut c_void, handle| unsafe {
            call(state as *mut c_void, input, inout, count, handle)
        };
        let function = if large == 0 {
            op::int_function(move |input, inout, count, handle| reduce(input, inout, count.cast(), handle))
        } else {
            op::large_function(move |input, inout, count, handle| reduce(input, inout, count.cast(), handle))
        };
        // SAFETY: by the caller's promise.
        Ok(op::make_op(function, commute != 0, unsafe { Out::new(op) }?)?)
    };
    code("MPI_Op_create", make())
}

/// `MPI_Comm_create_errhandler` and its like: of communicators (0), windows (1), files (2) and sessions (3).
///
/// # Safety
/// `call` may be called with `state` from any thread; `errhandler` is valid, or null.
unsafe extern "C" fn create_errhandler(
    kind: c_int,
    call: Option<Handle>,
    state: *mut c_void,
    errhandler: *mut usize,
) -> c_int {
    let kind = match kind {
        0 => Kind::Comm,
        1 => Kind::Win,
        2 => Kind::File,
        _ => Kind::Session,
    };
    let state = state as usize;
    let make = || -> Result<(), Failed> {
        let call = call.ok_or_else(errhandler::no_function)?;
        // SAFETY: by the caller's promise.
        let callback = Box::new(move |handle, code| unsafe { call(state as *mut c_void, handle, code) });
        // SAFETY: as above.
        Ok(errhandler::make(kind, callback, unsafe { Out::new(errhandler) }?)?)
    };
    code("an error handler's creation", make())
}

fn code(call: &str, result: Result<(), Failed>) -> c_int {
    match result {
        Ok(()) => mpi::MPI_SUCCESS,
        Err(failed) => raise(call, Owner::None, failed),
    }
}
