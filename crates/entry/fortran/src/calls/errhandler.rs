//! Error handlers of the program (MPI-5.0, 9.3).

use crate::generated::c;
use crate::handle::{self, FileHandle, Handle};
use crate::slots::{Slots, by_slot};
use std::ffi::c_int;

/// A Fortran procedure of the type `MPI_Comm_errhandler_function`, or that of another kind of
/// handle.
type Procedure = unsafe extern "C" fn(*mut c_int, *mut c_int);
/// C's function as it is called: nothing follows the code.
type OfC<H> = unsafe extern "C" fn(*mut H, *mut c_int);
/// C's function as it is declared.
type Declared<H> = unsafe extern "C" fn(*mut H, *mut c_int, ...);

/// # Safety
/// `procedure` is the address of a [`Procedure`], and the rest is for it.
unsafe fn handle_error<H: Copy>(procedure: usize, object: *mut H, out: fn(H) -> c_int, code: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        let procedure = std::mem::transmute::<usize, Procedure>(procedure);
        let mut number = out(*object);
        procedure(&mut number, code);
    }
}

macro_rules! sorts {
    ($($slots:ident $function:ident $out:ident $handle:ty;)*) => {
        $(
            static $slots: Slots = Slots::new();

            unsafe extern "C" fn $function<const SLOT: usize>(object: *mut $handle, code: *mut c_int) {
                // SAFETY: the slot was handed out with a procedure of this type.
                unsafe { handle_error($slots.procedure(SLOT), object, handle::$out, code) }
            }
        )*
    };
}

sorts! {
    COMM of_comm comm_out Handle;
    FILE of_file file_out FileHandle;
    WIN of_win win_out Handle;
    SESSION of_session session_out Handle;
}

type Create<H> = unsafe extern "C" fn(Option<Declared<H>>, *mut Handle) -> c_int;

/// # Safety
/// `errhandler` is an INTEGER, and `procedure` the address of a [`Procedure`].
unsafe fn create<H>(
    call: Create<H>,
    slots: &Slots,
    functions: &[OfC<H>],
    procedure: usize,
    errhandler: *mut c_int,
) -> c_int {
    let slot = tried!(slots.slot(procedure));
    let mut of_c = 0;
    // SAFETY: arguments to a function that takes no more are passed alike (System V and AArch64
    // ABI); the program's variable.
    unsafe {
        let function = std::mem::transmute::<OfC<H>, Declared<H>>(functions[slot]);
        let code = call(Some(function), &mut of_c);
        if of_c != 0 {
            *errhandler = handle::errhandler_out(of_c);
        }
        code
    }
}

/// `MPI_Comm_create_errhandler`.
pub unsafe fn comm_create_errhandler(call: Create<Handle>, function: usize, errhandler: *mut c_int) -> c_int {
    // SAFETY: the program's procedure and variable.
    unsafe { create(call, &COMM, by_slot!(of_comm as OfC<Handle>), function, errhandler) }
}

/// `MPI_Errhandler_create`, which MPI-3.0 removed.
pub unsafe fn errhandler_create(
    call: c::Comm_create_errhandler,
    function: usize,
    errhandler: *mut c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe { comm_create_errhandler(call, function, errhandler) }
}

/// `MPI_File_create_errhandler`.
pub unsafe fn file_create_errhandler(
    call: Create<FileHandle>,
    function: usize,
    errhandler: *mut c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe { create(call, &FILE, by_slot!(of_file as OfC<FileHandle>), function, errhandler) }
}

/// `MPI_Win_create_errhandler`.
pub unsafe fn win_create_errhandler(call: Create<Handle>, function: usize, errhandler: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { create(call, &WIN, by_slot!(of_win as OfC<Handle>), function, errhandler) }
}

/// `MPI_Session_create_errhandler`.
pub unsafe fn session_create_errhandler(
    call: Create<Handle>,
    function: usize,
    errhandler: *mut c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe { create(call, &SESSION, by_slot!(of_session as OfC<Handle>), function, errhandler) }
}
