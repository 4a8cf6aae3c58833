//! Data representations: the program's procedures convert the elements of files (MPI-5.0, 14.5.3).
//!
//! The predefined procedures `MPI_CONVERSION_FN_NULL` and `MPI_CONVERSION_FN_NULL_C` are procedures
//! of this library; C gets its null function for them.

use crate::generated::types::{MPI_Aint, MPI_Count, MPI_Datatype, MPI_Offset};
use crate::generated::{c, constants as mpi};
use crate::{address, handle, text};
use std::ffi::{c_char, c_int, c_void};

/// A Fortran procedure of the type `MPI_Datarep_conversion_function`; the large form has a longer
/// count.
type Convert<N> =
    unsafe extern "C" fn(*mut c_void, *mut c_int, *mut N, *mut c_void, *mut MPI_Offset, *mut i64, *mut c_int);
/// A Fortran procedure of the type `MPI_Datarep_extent_function`.
type Extent = unsafe extern "C" fn(*mut c_int, *mut i64, *mut i64, *mut c_int);
/// A function of C of the type `MPI_Datarep_conversion_function`.
type OfC<N> =
    unsafe extern "C" fn(*mut c_void, MPI_Datatype, N, *mut c_void, MPI_Offset, *mut c_void) -> c_int;

/// The program's procedures. They live as long as the process, like the representation.
struct Procedures {
    read: usize,
    write: usize,
    extent: usize,
    extra: i64,
}

/// # Safety
/// `procedure` is the address of a [`Convert`], and the rest is for it.
unsafe fn convert<N>(
    procedure: usize,
    (user, file): (*mut c_void, *mut c_void),
    (datatype, mut count, mut position): (MPI_Datatype, N, MPI_Offset),
    mut extra: i64,
) -> c_int {
    let (mut number, mut code) = (handle::datatype_out(datatype), mpi::MPI_SUCCESS);
    // SAFETY: the caller's promise.
    unsafe {
        let procedure = std::mem::transmute::<usize, Convert<N>>(procedure);
        procedure(user, &mut number, &mut count, file, &mut position, &mut extra, &mut code);
    }
    code
}

unsafe extern "C" fn read<N>(
    user: *mut c_void,
    datatype: MPI_Datatype,
    count: N,
    file: *mut c_void,
    position: MPI_Offset,
    state: *mut c_void,
) -> c_int {
    // SAFETY: C passes what `register` gave it, and the arguments of this form.
    unsafe {
        let own = &*state.cast::<Procedures>();
        convert(own.read, (user, file), (datatype, count, position), own.extra)
    }
}

unsafe extern "C" fn write<N>(
    user: *mut c_void,
    datatype: MPI_Datatype,
    count: N,
    file: *mut c_void,
    position: MPI_Offset,
    state: *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let own = &*state.cast::<Procedures>();
        convert(own.write, (user, file), (datatype, count, position), own.extra)
    }
}

unsafe extern "C" fn extent(datatype: MPI_Datatype, extent: *mut MPI_Aint, state: *mut c_void) -> c_int {
    let (mut number, mut bytes, mut code) = (handle::datatype_out(datatype), 0_i64, mpi::MPI_SUCCESS);
    // SAFETY: as above; the program's procedure has this type.
    unsafe {
        let own = &*state.cast::<Procedures>();
        let (procedure, mut extra) = (std::mem::transmute::<usize, Extent>(own.extent), own.extra);
        procedure(&mut number, &mut bytes, &mut extra, &mut code);
        *extent = bytes as MPI_Aint;
    }
    code
}

/// C's function for a procedure: none for the predefined ones.
fn of<N>(procedure: usize, function: OfC<N>) -> Option<OfC<N>> {
    (!address::is_no_conversion(procedure)).then_some(function)
}

/// The state of a representation. It lives as long as the process.
///
/// # Safety
/// `extra_state` is an INTEGER of kind MPI_ADDRESS_KIND.
unsafe fn state(read: usize, write: usize, extent: usize, extra_state: *const i64) -> *mut c_void {
    // SAFETY: the caller's promise.
    let extra = unsafe { *extra_state };
    Box::into_raw(Box::new(Procedures { read, write, extent, extra })).cast()
}

/// Frees the state of a representation that was refused; returns the code.
///
/// # Safety
/// It is of [`state`], and C has not kept it unless `code` is `MPI_SUCCESS`.
unsafe fn keep(state: *mut c_void, code: c_int) -> c_int {
    if code != mpi::MPI_SUCCESS {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(state.cast::<Procedures>()) });
    }
    code
}

/// `MPI_Register_datarep`.
pub unsafe fn register_datarep(
    call: c::Register_datarep,
    datarep: *const c_char,
    read_fn: usize,
    write_fn: usize,
    extent_fn: usize,
    extra_state: *const i64,
    length: usize,
) -> c_int {
    let (reads, writes) = (of::<c_int>(read_fn, read), of::<c_int>(write_fn, write));
    // SAFETY: the program's variables and procedures.
    unsafe {
        let name = text::read(datarep, length);
        let state = state(read_fn, write_fn, extent_fn, extra_state);
        let code = call(name.as_ptr(), reads, writes, Some(extent), state);
        keep(state, code)
    }
}

/// `MPI_Register_datarep_c`.
pub unsafe fn register_datarep_c(
    call: c::Register_datarep_c,
    datarep: *const c_char,
    read_fn: usize,
    write_fn: usize,
    extent_fn: usize,
    extra_state: *const i64,
    length: usize,
) -> c_int {
    let (reads, writes) = (of::<MPI_Count>(read_fn, read), of::<MPI_Count>(write_fn, write));
    // SAFETY: as above.
    unsafe {
        let name = text::read(datarep, length);
        let state = state(read_fn, write_fn, extent_fn, extra_state);
        let code = call(name.as_ptr(), reads, writes, Some(extent), state);
        keep(state, code)
    }
}
