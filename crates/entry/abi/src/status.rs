//! `MPI_Status` (MPI-5.0, 3.2.5 and 20.3.1): 32 bytes, with three public fields.

use std::ffi::c_int;
use std::mem::offset_of;
use verbena_mpi::generated::constants as mpi;

const CANCELLED: u64 = 1 << 63;

/// A status as C sees it. The internal words hold the count in bytes (63 bits) and the cancelled
/// bit.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)]
pub struct Status {
    /// Rank of the sender.
    pub MPI_SOURCE: c_int,
    /// Tag of the message.
    pub MPI_TAG: c_int,
    /// Error class, meaningful after calls that return several statuses.
    pub MPI_ERROR: c_int,
    pub(crate) internal: [c_int; 5],
}

/// The other face writes statuses by this type.
const _: () = {
    use verbena_faces::standard::Status as Shared;
    assert!(size_of::<Status>() == size_of::<Shared>() && align_of::<Status>() == align_of::<Shared>());
    assert!(offset_of!(Status, MPI_SOURCE) == offset_of!(Shared, MPI_SOURCE));
    assert!(offset_of!(Status, MPI_TAG) == offset_of!(Shared, MPI_TAG));
    assert!(offset_of!(Status, MPI_ERROR) == offset_of!(Shared, MPI_ERROR));
    assert!(offset_of!(Status, internal) == offset_of!(Shared, internal));
};

impl Status {
    /// The status of an operation that had nothing to do (MPI-5.0, 3.7.3).
    pub const EMPTY: Status = Status {
        MPI_SOURCE: mpi::MPI_ANY_SOURCE,
        MPI_TAG: mpi::MPI_ANY_TAG,
        MPI_ERROR: mpi::MPI_SUCCESS,
        internal: [0; 5],
    };

    /// The status of a receive from `MPI_PROC_NULL` (MPI-5.0, 3.10).
    pub const PROC_NULL: Status = Status { MPI_SOURCE: mpi::MPI_PROC_NULL, ..Status::EMPTY };

    /// The status of a message of `bytes` bytes.
    #[inline]
    pub fn new(source: i32, tag: i32, bytes: u64, cancelled: bool) -> Status {
        let mut status =
            Status { MPI_SOURCE: source, MPI_TAG: tag, MPI_ERROR: mpi::MPI_SUCCESS, internal: [0; 5] };
        status.put(bytes & !CANCELLED | if cancelled { CANCELLED } else { 0 });
        status
    }

    /// Stores the status of a message of fewer than 2 to the 63 bytes that was not cancelled,
    /// unless `place` is `MPI_STATUS_IGNORE`. `MPI_ERROR` and the words that mean nothing stay as
    /// they are.
    ///
    /// # Safety
    /// Unless it is that, `place` leads to a status that only this call uses.
    #[inline(always)]
    pub unsafe fn tell(place: *mut Status, source: i32, tag: i32, bytes: u64) {
        debug_assert_eq!(bytes & CANCELLED, 0);
        if !place.is_null() {
            // SAFETY: the caller's promise; the two words that hold the count lie one behind the
            // other.
            unsafe {
                ((*place).MPI_SOURCE, (*place).MPI_TAG) = (source, tag);
                (&raw mut (*place).internal).cast::<u64>().write_unaligned(bytes.to_le());
            }
        }
    }

    /// Bytes of the message.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.word() & !CANCELLED
    }

    /// Sets the bytes of the message.
    pub fn set_bytes(&mut self, bytes: u64) {
        self.put(self.word() & CANCELLED | bytes & !CANCELLED);
    }

    /// This status with the cancelled bit set or cleared.
    #[inline]
    pub fn with_cancelled(mut self, cancelled: bool) -> Status {
        self.set_cancelled(cancelled);
        self
    }

    /// Returns whether the operation was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.word() & CANCELLED != 0
    }

    /// Sets whether the operation was cancelled.
    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.put(self.word() & !CANCELLED | if cancelled { CANCELLED } else { 0 });
    }

    /// This status with `code` in `MPI_ERROR`.
    #[inline]
    pub fn with_error(self, code: c_int) -> Status {
        Status { MPI_ERROR: code, ..self }
    }

    #[inline]
    fn word(&self) -> u64 {
        self.internal[0] as u32 as u64 | (self.internal[1] as u32 as u64) << 32
    }

    #[inline]
    fn put(&mut self, word: u64) {
        self.internal[0] = word as u32 as i32;
        self.internal[1] = (word >> 32) as i32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_and_cancelled_do_not_disturb_each_other() {
        let mut status = Status::new(3, 4, (1 << 62) + 5, false);
        status.set_cancelled(true);
        assert_eq!((status.bytes(), status.is_cancelled()), ((1 << 62) + 5, true));
        status.set_bytes(7);
        assert_eq!((status.bytes(), status.is_cancelled()), (7, true));
        status.set_cancelled(false);
        assert_eq!(status, Status::new(3, 4, 7, false));
    }

    #[test]
    fn what_is_told_is_what_a_new_status_says() {
        for bytes in [0, 7, (1 << 40) + 5, (1 << 62) + 1] {
            let mut status = Status::new(9, 9, 1, true).with_error(5);
            // SAFETY: a place of our own, and no place.
            unsafe {
                Status::tell(&mut status, 3, 4, bytes);
                Status::tell(std::ptr::null_mut(), 3, 4, bytes);
            }
            assert_eq!(status, Status::new(3, 4, bytes, false).with_error(5));
        }
    }
}
