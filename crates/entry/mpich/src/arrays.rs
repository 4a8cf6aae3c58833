//! Handles behind pointers: single places and arrays.

use crate::generated::constants::FACE_OF;
use crate::handles::Handle;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Arrays up to this length need no allocation.
const SMALL: usize = 32;

/// The value in a place that the standard face has not set: no handle has it.
const UNSET: usize = usize::MAX;

/// A place for a handle that the call sets.
pub struct Out<K: Handle> {
    user: *mut K::Face,
    native: usize,
}

impl<K: Handle> Out<K> {
    /// Wraps the program's own place.
    #[inline(always)]
    pub fn new(user: *mut K::Face) -> Out<K> {
        Out { user, native: UNSET }
    }

    /// The place for the standard face; null if the program's is.
    #[inline(always)]
    pub fn native(&mut self) -> *mut usize {
        if self.user.is_null() { std::ptr::null_mut() } else { &mut self.native }
    }

    /// Gives the program the handle that was set.
    ///
    /// # Safety
    /// The program's place is valid, or null.
    #[inline(always)]
    pub unsafe fn store(self) {
        if self.native != UNSET {
            // SAFETY: set only through `native`, so not null; the caller promises the rest.
            unsafe { self.user.write(K::face(self.native)) };
        }
    }
}

/// A handle that the call reads and may set.
pub struct InOut<K: Handle> {
    user: *mut K::Face,
    before: usize,
    native: usize,
}

impl<K: Handle> InOut<K> {
    /// Wraps the program's own place.
    ///
    /// # Safety
    /// The place is valid, or null.
    #[inline(always)]
    pub unsafe fn new(user: *mut K::Face) -> InOut<K> {
        // SAFETY: by the caller's promise.
        let native = if user.is_null() { UNSET } else { K::native(unsafe { user.read() }) };
        InOut { user, before: native, native }
    }

    /// The place for the standard face; null if the program's is.
    #[inline(always)]
    pub fn native(&mut self) -> *mut usize {
        if self.user.is_null() { std::ptr::null_mut() } else { &mut self.native }
    }

    /// Gives the program the handle that was set.
    ///
    /// # Safety
    /// The program's place is valid, or null.
    #[inline(always)]
    pub unsafe fn store(self) {
        if self.native != self.before {
            // SAFETY: a null place is never set.
            unsafe { changed::<K>(self.user, self.native) };
        }
    }
}

/// Stores another handle, which is nearly always null.
#[inline(never)]
unsafe fn changed<K: Handle>(user: *mut K::Face, native: usize) {
    // SAFETY: by the caller's promise.
    unsafe { user.write(K::face(native)) };
}

/// An array of handles: short ones live on the stack.
pub struct Handles<K> {
    small: [MaybeUninit<usize>; SMALL],
    large: Vec<MaybeUninit<usize>>,
    len: usize,
    null: bool,
    kind: PhantomData<K>,
}

impl<K: Handle> Handles<K> {
    /// Translates the `len` handles at `user`.
    ///
    /// # Safety
    /// The array has `len` handles, or `user` is null.
    #[inline]
    pub unsafe fn new(user: *const K::Face, len: i64) -> Handles<K> {
        let mut handles = Handles::<K>::room(user.is_null(), len);
        for (i, place) in handles.places().iter_mut().enumerate() {
            // SAFETY: by the caller's promise.
            place.write(K::native(unsafe { user.add(i).read() }));
        }
        handles
    }

    /// Room for `len` handles that the call sets at `user`.
    pub fn unset(user: *const K::Face, len: i64) -> Handles<K> {
        let mut handles = Handles::<K>::room(user.is_null(), len);
        handles.places().fill(MaybeUninit::new(UNSET));
        handles
    }

    #[inline]
    fn room(null: bool, len: i64) -> Handles<K> {
        let len = if null { 0 } else { len.max(0) as usize };
        let large = if len > SMALL { vec![MaybeUninit::uninit(); len] } else { Vec::new() };
        Handles { small: [MaybeUninit::uninit(); SMALL], large, len, null, kind: PhantomData }
    }

    #[inline]
    fn places(&mut self) -> &mut [MaybeUninit<usize>] {
        if self.len > SMALL { &mut self.large } else { &mut self.small[..self.len] }
    }

    /// The array for the standard face; null if the program's is.
    #[inline]
    pub fn native(&mut self) -> *mut usize {
        if self.null { std::ptr::null_mut() } else { self.places().as_mut_ptr().cast() }
    }

    /// Gives the program those that the call changed or set.
    ///
    /// # Safety
    /// `user` leads to as many handles, or is null.
    #[inline]
    pub unsafe fn store(&mut self, user: *mut K::Face) {
        for (i, place) in self.places().iter().enumerate() {
            // SAFETY: `new` and `unset` set all of them; the caller promises the program's.
            unsafe {
                let native = place.assume_init();
                // Most that change become null, which needs no comparison.
                let changed = native < FACE_OF.len() || native != K::native(user.add(i).read());
                if native != UNSET && changed {
                    user.add(i).write(K::face(native));
                }
            }
        }
    }
}
