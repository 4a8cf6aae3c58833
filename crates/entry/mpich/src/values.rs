//! Constants, flags and error codes, both ways. The tables are made from
//! `api/mpich/constants.toml`.

pub use crate::generated::constants::*;
use std::ffi::c_int;

/// The standard face's number for one that means nothing here: it means nothing there either.
pub const UNKNOWN: c_int = -0x7000_0000;

/// A rank that is hardly ever `MPI_PROC_NULL` or `MPI_ROOT`.
pub enum Rank {}

impl Rank {
    /// The rank on the standard face, if it is a plain one.
    #[inline(always)]
    pub fn quick(rank: c_int) -> Option<c_int> {
        (rank >= 0).then_some(rank)
    }

    /// The rank on the standard face.
    #[inline]
    pub fn native(rank: c_int) -> c_int {
        rank_native(rank)
    }
}

/// The native bits of flags, by pairs of bits; an unknown bit becomes one that is wrong there.
pub fn flags(value: c_int, pairs: impl Iterator<Item = (c_int, c_int)>) -> c_int {
    let (mut left, mut translated) = (value, 0);
    for (from, to) in pairs.filter(|pair| value & pair.0 != 0) {
        left &= !from;
        translated |= to;
    }
    if left == 0 { translated } else { translated | 1 << 30 }
}

/// Translates an error code of the program for the standard face. A number that is no error code
/// becomes a negative one, which can be translated back: a program may keep any number in a status.
pub fn error_native(code: c_int) -> c_int {
    match ERRORS.iter().find(|pair| pair.0 == code) {
        Some(pair) => pair.1,
        None if code > LASTCODE => code - LASTCODE + NATIVE_LASTCODE,
        None => code.max(0) + UNKNOWN,
    }
}

/// Translates the return value of the standard face for the program.
#[inline(always)]
pub fn code(native: c_int) -> c_int {
    if native == 0 { 0 } else { error_face(native) }
}

/// Translates an error code of the standard face for the program.
#[cold]
#[inline(never)]
pub fn error_face(code: c_int) -> c_int {
    match ERRORS.iter().find(|pair| pair.1 == code) {
        Some(pair) => pair.0,
        None if code > NATIVE_LASTCODE => (code - NATIVE_LASTCODE).saturating_add(LASTCODE),
        None if (UNKNOWN..UNKNOWN + LASTCODE).contains(&code) => code - UNKNOWN,
        None => code,
    }
}

/// A constant that the call reads and may set.
pub struct Place {
    user: *mut c_int,
    before: c_int,
    native: c_int,
}

impl Place {
    /// Wraps the program's own place.
    ///
    /// # Safety
    /// The place is valid, or null.
    pub unsafe fn new(user: *mut c_int, native: impl Fn(c_int) -> c_int) -> Place {
        // SAFETY: by the caller's promise.
        let native = unsafe { user.as_ref() }.map_or(UNKNOWN, |&value| native(value));
        Place { user, before: native, native }
    }

    /// The place for the standard face; null if the program's is.
    pub fn native(&mut self) -> *mut c_int {
        if self.user.is_null() { std::ptr::null_mut() } else { &mut self.native }
    }

    /// Gives the program the value that was set.
    ///
    /// # Safety
    /// The rules of [`Place::new`] hold.
    pub unsafe fn store(self, face: impl Fn(c_int) -> c_int) {
        if self.native != self.before {
            // SAFETY: a null place is never set.
            unsafe { self.user.write(face(self.native)) };
        }
    }
}

/// Translates in place the value that the call set, if it succeeded.
///
/// # Safety
/// `place` is valid, or null.
pub unsafe fn set(code: c_int, place: *mut c_int, face: impl Fn(c_int) -> c_int) {
    // SAFETY: by the caller's promise.
    let value = unsafe { place.as_mut() };
    if let Some(value) = value.filter(|_| code == 0) {
        *value = face(*value);
    }
}

/// Translates in place the `len` values that the call set, if it succeeded.
///
/// # Safety
/// The array has `len` values, or `place` is null.
pub unsafe fn set_all(code: c_int, place: *mut c_int, len: i64, face: impl Fn(c_int) -> c_int) {
    for i in 0..if code == 0 { len.max(0) as usize } else { 0 } {
        // SAFETY: by the caller's promise.
        unsafe { set(code, place.wrapping_add(i), &face) };
    }
}

/// An array of constants for the standard face; `None` if there is none.
///
/// # Safety
/// The array has `len` constants, or `place` is null.
pub unsafe fn all(place: *const c_int, len: i64, native: impl Fn(c_int) -> c_int) -> Option<Vec<c_int>> {
    if place.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    Some((0..len.max(0) as usize).map(|i| native(unsafe { place.add(i).read() })).collect())
}

/// The address of such an array; null if there is no array.
pub fn address(array: &Option<Vec<c_int>>) -> *const c_int {
    array.as_ref().map_or(std::ptr::null(), |values| values.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_ranks_are_translated_and_other_negative_ones_stay_wrong() {
        assert_eq!([-1, -2, -3, 5].map(rank_native), [-3, -1, -4, 5]);
        assert_eq!([-3, -1, -4, 5].map(rank_face), [-1, -2, -3, 5]);
        assert_eq!(rank_native(-4), UNKNOWN);
    }

    #[test]
    fn flags_are_translated_bit_by_bit() {
        // MPI_MODE_CREATE | MPI_MODE_RDWR
        assert_eq!((file_mode_native(1 | 8), file_mode_face(2 | 32)), (2 | 32, 1 | 8));
        assert_ne!(file_mode_native(1 << 20), 0);
    }

    #[test]
    fn error_classes_and_added_codes_are_translated() {
        // MPI_ERR_TRUNCATE, and the first code that a program adds.
        assert_eq!((error_native(14), error_face(15)), (15, 14));
        assert_eq!((error_native(0x4000_0000), error_face(16384)), (16384, 0x4000_0000));
        assert_eq!(error_face(error_native(333)), 333);
        for (face, native) in ERRORS {
            assert_eq!((error_native(face), error_face(native)), (native, face));
        }
    }

    #[test]
    fn a_number_without_meaning_gets_none() {
        assert_eq!(order_native(12), UNKNOWN);
        assert_eq!((order_native(56), order_face(12)), (12, 56));
    }
}
