//! The part that all objects of the library have in common: they are closed once.

use crate::raw::{fi_ops, fid};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// An object that was made; dropping it closes it.
pub(crate) struct Object<T>(NonNull<T>);

// SAFETY: libfabric's objects may be used from any thread; their owners say in which manner
// (`FI_THREAD_DOMAIN`).
unsafe impl<T> Send for Object<T> {}

impl<T> Object<T> {
    /// Takes over an object; each begins with a `fid`.
    ///
    /// # Safety
    /// The pointer came from the call of libfabric that makes a `T`, which begins with a `fid`, and
    /// nobody else closes it.
    pub(crate) unsafe fn new(made: *mut T) -> Option<Object<T>> {
        NonNull::new(made).map(Object)
    }

    pub(crate) fn raw(&self) -> *mut T {
        self.0.as_ptr()
    }

    pub(crate) fn fid(&self) -> *mut fid {
        self.0.as_ptr().cast()
    }

    fn ops(&self) -> &fi_ops {
        // SAFETY: the object is open, and leads to its table.
        unsafe { &*(*self.fid()).ops }
    }

    /// Calls `fi_bind`.
    ///
    /// # Safety
    /// Both are objects of one domain that may be bound.
    pub(crate) unsafe fn bind(&self, other: *mut fid, flags: u64) -> c_int {
        // SAFETY: the caller's promise.
        self.ops().bind.map_or(-libc::ENOSYS, |bind| unsafe { bind(self.fid(), other, flags) })
    }

    /// Calls `fi_control`.
    ///
    /// # Safety
    /// `argument` is what the command takes.
    pub(crate) unsafe fn control(&self, command: u64, argument: *mut c_void) -> c_int {
        let control = self.ops().control;
        // SAFETY: the caller's promise.
        control.map_or(-libc::ENOSYS, |control| unsafe { control(self.fid(), command as c_int, argument) })
    }
}

impl<T> Drop for Object<T> {
    fn drop(&mut self) {
        if let Some(close) = self.ops().close {
            // SAFETY: made once, closed once; what was made of it held it alive. An error leaves
            // nothing to be done.
            unsafe { close(self.fid()) };
        }
    }
}
