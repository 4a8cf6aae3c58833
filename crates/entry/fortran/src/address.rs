//! Variables of `mpif.h` and the modules that MPI knows by their address (MPI-5.0, 2.5.4). Each is
//! alone in a common block, whose symbol is here. The program has a block of that name too; the
//! dynamic linker makes them one, so both sides mean the same address.

use crate::calls::no_conversion;
use crate::generated::constants as mpi;
use crate::status::Status;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};

/// A common block no larger than a status.
#[repr(C, align(16))]
pub struct Block(UnsafeCell<[c_int; 8]>);

// SAFETY: nobody reads or writes the block.
unsafe impl Sync for Block {}

macro_rules! blocks {
    ($($symbol:ident)*) => {
        $(
            /// A common block whose address means something.
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            pub static $symbol: Block = Block(UnsafeCell::new([0; 8]));
        )*
    };
}

blocks! {
    verbena_bottom_ verbena_in_place_ verbena_automatic_
    verbena_status_ignore_ verbena_statuses_ignore_ verbena_errcodes_ignore_
    verbena_unweighted_ verbena_weights_empty_
    verbena_argv_null_ verbena_argvs_null_
}

/// A variable of C that holds the address of a block.
#[repr(transparent)]
pub struct Pointer(&'static Block);

macro_rules! pointers {
    ($($symbol:ident $block:ident)*) => {
        $(
            /// C's variable with the address of that block (MPI-5.0, 19.3.5).
            #[unsafe(no_mangle)]
            pub static $symbol: Pointer = Pointer(&$block);
        )*
    };
}

pointers! {
    MPI_F_STATUS_IGNORE verbena_status_ignore_
    MPI_F_STATUSES_IGNORE verbena_statuses_ignore_
    MPI_F08_STATUS_IGNORE verbena_status_ignore_
    MPI_F08_STATUSES_IGNORE verbena_statuses_ignore_
}

fn is<T>(address: *const T, block: &'static Block) -> bool {
    std::ptr::addr_eq(address, block)
}

/// C's address for this choice buffer.
#[inline]
pub fn buffer(address: *const c_void) -> *mut c_void {
    if is(address, &verbena_in_place_) {
        mpi::MPI_IN_PLACE as *mut c_void
    } else if is(address, &verbena_bottom_) {
        mpi::MPI_BOTTOM as *mut c_void
    } else if is(address, &verbena_automatic_) {
        mpi::MPI_BUFFER_AUTOMATIC as *mut c_void
    } else {
        address.cast_mut()
    }
}

/// Returns whether this is C's `MPI_IN_PLACE`.
pub fn is_in_place(address: *mut c_void) -> bool {
    address as usize == mpi::MPI_IN_PLACE
}

/// A status for C, null for `MPI_STATUS_IGNORE`.
#[inline]
pub fn status(status: *mut Status) -> *mut Status {
    if is(status, &verbena_status_ignore_) { std::ptr::null_mut() } else { status }
}

/// An array of statuses for C, null for `MPI_STATUSES_IGNORE`.
#[inline]
pub fn statuses(statuses: *mut Status) -> *mut Status {
    if is(statuses, &verbena_statuses_ignore_) { std::ptr::null_mut() } else { statuses }
}

/// An array of error codes for C, null for `MPI_ERRCODES_IGNORE`.
pub fn errcodes(codes: *mut c_int) -> *mut c_int {
    if is(codes, &verbena_errcodes_ignore_) { std::ptr::null_mut() } else { codes }
}

/// Returns whether this is `MPI_ARGV_NULL` or `MPI_ARGVS_NULL`: no arguments.
pub fn is_without_arguments(argv: *const c_char) -> bool {
    is(argv, &verbena_argv_null_) || is(argv, &verbena_argvs_null_)
}

/// Weights for C, possibly `MPI_UNWEIGHTED` or `MPI_WEIGHTS_EMPTY`.
pub fn weights(weights: *const c_int) -> *mut c_int {
    if is(weights, &verbena_unweighted_) {
        mpi::MPI_UNWEIGHTED as *mut c_int
    } else if is(weights, &verbena_weights_empty_) {
        mpi::MPI_WEIGHTS_EMPTY as *mut c_int
    } else {
        weights.cast_mut()
    }
}

/// Returns whether a procedure stands for no conversion: `MPI_CONVERSION_FN_NULL` or its large
/// form.
pub fn is_no_conversion(procedure: usize) -> bool {
    no_conversion::is_predefined(procedure)
}
