//! Variables that MPI knows by their address (MPI-5.0, 2.5.4), where MPICH's and Intel MPI's
//! `mpif.h` and modules have them: in common blocks for `mpif.h` and `mpi`, in variables of the
//! module for `mpi_f08`. The program has the same symbols; the dynamic linker makes them one, so
//! both sides mean the same address.

use crate::calls::no_conversion;
use crate::generated::constants as mpi;
use crate::modules;
use crate::status::Status;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};

/// A block of default INTEGERs that nobody reads or writes.
#[repr(C)]
pub struct Block<const INTEGERS: usize>(UnsafeCell<[c_int; INTEGERS]>);

// SAFETY: nobody reads or writes the block.
unsafe impl<const INTEGERS: usize> Sync for Block<INTEGERS> {}

impl<const INTEGERS: usize> Block<INTEGERS> {
    /// Returns whether this is the address of an INTEGER of the block, by its place.
    fn has<T>(&'static self, address: *const T, place: usize) -> bool {
        let own = self.0.get().cast::<c_int>().wrapping_add(place);
        std::ptr::addr_eq(address, own.cast_const())
    }
}

macro_rules! blocks {
    ($($(#[$about:meta])* $symbol:literal $name:ident $integers:literal;)*) => {
        $(
            $(#[$about])*
            #[unsafe(export_name = $symbol)]
            pub static $name: Block<$integers> = Block(UnsafeCell::new([0; $integers]));
        )*
    };
}

blocks! {
    /// `MPI_BOTTOM`, `MPI_IN_PLACE`, and the five INTEGERs of `MPI_STATUS_IGNORE`.
    "mpipriv1_" FIRST 7;
    /// The five INTEGERs of `MPI_STATUSES_IGNORE`, and `MPI_ERRCODES_IGNORE`.
    "mpipriv2_" SECOND 6;
    /// `MPI_ARGVS_NULL` and `MPI_ARGV_NULL`, a character each.
    "mpiprivc_" CHARACTERS 1;
    /// `MPI_UNWEIGHTED`.
    "mpifcmb5_" UNWEIGHTED 1;
    /// `MPI_WEIGHTS_EMPTY`.
    "mpifcmb9_" WEIGHTS_EMPTY 1;
    /// `MPI_BUFFER_AUTOMATIC`.
    "mpifcmba_" AUTOMATIC 1;
    /// `MPI_BOTTOM` of `mpi_f08`.
    "MPIR_F08_MPI_BOTTOM" F08_BOTTOM 1;
    /// `MPI_IN_PLACE` of `mpi_f08`.
    "MPIR_F08_MPI_IN_PLACE" F08_IN_PLACE 1;
    /// `MPI_STATUS_IGNORE` of `mpi_f08`.
    "MPIR_F08_MPI_STATUS_IGNORE_OBJ" F08_STATUS_IGNORE 5;
    /// `MPI_STATUSES_IGNORE` of `mpi_f08`.
    "MPIR_F08_MPI_STATUSES_IGNORE_OBJ" F08_STATUSES_IGNORE 5;
    /// `MPI_UNWEIGHTED` of `mpi_f08`.
    "__mpi_f08_link_constants_MOD_mpi_unweighted" F08_UNWEIGHTED 1;
    /// `MPI_WEIGHTS_EMPTY` of `mpi_f08`.
    "__mpi_f08_link_constants_MOD_mpi_weights_empty" F08_WEIGHTS_EMPTY 1;
    /// `MPI_ERRCODES_IGNORE` of `mpi_f08`.
    "__mpi_f08_link_constants_MOD_mpi_errcodes_ignore" F08_ERRCODES_IGNORE 1;
}

/// A character that nobody reads or writes.
#[repr(transparent)]
pub struct Character(UnsafeCell<c_char>);

// SAFETY: nobody reads or writes the character.
unsafe impl Sync for Character {}

/// `MPI_ARGV_NULL` of `mpi_f08`.
#[unsafe(export_name = "__mpi_f08_link_constants_MOD_mpi_argv_null")]
pub static F08_ARGV_NULL: Character = Character(UnsafeCell::new(0));
/// `MPI_ARGVS_NULL` of `mpi_f08`.
#[unsafe(export_name = "__mpi_f08_link_constants_MOD_mpi_argvs_null")]
pub static F08_ARGVS_NULL: Character = Character(UnsafeCell::new(0));

/// The place of `MPI_IN_PLACE` in its common block.
const IN_PLACE: usize = 1;
/// The place of `MPI_STATUS_IGNORE` in its common block.
const STATUS_IGNORE: usize = 2;

/// The place of `MPI_ERRCODES_IGNORE` in its common block.
const ERRCODES_IGNORE: usize = 5;

/// A variable of C that holds an address.
#[repr(transparent)]
pub struct Pointer(*const c_int);

// SAFETY: the address of a static, which nobody reads or writes.
unsafe impl Sync for Pointer {}

impl Pointer {
    /// The address of an INTEGER of a block.
    const fn to<const INTEGERS: usize>(block: &'static Block<INTEGERS>, place: usize) -> Pointer {
        Pointer(block.0.get().cast::<c_int>().wrapping_add(place))
    }
}

/// The status that `mpif.h` ignores, for C (MPI-5.0, 19.3.5). A program that is linked with this
/// library finds it here, before that of `libmpi.so.12`.
#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: Pointer = Pointer::to(&FIRST, STATUS_IGNORE);
/// The statuses that `mpif.h` ignores, for C.
#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: Pointer = Pointer::to(&SECOND, 0);
/// The status that `mpi_f08` ignores, for C.
#[unsafe(no_mangle)]
pub static MPI_F08_STATUS_IGNORE: Pointer = Pointer::to(&F08_STATUS_IGNORE, 0);
/// The statuses that `mpi_f08` ignores, for C.
#[unsafe(no_mangle)]
pub static MPI_F08_STATUSES_IGNORE: Pointer = Pointer::to(&F08_STATUSES_IGNORE, 0);

unsafe extern "C" {
    // C's variables with the addresses that stand for these (`mpi.h`).
    static MPI_UNWEIGHTED: Pointer;
    static MPI_WEIGHTS_EMPTY: Pointer;
}

/// C's address for this choice buffer.
#[inline]
pub fn buffer(address: *const c_void) -> *mut c_void {
    if FIRST.has(address, IN_PLACE) || F08_IN_PLACE.has(address, 0) {
        mpi::MPI_IN_PLACE as *mut c_void
    } else if FIRST.has(address, 0) || F08_BOTTOM.has(address, 0) {
        mpi::MPI_BOTTOM as *mut c_void
    } else if AUTOMATIC.has(address, 0) {
        mpi::MPI_BUFFER_AUTOMATIC as *mut c_void
    } else {
        address.cast_mut()
    }
}

/// Returns whether this is C's `MPI_IN_PLACE`.
pub fn is_in_place(address: *mut c_void) -> bool {
    address as usize == mpi::MPI_IN_PLACE
}

/// A status for C, possibly `MPI_STATUS_IGNORE`.
#[inline]
pub fn status(status: *mut Status) -> *mut Status {
    let is_ignored = FIRST.has(status, STATUS_IGNORE) || F08_STATUS_IGNORE.has(status, 0);
    if is_ignored { mpi::MPI_STATUS_IGNORE as *mut Status } else { status }
}

/// An array of statuses for C, possibly `MPI_STATUSES_IGNORE`.
#[inline]
pub fn statuses(statuses: *mut Status) -> *mut Status {
    let is_ignored = SECOND.has(statuses, 0) || F08_STATUSES_IGNORE.has(statuses, 0);
    // Both are the same in this ABI.
    if is_ignored { mpi::MPI_STATUS_IGNORE as *mut Status } else { statuses }
}

/// An array of error codes for C, null for `MPI_ERRCODES_IGNORE`.
pub fn errcodes(codes: *mut c_int) -> *mut c_int {
    let is_ignored = SECOND.has(codes, ERRCODES_IGNORE) || F08_ERRCODES_IGNORE.has(codes, 0);
    if is_ignored { std::ptr::null_mut() } else { codes }
}

/// Returns whether this is `MPI_ARGV_NULL` or `MPI_ARGVS_NULL`: no arguments.
pub fn is_without_arguments(argv: *const c_char) -> bool {
    let both = CHARACTERS.0.get().cast::<c_char>().cast_const();
    let is_old = argv == both || argv == both.wrapping_add(1);
    is_old || [&F08_ARGV_NULL, &F08_ARGVS_NULL].into_iter().any(|own| argv == own.0.get().cast_const())
}

/// Weights for C, possibly `MPI_UNWEIGHTED` or `MPI_WEIGHTS_EMPTY`.
pub fn weights(weights: *const c_int) -> *mut c_int {
    // SAFETY: variables of the C library that do not change.
    let of_c = unsafe { (MPI_UNWEIGHTED.0, MPI_WEIGHTS_EMPTY.0) };
    if UNWEIGHTED.has(weights, 0) || F08_UNWEIGHTED.has(weights, 0) {
        of_c.0.cast_mut()
    } else if WEIGHTS_EMPTY.has(weights, 0) || F08_WEIGHTS_EMPTY.has(weights, 0) {
        of_c.1.cast_mut()
    } else {
        weights.cast_mut()
    }
}

/// Returns whether a procedure stands for no conversion: `MPI_CONVERSION_FN_NULL` or its large
/// form, of any style.
pub fn is_no_conversion(procedure: usize) -> bool {
    let plain = modules::conversion_null as *const () as usize;
    let large = modules::conversion_null_c as *const () as usize;
    no_conversion::is_predefined(procedure) || procedure == plain || procedure == large
}
