//! Variables of the MPICH ABI. Only their values count: a program may have copies of them, made by
//! the dynamic linker.

use std::ffi::c_int;

/// A pointer constant that programs compare with.
#[repr(transparent)]
pub struct Pointer(*const c_int);

// SAFETY: the address of a static, which nothing here writes to.
unsafe impl Sync for Pointer {}

impl Pointer {
    /// The address itself.
    pub fn address(&self) -> *const c_int {
        self.0
    }
}

static UNWEIGHTED: c_int = 0;
// Not 0, so that no linker merges the two.
static WEIGHTS_EMPTY: c_int = 1;

/// The words of a status in Fortran.
static FORTRAN_STATUS: [c_int; 10] = [0; 10];

/// `MPI_UNWEIGHTED`: an address of its own.
#[unsafe(no_mangle)]
pub static MPI_UNWEIGHTED: Pointer = Pointer(&UNWEIGHTED);

/// `MPI_WEIGHTS_EMPTY`: an address of its own.
#[unsafe(no_mangle)]
pub static MPI_WEIGHTS_EMPTY: Pointer = Pointer(&WEIGHTS_EMPTY);

/// `MPI_F_STATUS_IGNORE`: the status that Fortran programs pass to ignore it. C programs find this
/// one; those that are linked for Fortran find that of `libmpifort.so.12`.
#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: Pointer = Pointer(std::ptr::null());

/// `MPI_F_STATUSES_IGNORE`: as [`MPI_F_STATUS_IGNORE`].
#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: Pointer = Pointer(std::ptr::null());

/// `MPI_F08_STATUS_IGNORE`: an address of its own.
#[unsafe(no_mangle)]
pub static MPI_F08_STATUS_IGNORE: Pointer = Pointer((&raw const FORTRAN_STATUS).cast());

/// `MPI_F08_STATUSES_IGNORE`: an address of its own.
#[unsafe(no_mangle)]
pub static MPI_F08_STATUSES_IGNORE: Pointer =
    Pointer((&raw const FORTRAN_STATUS).cast::<c_int>().wrapping_add(5));

/// `MPI_T_PVAR_ALL_HANDLES`: an address of its own.
#[unsafe(no_mangle)]
pub static MPI_T_PVAR_ALL_HANDLES: Pointer = Pointer(&ALL_HANDLES);

static ALL_HANDLES: c_int = 2;
