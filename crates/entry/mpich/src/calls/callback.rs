//! Functions of the program that the library calls: reductions, error handlers, generalized
//! requests (MPI-5.0, 6.9.5, 9.3, 13.2). The library gets a function of ours, and a word from which
//! that finds the program's.

use crate::arrays::Out;
use crate::generated::types::*;
use crate::handles::{Comm, Datatype, Errhandler, File, Handle, Op, Request, Session, Win};
use crate::status::{NativeStatus, status_face, status_native};
use crate::table::{Function, entries};
use crate::values;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use verbena_faces::{Handled, Handler, Reduce};

/// Calls the program's reduction function `state`. It passes on the pointer to the count, so the
/// count's width makes no difference.
unsafe extern "C" fn reduce(
    state: *mut c_void,
    invec: *mut c_void,
    inoutvec: *mut c_void,
    len: *mut c_void,
    datatype: *mut usize,
) {
    // SAFETY: `op_create` passed this function as the state; the library passes the rest as MPI
    // says.
    unsafe {
        let function: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut i32) = transmute(state);
        let mut handle = Datatype::face(*datatype);
        function(invec, inoutvec, len.cast(), &mut handle);
    }
}

/// Creates an operation; `large` if the program's function takes a large count.
unsafe fn create_op(user_fn: Function, large: c_int, commute: c_int, op: *mut i32) -> c_int {
    let call: Option<Reduce> = if user_fn.is_null() { None } else { Some(reduce) };
    let mut op = Out::<Op>::new(op);
    // SAFETY: `reduce` is what the library calls, with this state; a null function is refused
    // there.
    unsafe {
        let code = (entries().services.create_op)(call, user_fn.cast_mut(), large, commute, op.native());
        op.store();
        values::code(code)
    }
}

/// `MPI_Op_create`.
pub unsafe fn op_create(user_fn: MPI_User_function, commute: c_int, op: *mut i32) -> c_int {
    // SAFETY: the program's promise.
    unsafe { create_op(address(user_fn.map(|f| f as Function)), 0, commute, op) }
}

/// `MPI_Op_create_c`.
pub unsafe fn op_create_c(user_fn: MPI_User_function_c, commute: c_int, op: *mut i32) -> c_int {
    // SAFETY: the program's promise.
    unsafe { create_op(address(user_fn.map(|f| f as Function)), 1, commute, op) }
}

fn address(function: Option<Function>) -> Function {
    function.unwrap_or(std::ptr::null())
}

/// Calls the program's error handler `state` for an error on an object of this kind.
unsafe extern "C" fn handle_error<K: Handle>(state: *mut c_void, handle: usize, code: c_int) -> c_int {
    // SAFETY: `create_errhandler` passed this function as the state.
    unsafe {
        let function: unsafe extern "C" fn(*mut K::Face, *mut c_int, ...) = transmute(state);
        let (mut handle, mut code) = (K::face(handle), values::code(code));
        function(&mut handle, &mut code);
        values::error_native(code)
    }
}

unsafe fn create_errhandler<K: Handle>(kind: Handled, function: Function, errhandler: *mut i32) -> c_int {
    let call: Option<Handler> = if function.is_null() { None } else { Some(handle_error::<K>) };
    let mut errhandler = Out::<Errhandler>::new(errhandler);
    // SAFETY: as in `create_op`.
    unsafe {
        let made =
            (entries().services.create_errhandler)(kind, call, function.cast_mut(), errhandler.native());
        errhandler.store();
        values::code(made)
    }
}

macro_rules! create_errhandlers {
    ($($(#[$doc:meta])* pub unsafe fn $name:ident($type:ident, $handle:ident, $kind:expr);)*) => { $(
        $(#[$doc])*
        pub unsafe fn $name(function: $type, errhandler: *mut i32) -> c_int {
            // SAFETY: the program's promise.
            unsafe { create_errhandler::<$handle>($kind, address(function.map(|f| f as Function)), errhandler) }
        }
    )* };
}

create_errhandlers! {
    /// `MPI_Comm_create_errhandler`.
    pub unsafe fn comm_create_errhandler(MPI_Comm_errhandler_function, Comm, Handled::Comm);
    /// `MPI_Errhandler_create` (removed in MPI-3.0).
    pub unsafe fn errhandler_create(MPI_Comm_errhandler_function, Comm, Handled::Comm);
    /// `MPI_Win_create_errhandler`.
    pub unsafe fn win_create_errhandler(MPI_Win_errhandler_function, Win, Handled::Win);
    /// `MPI_File_create_errhandler`.
    pub unsafe fn file_create_errhandler(MPI_File_errhandler_function, File, Handled::File);
    /// `MPI_Session_create_errhandler`.
    pub unsafe fn session_create_errhandler(MPI_Session_errhandler_function, Session, Handled::Session);
}

/// The program's side of a generalized request.
struct Generalized {
    query: MPI_Grequest_query_function,
    free: MPI_Grequest_free_function,
    cancel: MPI_Grequest_cancel_function,
    extra_state: *mut c_void,
}

unsafe extern "C" fn query(state: *mut c_void, status: *mut NativeStatus) -> c_int {
    // SAFETY: `grequest_start` made the state, and `free` has not been called yet; the status is
    // the library's.
    unsafe {
        let request = &*state.cast::<Generalized>();
        let Some(function) = request.query else { return 0 };
        let mut face = status_face(&*status);
        let code = function(request.extra_state, &mut face);
        *status = status_native(&face);
        values::error_native(code)
    }
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    // SAFETY: the library calls this once, last of all.
    let request = unsafe { Box::from_raw(state.cast::<Generalized>()) };
    // SAFETY: the program's own function and state.
    request.free.map_or(0, |function| values::error_native(unsafe { function(request.extra_state) }))
}

unsafe extern "C" fn cancel(state: *mut c_void, complete: c_int) -> c_int {
    // SAFETY: as in `query`.
    unsafe {
        let request = &*state.cast::<Generalized>();
        request.cancel.map_or(0, |function| values::error_native(function(request.extra_state, complete)))
    }
}

/// `MPI_Grequest_start`.
pub unsafe fn grequest_start(
    query_fn: MPI_Grequest_query_function,
    free_fn: MPI_Grequest_free_function,
    cancel_fn: MPI_Grequest_cancel_function,
    extra_state: *mut c_void,
    request: *mut i32,
) -> c_int {
    let state = Generalized { query: query_fn, free: free_fn, cancel: cancel_fn, extra_state };
    let state = Box::into_raw(Box::new(state));
    let mut request = Out::<Request>::new(request);
    // SAFETY: our own functions, which fit this state.
    unsafe {
        let code = native!(MPI_Grequest_start(
            query as Function,
            free as Function,
            cancel as Function,
            state.cast(),
            request.native()
        ));
        if code != 0 {
            drop(Box::from_raw(state));
        }
        request.store();
        values::code(code)
    }
}
