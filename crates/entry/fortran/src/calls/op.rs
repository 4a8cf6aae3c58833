//! Reductions of the program (MPI-5.0, 6.9.5).

use crate::generated::c;
use crate::generated::types::{MPI_Count, MPI_Datatype};
use crate::handle::{self, Handle};
use crate::logical;
use crate::slots::{Slots, by_slot};
use std::ffi::{c_int, c_void};

/// A Fortran procedure of the type `MPI_User_function`; the large form has a longer count.
type Procedure<N> = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut N, *mut c_int);
type OfC<N> = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut N, *mut MPI_Datatype);

static PLAIN: Slots = Slots::new();
static LARGE: Slots = Slots::new();

/// # Safety
/// `procedure` is the address of a [`Procedure`], and the rest is for it.
unsafe fn reduce<N>(
    procedure: usize,
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut N,
    datatype: *mut MPI_Datatype,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let procedure = std::mem::transmute::<usize, Procedure<N>>(procedure);
        let mut number = handle::datatype_out(*datatype);
        procedure(input, inout, length, &mut number);
    }
}

unsafe extern "C" fn plain<const SLOT: usize>(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut c_int,
    datatype: *mut MPI_Datatype,
) {
    // SAFETY: the slot was handed out with a procedure of this type.
    unsafe { reduce(PLAIN.procedure(SLOT), input, inout, length, datatype) }
}

unsafe extern "C" fn large<const SLOT: usize>(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut MPI_Count,
    datatype: *mut MPI_Datatype,
) {
    // SAFETY: as above.
    unsafe { reduce(LARGE.procedure(SLOT), input, inout, length, datatype) }
}

/// `MPI_Op_create`.
pub unsafe fn op_create(call: c::Op_create, user_fn: usize, commute: *const c_int, op: *mut c_int) -> c_int {
    let slot = tried!(PLAIN.slot(user_fn));
    let function: OfC<c_int> = by_slot!(plain as OfC<c_int>)[slot];
    let mut of_c = 0;
    // SAFETY: the program's variables.
    unsafe { created(call(Some(function), logical::of(commute), &mut of_c), of_c, op) }
}

/// `MPI_Op_create_c`.
pub unsafe fn op_create_c(
    call: c::Op_create_c,
    user_fn: usize,
    commute: *const c_int,
    op: *mut c_int,
) -> c_int {
    let slot = tried!(LARGE.slot(user_fn));
    let function: OfC<MPI_Count> = by_slot!(large as OfC<MPI_Count>)[slot];
    let mut of_c = 0;
    // SAFETY: the program's variables.
    unsafe { created(call(Some(function), logical::of(commute), &mut of_c), of_c, op) }
}

/// # Safety
/// `op` is an INTEGER.
unsafe fn created(code: c_int, of_c: Handle, op: *mut c_int) -> c_int {
    if of_c != 0 {
        // SAFETY: the caller's promise.
        unsafe { *op = handle::op_out(of_c) };
    }
    code
}
