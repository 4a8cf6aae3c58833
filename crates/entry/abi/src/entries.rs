//! The table for the MPICH face (`crates/entry/mpich`, `libmpi.so.12`): all entry points, and the
//! few things that the standard's functions do not offer. `verbena_faces` says what is in it.

use crate::args::Out;
use crate::calls::{dynamic, errhandler, op};
use crate::fast_path::mpich::{attach, end_receive, receive, waitall_rest};
use crate::generated::entries::FUNCTIONS;
use crate::generated::mpich::CALLS;
use crate::handles::COMMS;
use crate::report::{Failed, Owner, raise};
use crate::state;
use std::ffi::{c_int, c_void};
use verbena_faces::{Entries, FINGERPRINT, Handled, Handler, Length, Reduce, Services};
use verbena_mpi::errhandler::Kind;
use verbena_mpi::generated::constants as mpi;

/// The one table of this library.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static verbena_entries: Entries = Entries {
    fingerprint: FINGERPRINT,
    services: Services {
        length,
        create_op,
        create_errhandler,
        attach,
        receive,
        end_receive,
        waitall_rest,
        spawned,
    },
    calls: CALLS,
    functions: FUNCTIONS,
};

/// The length of an array that depends on a communicator; 0 if that or its topology is wrong.
extern "C" fn length(comm: usize, which: Length) -> i64 {
    let Ok(comm) = COMMS.get(comm) else { return 0 };
    match which {
        Length::Indegree => crate::args::indegree(&comm).unwrap_or(0),
        Length::Outdegree => crate::args::outdegree(&comm).unwrap_or(0),
        Length::Remote => comm.targets().size().into(),
        Length::Local => comm.size().into(),
    }
}

/// The number of codes that the last call of this thread to spawn has set.
extern "C" fn spawned() -> i64 {
    dynamic::codes_set() as i64
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

/// `MPI_Comm_create_errhandler` and its like.
///
/// # Safety
/// `call` may be called with `state` from any thread; `errhandler` is valid, or null.
unsafe extern "C" fn create_errhandler(
    kind: Handled,
    call: Option<Handler>,
    state: *mut c_void,
    errhandler: *mut usize,
) -> c_int {
    let kind = match kind {
        Handled::Comm => Kind::Comm,
        Handled::Win => Kind::Win,
        Handled::File => Kind::File,
        Handled::Session => Kind::Session,
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
        Err(failed) => raise(call, &[], Owner::None, failed),
    }
}
