//! Statuses: five INTEGERs, laid out as C's `MPI_Status` of this ABI, so only the address is passed
//! on.

use std::ffi::c_int;

/// C's `MPI_Status`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Status {
    pub count_lo: c_int,
    pub count_hi_and_cancelled: c_int,
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
}

/// `MPI_Status_f2f08` and `MPI_Status_f082f`: both have the same layout (MPI-5.0, 19.3.5).
///
/// # Safety
/// Both are statuses.
unsafe fn copy(from: *const Status, to: *mut Status, ierror: *mut c_int) {
    // SAFETY: two statuses; IERROR may be left out.
    unsafe {
        *to = *from;
        if let Some(ierror) = ierror.as_mut() {
            *ierror = crate::generated::constants::MPI_SUCCESS;
        }
    }
}

macro_rules! copies {
    ($($symbol:ident)*) => {
        $(
            /// Copies a status into the other form.
            ///
            /// # Safety
            /// Both are statuses.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $symbol(from: *const Status, to: *mut Status, ierror: *mut c_int) {
                // SAFETY: the program's variables.
                unsafe { copy(from, to, ierror) }
            }
        )*
    };
}

copies! {
    mpi_status_f2f08_ mpi_status_f082f_ pmpi_status_f2f08_ pmpi_status_f082f_
}
