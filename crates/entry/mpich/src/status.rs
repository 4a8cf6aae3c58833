//! `MPI_Status`: 20 bytes here, with the count before the public fields; 32 bytes on the standard
//! face.

use crate::values::{code, error_native, rank_face, rank_native, tag_face, tag_native};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use verbena_faces::mpich::STATUS_IGNORE as IGNORE;
pub use verbena_faces::mpich::Status;
pub use verbena_faces::standard::Status as NativeStatus;

const _: () = assert!(IGNORE == crate::generated::constants::STATUS_IGNORE);

/// The value of `MPI_SOURCE` and `MPI_ERROR` in a status of the standard face that the call has not
/// set.
const UNSET: c_int = c_int::MIN;

/// Arrays up to this length need no allocation.
const SMALL: usize = 16;

/// A status of the standard face that the call has not set.
const UNSET_STATUS: NativeStatus =
    NativeStatus { MPI_SOURCE: UNSET, MPI_TAG: 0, MPI_ERROR: UNSET, internal: [0; 5] };

/// The status on this face.
pub fn status_face(native: &NativeStatus) -> Status {
    let mut status =
        Status { count_lo: 0, count_hi_and_cancelled: 0, MPI_SOURCE: 0, MPI_TAG: 0, MPI_ERROR: 0 };
    // SAFETY: both are whole.
    unsafe { store(native, &mut status) };
    status
}

/// The status on the standard face.
pub fn status_native(status: &Status) -> NativeStatus {
    NativeStatus {
        MPI_SOURCE: rank_native(status.MPI_SOURCE),
        MPI_TAG: tag_native(status.MPI_TAG),
        MPI_ERROR: error_native(status.MPI_ERROR),
        internal: [status.count_lo, status.count_hi_and_cancelled.rotate_right(1), 0, 0, 0],
    }
}

/// Writes the parts that were set.
///
/// # Safety
/// Both pointers are valid. In `native` the source and the error are set; the rest is set if the
/// source is not [`UNSET`].
#[inline]
unsafe fn store(native: *const NativeStatus, status: *mut Status) {
    // SAFETY: by the caller's promise.
    unsafe {
        if (*native).MPI_SOURCE != UNSET {
            (*status).count_lo = (*native).internal[0];
            (*status).count_hi_and_cancelled = (*native).internal[1].rotate_left(1);
            (*status).MPI_SOURCE = rank_face((*native).MPI_SOURCE);
            (*status).MPI_TAG = tag_face((*native).MPI_TAG);
        }
        if (*native).MPI_ERROR != UNSET {
            (*status).MPI_ERROR = code((*native).MPI_ERROR);
        }
    }
}

#[inline(always)]
fn is_ignored(user: *const Status) -> bool {
    user as usize <= IGNORE
}

/// A place for a status that the call sets, unless the program ignores it.
pub struct StatusOut {
    user: *mut Status,
    native: MaybeUninit<NativeStatus>,
}

impl StatusOut {
    /// Wraps the program's own place.
    #[inline(always)]
    pub fn new(user: *mut Status) -> StatusOut {
        let mut native = MaybeUninit::<NativeStatus>::uninit();
        // SAFETY: our own place. The rest is read only if the standard face has set the source and,
        // with it, everything.
        unsafe {
            (&raw mut (*native.as_mut_ptr()).MPI_SOURCE).write(UNSET);
            (&raw mut (*native.as_mut_ptr()).MPI_ERROR).write(UNSET);
        }
        StatusOut { user, native }
    }

    /// The place for the standard face; null if the program ignores it.
    #[inline(always)]
    pub fn native(&mut self) -> *mut NativeStatus {
        if is_ignored(self.user) { std::ptr::null_mut() } else { self.native.as_mut_ptr() }
    }

    /// Gives the program the parts that were set.
    ///
    /// # Safety
    /// The place is valid, or `MPI_STATUS_IGNORE`.
    #[inline(always)]
    pub unsafe fn store(self) {
        if !is_ignored(self.user) {
            // SAFETY: by the caller's promise, and see `new`.
            unsafe { store(self.native.as_ptr(), self.user) };
        }
    }
}

/// A status that the call reads. It may also set it, if the place is the program's own.
pub struct StatusIn {
    user: *const Status,
    native: NativeStatus,
}

impl StatusIn {
    /// Wraps the program's status.
    ///
    /// # Safety
    /// The pointer is valid, null, or `MPI_STATUS_IGNORE`.
    pub unsafe fn new(user: *const Status) -> StatusIn {
        // SAFETY: by the caller's promise.
        let native = if is_ignored(user) { UNSET_STATUS } else { status_native(unsafe { &*user }) };
        StatusIn { user, native }
    }

    /// The status for the standard face; null if there is none.
    pub fn native(&mut self) -> *mut NativeStatus {
        if is_ignored(self.user) { std::ptr::null_mut() } else { &mut self.native }
    }

    /// Gives the program the parts that were changed.
    ///
    /// # Safety
    /// The rules of [`StatusIn::new`] hold, and the program's status may be written.
    pub unsafe fn store(self) {
        if !is_ignored(self.user) {
            // SAFETY: by the caller's promise.
            unsafe {
                let user = self.user.cast_mut();
                let same = self.native.MPI_ERROR == error_native((*user).MPI_ERROR);
                let error = if same { UNSET } else { self.native.MPI_ERROR };
                store(&NativeStatus { MPI_ERROR: error, ..self.native }, user);
            }
        }
    }
}

/// Statuses that the call sets, unless the program ignores them: short arrays live on the stack.
pub struct Statuses {
    user: *mut Status,
    len: usize,
    small: [MaybeUninit<NativeStatus>; SMALL],
    large: Vec<MaybeUninit<NativeStatus>>,
}

impl Statuses {
    /// Wraps the program's `len` places.
    #[inline]
    pub fn new(user: *mut Status, len: i64) -> Statuses {
        let len = if is_ignored(user) { 0 } else { len.max(0) as usize };
        let large = if len > SMALL { vec![MaybeUninit::uninit(); len] } else { Vec::new() };
        let mut statuses = Statuses { user, len, small: [MaybeUninit::uninit(); SMALL], large };
        statuses.places().fill(MaybeUninit::new(UNSET_STATUS));
        statuses
    }

    #[inline]
    fn places(&mut self) -> &mut [MaybeUninit<NativeStatus>] {
        if self.len > SMALL { &mut self.large } else { &mut self.small[..self.len] }
    }

    /// The array for the standard face; null if the program ignores it.
    #[inline]
    pub fn native(&mut self) -> *mut NativeStatus {
        if is_ignored(self.user) { std::ptr::null_mut() } else { self.places().as_mut_ptr().cast() }
    }

    /// Gives the program the parts that were set.
    ///
    /// # Safety
    /// The places are valid, or `MPI_STATUSES_IGNORE`.
    #[inline]
    pub unsafe fn store(mut self) {
        let user = self.user;
        for (i, place) in self.places().iter().enumerate() {
            // SAFETY: `new` set all of them; the caller promises the program's.
            unsafe { store(place.as_ptr(), user.add(i)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(count: u64, cancelled: bool) -> Status {
        Status {
            count_lo: count as u32 as c_int,
            count_hi_and_cancelled: ((count >> 32) as u32 * 2 + u32::from(cancelled)) as c_int,
            MPI_SOURCE: 3,
            MPI_TAG: 4,
            MPI_ERROR: 0,
        }
    }

    #[test]
    fn a_status_goes_there_and_back() {
        for before in [status(0, false), status(7, true), status((1 << 40) + 5, false), status(1 << 62, true)]
        {
            assert_eq!(status_face(&status_native(&before)), before);
        }
    }

    #[test]
    fn special_ranks_and_tags_are_translated() {
        let special = Status { MPI_SOURCE: -1, MPI_TAG: -1, ..status(0, false) };
        let native = status_native(&special);
        assert_eq!((native.MPI_SOURCE, native.MPI_TAG), (-3, -2));
    }

    #[test]
    fn a_status_that_the_call_leaves_alone_stays() {
        let mut user = Status { MPI_ERROR: 9, ..status(5, false) };
        // SAFETY: the places are our own.
        unsafe {
            let mut out = StatusOut::new(&mut user);
            assert!(!out.native().is_null());
            out.store();
            assert!(StatusOut::new(IGNORE as *mut Status).native().is_null());
            Statuses::new(&mut user, 1).store();
        }
        assert_eq!(user, Status { MPI_ERROR: 9, ..status(5, false) });
    }
}
