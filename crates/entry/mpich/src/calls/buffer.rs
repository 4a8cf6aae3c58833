//! Detaching a buffer of buffered sends: its address may be `MPI_BUFFER_AUTOMATIC` (MPI-5.0, 3.6).

use crate::generated::constants::{BUFFER_AUTOMATIC, NATIVE_BUFFER_AUTOMATIC};
use crate::handles::{Comm, Handle, Session};
use crate::values;
use std::ffi::{c_int, c_void};

/// Translates the address that a call stored.
unsafe fn detached(code: c_int, address: *mut c_void) -> c_int {
    let address = address.cast::<usize>();
    // SAFETY: after success an address is there.
    unsafe {
        if code == 0 && address.read_unaligned() == NATIVE_BUFFER_AUTOMATIC {
            address.write_unaligned(BUFFER_AUTOMATIC);
        }
    }
    values::code(code)
}

macro_rules! detaches {
    ($($(#[$doc:meta])* pub unsafe fn $name:ident($native:ident, $count:ty $(, $object:ident: $handle:ident)?);)*) => { $(
        $(#[$doc])*
        pub unsafe fn $name($($object: i32,)? address: *mut c_void, size: *mut $count) -> c_int {
            // SAFETY: the program's promise.
            unsafe { detached(native!($native($($handle::native($object),)? address, size)), address) }
        }
    )* };
}

detaches! {
    /// `MPI_Buffer_detach`.
    pub unsafe fn buffer_detach(MPI_Buffer_detach, c_int);
    /// `MPI_Buffer_detach_c`.
    pub unsafe fn buffer_detach_c(MPI_Buffer_detach_c, i64);
    /// `MPI_Comm_detach_buffer`.
    pub unsafe fn comm_detach_buffer(MPI_Comm_detach_buffer, c_int, comm: Comm);
    /// `MPI_Comm_detach_buffer_c`.
    pub unsafe fn comm_detach_buffer_c(MPI_Comm_detach_buffer_c, i64, comm: Comm);
    /// `MPI_Session_detach_buffer`.
    pub unsafe fn session_detach_buffer(MPI_Session_detach_buffer, c_int, session: Session);
    /// `MPI_Session_detach_buffer_c`.
    pub unsafe fn session_detach_buffer_c(MPI_Session_detach_buffer_c, i64, session: Session);
}
