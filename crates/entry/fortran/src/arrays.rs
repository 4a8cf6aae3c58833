//! Arrays of handles, converted for the duration of a call.

use crate::handle::Handle;
use std::ffi::c_int;

/// Up to this many handles are converted without an allocation.
const FEW: usize = 16;

/// C's handles of an array of INTEGERs.
pub struct Handles {
    few: [Handle; FEW],
    many: Vec<Handle>,
    number: usize,
}

impl Handles {
    /// Room for `number` handles that C will set.
    pub fn empty(number: usize) -> Handles {
        let many = if number > FEW { vec![0; number] } else { Vec::new() };
        Handles { few: [0; FEW], many, number }
    }

    /// The handles of `number` INTEGERs.
    ///
    /// # Safety
    /// The array has that many elements.
    pub unsafe fn of(integers: *const c_int, number: usize, convert: fn(c_int) -> Handle) -> Handles {
        let mut handles = Handles::empty(number);
        for (at, handle) in handles.slice().iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *handle = convert(unsafe { *integers.add(at) });
        }
        handles
    }

    fn slice(&mut self) -> &mut [Handle] {
        if self.number > FEW { &mut self.many } else { &mut self.few[..self.number] }
    }

    /// All handles.
    pub fn all(&self) -> &[Handle] {
        if self.number > FEW { &self.many } else { &self.few[..self.number] }
    }

    /// The handles for C to read.
    pub fn as_ptr(&self) -> *const Handle {
        if self.number > FEW { self.many.as_ptr() } else { self.few.as_ptr() }
    }

    /// The handles for C to change.
    pub fn as_mut_ptr(&mut self) -> *mut Handle {
        if self.number > FEW { self.many.as_mut_ptr() } else { self.few.as_mut_ptr() }
    }

    /// Writes the handles back, except those that C left unset (0 is no handle).
    ///
    /// # Safety
    /// The array is the one that these handles were made for.
    pub unsafe fn give_back(&mut self, integers: *mut c_int, convert: fn(Handle) -> c_int) {
        for (at, &mut handle) in self.slice().iter_mut().enumerate() {
            if handle != 0 {
                // SAFETY: the caller's promise.
                unsafe { *integers.add(at) = convert(handle) };
            }
        }
    }
}
