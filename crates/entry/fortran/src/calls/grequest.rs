//! Generalized requests (MPI-5.0, 13.2).

use crate::generated::c;
use crate::generated::types::MPI_Status as Status;
use crate::{handle, logical};
use std::ffi::{c_int, c_void};

/// The program's procedures and the state they get.
struct State {
    query: unsafe extern "C" fn(*mut i64, *mut Status, *mut c_int),
    free: unsafe extern "C" fn(*mut i64, *mut c_int),
    cancel: unsafe extern "C" fn(*mut i64, *mut c_int, *mut c_int),
    extra: i64,
}

unsafe extern "C" fn query(state: *mut c_void, status: *mut Status) -> c_int {
    let mut code = 0;
    // SAFETY: C passes what `grequest_start` gave it.
    unsafe {
        let state = &mut *state.cast::<State>();
        (state.query)(&mut state.extra, status, &mut code);
    }
    code
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    let mut code = 0;
    // SAFETY: as above; this is the last that is called.
    unsafe {
        let mut state = Box::from_raw(state.cast::<State>());
        (state.free)(&mut state.extra, &mut code);
    }
    code
}

unsafe extern "C" fn cancel(state: *mut c_void, complete: c_int) -> c_int {
    let mut code = 0;
    let mut complete = if complete != 0 { logical::TRUE } else { logical::FALSE };
    // SAFETY: as above.
    unsafe {
        let state = &mut *state.cast::<State>();
        (state.cancel)(&mut state.extra, &mut complete, &mut code);
    }
    code
}

/// `MPI_Grequest_start`.
pub unsafe fn grequest_start(
    call: c::Grequest_start,
    query_fn: usize,
    free_fn: usize,
    cancel_fn: usize,
    extra_state: *const i64,
    request: *mut c_int,
) -> c_int {
    let mut of_c = 0;
    // SAFETY: the program's procedures, of the types that MPI gives them, and its variables.
    unsafe {
        let state = Box::into_raw(Box::new(State {
            query: std::mem::transmute::<usize, unsafe extern "C" fn(*mut i64, *mut Status, *mut c_int)>(
                query_fn,
            ),
            free: std::mem::transmute::<usize, unsafe extern "C" fn(*mut i64, *mut c_int)>(free_fn),
            cancel: std::mem::transmute::<usize, unsafe extern "C" fn(*mut i64, *mut c_int, *mut c_int)>(
                cancel_fn,
            ),
            extra: *extra_state,
        }));
        let code = call(Some(query), Some(free), Some(cancel), state.cast(), &mut of_c);
        match of_c {
            0 => drop(Box::from_raw(state)),
            _ => *request = handle::request_out(of_c),
        }
        code
    }
}
