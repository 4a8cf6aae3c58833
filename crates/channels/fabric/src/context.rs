//! The context of an operation: carries its name from its start to its completion.
//!
//! A provider may keep words of its own behind the pointer that it was given (`FI_CONTEXT2`), so
//! each operation under way has a place that does not move.

use crate::raw::fi_context2;
use std::ffi::c_void;

/// A place for one operation: the provider's words, then the operation's name.
#[repr(C)]
struct Place {
    words: fi_context2,
    name: u64,
}

/// The places of an endpoint. They are made as needed, reused, and freed with it.
#[derive(Default)]
pub struct Contexts {
    free: Vec<*mut Place>,
    all: Vec<*mut Place>,
}

// SAFETY: the places belong to this alone, except for the provider, whose use of them is not bound
// to a thread.
unsafe impl Send for Contexts {}

impl Contexts {
    /// Takes a place for the operation with this name.
    pub fn take(&mut self, name: u64) -> *mut c_void {
        let place = self.free.pop().unwrap_or_else(|| {
            let place = Box::into_raw(Box::new(Place { words: fi_context2::zeroed(), name }));
            self.all.push(place);
            place
        });
        // SAFETY: a place of ours that no operation uses.
        unsafe { (*place).name = name };
        place.cast()
    }

    /// Returns the name that the place carries.
    ///
    /// # Safety
    /// [`Contexts::take`] gave it, and it was not given back.
    pub unsafe fn name(place: *mut c_void) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { (*place.cast::<Place>()).name }
    }

    /// Takes back the place of an operation that has completed, or was never begun.
    ///
    /// # Safety
    /// [`Contexts::take`] of this gave it, it was not given back, and the provider will not touch
    /// it.
    pub unsafe fn give_back(&mut self, place: *mut c_void) {
        self.free.push(place.cast());
    }
}

impl Drop for Contexts {
    fn drop(&mut self) {
        for &place in &self.all {
            // SAFETY: made by `take`, freed once. The owner of this closes the endpoint first.
            drop(unsafe { Box::from_raw(place) });
        }
    }
}
